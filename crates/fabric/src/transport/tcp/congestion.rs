//! What the members of the TCP family decide: the rules of a sender, and how its window answers to
//! acknowledgements, marks and losses.

use super::rto::Timer;
use crate::transport::Setup;
use sojourn_core::{Span, Time};
use std::fmt::Debug;
use std::num::NonZeroU32;

/// What a member of the family decides.
pub trait CongestionControl: Clone + Debug {
    /// What it keeps for one flow, beside the window.
    type State: Clone + Debug + Default;

    /// Whether it asks which packet caused an ACK: [`Acked::cause`].
    const ASKS_FOR_CAUSE: bool = false;

    /// Whether a fabric can be estimated from its links, see [`Transport::ESTIMABLE_BY_LINK`].
    ///
    /// [`Transport::ESTIMABLE_BY_LINK`]: crate::transport::Transport::ESTIMABLE_BY_LINK
    const ESTIMABLE_BY_LINK: bool = true;

    /// Its fixed rules.
    fn rules(&self) -> Rules;

    /// After how many time-outs in a row a sender only probes, if ever.
    fn probe_after(&self) -> Option<NonZeroU32> {
        None
    }

    /// `flow` begins.
    fn start(&self, _: &mut Self::State, _flow: u32, _: &Setup) {}

    /// Packet `sequence` leaves.
    fn sent(&self, _: &mut Self::State, _sequence: u32, _now: Time) {}

    /// How long after a packet the next one may leave, when it is paced; `wire` is how long the
    /// host's link needs for the packet.
    fn gap(&self, _: &Window, _: &Self::State, wire: Span) -> Span {
        wire
    }

    /// News of the receiver, outside of a recovery.
    fn acked(&self, window: &mut Window, _: &mut Self::State, acked: &Acked) {
        if acked.cumulative > 0 {
            window.grow();
        }
    }

    /// A loss was inferred from duplicate ACKs while `flight` packets were unacknowledged.
    fn lost(&self, window: &mut Window, _: &mut Self::State, flight: u32, _now: Time) {
        window.halve(flight);
        window.cwnd = window.ssthresh;
    }

    /// The timer ran out while `flight` packets were unacknowledged.
    fn timed_out(&self, window: &mut Window, _: &mut Self::State, flight: u32, _now: Time) {
        window.halve(flight);
        window.cwnd = 1.0;
    }
}

/// The fixed rules of a sender and its receiver.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of a sender by itself")]
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Packets a flow may send before the first ACK; `f64::INFINITY` for no limit.
    pub initial_window: f64,
    /// Up to where a new flow's window grows by one an ACK instead of one a round trip.
    pub initial_ssthresh: f64,
    /// The window never exceeds this.
    pub window_cap: f64,
    /// The retransmission timer.
    pub timer: Timer,
    /// When duplicate ACKs are a loss; never, if none.
    pub fast_retransmit: Option<FastRetransmit>,
    /// Whether ACKs tell which packet caused them; losses are then mended as RFC 6675 says, else as
    /// RFC 6582 does.
    pub sack: bool,
    /// How long a receiver may hold back an ACK for every second packet.
    pub ack_delay: Option<Span>,
    /// Whether data packets can be marked.
    pub ecn: bool,
    /// Whether packets leave one by one, each [`CongestionControl::gap`] after the one before.
    pub paced: bool,
    /// Whether a flow opens its connection before it sends.
    pub handshake: bool,
}

/// When duplicate ACKs are a loss (RFC 5681, 3.2).
#[derive(Clone, Copy, Debug)]
pub struct FastRetransmit {
    /// At how many of them (DupThresh).
    pub dupthresh: NonZeroU32,
    /// Whether those before let a new packet go each (RFC 3042).
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
    /// How many packets may be unacknowledged (RFC 5681, section 2).
    pub cwnd: f64,
    /// Slow start up to here.
    pub ssthresh: f64,
}

impl Window {
    /// RFC 5681 (3.1): by one for each ACK in slow start, then by one a round trip.
    #[inline]
    pub fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    /// Like [`Window::grow`], but by what the ACK covers (RFC 3465), in slow start at most `limit` packets, and one
    /// while losses are mended after a time-out; without a `limit` by the ACK.
    #[inline]
    pub fn grow_by(&mut self, acked: &Acked, limit: Option<NonZeroU32>) {
        let Some(limit) = limit else { return self.grow() };
        let covered = f64::from(acked.cumulative);
        self.cwnd += match self.cwnd < self.ssthresh {
            true if acked.repairing => 1.0,
            true => covered.min(limit.get().into()),
            false => covered / self.cwnd,
        };
    }

    /// RFC 5681 (4): `ssthresh` becomes half of what was in flight, at least two.
    pub fn halve(&mut self, flight: u32) {
        self.ssthresh = (f64::from(flight) / 2.0).max(2.0);
    }
}

/// What one ACK told.
#[derive(Clone, Copy, Debug)]
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
    /// Whether, before it came, not all was acknowledged that had been sent when the timer last ran
    /// out.
    pub repairing: bool,
    /// The packet that caused it, where that can be told: out of order it says so itself; in order it
    /// is the last of those now covered that were not known to have arrived.
    pub cause: Option<u32>,
    /// The smoothed round trip; zero before the first measurement.
    pub rtt: Span,
    /// The time.
    pub now: Time,
}
