//! From a parcel to a transaction.

use super::Engine;
use super::event::{SessionId, Task};
use super::message::{Parcel, State};
use super::reason::{Reason, status};
use crate::address::Address;
use crate::smtp::Envelope;
use sojourn_kernel::Span;

impl Engine {
    /// What of `parcel` can go into one transaction now; the rest goes back or fails.
    pub(super) fn fit(&mut self, id: SessionId, mut parcel: Parcel) -> Option<Parcel> {
        let session = &self.sessions[id];
        let can = *session.client.extensions();
        let number = session.destination as usize;
        let task = |recipient| Task { message: parcel.message, recipient };
        let mut recipients = std::mem::take(&mut parcel.recipients);
        // What is too many is cut off first: a large parcel is looked through once, not each time.
        let most = match self.messages.get(&parcel.message) {
            Some(message) if self.is_named(message) => 1,
            _ => self.config.limits.recipients.get(),
        };
        let destination = &mut self.destinations.list[number];
        let most = destination.most_recipients.min(most) as usize;
        if recipients.len() > most {
            let rest = recipients.split_off(most);
            let chain = &mut self.chains[parcel.envelope];
            chain.outstanding += 1;
            destination.queue.push_front(Parcel { recipients: rest, ..parcel });
        }
        let Some(message) = self.messages.get(&parcel.message) else {
            self.done(parcel.envelope);
            return None;
        };
        recipients.retain(|&recipient| message.is_waiting(recipient));
        let all = if can.largest.is_some_and(|largest| message.size > largest) {
            Some(Reason::new(status::TOO_LARGE, "the message is larger than the host takes"))
        } else if message.eight_bit && !can.eight_bit_mime {
            Some(Reason::new(status::EIGHT_BIT, "the host takes no 8-bit text"))
        } else if !can.smtp_utf8
            && (message.utf8 || message.sender.as_ref().is_some_and(Address::is_international))
        {
            Some(Reason::new(status::INTERNATIONAL, "the host takes no UTF-8 headers"))
        } else {
            None
        };
        let unfit: Vec<u32> = recipients
            .extract_if(.., |recipient| {
                let address = &message.recipients[*recipient as usize].address;
                all.is_some() || (!can.smtp_utf8 && address.is_international())
            })
            .collect();
        let reason = all.unwrap_or_else(|| {
            Reason::new(status::INTERNATIONAL, "the host takes no UTF-8 addresses")
        });
        for recipient in unfit {
            self.fail_unsent(task(recipient), reason.clone());
        }
        if recipients.is_empty() {
            self.done(parcel.envelope);
            return None;
        }
        Some(Parcel { recipients, ..parcel })
    }

    pub(super) fn begin(&mut self, id: SessionId, parcel: Parcel) {
        let message = self.messages.get_mut(&parcel.message).expect("it has open recipients");
        let begin = |&recipient: &u32| {
            let recipient = &mut message.recipients[recipient as usize];
            recipient.state = State::InFlight;
            recipient.address.clone()
        };
        let recipients: Vec<Address> = parcel.recipients.iter().map(begin).collect();
        let message = &self.messages[&parcel.message];
        let envelope = Envelope {
            sender: self.return_path(parcel.message, &parcel.recipients),
            recipients,
            size: message.size,
            eight_bit: message.eight_bit,
            utf8: message.utf8,
        };
        let session = self.sessions.get_mut(id).expect("it is open");
        if session.transactions > 0 {
            session.since = self.now;
        }
        session.transactions += 1;
        session.began = self.now;
        session.parcel = Some(parcel);
        let number = session.destination;
        let mut outputs = self.spare.pop().unwrap_or_default();
        session.client.begin(envelope, &mut outputs);
        let destination = &mut self.destinations.list[number as usize];
        if destination.gap > Span::ZERO {
            destination.open_from = self.now + destination.gap;
            self.set_destination_alarm(number);
        }
        self.set_deadline(id);
        self.obey(id, outputs);
    }
}
