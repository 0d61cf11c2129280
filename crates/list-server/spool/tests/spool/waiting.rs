//! Whom a spool waits for, and spools of the version before.

use rusqlite::Connection;
use sojourn_core::Span;
use sojourn_mail_engine::{
    Deferral, MessageId, Moment, Obstacle, Progress, Reason, RecipientIndex, Record, Submission,
    Task,
};
use sojourn_mail_spool::{Epoch, Spool, Tried, Waiting, check, repair, waiting};
use sojourn_smtp::Enhanced;
use std::path::Path;

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };

fn seconds(count: u64) -> Moment {
    Moment::ZERO + Span::from_s(count)
}

fn deferred(message: u64, recipient: u32, at: u64, host: Option<&str>, text: &str) -> Record {
    let reason = Reason { status: Enhanced(4, 2, 2), text: text.into() };
    let due = seconds(at + 60);
    Record::Deferred(
        Task { message: MessageId(message), recipient: RecipientIndex(recipient) },
        Deferral { times: 1, first: seconds(at), due },
        Box::new(Obstacle { at: seconds(at), host: host.map(Into::into), reason }),
    )
}

/// A message to a@x.example and b@x.example, accepted after a second.
fn offer(spool: &mut Spool) -> Record {
    let id = spool.next_id();
    let recipients = ["a", "b"].map(|it| format!("{it}@x.example").parse().unwrap()).into();
    let submission = Submission {
        id,
        sender: None,
        size: 3,
        eight_bit: false,
        utf8: false,
        recipients,
        subscribers: vec![],
        day: 0,
    };
    spool.offer(seconds(1), submission, (&b"x\r\n"[..]).into());
    Record::Accepted(id)
}

fn someone(recipient: &str, messages: u64, open: u64, next: Option<u64>) -> Waiting {
    Waiting {
        recipient: format!("{recipient}@x.example"),
        messages,
        open,
        since_ms: EPOCH.unix_ms + 1000,
        refused: messages - open,
        next_ms: next.map(|at| EPOCH.unix_ms + 1000 * at as i64),
        last: None,
    }
}

/// Of several messages, the attempt that was the last counts, whatever their order.
#[test]
fn the_last_attempt_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let mut records: Vec<Record> = (0..3).map(|_| offer(&mut spool)).collect();
    records.extend([
        deferred(1, 0, 5, Some("mx1.x.example"), "452 full"),
        deferred(2, 0, 9, Some("mx2.x.example"), "450 later"),
        deferred(3, 0, 7, None, "connection refused"),
    ]);
    spool.write(&records).unwrap();
    let last = |host: Option<&str>, at: i64, text: &str| {
        let (host, status) = (host.map(str::to_owned), "4.2.2".to_owned());
        Some(Tried { at_ms: EPOCH.unix_ms + 1000 * at, host, status, text: text.to_owned() })
    };
    let a = Waiting {
        last: last(Some("mx2.x.example"), 9, "450 later"),
        ..someone("a", 3, 0, Some(65))
    };
    assert_eq!(waiting(&path).unwrap(), [a, someone("b", 3, 3, None)]);

    // Another attempt takes its place, and without its message it is gone.
    spool.write(&[deferred(3, 0, 11, None, "no route")]).unwrap();
    let found = waiting(&path).unwrap();
    assert_eq!(found[0].last, last(None, 11, "no route"));
    let delivered = |recipient| {
        Record::Delivered(Task { message: MessageId(3), recipient: RecipientIndex(recipient) })
    };
    spool.write(&[delivered(0)]).unwrap();
    let found = waiting(&path).unwrap();
    assert_eq!(found[0].last, last(Some("mx2.x.example"), 9, "450 later"));
}

