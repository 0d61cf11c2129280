//! Spools whose pages are damaged: a repair saves at least what a lookup by key still reads.

use proptest::prelude::*;
use rusqlite::Connection;
use sojourn_core::Span;
use sojourn_mail_engine::{MessageId, Moment, Progress, RecipientIndex, Record, Submission, Task};
use sojourn_mail_spool::{Epoch, Repaired, Spool, check, repair};
use sojourn_properties::cases;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };
const PAGE: usize = 4096;
const MESSAGES: u64 = 72;

/// Numbers that look random (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) >> 11) as usize % end
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|octet| *octet = self.below(256) as u8);
    }
}

/// Of a length of its own, so that some go on in several pages and some do not.
fn text(id: u64) -> Vec<u8> {
    let line = format!("Message {id} has many lines, of which this is one.\r\n");
    line.repeat(1 + (id as usize * 37) % 300).into_bytes()
}

fn address(id: u64, number: u64) -> String {
    format!("subscriber{number}.of{id}@x.example")
}

/// A spool of 72 messages of up to 40 recipients, every third of whom has the message.
fn spool(folder: &Path) -> PathBuf {
    let path = folder.join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    for _ in 0..MESSAGES {
        let id = spool.next_id();
        let recipients: Vec<_> =
            (0..1 + id.0 % 40).map(|number| address(id.0, number).parse().unwrap()).collect();
        let count = recipients.len() as u32;
        let sender = Some("owner@lists.example".parse().unwrap());
        let text = text(id.0);
        let size = text.len() as u64;
        let submission = Submission {
            id,
            sender,
            size,
            eight_bit: false,
            utf8: false,
            recipients,
            subscribers: vec![],
            day: 0,
        };
        spool.offer(Moment::ZERO + Span::from_s(1), submission, text.into());
        let mut records = vec![Record::Accepted(id)];
        let ended = (0..count).filter(|number| number % 3 == 1);
        records.extend(ended.map(|recipient| {
            Record::Delivered(Task { message: id, recipient: RecipientIndex(recipient) })
        }));
        spool.write(&records).unwrap();
    }
    path
}

type Key = (u64, u64);

/// What a lookup by key reads of a damaged file, with the damage not in it.
#[derive(Default)]
struct ByKey {
    texts: BTreeSet<u64>,
    recipients: BTreeMap<Key, String>,
}

fn by_key(path: &Path) -> ByKey {
    let mut found = ByKey::default();
    let Ok(database) = Connection::open(path) else { return found };
    for id in 1..=MESSAGES {
        let select = "SELECT text FROM message WHERE id = ?";
        let read = database.query_row(select, [id], |row| row.get::<_, Vec<u8>>(0));
        if read.is_ok_and(|read| read == text(id)) {
            found.texts.insert(id);
        }
        for number in 0..1 + id % 40 {
            let select = "SELECT address, state FROM recipient WHERE message = ? AND number = ?";
            let read = database.query_row(select, [id, number], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            });
            let expected = if number % 3 == 1 { "ended" } else { "open" };
            if let Ok((read, state)) = read
                && read == address(id, number)
                && state == expected
            {
                found.recipients.insert((id, number), state);
            }
        }
    }
    found
}

/// What is in a sound spool: messages with their texts, recipients with their states by address.
fn saved(path: &Path) -> (BTreeMap<u64, Vec<u8>>, BTreeMap<String, String>) {
    let database = Connection::open(path).unwrap();
    let mut select = database.prepare("SELECT id, text FROM message").unwrap();
    let texts = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let mut select = database.prepare("SELECT message, address, state FROM recipient").unwrap();
    let all = select
        .query_map([], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, String>(1)?, row.get(2)?)));
    let of = |it: rusqlite::Result<(u64, String, String)>| {
        let (id, address, state) = it.unwrap();
        assert!(address.ends_with(&format!(".of{id}@x.example")), "{id}: {address}");
        (address, state)
    };
    (texts.collect::<Result<_, _>>().unwrap(), all.unwrap().map(of).collect())
}

