//! The spool beside a map in memory, through crashes.

use proptest::prelude::*;
use sojourn_core::Span;
use sojourn_mail_engine::{
    Deferral, MessageId, Moment, Obstacle, Operation, Progress, Reason, RecipientIndex, Record,
    Stored, Submission, Task,
};
use sojourn_mail_spool as spool;
use sojourn_mail_spool::{Epoch, Spool, SpoolError};
use sojourn_properties::cases;
use sojourn_smtp::Enhanced;
use std::collections::BTreeMap;
use std::path::Path;

const EPOCH: Epoch = Epoch { unix_ms: 1_700_000_000_000 };

/// What a crash would leave: the files as they are, copied while the spool is open.
fn crash_image(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn submission(id: MessageId, recipients: usize, text: &[u8]) -> Submission {
    Submission {
        id,
        sender: (!id.0.is_multiple_of(3)).then(|| "list-bounces@lists.example".parse().unwrap()),
        size: text.len() as u64,
        eight_bit: !text.is_ascii(),
        utf8: id.0.is_multiple_of(2),
        // Every other message has numbers, which one of its recipients lacks.
        subscribers: match id.0.is_multiple_of(2) {
            true => (0..recipients as u32).map(|i| if i == 1 { 0 } else { i + 7 }).collect(),
            false => Vec::new(),
        },
        day: 19_675,
        recipients: (0..recipients).map(|i| format!("r{i}@é.example").parse().unwrap()).collect(),
    }
}

/// A step: a new message, or what became of the n-th open recipient.
#[derive(Clone, Debug)]
enum Step {
    Message(usize),
    Deliver(prop::sample::Index),
    Fail(prop::sample::Index),
    Defer(prop::sample::Index, u32),
    Report(prop::sample::Index),
    Operate(prop::sample::Index, Operation),
}

fn step() -> impl Strategy<Value = Step> {
    use prop::sample::Index;
    prop_oneof![
        (1usize..6).prop_map(Step::Message),
        any::<Index>().prop_map(Step::Deliver),
        any::<Index>().prop_map(Step::Fail),
        (any::<Index>(), 1u32..9).prop_map(|(which, times)| Step::Defer(which, times)),
        any::<Index>().prop_map(Step::Report),
        (any::<Index>(), operation()).prop_map(|(which, it)| Step::Operate(which, it)),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        Just(Operation::Hold),
        Just(Operation::Release),
        Just(Operation::Delete),
        Just(Operation::Requeue),
    ]
}

/// The spool as it should be.
#[derive(Default)]
struct Model(BTreeMap<MessageId, Stored>);

impl Model {
    /// One of the recipients in such a state.
    fn pick(&self, which: &prop::sample::Index, open: bool) -> Option<Task> {
        let tasks: Vec<Task> = self
            .0
            .iter()
            .flat_map(|(&message, stored)| {
                RecipientIndex::all()
                    .zip(&stored.progress)
                    .filter(move |(_, progress)| match progress {
                        Progress::Open | Progress::Deferred(_) => open,
                        Progress::Failed(_) => !open,
                        Progress::Ended => false,
                    })
                    .map(move |(recipient, _)| Task { message, recipient })
            })
            .collect();
        (!tasks.is_empty()).then(|| *which.get(&tasks))
    }

    fn set(&mut self, task: Task, progress: Progress) {
        self.0.get_mut(&task.message).unwrap().progress[task.recipient.index()] = progress;
    }

    /// The record of `step`, if there is somebody for it; it is offered to `spool` where it has to.
    fn take(&mut self, spool: &mut Spool, step: &Step) -> Option<Record> {
        match step {
            Step::Message(recipients) => {
                let id = spool.next_id();
                let text = format!("Subject: {}\r\n\r\né\r\n", id.0).into_bytes();
                let submission = submission(id, *recipients, &text);
                let accepted = Moment::ZERO + Span::from_ms(id.0 * 7);
                let progress = vec![Progress::Open; *recipients];
                spool.offer(accepted, submission.clone(), text.into());
                self.0.insert(id, Stored { submission, accepted, progress, held: Vec::new() });
                Some(Record::Accepted(id))
            }
            Step::Deliver(which) => self.pick(which, true).map(|task| {
                self.set(task, Progress::Ended);
                Record::Delivered(task)
            }),
            Step::Fail(which) => self.pick(which, true).map(|task| {
                let reason = Reason { status: Enhanced(5, 1, 1), text: "550 no\u{fffd}".into() };
                self.set(task, Progress::Failed(reason.clone()));
                Record::Failed(task, reason)
            }),
            Step::Defer(which, times) => self.pick(which, true).map(|task| {
                let first = Moment::ZERO + Span::from_ms(u64::from(*times));
                let deferral = Deferral { times: *times, first, due: first + Span::from_s(60) };
                self.set(task, Progress::Deferred(deferral));
                let reason = Reason { status: Enhanced(4, 3, 0), text: "451 later".into() };
                let obstacle = Obstacle { at: first, host: None, reason };
                Record::Deferred(task, deferral, Box::new(obstacle))
            }),
            Step::Report(which) => self.pick(which, false).map(|task| {
                self.set(task, Progress::Ended);
                Record::Reported(task)
            }),
            Step::Operate(which, operation) => {
                let task = self.pick(which, true)?;
                let held = &mut self.0.get_mut(&task.message).unwrap().held;
                let place = held.binary_search(&task.recipient);
                match (operation, place) {
                    (Operation::Hold, Err(place)) => held.insert(place, task.recipient),
                    (Operation::Release, Ok(place)) => drop(held.remove(place)),
                    (Operation::Hold | Operation::Release, _) => return None,
                    (Operation::Delete, _) => {
                        self.set(task, Progress::Ended);
                        // The last one that is deleted takes the message along.
                        self.0.retain(|id, stored| {
                            *id != task.message
                                || stored.progress.iter().any(|it| *it != Progress::Ended)
                        });
                    }
                    _ => self.set(task, Progress::Open),
                }
                Some(Record::Operated(*operation, task.message, [task.recipient].into()))
            }
        }
    }

    fn all(&self) -> Vec<Stored> {
        self.0.values().cloned().collect()
    }
}

proptest! {
    #![proptest_config(cases(40))]

    /// After each batch, a crash leaves what the map has: the spool itself is never closed.
    #[test]
    fn a_crash_after_any_write_loses_nothing(
        batches in prop::collection::vec(prop::collection::vec(step(), 1..8), 1..6),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(&folder.path().join("spool"), EPOCH).unwrap();
        let (mut model, mut offered) = (Model::default(), 0);
        for batch in batches {
            offered += batch.iter().filter(|it| matches!(it, Step::Message(_))).count() as u64;
            let records: Vec<Record> =
                batch.iter().filter_map(|step| model.take(&mut spool, step)).collect();
            spool.write(&records).unwrap();
            let image = tempfile::tempdir().unwrap();
            crash_image(folder.path(), image.path());
            let mut found = Spool::open(&image.path().join("spool"), EPOCH).unwrap();
            prop_assert_eq!(found.load().unwrap(), model.all());
            for id in model.0.keys() {
                let text = format!("Subject: {}\r\n\r\né\r\n", id.0).into_bytes();
                prop_assert_eq!(found.text(*id).unwrap(), Some(text));
            }
            prop_assert_eq!(found.next_id().0, offered + 1);
        }
    }
}

#[test]
fn a_finished_message_leaves_and_its_number_is_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let id = spool.next_id();
    spool.offer(Moment::ZERO, submission(id, 2, b"x\r\n"), (&b"x\r\n"[..]).into());
    let task = |recipient| Task { message: id, recipient: RecipientIndex(recipient) };
    spool.write(&[Record::Accepted(id), Record::Delivered(task(1))]).unwrap();
    spool.finish(id);
    spool.write(&[]).unwrap();
    assert_eq!(spool.load().unwrap().len(), 1, "one recipient is open");
    spool.finish(id);
    spool.write(&[Record::Delivered(task(0))]).unwrap();
    assert!(!spool.is_behind());
    assert_eq!(spool.load().unwrap(), []);
    drop(spool);
    assert_eq!(Spool::open(&path, EPOCH).unwrap().next_id(), MessageId(id.0 + 1));
}

