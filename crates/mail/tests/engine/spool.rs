//! Stable storage of the simulated world: what survives a crash.

use sojourn_kernel::Time;
use sojourn_mail::engine::{MessageId, Progress, Record, Stored, Submission, Task};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct Spool {
    pub(crate) stored: BTreeMap<MessageId, Stored>,
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
                    let stored = Stored { submission, accepted: now, progress };
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

    fn progress(&mut self, task: Task) -> &mut Progress {
        let stored = self.stored.get_mut(&task.message).expect("it was accepted");
        &mut stored.progress[task.recipient as usize]
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
