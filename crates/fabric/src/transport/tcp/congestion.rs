//! What the members of the TCP family decide: the rules of a sender, and how its window answers to
//! acknowledgements, marks and losses.

use super::rto::Timer;
use crate::packet::LONGEST_TIMER;
use crate::transport::Setup;
use sojourn_core::random::mix;
use sojourn_core::{CodeFailed, Span, Time};
use std::fmt::Debug;
use std::num::NonZeroU32;

/// Congestion control: what a member of the TCP family decides.
pub trait CongestionControl: Debug {
    /// State for one flow, beside the window.
    type State: Debug + Default;

    /// Whether it reads [`Acked::cause`] and [`Acked::in_flight`], which take time to find.
    const ASKS_FOR_MORE: bool = false;

    /// Whether it is told of ACKs in a recovery as well.
    const HEARS_RECOVERY: bool = false;

    /// Whether it may have a timer of its own.
    const HAS_TIMER: bool = false;

    /// Whether a fabric can be estimated from its links, see [`Transport::ESTIMABLE_BY_LINK`].
    ///
    /// [`Transport::ESTIMABLE_BY_LINK`]: crate::transport::Transport::ESTIMABLE_BY_LINK
    const ESTIMABLE_BY_LINK: bool = true;

    /// Its fixed rules.
    fn rules(&self) -> Rules;

    /// Consecutive time-outs after which a sender only probes, if ever.
    fn probe_after(&self) -> Option<NonZeroU32> {
        None
    }

    /// Starts `flow`.
    fn start(&self, _: &mut Window, _: &mut Self::State, _flow: u32, _: &Setup) {}

    /// Notes that packet `sequence` leaves.
    fn sent(&self, _: &mut Window, _: &mut Self::State, _sequence: u32, _now: Time) {}

    /// Time from a packet to the next one of a paced flow; `wire` is the packet's transmission time on
    /// the host's link.
    fn gap(&self, _: &mut Window, _: &mut Self::State, wire: Span) -> Span {
        wire
    }

    /// Reacts to an ACK, outside of a recovery.
    fn acked(&self, window: &mut Window, _: &mut Self::State, acked: &Acked) {
        if acked.cumulative > 0 {
            window.grow();
        }
    }

    /// Reacts to an ACK in a recovery.
    fn recovering(&self, _: &mut Window, _: &mut Self::State, _: &Acked) {}

    /// Whether the window is its own in a recovery, which else shrinks it as the losses are repaired.
    fn decides_recovery(&self) -> bool {
        false
    }

    /// When its timer runs out.
    fn timer(&self, _: &Self::State) -> Time {
        Time::NEVER
    }

    /// Reacts to its timer, which has run out and is no longer set.
    fn timer_ran_out(&self, _: &mut Window, _: &mut Self::State, _now: Time) {}

    /// Reacts to a loss inferred from ACKs while `flight` packets were unacknowledged; where losses are found by
    /// time, `flight` is the window, as in Linux.
    fn lost(&self, window: &mut Window, _: &mut Self::State, flight: u32, _now: Time) {
        window.lost(flight);
    }

    /// Reacts to a time-out while `flight` packets, or the window, were unacknowledged.
    fn timed_out(&self, window: &mut Window, _: &mut Self::State, flight: u32, _now: Time) {
        window.timed_out(flight);
    }

    /// Goes on after a `pause` in which all had arrived and nothing was to be sent.
    fn paused(&self, _: &mut Window, _: &mut Self::State, _pause: Span) {}

    /// Why it cannot go on, where it runs code that came with the study.
    fn failure(&self) -> Option<&CodeFailed> {
        None
    }
}

