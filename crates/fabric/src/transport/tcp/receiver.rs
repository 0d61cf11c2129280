//! The receiving end that the TCP family shares: what has arrived, and when to say so.

use super::congestion::Rules;
use super::{ECE, PROBE};
use crate::flow::{Flow, Packets};
use crate::packet::{CE, Kind, Packet};
use crate::transport::scoreboard::Scoreboard;
use crate::transport::{AckPriority, End, Outbox, Setup, Wake};
use sojourn_core::Time;

/// The receiving end of one flow.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// First packet still missing (RCV.NXT, RFC 9293, 3.3.1).
    next: u32,
    /// One past the last packet of the flow.
    end: u32,
    arrived: Scoreboard,
    /// An in-order packet that is not acknowledged yet, and how.
    pending: Option<Held>,
    /// Whether the last packet carried a mark (RFC 8257, 3.2: DCTCP.CE).
    marked: bool,
    /// When the delayed ACK has to go.
    due: Time,
    /// Packets that are still acknowledged at once, and when the last one came.
    quick: u32,
    heard: Option<Time>,
}

/// What a delayed ACK needs.
#[derive(Clone, Copy, Debug)]
struct Held {
    flow: u32,
    priority: u32,
}

impl Receiver {
    /// The receiver of `flow`, cut into `packets`.
    pub(super) fn new(flow: &Flow, packets: &Packets) -> Receiver {
        Receiver {
            next: 0,
            end: packets.count(flow.bytes),
            arrived: Scoreboard::default(),
            pending: None,
            marked: false,
            due: Time::NEVER,
            quick: 0,
            heard: None,
        }
    }

    /// Takes in a data packet.
    #[inline]
    pub(super) fn data(
        &mut self,
        packet: &Packet,
        rules: &Rules,
        setup: &Setup,
        outbox: &mut Outbox,
    ) {
        let marked = packet.marks & CE != 0;
        let ack = Held { flow: packet.flow, priority: priority(setup, packet.priority) };
        if packet.marks & PROBE != 0 {
            self.acknowledge(ack, 0, setup, outbox);
            return;
        }
        let changed = marked != self.marked;
        if changed {
            // RFC 8257, 3.2: what is pending is acknowledged under the old state, and the packet that
            // changed it at once under the new one.
            if let Some(held) = self.pending.take() {
                self.acknowledge(held, 0, setup, outbox);
            }
            self.marked = marked;
        }
        let in_order = packet.sequence == self.next;
        let filled = in_order && self.arrived.len() > 0;
        if in_order {
            self.next = self.arrived.first_missing(packet.sequence + 1);
            self.arrived.advance(self.next);
            if self.next == self.end {
                outbox.over(packet.flow, End::Receiver);
            }
        } else if packet.sequence > self.next {
            self.arrived.insert(packet.sequence);
        }
        let is_quick = rules.quick_acks > 0 && self.is_quick(rules, outbox.now);
        match rules.ack_delay {
            // The last one is acknowledged at once, as one with a FIN is.
            Some(delay)
                if in_order
                    && !is_quick
                    && !filled
                    && !changed
                    && self.next != self.end
                    && self.pending.is_none() =>
            {
                self.pending = Some(ack);
                self.due = outbox.now + delay;
                outbox.wake(self.due, packet.flow, End::Receiver);
            }
            _ => {
                self.pending = None;
                self.due = Time::NEVER;
                let above = packet.sequence.saturating_sub(self.next);
                self.acknowledge(ack, u16::try_from(above).unwrap_or(0), setup, outbox);
            }
        }
    }

    /// Whether a packet that comes `now` is acknowledged at once, as one of the first after a pause
    /// (Linux's `tcp_incr_quickack`).
    fn is_quick(&mut self, rules: &Rules, now: Time) -> bool {
        let before = self.heard.replace(now);
        if before.is_none_or(|before| now - before > rules.timer.min()) {
            self.quick = rules.quick_acks;
        }
        let is_quick = self.quick > 0;
        self.quick -= u32::from(is_quick);
        is_quick
    }

    /// The first packet that is missing.
    pub(super) fn first_missing(&self) -> u32 {
        self.next
    }

    /// Bytes of its flow, of `bytes` in all, that it has.
    pub(super) fn received(&self, bytes: u64, packets: &Packets) -> u64 {
        let last = self.next == self.end || self.arrived.contains(self.end - 1);
        packets.carried(bytes, self.next + self.arrived.len(), last)
    }

    /// Handles a wake-up: sends the delayed ACK, if the wake-up is still for it.
    pub(super) fn wake(&mut self, wake: Wake, setup: &Setup, outbox: &mut Outbox) {
        if self.due == wake.at
            && let Some(held) = self.pending.take()
        {
            self.due = Time::NEVER;
            self.acknowledge(held, 0, setup, outbox);
        }
    }

