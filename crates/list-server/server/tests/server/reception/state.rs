//! A server that starts where the register or the keys are lost.

use crate::reception::{Place, connect, text};
use sojourn_list_server::{ListServer, state};
use std::fs;
use std::path::{Path, PathBuf};

const LIST: &str = "news-bounces@lists.example";
const ANN: &str = "ann@[127.0.0.77]";

fn file(place: &Place, suffix: &str) -> PathBuf {
    format!("{}.{suffix}", place.spool().display()).into()
}

/// What the list's program is told when it names Ann.
fn reply(server: &ListServer) -> String {
    let mut client = connect(server);
    client.hear();
    client.say("EHLO client.example");
    client.say(&format!("MAIL FROM:<{LIST}>"));
    client.say(&format!("RCPT TO:<{ANN}>"))
}

/// Ann has left the list of a server that has stopped.
fn stage() -> Place {
    let place = Place::trusting(&[("leave", text("news-leave@lists.example"))]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    client.mail(LIST, &[ANN], "Subject: news\r\n\r\nx");
    drop(client);
    server.stop();
    assert!(place.book().leave(&LIST.parse().unwrap(), &ANN.parse().unwrap(), 0).unwrap());
    place
}

fn zero_the_first_page(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes[..4096].fill(0);
    fs::write(file, bytes).unwrap();
}

/// It does not start, says why, and starts after a repair: Ann is still refused.
#[test]
fn it_does_not_start_without_them() {
    type Damage = fn(&Path);
    let ways: [(&str, Damage); 5] = [
        ("bounces", zero_the_first_page),
        ("bounces", |file| fs::write(file, "").unwrap()),
        ("bounces", |file| fs::remove_file(file).unwrap()),
        ("keys", |file| fs::remove_file(file).unwrap()),
        ("keys", |file| fs::write(file, "").unwrap()),
    ];
    for (name, damage) in ways {
        let place = stage();
        let keys = fs::read(file(&place, "keys")).unwrap();
        let path = file(&place, name);
        damage(&path);
        let Err(refused) = place.try_start() else { panic!("it starts without {name}") };
        let (refused, path) = (refused.to_string(), path.display());
        assert!(refused.starts_with(&format!("{path}: ")), "{refused}");
        let remedy =
            format!("; sojourn mail spool check CONFIG --repair: restored from {path}-backup");
        assert!(refused.ends_with(&remedy), "{refused}");
        state::repair(&place.spool(), false, 0).unwrap();
        let server = place.start();
        assert_eq!(reply(&server), "550 5.7.1 the subscriber has unsubscribed");
        server.stop();
        assert_eq!(fs::read(file(&place, "keys")).unwrap(), keys);
    }
}

/// Without any backup it starts when the operator gives up what is lost.
#[test]
fn all_is_lost() {
    let place = stage();
    for name in ["bounces", "bounces-backup", "keys", "keys-backup"] {
        fs::remove_file(file(&place, name)).unwrap();
    }
    assert!(place.try_start().is_err());
    state::repair(&place.spool(), true, 0).unwrap();
    let server = place.start();
    assert_eq!(reply(&server), "250 2.1.5 ok");
    server.stop();
}

/// A backup that is damaged keeps no server from starting: it is made anew, and the operator is told.
#[test]
fn a_damaged_backup() {
    for name in ["bounces-backup", "keys-backup"] {
        let place = stage();
        let path = file(&place, name);
        fs::write(&path, "no backup at all").unwrap();
        let server = place.start();
        let told = format!("as it was: {}-before-repair-1", path.display());
        assert!(server.notices.iter().any(|it| it.ends_with(&told)), "{:?}", server.notices);
        server.stop();
        assert_eq!(state::check(&place.spool()), []);
    }
}

/// Files of the version before, which had no backups and no checksums, are taken on.
#[test]
fn older_files() {
    let place = stage();
    let lines = fs::read_to_string(file(&place, "keys")).unwrap();
    let (_, keys) = lines.split_once('\n').unwrap();
    fs::write(file(&place, "keys"), keys).unwrap();
    for name in ["bounces-backup", "keys-backup"] {
        fs::remove_file(file(&place, name)).unwrap();
    }
    let raw = rusqlite::Connection::open(file(&place, "bounces")).unwrap();
    let version_2 = "ALTER TABLE list DROP COLUMN checksum;
        ALTER TABLE subscriber DROP COLUMN checksum; ALTER TABLE bounce DROP COLUMN checksum;
        ALTER TABLE bounce DROP COLUMN day; ALTER TABLE bounce DROP COLUMN returned;
        ALTER TABLE bounce DROP COLUMN taken_day; ALTER TABLE bounce DROP COLUMN probed_s;
        ALTER TABLE bounce DROP COLUMN provider; DROP TABLE report;
        PRAGMA user_version = 2;";
    raw.execute_batch(version_2).unwrap();
    drop(raw);
    let server = place.start();
    assert_eq!(reply(&server), "550 5.7.1 the subscriber has unsubscribed");
    server.stop();
    assert_eq!(state::check(&place.spool()), []);
    assert_eq!(fs::read_to_string(file(&place, "keys")).unwrap(), lines);
    assert_eq!(fs::read(file(&place, "keys-backup")).unwrap(), lines.as_bytes());
}
