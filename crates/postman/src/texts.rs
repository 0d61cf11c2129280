//! The texts of messages that are being sent, as far as memory for them goes.

use sojourn_mail::engine::MessageId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The texts that were wanted last.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    held: BTreeMap<MessageId, Arc<[u8]>>,
    /// In the order in which they came.
    order: VecDeque<MessageId>,
    octets: usize,
}

/// More is read again from the spool when it is wanted.
const MOST: usize = 64 << 20;

impl Texts {
    pub(crate) fn get(&self, id: MessageId) -> Option<Arc<[u8]>> {
        self.held.get(&id).cloned()
    }

    pub(crate) fn keep(&mut self, id: MessageId, text: Arc<[u8]>) {
        self.octets += text.len();
        if let Some(before) = self.held.insert(id, text) {
            self.octets -= before.len();
        } else {
            self.order.push_back(id);
        }
        while self.octets > MOST && self.order.len() > 1 {
            let oldest = self.order.pop_front().expect("there is more than one");
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
        let text = self.held.remove(&id);
        self.octets -= text.as_ref().map_or(0, |text| text.len());
        text.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room() {
        let mut texts = Texts::default();
        let text: Arc<[u8]> = vec![b'x'; MOST / 4].into();
        (1..=6).for_each(|id| texts.keep(MessageId(id), Arc::clone(&text)));
        texts.forget(MessageId(4));
        texts.keep(MessageId(5), Arc::clone(&text));
        let held: Vec<u64> = texts.held.keys().map(|id| id.0).collect();
        assert_eq!((held, texts.octets), (vec![3, 5, 6], 3 * MOST / 4));
    }
}