/// The tables of version 1, as they were; one recipient waits until a minute after the epoch.
fn of_version_1(path: &Path) {
    let database = Connection::open(path).unwrap();
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
            CREATE TABLE message (
                id INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT, eight_bit INTEGER NOT NULL,
                utf8 INTEGER NOT NULL, accepted_ms INTEGER NOT NULL, text BLOB NOT NULL) STRICT;
            CREATE TABLE recipient (
                message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
                number INTEGER NOT NULL, address TEXT NOT NULL,
                state TEXT NOT NULL DEFAULT 'open'
                    CHECK (state IN ('open', 'deferred', 'failed', 'ended')),
                times INTEGER, first_ms INTEGER, due_ms INTEGER, status TEXT, reason TEXT,
                PRIMARY KEY (message, number)) STRICT, WITHOUT ROWID;
            INSERT INTO message VALUES (1, NULL, 0, 0, 1700000001000, CAST('x\r\n' AS BLOB));
            INSERT INTO recipient (message, number, address) VALUES (1, 0, 'a@x.example');
            INSERT INTO recipient VALUES (1, 1, 'b@x.example', 'deferred', 1,
                1700000005000, 1700000060000, NULL, NULL);
            PRAGMA application_id = 0x736f6a6e;
            PRAGMA user_version = 1;",
        )
        .unwrap();
}

fn version(path: &Path) -> i64 {
    let database = Connection::open(path).unwrap();
    database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

/// Whoever looks leaves it as it is; whoever owns it makes it one of this version, with all its mail.
#[test]
fn a_spool_of_version_1_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    of_version_1(&path);
    let there = [someone("a", 1, 1, None), someone("b", 1, 0, Some(60))];
    assert_eq!(waiting(&path).unwrap(), there);
    assert_eq!(check(&path).unwrap(), []);
    assert_eq!(version(&path), 1);

    let mut spool = Spool::open(&path, EPOCH).unwrap();
    assert_eq!(version(&path), 4);
    let deferral = Deferral { times: 1, first: seconds(5), due: seconds(60) };
    let stored = spool.load().unwrap();
    assert_eq!(stored[0].progress, [Progress::Open, Progress::Deferred(deferral)]);
    assert_eq!(waiting(&path).unwrap(), there);
    spool.write(&[deferred(1, 1, 61, Some("mx.x.example"), "452 full")]).unwrap();
    let last = waiting(&path).unwrap().remove(1).last.unwrap();
    assert_eq!((last.host.as_deref(), &last.text[..]), (Some("mx.x.example"), "452 full"));
    drop(spool);
    let spool = Spool::open(&path, EPOCH).unwrap();
    assert_eq!(spool.load().unwrap()[0].progress.len(), 2, "and a second time");
}

/// A repair keeps what an older spool has.
#[test]
fn a_damaged_spool_of_version_1_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    of_version_1(&path);
    let database = Connection::open(&path).unwrap();
    let wrong = "PRAGMA ignore_check_constraints = ON;
        UPDATE recipient SET state = 'lost' WHERE number = 0;";
    database.execute_batch(wrong).unwrap();
    drop(database);
    assert!(!check(&path).unwrap().is_empty());
    repair(&path).unwrap().unwrap();
    assert_eq!((check(&path).unwrap(), version(&path)), (Vec::new(), 4));
    let found = waiting(&path).unwrap();
    assert_eq!(found.last(), Some(&someone("b", 1, 0, Some(60))));
}

/// One of version 2, as it was, lives on: its recipients have no numbers, and new ones have.
#[test]
fn a_spool_of_version_2_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    of_version_1(&path);
    let database = Connection::open(&path).unwrap();
    let since_1 = "ALTER TABLE recipient ADD COLUMN tried_ms INTEGER;
        ALTER TABLE recipient ADD COLUMN host TEXT;
        UPDATE recipient SET tried_ms = 1700000007000, host = 'mx.x.example',
            status = '4.2.2', reason = '452 full' WHERE number = 1;
        PRAGMA user_version = 2;";
    database.execute_batch(since_1).unwrap();
    drop(database);
    let before = waiting(&path).unwrap();
    assert_eq!((check(&path).unwrap(), version(&path)), (Vec::new(), 2));

    let mut spool = Spool::open(&path, EPOCH).unwrap();
    assert_eq!((version(&path), waiting(&path).unwrap()), (4, before));
    let stored = spool.load().unwrap();
    assert!(stored[0].submission.subscribers.is_empty());
    // The day of 1,700,000,001 seconds.
    assert_eq!(stored[0].submission.day, 19_675);
    let Record::Accepted(id) = offer(&mut spool) else { panic!("it was offered") };
    spool.write(&[Record::Accepted(id)]).unwrap();
    drop(spool);
    repair(&path).unwrap();
    let spool = Spool::open(&path, EPOCH).unwrap();
    assert_eq!(spool.load().unwrap().len(), 2);
}