/// Repairs a damaged spool; what it saves is at least what can be read by key, and nothing else than
/// what was there. Returns the numbers of messages that were readable and that were saved.
fn repaired(folder: &Path, path: &Path) -> (usize, usize, Option<Repaired>) {
    let other = folder.join("by-key");
    std::fs::copy(path, &other).unwrap();
    let readable = by_key(&other);
    let done = match repair(path) {
        Ok(done) => done,
        Err(error) => {
            assert!(readable.texts.is_empty() && readable.recipients.is_empty(), "{error}");
            return (0, 0, None);
        }
    };
    assert_eq!(check(path).unwrap(), []);
    Spool::open(path, EPOCH).unwrap().load().unwrap();
    let (texts, recipients) = saved(path);
    let findings = done.as_ref().map_or(&[][..], |done| &done.findings);
    for (id, found) in &texts {
        assert!(*found == text(*id), "message {id} is another");
    }
    for id in &readable.texts {
        let kept = folder.join(format!("spool-lost-{id}.eml"));
        let in_a_file = std::fs::read(&kept).is_ok_and(|kept| kept == text(*id));
        assert!(texts.contains_key(id) || in_a_file, "message {id}: {findings:#?}");
    }
    for ((id, number), state) in &readable.recipients {
        if texts.contains_key(id) {
            assert_eq!(recipients.get(&address(*id, *number)), Some(state), "{id} {number}");
        } else {
            let of = format!("message {id}: ");
            assert!(findings.iter().any(|it| it.what.starts_with(&of)), "{id}: {findings:#?}");
        }
    }
    for (address, state) in &recipients {
        let number: u64 = address["subscriber".len()..].split('.').next().unwrap().parse().unwrap();
        let expected = if number % 3 == 1 { "ended" } else { "open" };
        assert_eq!(state, expected, "{address}");
    }
    let all = std::fs::read_dir(folder)
        .unwrap()
        .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains("-lost-"));
    (readable.texts.len(), texts.len() + all.count(), done)
}

fn change(path: &Path, with: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).unwrap();
    with(&mut bytes);
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_last_page_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    change(&path, |bytes| bytes.truncate(bytes.len() - PAGE));
    let (_, saved, done) = repaired(folder.path(), &path);
    assert!(saved >= 71, "{saved}");
    assert!(done.unwrap().findings.len() > 1, "what is lost is named");
}

#[test]
fn twenty_pages_are_zeroed() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    change(&path, |bytes| {
        let pages = bytes.len() / PAGE;
        for turn in 0..20 {
            let page = 5 + turn * (pages - 5) / 20;
            bytes[page * PAGE..(page + 1) * PAGE].fill(0);
        }
    });
    let (readable, saved, done) = repaired(folder.path(), &path);
    assert!(readable >= 50 && saved >= readable, "{readable} {saved}");
    println!("{readable} readable, {saved} saved: {:#?}", done.unwrap().findings);
}

#[test]
fn page_4_is_overwritten() {
    for page in [1, 2, 3, 4, 5] {
        let folder = tempfile::tempdir().unwrap();
        let path = spool(folder.path());
        change(&path, |bytes| {
            Random(4).fill(&mut bytes[(page - 1) * PAGE..page * PAGE]);
        });
        let (readable, saved, done) = repaired(folder.path(), &path);
        println!("page {page}: {readable} readable, {saved} saved");
        let least = if page < 5 { 72 } else { 71 };
        assert!(saved >= least, "page {page}: {saved}: {:#?}", done.unwrap().findings);
    }
}

/// What stands in the write-ahead log is read from there, past a frame that is damaged.
#[test]
fn the_log_ahead_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let mut open = Spool::open(&path, EPOCH).unwrap();
    for recipient in [2, 3, 5] {
        let task = Task { message: MessageId(30), recipient: RecipientIndex(recipient) };
        open.write(&[Record::Delivered(task)]).unwrap();
    }
    let other = tempfile::tempdir().unwrap();
    for suffix in ["", "-wal"] {
        let from = folder.path().join(format!("spool{suffix}"));
        std::fs::copy(from, other.path().join(format!("spool{suffix}"))).unwrap();
    }
    let path = other.path().join("spool");
    change(&path.with_file_name("spool-wal"), |wal| {
        assert!(wal.len() >= 32 + 3 * (24 + PAGE));
        wal[32 + 24 + 100] ^= 1;
    });
    // The page with the tables is gone too, or the spool would be sound without the log.
    change(&path, |bytes| bytes[100..PAGE].fill(0xa5));
    assert!(!check(&path).unwrap().is_empty());
    repair(&path).unwrap().unwrap();
    let (texts, recipients) = saved(&path);
    assert_eq!(texts.len(), 72);
    for number in [2, 3, 5] {
        assert_eq!(recipients[&address(30, number)], "ended", "{number}");
    }
}

/// Answers that were noted beside the spool count, though its first page is lost.
#[test]
fn answers_are_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let mut open = Spool::open(&path, EPOCH).unwrap();
    open.answers().note([Task { message: MessageId(30), recipient: RecipientIndex(2) }]).unwrap();
    drop(open);
    change(&path, |bytes| bytes[..PAGE].fill(0xa5));
    repair(&path).unwrap().unwrap();
    let stored = Spool::open(&path, EPOCH).unwrap().load().unwrap();
    assert_eq!(stored[29].submission.id, MessageId(30));
    assert_eq!(stored[29].progress[2], Progress::Ended);
}

/// SQLite finds nothing wrong with a text whose last page was wiped.
#[test]
fn the_last_page_of_a_text_is_wiped() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    change(&path, |bytes| {
        let is_last = |page: &[u8]| {
            page[..4] == [0; 4] && page[4..60].iter().all(|octet| (b'\n'..=b'z').contains(octet))
        };
        let at = bytes.chunks(PAGE).position(is_last);
        let at = at.expect("some text goes on in a page") * PAGE;
        bytes[at..at + PAGE].fill(0);
    });
    let (readable, saved, done) = repaired(folder.path(), &path);
    assert_eq!((readable, saved), (71, 72), "one is in a file");
    let findings = done.unwrap().findings;
    assert!(findings.iter().any(|it| it.what.contains("a part is lost")), "{findings:#?}");
}