/// What is in use stays as it is, through a crash too, and the file goes on.
#[test]
fn room_that_is_free_goes_back_to_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let size = || path.metadata().unwrap().len();
    let mut spool = Spool::open(&path, EPOCH).unwrap();
    let large = vec![b'x'; 10_000_000];
    let write = |spool: &mut Spool, text: &[u8]| {
        let id = spool.next_id();
        spool.offer(Moment::ZERO, submission(id, 2, text), text.to_vec().into());
        spool.write(&[Record::Accepted(id)]).unwrap();
        id
    };
    let ids = [&large[..], b"x\r\n", &large].map(|text| write(&mut spool, text));
    let stored = spool.load().unwrap();
    let end = |spool: &mut Spool, message| {
        let ended = [0, 1]
            .map(RecipientIndex)
            .map(|recipient| Record::Delivered(Task { message, recipient }));
        spool.finish(message);
        spool.write(&ended).unwrap();
        spool.shrink().unwrap();
    };
    end(&mut spool, ids[2]);
    assert!(size() > 20_000_000, "{}: less is free than is in use", size());
    end(&mut spool, ids[0]);
    assert!(size() < 1_000_000, "{}", size());
    let image = tempfile::tempdir().unwrap();
    crash_image(folder.path(), image.path());
    let mut found = Spool::open(&image.path().join("spool"), EPOCH).unwrap();
    assert_eq!(found.load().unwrap(), stored[1..2]);
    assert_eq!(found.text(ids[1]).unwrap().unwrap(), b"x\r\n");
    assert_eq!(found.next_id(), MessageId(ids[2].0 + 1));
    drop(found);
    assert!(spool::check(&image.path().join("spool")).unwrap().is_empty());
    let next = write(&mut spool, b"x\r\n");
    assert_eq!(next, MessageId(ids[2].0 + 1));
    assert_eq!(spool.load().unwrap().len(), 2);
}

#[test]
fn one_owner_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let spool = Spool::open(&path, EPOCH).unwrap();
    let error = Spool::open(&path, EPOCH).unwrap_err();
    assert!(matches!(error, SpoolError::InUse { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        format!("the spool {} is in use by another process", path.display())
    );
    drop(spool);
    Spool::open(&path, EPOCH).unwrap();
}

#[test]
fn what_is_no_spool_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    let notes = "notes, not a database. ".repeat(100);
    std::fs::write(&path, &notes).unwrap();
    let error = Spool::open(&path, EPOCH).unwrap_err();
    assert!(matches!(error, SpoolError::NotASpool { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), notes);

    let error = Spool::open(&folder.path().join("no/such/folder"), EPOCH).unwrap_err();
    assert!(matches!(error, SpoolError::Lock { .. }), "{error}");

    let other = folder.path().join("other");
    let database = rusqlite::Connection::open(&other).unwrap();
    database.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(database);
    let before = std::fs::read(&other).unwrap();
    let error = Spool::open(&other, EPOCH).unwrap_err();
    assert_eq!(error.to_string(), format!("{} is no spool of this version", other.display()));
    assert_eq!(std::fs::read(&other).unwrap(), before);
}
