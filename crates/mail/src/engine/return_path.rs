//! Which return path a transaction has.

use super::Engine;
use super::event::{MessageId, Task};
use super::message::Message;
use crate::address::Address;
use crate::report::verp;
use crate::return_path::ReturnPaths;
use crate::token::Claim;

impl Engine {
    /// Copies of lists' mail get return paths with tokens from now on, as `paths` says. What is sent
    /// already keeps the path that it has.
    pub fn set_return_paths(&mut self, paths: ReturnPaths) {
        self.return_paths = paths;
    }

    /// What tokens in the copy for a recipient claim; nothing where the recipient has no number in
    /// the register, or its message is finished.
    pub fn claim(&self, task: Task) -> Option<Claim> {
        let message = self.messages.get(&task.message)?;
        let subscriber = message.recipients.get(task.recipient as usize)?.subscriber?;
        // Of a mailing's number, a token has the lower half.
        let mailing = task.message.0 as u32;
        Some(Claim { subscriber: subscriber.get(), mailing, day: message.day })
    }

    /// Whether each recipient of `message` gets a return path of its own, and so a transaction of
    /// its own.
    pub(super) fn is_named(&self, message: &Message) -> bool {
        message.sender.as_ref().is_some_and(|sender| {
            self.return_paths.has(sender) || self.config.verp.contains(sender)
        })
    }

    /// The return path for `recipients` of message `id`, by their places; nothing for a report. It
    /// is the message's sender where it cannot name one recipient: the recipient has no number in
    /// the register, or its address is too long.
    pub(super) fn return_path(&self, id: MessageId, recipients: &[u32]) -> Option<Address> {
        let message = &self.messages[&id];
        let sender = message.sender.as_ref()?;
        let [one] = recipients else { return Some(sender.clone()) };
        let named = if self.return_paths.has(sender) {
            let claim = self.claim(Task { message: id, recipient: *one });
            claim.and_then(|claim| self.return_paths.path(sender, claim))
        } else if self.config.verp.contains(sender) {
            verp::encode(sender, &message.recipients[*one as usize].address)
        } else {
            None
        };
        Some(named.unwrap_or_else(|| sender.clone()))
    }
}
