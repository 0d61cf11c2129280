//! Spools that are damaged, looked at and repaired.

use sojourn_core::Span;
use sojourn_mail_engine::{
    Deferral, MessageId, Moment, Obstacle, Progress, Reason, RecipientIndex, Record, Submission,
    Task,
};
use sojourn_mail_spool::{Epoch, Queued, Spool, check, look, repair};
use sojourn_smtp::Enhanced;
use std::path::{Path, PathBuf};

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };

/// A spool with two messages of three recipients: the second's are done, deferred and open.
fn spool(folder: &Path) -> PathBuf {
    let path = folder.join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let mut records = Vec::new();
    for _ in 0..2 {
        let id = spool.next_id();
        let submission = Submission {
            id,
            sender: Some("owner@lists.example".parse().unwrap()),
            size: 3,
            eight_bit: false,
            utf8: false,
            subscribers: Vec::new(),
            day: 0,
            recipients: ["a", "b", "c"].map(|it| format!("{it}@x.example").parse().unwrap()).into(),
        };
        spool.offer(Moment::ZERO + Span::from_s(1), submission, (&b"x\r\n"[..]).into());
        records.push(Record::Accepted(id));
    }
    let task = |recipient| Task { message: MessageId(2), recipient: RecipientIndex(recipient) };
    let due = Moment::ZERO + Span::from_s(60);
    records.push(Record::Delivered(task(0)));
    records.push(Record::Deferred(
        task(1),
        Deferral { times: 1, first: Moment::ZERO, due },
        Box::new(Obstacle {
            at: Moment::ZERO + Span::from_s(2),
            host: Some("mx.x.example".into()),
            reason: Reason { status: Enhanced(4, 2, 2), text: "452 the box is full".into() },
        }),
    ));
    spool.write(&records).unwrap();
    path
}

fn damage(path: &Path, sql: &str) {
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        .unwrap();
    database.execute_batch(sql).unwrap();
}

#[test]
fn a_spool_in_use_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let _owner = Spool::open(&path, EPOCH).unwrap();
    let message = |message, open, deferred, ended, next_ms| Queued {
        message,
        sender: Some("owner@lists.example".into()),
        size: 3,
        accepted_ms: EPOCH.unix_ms + 1000,
        open,
        deferred,
        failed: 0,
        ended,
        next_ms,
        held: 0,
    };
    let second = message(2, 1, 1, 1, Some(EPOCH.unix_ms + 60_000));
    assert_eq!(look(&path).unwrap(), [message(1, 3, 0, 0, None), second]);
    assert_eq!(check(&path).unwrap(), []);
    let refused = repair(&path).unwrap_err().to_string();
    assert!(refused.ends_with("is in use by another process"), "{refused}");
}

/// Each fault is named; a repair leaves a spool that loads, and the old one beside it.
#[test]
fn what_does_not_fit_is_found_and_mended() {
    let open = [Progress::Open, Progress::Open, Progress::Open];
    for (sql, what, remedy, left) in [
        (
            "INSERT INTO recipient (message, number, address) VALUES (9, 0, 'z@x.example')",
            "message 9, recipient 0: \"z@x.example\" belongs to no message",
            "removed",
            &open[..],
        ),
        (
            "UPDATE recipient SET state = 'lost' WHERE message = 1 AND number = 2",
            "message 1, recipient 2: \"lost\" is in no state there is",
            "tried again",
            &open,
        ),
        (
            "UPDATE recipient SET state = 'deferred', times = 1 WHERE message = 1 AND number = 0",
            "message 1, recipient 0: \"deferred\" is deferred, and it is not known until when",
            "tried at once",
            &open,
        ),
        (
            "UPDATE recipient SET address = 'b' WHERE message = 1 AND number = 1",
            "message 1, recipient 1: \"b\" is no address",
            "removed: nothing can be sent there",
            &open[..2],
        ),
        (
            "DELETE FROM recipient WHERE message = 1 AND number = 0",
            "message 1: a recipient before others is missing",
            "numbered anew",
            &open[..2],
        ),
        (
            "UPDATE message SET sender = 'owner' WHERE id = 1",
            "message 1: its sender is no address",
            "failures are not reported",
            &open,
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = spool(folder.path());
        damage(&path, sql);
        let findings = check(&path).unwrap();
        // A state that is none also breaks a rule of the table, which says so first.
        if findings[0].what != what {
            assert!(findings[0].what.contains("CHECK constraint"), "{findings:?}");
        } else {
            assert_eq!((findings.len(), &*findings[0].remedy), (1, remedy), "{findings:?}");
        }
        let before = std::fs::read(&path).unwrap();
        let repaired = repair(&path).unwrap().unwrap();
        assert_eq!(std::fs::read(&repaired.copy).unwrap(), before);
        assert_eq!(check(&path).unwrap(), [], "{sql}");
        let stored = Spool::open(&path, EPOCH).unwrap().load().unwrap();
        assert_eq!(stored.len(), 2, "{sql}");
        assert_eq!(stored[1].progress.len(), 3, "{sql}");
        if what.contains("no state") {
            // It may have been left behind with its row.
            assert!(stored[0].progress.len() >= 2);
        } else {
            assert_eq!(stored[0].progress, left, "{sql}");
        }
        assert_eq!(repair(&path).unwrap(), None);
    }
}

#[test]
fn a_message_without_recipients_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    damage(&path, "DELETE FROM recipient WHERE message = 1");
    assert_eq!(check(&path).unwrap()[0].what, "message 1: it has no recipients");
    repair(&path).unwrap().unwrap();
    let stored = Spool::open(&path, EPOCH).unwrap().load().unwrap();
    assert_eq!(stored.iter().map(|it| it.submission.id.0).collect::<Vec<_>>(), [2]);
}

