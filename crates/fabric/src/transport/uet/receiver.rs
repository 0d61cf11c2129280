//! The receiving end: what it answers, and when.

use super::{ACK_REQUESTED, MARKED, NACK, RESENT, TRIMMED_LAST};
use crate::packet::{CE, Kind, Packet, TRIMMED_AT_LAST};
use crate::transport::Setup;
use crate::transport::scoreboard::Scoreboard;

/// What an ACK says beside its entropy value and its marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// The first packet that is still missing.
    pub(super) next: u32,
    /// The packet that caused the ACK; none for one that was asked for without a packet.
    pub(super) cause: Option<u32>,
    /// Of 64 packets from `base` on, which have arrived: the first in the lowest bit.
    pub(super) base: u32,
    pub(super) bitmap: u64,
    /// Bytes on the wire of all packets that have arrived, each counted once, modulo 2^32.
    pub(super) received: u32,
}

/// The receiving end of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// Packets that have not arrived.
    pub(super) left: u32,
    /// First packet still missing, and what has arrived from there on.
    pub(super) next: u32,
    pub(super) board: Scoreboard,
    /// Bytes on the wire of what has arrived, modulo 2^32.
    received: u32,
    /// Bytes since the last ACK.
    since: u64,
    /// Whether the sender asked for an ACK when no packet is missing before those that have come.
    asked: bool,
    /// Whether anything has come.
    has_begun: bool,
}

/// Packets that the bitmap of an ACK reaches below the packet that caused it.
const BELOW: u32 = 63;

impl Receiver {
    /// For a flow of `count` packets.
    pub(super) fn new(count: u32) -> Receiver {
        Receiver { left: count, ..Receiver::default() }
    }

    /// Whether all packets have arrived.
    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Whether packet `sequence` has arrived.
    pub(super) fn has(&self, sequence: u32) -> bool {
        sequence < self.next || self.board.contains(sequence)
    }

    /// Takes in packet `sequence` of data, which came as `packet`. Returns the answer that is due now.
    pub(super) fn data(
        &mut self,
        packet: &Packet,
        sequence: u32,
        ack_every: u64,
        setup: &Setup,
    ) -> Option<(Packet, Answer)> {
        let marked = packet.marks & CE != 0;
        self.since += u64::from(packet.size);
        if self.has(sequence) {
            let wide = !marked;
            return Some(self.acknowledge(packet, sequence, wide, setup));
        }
        let requested = packet.marks & ACK_REQUESTED != 0;
        let mut due = marked || requested || !self.has_begun;
        self.has_begun = true;
        self.received = self.received.wrapping_add(packet.size.into());
        self.asked |= requested;
        let in_order = sequence == self.next;
        self.left -= 1;
        self.board.insert(sequence);
        self.next = self.board.first_missing(self.next);
        self.board.advance(self.next);
        if in_order && self.board.len() == 0 {
            due |= std::mem::take(&mut self.asked);
        }
        let wide = !marked && !requested;
        (due || self.since >= ack_every).then(|| self.acknowledge(packet, sequence, wide, setup))
    }

    /// Takes in what is left of packet `sequence`, whose payload was trimmed. Returns the answer; an ACK
    /// where the packet is there already.
    pub(super) fn trimmed(
        &mut self,
        packet: &Packet,
        sequence: u32,
        setup: &Setup,
    ) -> (Packet, Option<Answer>) {
        if self.has(sequence) {
            let unmarked = Packet { marks: packet.marks & !CE, ..*packet };
            let since = self.since;
            let (ack, answer) = self.acknowledge(&unmarked, sequence, true, setup);
            self.since = since;
            return (ack, Some(answer));
        }
        let at_last = if packet.marks & TRIMMED_AT_LAST != 0 { TRIMMED_LAST } else { 0 };
        let nack = setup.answer(NACK, packet.flow, sequence);
        let marks = at_last | if packet.marks & CE != 0 { MARKED } else { 0 };
        (Packet { echo: packet.echo, marks, ..nack }, None)
    }

    /// An answer to a sender that asks how things stand, in `packet`.
    pub(super) fn state(&self, packet: &Packet, setup: &Setup) -> (Packet, Answer) {
        let ack = setup.answer(Kind::ACK, packet.flow, 0);
        let answer = Answer { cause: None, ..self.answer(self.next, true) };
        (Packet { echo: packet.echo, ..ack }, answer)
    }

    /// The ACK that `packet` causes, packet `sequence` of data. A `wide` one reports what is around it, others
    /// what comes behind it.
    fn acknowledge(
        &mut self,
        packet: &Packet,
        sequence: u32,
        wide: bool,
        setup: &Setup,
    ) -> (Packet, Answer) {
        self.since = 0;
        let resent = packet.marks & RESENT;
        let marks = resent | if packet.marks & CE != 0 { MARKED } else { 0 };
        let ack = setup.answer(Kind::ACK, packet.flow, 0);
        (Packet { echo: packet.echo, marks, ..ack }, self.answer(sequence, wide))
    }

    fn answer(&self, sequence: u32, wide: bool) -> Answer {
        let base = match wide {
            true => sequence.saturating_sub(BELOW).max(self.next + 1),
            // What is below the first missing packet is known without a bit.
            false => sequence.max(self.next),
        };
        Answer {
            next: self.next,
            cause: Some(sequence),
            base,
            bitmap: self.board.bits(base),
            received: self.received,
        }
    }
}
