//! The state of a sender, and how one packet leaves it.

use super::congestion::{CongestionControl, Rules, Window};
use super::rack::flow::Rack;
use super::rto::RoundTrip;
use crate::packet::{ECT, Packet};
use crate::transport::scoreboard::Scoreboard;
use crate::transport::{Outbox, Setup, Tally};
use sojourn_core::{Span, Time};

/// The sending end of one flow; sequence numbers count packets.
#[derive(Debug)]
pub(super) struct Sender<S> {
    pub(super) window: Window,
    /// First packet not yet acknowledged (SND.UNA, RFC 9293, 3.3.1).
    pub(super) snd_una: u32,
    /// Next packet to send (SND.NXT); goes back to `snd_una` at a time-out.
    pub(super) snd_nxt: u32,
    /// One past the last packet ever sent.
    pub(super) snd_max: u32,
    /// One past the last packet of the flow; 0 before it starts.
    pub(super) end: u32,
    pub(super) recovery: Recovery,
    /// One more than `snd_una` at the last time-out; 0 for none.
    pub(super) last_rto_snd_una: u32,
    /// Whether it waits for the answer to its request for a connection (SYN-SENT).
    pub(super) connecting: bool,
    /// Whether it waits until its host's port takes more.
    pub(super) held: bool,
    /// Time-outs since the last ACK.
    pub(super) consecutive_timeouts: u32,
    pub(super) tally: Tally,
    /// Packets known to have arrived out of order.
    pub(super) sacked: Scoreboard,
    pub(super) trip: RoundTrip,
    /// Of a flow that repairs losses by time, while it lasts; the four above are not used then.
    pub(super) rack: Option<Box<Rack>>,
    /// When the retransmission timer runs out.
    pub(super) rto_deadline: Time,
    /// Earliest time at which a paced packet may leave.
    pub(super) pacing_release: Time,
    /// When all had arrived that was to be sent.
    pub(super) idle_since: Time,
    /// The earliest wake-up that is set.
    pub(super) wake: Time,
    pub(super) state: S,
}

/// The state of loss recovery (RFC 6582, 6675).
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) active: bool,
    /// One past the highest packet sent when the last recovery began or the timer last ran out
    /// (`recover`, `RecoveryPoint`); 0 before.
    pub(super) recover: u32,
    /// Whether a partial ACK has come in this recovery.
    pub(super) partial: bool,
    /// Duplicate ACKs since `snd_una` last moved.
    pub(super) duplicates: u32,
    /// New packets sent by limited transmit since then.
    pub(super) limited: u32,
    /// With SACK: one past the last packet known to have arrived.
    pub(super) heard: u32,
    /// With SACK: holes below this were sent again in this recovery (`HighRxt`).
    pub(super) high_rxt: u32,
    /// With SACK: a rescue waits until more than this is acknowledged (`RescueRxt`).
    pub(super) rescue_rxt: u32,
}

impl Recovery {
    /// Forgets duplicate ACKs, as `snd_una` has moved.
    #[inline]
    pub(super) fn calm(&mut self) {
        self.duplicates = 0;
        self.limited = 0;
    }

    /// Ends a recovery by a time-out; all below `snd_max` had been sent.
    pub(super) fn timed_out(&mut self, snd_max: u32) {
        self.active = false;
        self.recover = snd_max;
        self.calm();
    }
}

/// One sender with all it needs to act at one time.
pub(super) struct Acting<'a, C: CongestionControl> {
    pub(super) sender: &'a mut Sender<C::State>,
    pub(super) flow: u32,
    pub(super) control: &'a C,
    pub(super) rules: &'a Rules,
    pub(super) setup: &'a Setup,
    pub(super) outbox: &'a mut Outbox,
}

/// Packets that Linux sends without pacing when a flow begins.
const UNPACED: u32 = 10;

impl<S> Sender<S> {
    /// The time from a packet that leaves `now` to the next one at a pace of one in `gap`, as Linux has it: it
    /// does not pace the first ten, and makes up for a packet that leaves late, by half a gap at most
    /// (`tcp_update_skb_after_send`).
    fn gap_of_linux(&self, gap: Span, now: Time) -> Span {
        if self.snd_max + self.tally.retransmits < UNPACED {
            return Span::ZERO;
        }
        let late = Span::from_ps(now.ps().saturating_sub(self.pacing_release.ps()));
        gap - late.min(Span::from_ps(gap.ps() / 2))
    }
}

impl<C: CongestionControl> Acting<'_, C> {
    /// Whether the host's port takes one packet more; if not, the flow is held.
    #[inline(always)]
    pub(super) fn takes_more(&mut self) -> bool {
        let takes = self.outbox.packets.len() < self.outbox.capacity;
        if !takes && !std::mem::replace(&mut self.sender.held, true) {
            self.outbox.held = true;
        }
        takes
    }

    /// Whether pacing holds the next packet back.
    #[inline]
    pub(super) fn held_back(&self) -> bool {
        self.rules.paced && self.outbox.now < self.sender.pacing_release
    }

    /// Sends one packet, and starts the timer if it is not running.
    #[inline]
    pub(super) fn emit(&mut self, sequence: u32) {
        let sender = &mut *self.sender;
        let now = self.outbox.now;
        if sequence < sender.snd_max {
            sender.tally.retransmits += 1;
            sender.trip.forget();
        } else {
            sender.snd_max = sequence + 1;
            sender.trip.sent(sequence, now);
        }
        if sender.rto_deadline == Time::NEVER {
            sender.rto_deadline = self.rules.deadline(now, sender.trip.time_out(self.rules.timer));
        }
        let arrived = sender.snd_una + sender.sacked.len();
        self.hand_over(sequence, arrived);
    }

    /// Hands one packet to the host's port, which has room; of its flow, `arrived` packets are known to
    /// have arrived.
    #[inline(always)]
    pub(super) fn hand_over(&mut self, sequence: u32, arrived: u32) {
        let sender = &mut *self.sender;
        let now = self.outbox.now;
        let packet = self.setup.data(self.flow, sequence, arrived, now);
        self.control.sent(&mut sender.window, &mut sender.state, sequence, now);
        let marks = if self.rules.ecn { ECT } else { 0 };
        // Linux, too, gives a flow another label when its timer expires (`sk_rethink_txhash`).
        let echo = sender.tally.timeouts as u16;
        self.outbox.packets.push(Packet { marks, echo, ..packet });
        if self.rules.paced {
            let from = self.setup.flows[self.flow as usize].from;
            let wire = self.setup.nic[usize::from(from)].span(packet.size.into());
            let gap = self.control.gap(&mut sender.window, &mut sender.state, wire);
            let gap = if self.rules.rack.is_some() { sender.gap_of_linux(gap, now) } else { gap };
            sender.pacing_release = now + gap;
        }
    }

    pub(super) fn restart_timer(&mut self) {
        let sender = &mut *self.sender;
        sender.rto_deadline = match sender.snd_max > sender.snd_una {
            true => self.rules.deadline(self.outbox.now, sender.trip.time_out(self.rules.timer)),
            false => Time::NEVER,
        };
    }
}
