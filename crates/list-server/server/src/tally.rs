//! How far a server has come, for a caller that waits for it.

use crate::event::{Observer, ServerEvent};
use sojourn_mail_engine::{MessageId, Outcome, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts what a server does. Clones count together: one is the server's observer, others are read.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<(Mutex<Count>, Condvar)>);

/// What was counted so far.
#[derive(Clone, Debug, Default)]
pub struct Count {
    /// Messages that were taken over, or found in the spool, and are not finished.
    pub unfinished: BTreeSet<MessageId>,
    /// Those of them without a sender: reports of failures. Nothing else here is about them.
    pub reports: BTreeSet<MessageId>,
    /// How long after a message was accepted each recipient had it, in seconds.
    pub delivered_s: BTreeMap<MessageId, Vec<f64>>,
    /// Recipients that the last attempt did not reach, or that failed, and why; whether for good.
    pub troubled: BTreeMap<Task, Trouble>,
    /// Attempts for one recipient each.
    pub attempts: u64,
    /// The last thing that the operator has to know.
    pub trouble: Option<String>,
}

/// What stands between a recipient and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The recipient.
    pub recipient: String,
    /// Whether it failed for good; else it is tried again.
    pub failed: bool,
    /// The status (RFC 3463), such as `5.1.1`.
    pub status: String,
    /// What the host said, or this server's words.
    pub reason: String,
}

impl Tally {
    /// What was counted so far.
    pub fn count(&self) -> MutexGuard<'_, Count> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all messages are finished; false when they are not after `longest`.
    pub fn wait(&self, longest: Duration) -> bool {
        let end = Instant::now() + longest;
        let mut count = self.count();
        while !count.unfinished.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.0.1.wait_timeout(count, left);
            (count, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        true
    }
}

impl Observer for Tally {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        let mut count = self.count();
        match event {
            ServerEvent::Accepted { message, sender, .. } => {
                count.unfinished.insert(*message);
                if sender.is_none() {
                    count.reports.insert(*message);
                }
            }
            ServerEvent::Attempt { task, .. } if count.reports.contains(&task.message) => {}
            ServerEvent::Attempt { task, recipient, delays, outcome, reason, .. } => {
                count.attempts += 1;
                if *outcome == Outcome::Delivered {
                    let times = count.delivered_s.entry(task.message).or_default();
                    times.push(delays.total().seconds());
                    count.troubled.remove(task);
                    return;
                }
                let trouble = Trouble {
                    recipient: recipient.to_string(),
                    failed: *outcome == Outcome::Failed,
                    status: reason.status.to_string(),
                    reason: reason.text.to_string(),
                };
                count.troubled.insert(*task, trouble);
            }
            ServerEvent::Finished { message } => {
                count.unfinished.remove(message);
                count.reports.remove(message);
                if count.unfinished.is_empty() {
                    self.0.1.notify_all();
                }
            }
            ServerEvent::Trouble(what) => count.trouble = Some((*what).to_owned()),
            ServerEvent::Deleted { task, .. } => drop(count.troubled.remove(task)),
            _ => {}
        }
    }
}
