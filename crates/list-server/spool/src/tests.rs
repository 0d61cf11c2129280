//! Storage that refuses.

use crate::*;
use sojourn_core::Span;
use sojourn_mail_engine::{Moment, Progress, Reason, RecipientIndex};
use sojourn_smtp::Enhanced;

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };

fn offer(spool: &mut Spool, text: Vec<u8>) -> MessageId {
    let id = spool.next_id();
    let submission = Submission {
        id,
        sender: None,
        size: text.len() as u64,
        eight_bit: false,
        utf8: false,
        subscribers: Vec::new(),
        day: 0,
        recipients: vec!["a@x.example".parse().unwrap(), "b@x.example".parse().unwrap()],
    };
    spool.offer(Moment::ZERO + Span::from_s(1), submission, text.into());
    id
}

fn task(message: MessageId, recipient: u32) -> Task {
    Task { message, recipient: RecipientIndex(recipient) }
}

#[test]
fn every_write_is_synced() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::open(&folder.path().join("spool"), EPOCH).unwrap();
    let pragma = |name| spool.database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    assert_eq!(pragma("synchronous"), Ok(2), "FULL");
    assert_eq!(pragma("foreign_keys"), Ok(1));
    let mode: String =
        spool.database.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// A batch that does not fit is not there at all; what was there before is, and what fits later.
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(&folder.path().join("spool"), EPOCH).unwrap();
    let first = offer(&mut spool, b"first\r\n".to_vec());
    spool.write(&[Record::Accepted(first)]).unwrap();
    let before = spool.load().unwrap();

    spool.database.pragma_update(None, "max_page_count", 20).unwrap();
    let second = offer(&mut spool, vec![b'x'; 1_000_000]);
    let delivered = Record::Delivered(task(first, 1));
    let error = spool.write(&[delivered.clone(), Record::Accepted(second)]).unwrap_err();
    let text = format!(
        "the spool {} cannot be written: database or disk is full",
        folder.path().join("spool").display()
    );
    assert_eq!(error.to_string(), text);
    assert_eq!(spool.load().unwrap(), before);

    spool.write(&[delivered]).unwrap();
    assert_eq!(spool.load().unwrap()[0].progress, [Progress::Open, Progress::Ended]);
    assert_eq!(spool.text(second).unwrap(), None);
}

#[test]
fn a_disk_that_only_reads() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(&folder.path().join("spool"), EPOCH).unwrap();
    let id = offer(&mut spool, b"x\r\n".to_vec());
    spool.database.pragma_update(None, "query_only", true).unwrap();
    let error = spool.write(&[Record::Accepted(id)]).unwrap_err();
    assert!(matches!(error, SpoolError::Storage { doing: Doing::Write, .. }), "{error}");
    assert_eq!(spool.load().unwrap(), []);
}

/// What no spool writes is named, with its place, and never taken for mail.
#[test]
fn damage_is_named() {
    for (damage, what) in [
        (
            "UPDATE recipient SET address = 'a b@x' WHERE number = 1",
            "recipient 1: \"a b@x\": not a local part before the @",
        ),
        (
            "UPDATE recipient SET state = 'failed', status = '5.x', reason = ''",
            "recipient 0: \"5.x\" is no status",
        ),
        ("DELETE FROM recipient WHERE number = 0", "recipient 1: one before it is missing"),
        ("DELETE FROM recipient", "message 1 has no recipients"),
        (
            "UPDATE message SET sender = 'me'",
            "message 1, sender: \"me\": no @ with a domain after it",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("spool");
        let mut spool = Spool::open(&path, EPOCH).unwrap();
        let id = offer(&mut spool, b"x\r\n".to_vec());
        spool.write(&[Record::Accepted(id)]).unwrap();
        spool.database.execute(damage, []).unwrap();
        let error = spool.load().unwrap_err().to_string();
        let begin = format!("the spool {} is damaged: ", path.display());
        assert!(error.starts_with(&begin) && error.ends_with(what), "{damage}: {error}");
    }
}

/// The engine and the spool disagree: nothing is written.
#[test]
fn a_record_that_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let mut spool = Spool::open(&folder.path().join("spool"), EPOCH).unwrap();
    let id = offer(&mut spool, b"x\r\n".to_vec());
    spool.write(&[Record::Accepted(id), Record::Delivered(task(id, 0))]).unwrap();
    let before = spool.load().unwrap();
    for wrong in [task(id, 0), task(id, 2), task(MessageId(9), 0)] {
        let records = [Record::Delivered(task(id, 1)), Record::Delivered(wrong)];
        let error = spool.write(&records).unwrap_err();
        assert!(matches!(error, SpoolError::Damaged { .. }), "{error}");
        assert_eq!(spool.load().unwrap(), before);
    }
    let error = spool.write(&[Record::Reported(task(id, 1))]).unwrap_err();
    assert!(matches!(error, SpoolError::Damaged { .. }), "{error}");
}

/// The calendar is set while a recipient waits and a message is offered: the engine's times stay what
/// they were. An engine that counts from later has earlier times.
#[test]
fn what_is_stored_follows_the_calendar() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let seconds = |s| Moment::ZERO + Span::from_s(s);
    let written = offer(&mut spool, b"x\r\n".to_vec());
    let deferral = Deferral { times: 1, first: seconds(2), due: seconds(300) };
    let reason = Reason { status: Enhanced(4, 2, 2), text: "452 full".into() };
    let obstacle = Obstacle { at: seconds(2), host: Some("mx.x.example".into()), reason };
    let deferred = Record::Deferred(task(written, 1), deferral, Box::new(obstacle));
    let records = [Record::Accepted(written), deferred];
    spool.write(&records).unwrap();
    let offered = offer(&mut spool, b"y\r\n".to_vec());
    let mut epoch = EPOCH;
    for stepped_ms in [7_200_000, -10_800_000] {
        epoch.unix_ms += stepped_ms;
        spool.step_calendar(stepped_ms);
        assert!(spool.is_behind());
    }
    spool.write(&[Record::Accepted(offered)]).unwrap();
    assert!(!spool.is_behind());
    let stored = spool.load().unwrap();
    assert_eq!(stored.iter().map(|it| it.accepted).collect::<Vec<_>>(), [seconds(1); 2]);
    assert_eq!(stored[0].progress, [Progress::Open, Progress::Deferred(deferral)]);
    let last = waiting(&path).unwrap().remove(1).last.unwrap();
    assert_eq!(last.at_ms, epoch.unix_ms(seconds(2)));
    drop(spool);
    // The step was written once.
    let spool = Spool::open(&path, epoch).unwrap();
    assert_eq!(spool.load().unwrap(), stored);
    drop(spool);
    let spool = Spool::open(&path, Epoch { unix_ms: epoch.unix_ms + 1000 }).unwrap();
    let later = Deferral { times: 1, first: seconds(1), due: seconds(299) };
    let stored = spool.load().unwrap();
    assert_eq!(stored[0].progress, [Progress::Open, Progress::Deferred(later)]);
    assert_eq!(stored[1].accepted, Moment::ZERO);
}