    /// Sends an ACK with the first packet still missing. `echo` says how far above that the packet is which
    /// caused it, or 0 if it is not above.
    #[inline]
    fn acknowledge(&self, ack: Held, echo: u16, setup: &Setup, outbox: &mut Outbox) {
        let marks = if self.marked { ECE } else { 0 };
        let answer = setup.answer(Kind::ACK, ack.flow, self.next);
        outbox.packets.push(Packet { priority: ack.priority, echo, marks, ..answer });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tcp::congestion::CongestionControl;
    use crate::transport::tcp::tests;
    use crate::transport::{Dctcp, TcpOptions};
    use sojourn_core::Span;
    use sojourn_core::parameters::defaults;

    /// A receiver that may hold an ACK back for 40 ms, a microsecond after the packet before.
    struct Bench {
        receiver: Receiver,
        rules: Rules,
        setup: Setup,
        outbox: Outbox,
    }

    impl Bench {
        fn new() -> Bench {
            let dctcp = Dctcp {
                options: TcpOptions { ack_delay: Some(Span::from_ms(40)), ..defaults() },
                ..defaults()
            };
            let (receiver, outbox) = (
                Receiver::new(&Flow::new(0, 1, 1 << 20, Time::ZERO), &defaults()),
                Outbox::default(),
            );
            Bench { receiver, rules: dctcp.rules(), setup: tests::setup(100), outbox }
        }

        /// What ACKs say: what is next, how far above that the packet is that caused it, and whether
        /// they echo a mark.
        fn acks(&mut self) -> Vec<(u32, u16, bool)> {
            let acks = self.outbox.packets.drain(..);
            acks.map(|ack| (ack.sequence, ack.echo, ack.marks & ECE != 0)).collect()
        }

        fn comes(&mut self, sequence: u32, marks: u8) -> Vec<(u32, u16, bool)> {
            self.outbox.now += Span::from_us(1);
            let packet = Packet { marks, ..self.setup.data(0, sequence, 0, self.outbox.now) };
            self.receiver.data(&packet, &self.rules, &self.setup, &mut self.outbox);
            self.acks()
        }

        /// The last wake-up that was set comes.
        fn waits(&mut self) -> Vec<(u32, u16, bool)> {
            let wake = self.outbox.wakes.pop().expect("a wake-up was set");
            self.outbox.now = wake.at;
            self.receiver.wake(wake, &self.setup, &mut self.outbox);
            self.acks()
        }
    }

    /// RFC 5681, 4.2: every second packet is answered, the first of two at the latest when the delay
    /// is over; out of order, in a gap and twice at once.
    #[test]
    fn acks_are_held_back_as_rfc_5681_says() {
        let mut bench = Bench::new();
        assert_eq!(bench.comes(0, 0), []);
        assert_eq!(bench.comes(1, 0), [(2, 0, false)]);
        assert_eq!(bench.waits(), [], "it has been answered");
        assert_eq!(bench.comes(2, 0), []);
        let since = bench.outbox.now;
        assert_eq!(bench.waits(), [(3, 0, false)]);
        assert_eq!(bench.outbox.now - since, Span::from_ms(40));
        // 3 is held back, 5 is out of order: one ACK says both.
        assert_eq!(bench.comes(3, 0), []);
        assert_eq!(bench.comes(5, 0), [(4, 1, false)]);
        assert_eq!(bench.comes(7, 0), [(4, 3, false)]);
        // A part of the gap is filled, and then all of it.
        assert_eq!(bench.comes(4, 0), [(6, 0, false)]);
        assert_eq!(bench.comes(6, 0), [(8, 0, false)]);
        assert_eq!(bench.comes(6, 0), [(8, 0, false)]);
        assert_eq!(bench.comes(8, 0), []);
    }

    /// The first packets of a flow are answered at once, and again after a pause of the least time-out.
    #[test]
    fn the_first_acks_are_quick() {
        let mut bench = Bench::new();
        bench.rules.quick_acks = 2;
        assert_eq!(bench.comes(0, 0), [(1, 0, false)]);
        assert_eq!(bench.comes(1, 0), [(2, 0, false)]);
        assert_eq!(bench.comes(2, 0), []);
        assert_eq!(bench.comes(3, 0), [(4, 0, false)]);
        bench.outbox.now += bench.rules.timer.min();
        assert_eq!(bench.comes(4, 0), [(5, 0, false)]);
        assert_eq!(bench.comes(5, 0), [(6, 0, false)]);
        assert_eq!(bench.comes(6, 0), []);
    }

    /// RFC 8257, 3.2: when the mark changes, what was held back is acknowledged under the old state,
    /// and the packet that changed it at once under the new one.
    #[test]
    fn a_change_of_marks_is_told_at_once() {
        let mut bench = Bench::new();
        assert_eq!(bench.comes(0, 0), []);
        assert_eq!(bench.comes(1, CE), [(1, 0, false), (2, 0, true)]);
        assert_eq!(bench.comes(2, CE), []);
        assert_eq!(bench.comes(3, CE), [(4, 0, true)]);
        // Nothing is held back.
        assert_eq!(bench.comes(4, 0), [(5, 0, false)]);
        assert_eq!(bench.comes(5, 0), []);
        assert_eq!(bench.comes(6, 0), [(7, 0, false)]);
    }
}
