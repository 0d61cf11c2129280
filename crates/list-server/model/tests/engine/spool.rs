//! Stable storage of the simulated world: what survives a crash.

use sojourn_core::Time;
use sojourn_mail_engine::{MessageId, Operation, Progress, Record, Stored, Submission, Task};
use sojourn_mail_model::world::shown;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(crate) struct Spool {
    pub(crate) stored: BTreeMap<MessageId, Stored>,
    /// Recipients that an operator gave up.
    pub(crate) deleted: BTreeSet<Task>,
}

impl Spool {
    /// Applies one batch. Nothing in it may contradict what is there.
    pub(crate) fn apply(
        &mut self,
        now: Time,
        records: &[Record],
        offered: &BTreeMap<MessageId, Submission>,
    ) {
        for record in records {
            match record {
                Record::Accepted(id) => {
                    let submission = offered[id].clone();
                    let progress = vec![Progress::Open; submission.recipients.len()];
                    let accepted = shown(now);
                    let stored = Stored { submission, accepted, progress, held: Vec::new() };
                    assert!(self.stored.insert(*id, stored).is_none(), "accepted twice");
                }
                Record::Delivered(task) => *self.open(*task) = Progress::Ended,
                Record::Failed(task, reason) => {
                    *self.open(*task) = Progress::Failed(reason.clone())
                }
                Record::Deferred(task, deferral, _) => {
                    *self.open(*task) = Progress::Deferred(*deferral)
                }
                Record::Reported(task) => {
                    let progress = self.progress(*task);
                    assert!(matches!(progress, Progress::Failed(_)), "reported: {progress:?}");
                    *progress = Progress::Ended;
                }
                Record::Operated(operation, message, recipients) => {
                    for &recipient in &recipients[..] {
                        self.operate(*operation, Task { message: *message, recipient });
                    }
                }
            }
        }
    }

    /// The recipient has it, as was noted.
    pub(crate) fn note(&mut self, task: Task) {
        let progress = self.progress(task);
        if matches!(progress, Progress::Open | Progress::Deferred(_)) {
            *progress = Progress::Ended;
        }
    }

    fn operate(&mut self, operation: Operation, task: Task) {
        match operation {
            Operation::Hold => {
                self.open(task);
                let held = &mut self.stored.get_mut(&task.message).unwrap().held;
                assert!(!held.contains(&task.recipient), "held twice: {task:?}");
                held.push(task.recipient);
            }
            Operation::Release => {
                self.open(task);
                let held = &mut self.stored.get_mut(&task.message).unwrap().held;
                let before = held.len();
                held.retain(|&it| it != task.recipient);
                assert_eq!(held.len() + 1, before, "not held: {task:?}");
            }
            Operation::Delete => {
                *self.open(task) = Progress::Ended;
                assert!(self.deleted.insert(task), "deleted twice: {task:?}");
            }
            Operation::Requeue => *self.open(task) = Progress::Open,
            Operation::Count | Operation::Flush => panic!("{operation:?} changes nothing"),
        }
    }

    fn progress(&mut self, task: Task) -> &mut Progress {
        let stored = self.stored.get_mut(&task.message).expect("it was accepted");
        &mut stored.progress[task.recipient.index()]
    }

    fn open(&mut self, task: Task) -> &mut Progress {
        let progress = self.progress(task);
        assert!(
            matches!(progress, Progress::Open | Progress::Deferred(_)),
            "{task:?} {progress:?}"
        );
        progress
    }
}
