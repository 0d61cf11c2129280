//! The texts of messages that are being sent, as far as memory for them goes.

use super::Driver;
use crate::delivery::local::Addressed;
use crate::delivery::smtp_out::Copy;
use bytes::Bytes;
use sojourn_mail_engine::{MessageId, Task};
use sojourn_smtp::client::Framing;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// The texts that were wanted last.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    texts: BTreeMap<MessageId, Bytes>,
    /// In the order in which they came.
    order: VecDeque<MessageId>,
    octets: usize,
}

/// More is read again from the spool when it is wanted.
const MOST: usize = 64 << 20;

/// A text of more octets is not kept when it comes in, but when it is first sent: what is coming in
/// has a separate limit, and what was taken over is not in memory on top of it.
const LARGE: usize = 1 << 20;

impl Texts {
    /// Keeps the text of a message that has come in, unless it is a large one.
    pub(crate) fn keep_new(&mut self, id: MessageId, text: &Bytes) {
        if text.len() <= LARGE {
            self.keep(id, text.clone());
        }
    }

    pub(crate) fn get(&self, id: MessageId) -> Option<Bytes> {
        self.texts.get(&id).cloned()
    }

    pub(crate) fn keep(&mut self, id: MessageId, text: Bytes) {
        self.octets += text.len();
        if let Some(before) = self.texts.insert(id, text) {
            self.octets -= before.len();
        } else {
            self.order.push_back(id);
        }
        while self.octets > MOST && self.order.len() > 1 {
            let oldest = self.order.pop_front().expect("more than one copy is kept");
            self.drop(oldest);
        }
    }

    /// The message is finished.
    pub(crate) fn forget(&mut self, id: MessageId) {
        if self.drop(id) {
            self.order.retain(|&it| it != id);
        }
    }

    fn drop(&mut self, id: MessageId) -> bool {
        let text = self.texts.remove(&id);
        self.octets -= text.as_ref().map_or(0, |text| text.len());
        text.is_some()
    }
}

/// A session that waits for a copy.
pub(super) struct Awaiting {
    /// Where the copy goes; a session that was closed meanwhile does not take it.
    pub(super) session: oneshot::Sender<Copy>,
    /// The recipient, where the copy is for one alone.
    pub(super) own: Option<Task>,
    pub(super) framing: Framing,
}

impl Driver {
    /// Makes the copy that a session waits for.
    pub(super) fn send_copy(&self, awaiting: Awaiting, text: Bytes) {
        let Awaiting { session, own, framing } = awaiting;
        let addressed = own.and_then(|task| {
            let sender = self.engine.sender(task.message).filter(|it| self.local.has_heads(it))?;
            let recipient = self.engine.recipient(task)?.clone();
            Some(Addressed { sender: sender.clone(), recipient, claim: self.engine.claim(task) })
        });
        let Some(addressed) = addressed else {
            return drop(session.send(Copy { head: Vec::new(), text, framing }));
        };
        let local = Arc::clone(&self.local);
        spawn_blocking(move || {
            let head = local.head(&addressed, &text);
            drop(session.send(Copy { head, text, framing }));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut texts = Texts::default();
        let text: Bytes = vec![b'x'; MOST / 4].into();
        (1..=6).for_each(|id| texts.keep(MessageId(id), text.clone()));
        texts.forget(MessageId(4));
        texts.keep(MessageId(5), text.clone());
        let kept: Vec<u64> = texts.texts.keys().map(|id| id.0).collect();
        assert_eq!((kept, texts.octets), (vec![3, 5, 6], 3 * MOST / 4));
    }
}
