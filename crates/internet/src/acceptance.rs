//! What was taken over.

use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// One message taken over for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// When the whole text was there, after the start: half a round trip after it was read.
    pub at: Duration,
    /// When the answer to it reaches the client, after the start; never where there is none.
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
    pub(crate) fn push(&self, acceptance: Acceptance) {
        self.accepted.lock().expect("nobody panicked").push(acceptance);
        self.more.notify_all();
    }

    /// What has come after the first `known`.
    pub(crate) fn since(&self, known: usize) -> Vec<Acceptance> {
        let accepted = self.accepted.lock().expect("nobody panicked");
        accepted.get(known..).unwrap_or_default().to_vec()
    }

    /// Waits until there are `most`, at most so long; how many there are.
    pub(crate) fn wait(&self, most: usize, patience: Duration) -> usize {
        let accepted = self.accepted.lock().expect("nobody panicked");
        let fewer = |accepted: &mut Vec<Acceptance>| accepted.len() < most;
        let waited = self.more.wait_timeout_while(accepted, patience, fewer);
        waited.expect("nobody panicked").0.len()
    }
}
