//! The keys that sign tokens, in their file.

use sojourn_list_server::{KEYS_MAX, KeyFile};
use sojourn_mail_engine::list::token::{Claim, Purpose};
use sojourn_smtp::Address;
use std::os::unix::fs::PermissionsExt;

#[test]
fn keys_are_made_once_and_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = KeyFile::beside(&folder.path().join("spool"));
    let list: Address = "l@x".parse().unwrap();
    let claim = Claim { subscriber: 1, mailing: 2, day: 3 };
    let mut keys = KeyFile::read_or_make(&path, 10).unwrap();
    let is_good = |token: &str| {
        let keys = KeyFile::read_or_make(&path, 99).unwrap().token_keys();
        keys.verify(Purpose::Bounce, &list, token) == Some(claim)
    };
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    let token = keys.token_keys().sign(Purpose::Bounce, &list, claim);
    for times in 1..10 {
        assert_eq!(is_good(&token), times <= KEYS_MAX as i64, "{times}");
        keys.rotate(10 + times).unwrap();
        assert_eq!(mode(), 0o600);
        let newest = keys.token_keys().sign(Purpose::Bounce, &list, claim);
        assert!(newest != token && is_good(&newest));
    }
    let made = KeyFile::read(&path).unwrap().made();
    assert_eq!(made, (12..20).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "the file and its backup");
}

#[test]
fn what_is_no_file_of_keys() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool.keys");
    let told = KeyFile::read(&path).unwrap_err().to_string();
    assert!(told.contains("spool.keys: No such file"), "{told}");
    let key = format!("7 {}\n", "A".repeat(52));
    for (text, why) in [
        (String::new(), "0 keys: expected 1 to 8"),
        (key.repeat(9), "9 keys: expected 1 to 8"),
        (format!("{key}7 short\n"), "line 2: expected seconds"),
        ("x".repeat(10_000), "line 1: expected seconds"),
    ] {
        std::fs::write(&path, text).unwrap();
        let told = KeyFile::read_or_make(&path, 1).unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
}
