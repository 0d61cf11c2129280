//! The texts of messages that are being sent, as far as memory for them goes.

use super::Driver;
use crate::delivery::local::Addressed;
use crate::delivery::request::{Input, TextId};
use crate::delivery::smtp_out::Copy;
use bytes::Bytes;
use sojourn_mail_engine::{MessageId, Task};
use sojourn_smtp::client::Framing;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::task::{spawn_blocking, spawn_local};

/// The texts that were wanted last.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    texts: BTreeMap<TextId, Bytes>,
    /// In the order in which they came.
    order: VecDeque<TextId>,
    octets: usize,
}

/// More is read again from the spool when it is wanted.
const MOST: usize = 64 << 20;

/// A text of more octets is not kept when it comes in, but when it is first sent: what is coming in
/// has a separate limit, and what was taken over is not in memory on top of it.
const LARGE: usize = 1 << 20;

impl Texts {
    /// Keeps the text of a message that has come in, unless it is a large one.
    pub(crate) fn keep_new(&mut self, id: TextId, text: &Bytes) {
        if text.len() <= LARGE {
            self.keep(id, text.clone());
        }
    }

    pub(crate) fn get(&self, id: TextId) -> Option<Bytes> {
        self.texts.get(&id).cloned()
    }

    pub(crate) fn keep(&mut self, id: TextId, text: Bytes) {
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
        for seven_bit in [false, true] {
            let id = TextId { message: id, seven_bit };
            if self.drop(id) {
                self.order.retain(|&it| it != id);
            }
        }
    }

    fn drop(&mut self, id: TextId) -> bool {
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
    /// Makes the text of a message for hosts that take no octets above 127: once for all of them.
    pub(super) fn encode(&self, message: MessageId, text: Bytes) {
        let (local, inputs) = (Arc::clone(&self.local), self.inputs.clone());
        let sender = self.engine.sender(message).cloned();
        spawn_local(async move {
            let stored = text.clone();
            let encoded = spawn_blocking(move || local.seven_bit(sender.as_ref(), &text)).await;
            let text = Ok(encoded.map_or(stored, Bytes::from));
            let _ = inputs.send(Input::Text(TextId { message, seven_bit: true }, text)).await;
        });
    }

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
        let id = |id| TextId::stored(MessageId(id));
        let seven_bit = TextId { seven_bit: true, ..id(6) };
        (1..=6).for_each(|number| texts.keep(id(number), text.clone()));
        texts.forget(MessageId(4));
        texts.keep(id(5), text.clone());
        texts.keep(seven_bit, text.clone());
        let kept: Vec<_> = texts.texts.keys().copied().collect();
        assert_eq!((kept, texts.octets), (vec![id(3), id(5), id(6), seven_bit], MOST));
        texts.forget(MessageId(6));
        assert_eq!(texts.texts.len(), 2);
    }
}