/// The fixed rules of a sender and its receiver.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of a sender by itself")]
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Packets a flow may send before the first ACK; `f64::INFINITY` for no limit.
    pub initial_window: f64,
    /// `ssthresh` of a new flow, in packets.
    pub initial_ssthresh: f64,
    /// Upper bound of the window, in packets.
    pub window_cap: f64,
    /// The retransmission timer.
    pub timer: Timer,
    /// When duplicate ACKs are a loss; none: never.
    pub fast_retransmit: Option<FastRetransmit>,
    /// Whether ACKs tell which packet caused them (SACK); losses are then repaired by RFC 6675, else by
    /// RFC 6582.
    pub sack: bool,
    /// Time that a receiver may delay the ACK of every second packet (RFC 5681, 4.2).
    pub ack_delay: Option<Span>,
    /// Packets that it acknowledges at once none the less, when a flow begins and after a pause.
    pub quick_acks: u32,
    /// Whether data packets can be marked (ECN).
    pub ecn: bool,
    /// Whether packets leave one by one, each [`CongestionControl::gap`] after the one before.
    pub paced: bool,
    /// Whether a flow opens its connection before it sends (RFC 9293, 3.5).
    pub handshake: bool,
    /// Whether a flow knows the round trip of its idle path when it begins.
    pub known_round_trip: bool,
    /// Whether the window shrinks while nothing is to be sent.
    pub restart_after_idle: bool,
    /// Time from one tick of the clock of timers to the next; none: timers are exact.
    pub tick: Option<Span>,
    /// How losses are found by time; none: by counting.
    pub rack: Option<RackRules>,
}

impl Rules {
    /// When a timer runs out that is set to `span` from `now`. With ticks it is as Linux's timer wheel has it: in
    /// whole ticks, one more than that, and of 63 ticks and more in units of 8, of 504 and more of 64, and so on.
    #[inline]
    pub(super) fn deadline(&self, now: Time, span: Span) -> Time {
        match self.tick {
            None => now + span,
            Some(tick) => Rules::at_tick(tick, now, span),
        }
    }

    #[inline(never)]
    fn at_tick(tick: Span, now: Time, span: Span) -> Time {
        let ticks = span.ps().div_ceil(tick.ps());
        let expires = (now - Time::ZERO).ps() / tick.ps() + ticks;
        let mut unit = 1;
        while ticks >= 63 * unit && unit < 1 << 24 {
            unit *= 8;
        }
        let due = (expires / unit + 1) * unit;
        let due = Time::ZERO + Span::from_ps(due.saturating_mul(tick.ps()));
        due.min(now + span.max(LONGEST_TIMER))
    }
}

/// How losses are found by time.
#[derive(Clone, Copy, Debug)]
pub struct RackRules {
    /// Packets that may arrive out of order before those below them are lost, while none was seen to overtake
    /// another.
    pub dupthresh: NonZeroU32,
    /// Most packets that are believed to overtake one.
    pub max_reordering: u32,
    /// Whether the loss of the last packets is probed for (RFC 8985, 7).
    pub probes: bool,
    /// Whether the window shrinks with what arrives (PRR, RFC 6937), else at once.
    pub proportional: bool,
    /// Whether a time-out that came too early is found out and taken back (F-RTO, RFC 5682).
    pub f_rto: bool,
}

/// When duplicate ACKs are a loss (RFC 5681, 3.2).
#[derive(Clone, Copy, Debug)]
pub struct FastRetransmit {
    /// Duplicate ACKs that are a loss (DupThresh).
    pub dupthresh: NonZeroU32,
    /// Whether each duplicate ACK before sends a new packet (limited transmit, RFC 3042).
    pub limited_transmit: bool,
}

impl Default for FastRetransmit {
    fn default() -> FastRetransmit {
        FastRetransmit { dupthresh: DUPTHRESH, limited_transmit: false }
    }
}

/// DupThresh of RFC 5681 (3.2) and 6675 (2).
pub(super) const DUPTHRESH: NonZeroU32 = NonZeroU32::new(3).expect("3");

/// L of RFC 3465 (2.3).
pub(super) const ABC_LIMIT: NonZeroU32 = NonZeroU32::new(2).expect("2");

/// A congestion window, in packets.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Packets that may be unacknowledged (RFC 5681, section 2).
    pub cwnd: f64,
    /// Slow start up to this window, congestion avoidance from it on.
    pub ssthresh: f64,
}

impl Window {
    /// Whole packets, at least one; what a sum of fractions lacks of one by rounding counts.
    #[inline]
    pub(super) fn whole(&self) -> u32 {
        (self.cwnd + 1e-9).max(1.0) as u32
    }

    /// Grows by one packet an ACK in slow start, then by one a round trip (RFC 5681, 3.1).
    #[inline]
    pub fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    /// Like [`Window::grow`], but by what the ACK covers, as `growth` has it.
    #[inline]
    pub fn grow_by(&mut self, acked: &Acked, growth: Growth) {
        let Some(limit) = growth.limit else { return self.grow() };
        let covered = f64::from(acked.cumulative);
        self.cwnd += match self.cwnd < self.ssthresh {
            true if acked.repairing => 1.0,
            true => covered.min(limit.get().into()),
            false if growth.in_whole_packets => covered / f64::from(self.whole()),
            false => covered / self.cwnd,
        };
    }

