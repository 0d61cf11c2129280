//! Which recipients an operator means.

use super::event::{MessageId, Stored};
use crate::address::Address;
use crate::report::verp;
use crate::return_path::form;
use std::collections::BTreeSet;

/// Which recipients an operator means: those that fit every kind of condition that is given, and one
/// of each kind. Without any condition, all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Messages.
    pub messages: BTreeSet<MessageId>,
    /// Return paths of lists: a message belongs to a list when its sender is the list's return path,
    /// with or without a subscriber named in it.
    pub lists: Vec<Address>,
    /// Domains of recipients, in lower case.
    pub domains: BTreeSet<String>,
    /// Addresses of recipients, in lower case.
    pub addresses: BTreeSet<String>,
}

impl Selection {
    /// Whether recipients of this message can be meant.
    pub fn has_message(&self, id: MessageId, sender: Option<&Address>) -> bool {
        let of_list = |sender| {
            let mut lists = self.lists.iter();
            lists.any(|it| form(it, sender).is_some() || verp::decode(it, sender).is_some())
        };
        (self.messages.is_empty() || self.messages.contains(&id))
            && (self.lists.is_empty() || sender.is_some_and(of_list))
    }

    /// Whether this recipient is meant, of a message whose recipients can be.
    pub fn has_recipient(&self, address: &Address) -> bool {
        (self.domains.is_empty() || self.domains.contains(address.domain()))
            && (self.addresses.is_empty()
                || self.addresses.contains(&address.as_str().to_ascii_lowercase()))
    }

    /// The numbers of the recipients that are meant, of a message on stable storage.
    pub fn of(&self, stored: &Stored) -> Vec<u32> {
        let submission = &stored.submission;
        if !self.has_message(submission.id, submission.sender.as_ref()) {
            return Vec::new();
        }
        let all = (0..).zip(&submission.recipients);
        all.filter(|(_, address)| self.has_recipient(address)).map(|(number, _)| number).collect()
    }
}

/// What an operator wants done with recipients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Only to know how many there are.
    Count,
    /// They are not tried until they are released, and do not expire meanwhile.
    Hold,
    /// They are tried again, at once. One whose message expired while it was held gets an attempt.
    Release,
    /// They are removed; no report is sent to the sender.
    Delete,
    /// Those that wait for their time, for their host or their domain are tried at once.
    Flush,
    /// They are tried at once as if they had never been refused: attempts are forgotten, and what is
    /// known of their domains' hosts. A message's lifetime goes on from when it was accepted.
    Requeue,
}

/// To how many an operation applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that have one of these recipients.
    pub messages: u64,
    /// Recipients.
    pub recipients: u64,
    /// Recipients that are in a transaction: how it ends is for the host to say. Those that it does
    /// not deliver to are then held or given up, where that was wanted.
    pub under_way: u64,
}
