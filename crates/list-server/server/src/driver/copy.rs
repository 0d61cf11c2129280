//! Copies on their way to a session: the text that all share, and a head of its own where the
//! message's sender is a list that gives each recipient one.

use super::Driver;
use crate::home::Addressed;
use crate::line::Copy;
use bytes::Bytes;
use sojourn_mail_engine::Task;
use sojourn_smtp::client::Framing;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// A session that waits for a copy.
pub(super) struct Awaiting {
    /// Where the copy goes; a session that was closed meanwhile does not take it.
    pub(super) session: oneshot::Sender<Copy>,
    /// The recipient whom it is for, where it is for one alone.
    pub(super) own: Option<Task>,
    pub(super) framing: Framing,
}

impl Driver {
    /// Makes the copy that a session waits for.
    pub(super) fn send_copy(&self, awaiting: Awaiting, text: Bytes) {
        let Awaiting { session, own, framing } = awaiting;
        let addressed = own.and_then(|task| {
            let sender = self.engine.sender(task.message).filter(|it| self.home.has_heads(it))?;
            let recipient = self.engine.recipient(task)?.clone();
            Some(Addressed { sender: sender.clone(), recipient, claim: self.engine.claim(task) })
        });
        let Some(addressed) = addressed else {
            return drop(session.send(Copy { head: Vec::new(), text, framing }));
        };
        let home = Arc::clone(&self.home);
        spawn_blocking(move || {
            let head = home.head(&addressed, &text);
            drop(session.send(Copy { head, text, framing }));
        });
    }
}