/// A page of the recipients is overwritten: the messages are saved, and what can be read of the rest.
#[test]
fn damaged_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let id = spool.next_id();
    let recipients: Vec<_> =
        (0..2000).map(|i| format!("subscriber{i:05}@x.example").parse().unwrap()).collect();
    let sender = None;
    let submission = Submission {
        id,
        sender,
        size: 3,
        eight_bit: false,
        utf8: false,
        recipients,
        subscribers: vec![],
        day: 0,
    };
    spool.offer(Moment::ZERO, submission, (&b"x\r\n"[..]).into());
    spool.write(&[Record::Accepted(id)]).unwrap();
    spool.answers().note([Task { message: id, recipient: RecipientIndex(5) }]).unwrap();
    drop(spool);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(15).position(|it| it == b"subscriber01000").unwrap();
    let page = at / 4096 * 4096;
    bytes[page..page + 4096].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();

    assert!(!check(&path).unwrap().is_empty());
    let repaired = repair(&path).unwrap().unwrap();
    assert_eq!(std::fs::read(&repaired.copy).unwrap(), bytes);
    assert_eq!(check(&path).unwrap(), []);
    let stored = Spool::open(&path, EPOCH).unwrap().load().unwrap();
    assert_eq!(stored[0].submission.recipients[5].as_str(), "subscriber00005@x.example");
    let ended = stored[0].progress.iter().filter(|it| **it == Progress::Ended).count();
    assert_eq!((&stored[0].progress[5], ended), (&Progress::Ended, 1));
    let saved = stored[0].submission.recipients.len();
    assert!((1000..2000).contains(&saved), "{saved}");
}

/// Recipients get other numbers in a repair: those whose answer was noted under the old ones have it
/// before that. The copy has the answers as well.
#[test]
fn answers_are_taken_before_recipients_are_numbered_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let mut owner = Spool::open(&path, EPOCH).unwrap();
    owner.answers().note([Task { message: MessageId(1), recipient: RecipientIndex(2) }]).unwrap();
    drop(owner);
    damage(&path, "DELETE FROM recipient WHERE message = 1 AND number = 0");
    let beside = |path: &Path| PathBuf::from(format!("{}-answers", path.display()));
    let noted = std::fs::read(beside(&path)).unwrap();
    let repaired = repair(&path).unwrap().unwrap();
    assert_eq!(std::fs::read(beside(&repaired.copy)).unwrap(), noted);
    for spool in [path, repaired.copy] {
        let mut repaired = Spool::open(&spool, EPOCH).map(|spool| spool.load());
        if repaired.as_ref().is_ok_and(|loaded| loaded.is_err()) {
            // The copy is as damaged as the spool was, and is repaired as it would have been.
            repair(&spool).unwrap().unwrap();
            repaired = Spool::open(&spool, EPOCH).map(|spool| spool.load());
        }
        let stored = repaired.unwrap().unwrap();
        assert_eq!(stored[0].progress, [Progress::Open, Progress::Ended]);
    }
}

#[test]
fn a_file_in_the_way_of_answers_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = spool(folder.path());
    let beside = format!("{}-answers", path.display());
    std::fs::write(&beside, "a letter to my aunt").unwrap();
    let findings = check(&path).unwrap();
    assert_eq!(findings[0].what, format!("{beside} has something else than answers"));
    repair(&path).unwrap().unwrap();
    assert_eq!(check(&path).unwrap(), []);
    assert_eq!(std::fs::metadata(&beside).unwrap().len(), 0);
}
