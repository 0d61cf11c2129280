//! The receiving end that the TCP family shares: what has arrived, and when to say so.

use super::control::Rules;
use super::scoreboard::Scoreboard;
use super::{AckPriority, End, Setup, Turn, Wake};
use crate::packet::{CE, ECE, Kind, PROBE, Packet};
use sojourn_kernel::Time;

/// What one receiver keeps.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// First packet still missing.
    next: u32,
    arrived: Scoreboard,
    /// An in-order packet that is not acknowledged yet, and how.
    pending: Option<Held>,
    /// Whether the last packet carried a mark (RFC 8257, 3.2: DCTCP.CE).
    marked: bool,
    /// When the held-back ACK has to go.
    due: Time,
}

/// What is needed to send a held-back ACK.
#[derive(Clone, Copy, Debug)]
struct Held {
    flow: u32,
    priority: u32,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver {
            next: 0,
            arrived: Scoreboard::default(),
            pending: None,
            marked: false,
            due: Time::NEVER,
        }
    }
}

impl Receiver {
    /// A data packet has come.
    #[inline]
    pub(super) fn data(&mut self, packet: &Packet, rules: &Rules, setup: &Setup, turn: &mut Turn) {
        let marked = packet.marks & CE != 0;
        let ack = Held { flow: packet.flow, priority: priority(setup, packet.priority) };
        if packet.marks & PROBE != 0 {
            self.acknowledge(ack, 0, setup, turn);
            return;
        }
        if marked != self.marked {
            // RFC 8257, 3.2: what is pending is acknowledged under the old state.
            if let Some(held) = self.pending.take() {
                self.acknowledge(held, 0, setup, turn);
            }
            self.marked = marked;
        }
        let in_order = packet.sequence == self.next;
        let filled = in_order && self.arrived.len() > 0;
        if in_order {
            self.next = self.arrived.first_missing(packet.sequence + 1);
            self.arrived.advance(self.next);
        } else if packet.sequence > self.next {
            self.arrived.insert(packet.sequence);
        }
        match rules.ack_delay {
            Some(delay) if in_order && !filled && self.pending.is_none() => {
                self.pending = Some(ack);
                self.due = turn.now + delay;
                turn.wakes.push(Wake { at: self.due, flow: packet.flow, end: End::Receiver });
            }
            _ => {
                self.pending = None;
                self.due = Time::NEVER;
                let above = packet.sequence.saturating_sub(self.next);
                self.acknowledge(ack, u16::try_from(above).unwrap_or(0), setup, turn);
            }
        }
    }

    /// A wake-up has come: the held-back ACK goes, if it is still there and meant.
    pub(super) fn wake(&mut self, wake: Wake, setup: &Setup, turn: &mut Turn) {
        if self.due == wake.at
            && let Some(held) = self.pending.take()
        {
            self.due = Time::NEVER;
            self.acknowledge(held, 0, setup, turn);
        }
    }

    #[inline]
    fn acknowledge(&self, ack: Held, echo: u16, setup: &Setup, turn: &mut Turn) {
        let marks = if self.marked { ECE } else { 0 };
        let answer = setup.answer(Kind::Ack, ack.flow, self.next);
        turn.packets.push(Packet { priority: ack.priority, echo, marks, ..answer });
    }
}

/// The priority of the ACK for a data packet of priority `data`.
#[inline]
fn priority(setup: &Setup, data: u32) -> u32 {
    match setup.ack_priority {
        AckPriority::Highest => 0,
        AckPriority::Data => data,
    }
}
