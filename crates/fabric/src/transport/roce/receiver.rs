//! The receiving end: packets in order, and what is told of others and of marks.

use super::control::Control;
use super::{CNP, NACK};
use crate::packet::{CE, Kind, Packet};
use crate::transport::{End, Outbox, Setup};
use sojourn_core::{Span, Time};

/// The receiving end of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The packet that is taken next.
    pub(super) next: u32,
    /// The missing packet of the last NACK, and when that was sent.
    nacked: Option<(u32, Time)>,
    /// When the last packet came for which a CNP was made.
    notified: Option<Time>,
}

impl Receiver {
    /// Bytes of `flow` that have arrived in order.
    pub(super) fn received(&self, flow: u32, setup: &Setup) -> u64 {
        let bytes = setup.flows[flow as usize].bytes;
        setup.packets.carried(bytes, self.next, self.next == setup.packets.count(bytes))
    }

    /// Takes in a packet of data.
    #[inline]
    pub(super) fn data(
        &mut self,
        packet: &Packet,
        control: &impl Control,
        setup: &Setup,
        outbox: &mut Outbox,
    ) {
        let flow = packet.flow;
        if packet.marks & CE != 0
            && let Some(notices) = control.notices()
        {
            self.notify(flow, notices, setup, outbox);
        }
        if packet.sequence > self.next {
            self.refuse(flow, control.nack_interval(), setup, outbox);
            return;
        }
        if packet.sequence == self.next {
            self.next += 1;
            if self.next == setup.packets.count(setup.flows[flow as usize].bytes) {
                outbox.over(flow, End::Receiver);
            }
        }
        let mut ack = setup.answer(Kind::ACK, flow, self.next);
        control.answers(packet, &mut ack);
        outbox.packets.push(ack);
    }

    /// Tells the sender of a marked packet, unless it did so a short time ago.
    fn notify(
        &mut self,
        flow: u32,
        (interval, delay): (Span, Span),
        setup: &Setup,
        outbox: &mut Outbox,
    ) {
        let now = outbox.now;
        if self.notified.is_some_and(|last| now - last < interval) {
            return;
        }
        self.notified = Some(now);
        match delay {
            Span::ZERO => outbox.packets.push(setup.answer(CNP, flow, 0)),
            delay => outbox.wake(now + delay, flow, End::Receiver),
        }
    }

    /// Tells the sender which packet is missing, unless it did so a short time ago.
    fn refuse(&mut self, flow: u32, interval: Span, setup: &Setup, outbox: &mut Outbox) {
        let now = outbox.now;
        let again = |(missing, at)| missing != self.next || now - at >= interval;
        if self.nacked.is_none_or(again) {
            self.nacked = Some((self.next, now));
            outbox.packets.push(setup.answer(NACK, flow, self.next));
        }
    }
}