    /// Sets `ssthresh` to half of the flight, at least two (RFC 5681, 3.1, equation 4).
    pub fn halve(&mut self, flight: u32) {
        self.ssthresh = (f64::from(flight) / 2.0).max(2.0);
    }

    /// A hash of this window and of what had the hash `digest` before.
    pub fn mixed_into(self, digest: u64) -> u64 {
        mix(mix(digest ^ self.cwnd.to_bits()) ^ self.ssthresh.to_bits())
    }

    /// Falls to half of the flight, as a loss was inferred from duplicate ACKs (RFC 5681, 3.2).
    pub fn lost(&mut self, flight: u32) {
        self.halve(flight);
        self.cwnd = self.ssthresh;
    }

    /// Halves for each `time_out` of a pause, down to the `initial` window, as Linux does (RFC 2861; after that much
    /// RFC 5681, 4.1, allows no more than the initial window).
    pub fn restart(&mut self, pause: Span, time_out: Span, initial: f64) {
        if pause <= time_out {
            return;
        }
        self.ssthresh = self.ssthresh.max(self.cwnd * 3.0 / 4.0);
        let times = (pause.ps() / time_out.ps().max(1)).min(64) as i32;
        self.cwnd = (self.cwnd * 0.5_f64.powi(times)).max(initial.min(self.cwnd));
    }

    /// Falls to one packet, as the timer ran out (RFC 5681, 3.1).
    pub fn timed_out(&mut self, flight: u32) {
        self.halve(flight);
        self.cwnd = 1.0;
    }
}

/// How a window grows by what an ACK covers.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Most packets by which it grows in slow start, one while losses are repaired after a time-out (RFC 3465); none:
    /// by one packet an ACK.
    pub limit: Option<NonZeroU32>,
    /// Whether windows count whole packets, as Linux's do: one that grows by one a window has that after as many
    /// ACKs as it had packets.
    pub in_whole_packets: bool,
}

/// What one ACK says, and the sender's state after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Packets newly covered by the cumulative acknowledgement.
    pub cumulative: u32,
    /// Packets known to have arrived since the ACK before: with SACK also those out of order.
    pub arrived: u32,
    /// Whether it echoes a congestion mark.
    pub marked: bool,
    /// First packet not yet acknowledged.
    pub snd_una: u32,
    /// Next packet to be sent.
    pub snd_nxt: u32,
    /// Whether losses of a time-out are being repaired: before this ACK, not all was acknowledged that
    /// had been sent at the time-out.
    pub repairing: bool,
    /// Packets that it shows to be lost, where losses are found by time.
    pub lost: u32,
    /// Whether the sender goes on after a time-out, where losses are found by time.
    pub after_time_out: bool,
    /// The packet that caused the ACK, where that is known: out of order the ACK names it; in order it is
    /// the last of those now covered that were not known to have arrived.
    pub cause: Option<u32>,
    /// Packets in the network after it, as far as is known; 0 for controls that do not ask.
    pub in_flight: u32,
    /// The round trip that the ACK measured, where losses are found by time.
    pub sample: Option<Span>,
    /// The smoothed round trip; zero before the first measurement.
    pub rtt: Span,
    /// The time.
    pub now: Time,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_halves_for_each_time_out_of_a_pause() {
        let after = |ms: u64| {
            let mut window = Window { cwnd: 100.0, ssthresh: 60.0 };
            window.restart(Span::from_ms(ms), Span::from_ms(200), 10.0);
            (window.cwnd, window.ssthresh)
        };
        assert_eq!(after(200), (100.0, 60.0));
        assert_eq!(after(201), (50.0, 75.0));
        assert_eq!(after(599), (25.0, 75.0));
        assert_eq!(after(100_000), (10.0, 75.0));
        let mut small = Window { cwnd: 4.0, ssthresh: 60.0 };
        small.restart(Span::from_s(1), Span::from_ms(200), 10.0);
        assert_eq!(small.cwnd, 4.0, "smaller than the initial window already");
    }
}
