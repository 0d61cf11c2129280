//! A text that is not as it was written is not sent: its checksum tells.

use proptest::prelude::*;
use sojourn_mail_engine::{MessageId, Moment, Record, Submission};
use sojourn_mail_spool::{Epoch, Spool, check, repair};
use sojourn_properties::cases;
use std::path::{Path, PathBuf};

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };

/// Texts of several sizes: within a page, over several pages, and written in pieces.
const SIZES: [usize; 4] = [3, 900, 30_000, 400_000];

fn text(size: usize) -> Vec<u8> {
    let mut text = vec![b'x'; size];
    text.splice(size - 2.., *b"\r\n");
    text
}

fn spool(folder: &Path) -> PathBuf {
    let path = folder.join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    for size in SIZES {
        let id = spool.next_id();
        let submission = Submission {
            id,
            sender: Some("owner@lists.example".parse().unwrap()),
            size: size as u64,
            eight_bit: false,
            utf8: false,
            subscribers: Vec::new(),
            day: 0,
            recipients: ["a", "b"].map(|it| format!("{it}@x.example").parse().unwrap()).into(),
        };
        spool.offer(Moment::ZERO, submission, text(size).into());
        spool.write(&[Record::Accepted(id)]).unwrap();
    }
    path
}

/// Writes another octet in place of the one at `at` of the texts, one after another.
fn alter(path: &Path, at: usize) -> MessageId {
    let mut bytes = std::fs::read(path).unwrap();
    let ours: Vec<_> = (0..bytes.len()).filter(|&place| bytes[place] == b'x').collect();
    let runs: Vec<_> = ours.into_iter().filter(|&it| bytes[it - 1] == b'x').collect();
    bytes[runs[at % runs.len()]] = b'y';
    std::fs::write(path, bytes).unwrap();
    let database = rusqlite::Connection::open(path).unwrap();
    let altered = "SELECT id FROM message WHERE instr(text, x'79')";
    MessageId(database.query_row(altered, [], |row| row.get::<_, i64>(0)).unwrap() as u64)
}

proptest! {
    #![proptest_config(cases(24))]

    /// One altered octet keeps its text from being read, is found, and a repair puts the text in a
    /// file; all other messages stay.
    #[test]
    fn an_altered_octet(at in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = spool(folder.path());
        let altered = alter(&path, at.index(400_000));
        let spool = Spool::open(&path, EPOCH).unwrap();
        for (id, size) in (1..).map(MessageId).zip(SIZES) {
            match spool.text(id) {
                Ok(found) => prop_assert!(id != altered && found == Some(text(size))),
                Err(error) => {
                    let told = format!("message {}: its text is not as it was written", id.0);
                    prop_assert!(id == altered && error.to_string().ends_with(&told), "{error}");
                }
            }
        }
        drop(spool);
        prop_assert_eq!(check(&path).unwrap().len(), 1);
        let repaired = repair(&path).unwrap().unwrap();
        let told = format!("spool-lost-{}.eml", altered.0);
        let is_told = repaired.findings.iter().any(|it| it.remedy.ends_with(&told));
        prop_assert!(is_told, "{:?}", repaired.findings);
        prop_assert_eq!(check(&path).unwrap(), []);
        let kept = Spool::open(&path, EPOCH).unwrap().load().unwrap();
        prop_assert_eq!(kept.len(), SIZES.len() - 1);
        prop_assert_eq!(repair(&path).unwrap(), None);
    }
}

/// Texts of a spool of the version before, which kept no checksums, are sent as they are.
#[test]
fn older_texts_have_no_checksum() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let database = rusqlite::Connection::open(&path).unwrap();
    let version_3 = "ALTER TABLE message DROP COLUMN checksum; PRAGMA user_version = 3;";
    database.execute_batch(version_3).unwrap();
    drop(database);
    assert_eq!(check(&path).unwrap(), []);
    let spool = Spool::open(&path, EPOCH).unwrap();
    assert_eq!(spool.load().unwrap().len(), SIZES.len());
    assert_eq!(spool.text(MessageId(3)).unwrap(), Some(text(SIZES[2])));
    drop(spool);
    alter(&path, 20_000);
    assert_eq!(check(&path).unwrap(), []);
}