/// Whom an operator holds is held afterwards.
#[test]
fn who_is_held_stays_held() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let held = || {
        let database = Connection::open(&path).unwrap();
        let mut select =
            database.prepare("SELECT message, number FROM recipient WHERE held").unwrap();
        let rows = select.query_map([], |row| Ok((row.get::<_, u64>(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<Vec<(u64, u64)>, _>>().unwrap()
    };
    let hold = "UPDATE recipient SET held = 1 WHERE message = 30 AND number = 2";
    Connection::open(&path).unwrap().execute(hold, []).unwrap();
    change(&path, |bytes| bytes[..PAGE].fill(0xa5));
    repair(&path).unwrap().unwrap();
    assert_eq!(held(), [(30, 2)]);
}

/// No message takes the number of one that was there before.
#[test]
fn numbers_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let mut open = Spool::open(&path, EPOCH).unwrap();
    for message in [MessageId(71), MessageId(72)] {
        let left = (0..1 + message.0 as u32 % 40).filter(|number| number % 3 != 1);
        let ended = left.map(|recipient| {
            Record::Delivered(Task { message, recipient: RecipientIndex(recipient) })
        });
        open.write(&ended.collect::<Vec<_>>()).unwrap();
        open.finish(message);
    }
    open.write(&[]).unwrap();
    drop(open);
    change(&path, |bytes| bytes.truncate(bytes.len() - PAGE));
    repair(&path).unwrap().unwrap();
    assert_eq!(Spool::open(&path, EPOCH).unwrap().next_id(), MessageId(73));
    let (texts, _) = saved(&path);
    assert!(texts.keys().all(|id| *id <= 70), "a message that was done comes back");
}

#[test]
fn no_length_is_no_spool() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    std::fs::write(&path, "").unwrap();
    for error in [
        Spool::open(&path, EPOCH).err().unwrap(),
        check(&path).unwrap_err(),
        repair(&path).unwrap_err(),
    ] {
        let text = error.to_string();
        assert!(text.contains("zero length") && text.ends_with("remove the file"), "{text}");
    }
    assert_eq!(path.metadata().unwrap().len(), 0, "it is left as it is");
}

#[test]
fn a_file_that_ends_within_a_page_is_no_spool() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    change(&path, |bytes| bytes.truncate(bytes.len() - 100));
    let error = Spool::open(&path, EPOCH).err().unwrap().to_string();
    assert!(error.contains("ends within a page"), "{error}");
    let (_, saved, _) = repaired(folder.path(), &path);
    assert!(saved >= 71, "{saved}");
    std::fs::write(&path, [0; 50]).unwrap();
    assert!(Spool::open(&path, EPOCH).is_err());
    assert!(repair(&path).is_err());
}

/// What a repair makes is the owner's alone.
#[test]
fn files_are_the_owners() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let open = Spool::open(&path, EPOCH).unwrap();
    let look = |folder: &Path| {
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            let mode = file.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", file.file_name());
        }
    };
    look(folder.path());
    drop(open);
    let database = Connection::open(&path).unwrap();
    database
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM recipient WHERE message = 9")
        .unwrap();
    drop(database);
    change(&path, |bytes| bytes.truncate(bytes.len() - PAGE));
    repair(&path).unwrap().unwrap();
    look(folder.path());
    assert_eq!(std::fs::read(folder.path().join("spool-lost-9.eml")).unwrap(), text(9));
}

/// Damages some pages, each in one of several ways.
fn damage(path: &Path, seed: u64) {
    let mut random = Random(seed);
    change(path, |bytes| {
        for _ in 0..1 + random.below(7) {
            let pages = bytes.len() / PAGE;
            let at = random.below(pages) * PAGE;
            match random.below(5) {
                0 => bytes[at..at + PAGE].fill(0),
                1 => random.fill(&mut bytes[at..at + PAGE]),
                // Its header and the places of its rows.
                2 => random.fill(&mut bytes[at..at + 40]),
                3 => {
                    let from = random.below(pages) * PAGE;
                    // A page of one text in another's place is not told from the right one.
                    if matches!(bytes[from], 2 | 5 | 10 | 13) {
                        bytes.copy_within(from..from + PAGE, at);
                    }
                }
                _ if pages > 8 => bytes.truncate(bytes.len() - PAGE),
                _ => {}
            }
        }
    });
}

proptest! {
    #![proptest_config(cases(60))]

    /// Whatever is overwritten, with whatever.
    #[test]
    fn random_damage(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = spool(folder.path());
        damage(&path, seed);
        repaired(folder.path(), &path);
    }
}
