//! What was taken over.

use std::net::IpAddr;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// One message taken over for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// When its last octet was read, after the start: it left the client then, and nothing can take
    /// it back.
    pub read: Duration,
    /// When the host came to it, after the start: the whole text was there, half a round trip after
    /// it was read, and what came before it was answered.
    pub at: Duration,
    /// When the client's system was given the answer to it, after the start; nothing before that,
    /// and where there is none.
    pub answered: Option<Duration>,
    /// Its Message-ID; empty where it has none.
    pub message: Arc<str>,
    /// The recipient.
    pub recipient: Box<str>,
    /// The sender.
    pub sender: Arc<str>,
    /// Who took it over.
    pub host: IpAddr,
    /// Sessions are numbered over the whole internet, transactions within a session.
    pub session: u64,
    /// The transaction.
    pub transaction: u32,
    /// How often the client has spoken in the session after it was answered: round trips so far.
    pub turns: u32,
    /// Whether the session was encrypted.
    pub secured: bool,
    /// The text as it was before its dots were doubled, where texts are kept.
    pub text: Option<Arc<[u8]>>,
}

/// Everything that was taken over, as it comes.
#[derive(Debug, Default)]
pub(crate) struct Log {
    accepted: Mutex<Vec<Acceptance>>,
    more: Condvar,
}

impl Log {
    /// Notes what was taken over in one transaction; where in the log that stands.
    pub(crate) fn push(&self, transaction: impl Iterator<Item = Acceptance>) -> Range<usize> {
        let mut accepted = self.accepted.lock().expect("no thread panicked");
        let first = accepted.len();
        accepted.extend(transaction);
        self.more.notify_all();
        first..accepted.len()
    }

    /// What stands there has been answered.
    pub(crate) fn answered(&self, taken: Range<usize>, at: Duration) {
        let mut accepted = self.accepted.lock().expect("no thread panicked");
        accepted[taken].iter_mut().for_each(|it| it.answered = Some(at));
    }

    /// What has come after the first `known`.
    pub(crate) fn since(&self, known: usize) -> Vec<Acceptance> {
        let accepted = self.accepted.lock().expect("no thread panicked");
        accepted.get(known..).unwrap_or_default().to_vec()
    }

    /// Waits until there are `most`, at most so long; how many there are.
    pub(crate) fn wait(&self, most: usize, patience: Duration) -> usize {
        let accepted = self.accepted.lock().expect("no thread panicked");
        let fewer = |accepted: &mut Vec<Acceptance>| accepted.len() < most;
        let waited = self.more.wait_timeout_while(accepted, patience, fewer);
        waited.expect("no thread panicked").0.len()
    }
}
