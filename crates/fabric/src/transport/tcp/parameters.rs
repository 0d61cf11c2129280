//! Parameters that the members of the TCP family share, declared once and flattened into each.

use super::congestion::{ABC_LIMIT, DUPTHRESH, FastRetransmit, Rules};
use super::rto::Timer;
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// What bounds the congestion window from outside.
    pub struct WindowLimits: "window-limits" {
        /// Packets a flow may send before the first ACK (RFC 6928: 10).
        pub initial_window: NonZeroU32 = NonZeroU32::new(10).expect("10"),
        /// The window never exceeds this many packets.
        pub window_cap: Option<NonZeroU32> = None,
    }
}

impl Check for WindowLimits {}

impl WindowLimits {
    /// The cap as a window counts it, in packets.
    pub(super) fn cap(&self) -> f64 {
        cap(self.window_cap)
    }
}

/// A cap as a window counts it, in packets.
pub(super) fn cap(window_cap: Option<NonZeroU32>) -> f64 {
    window_cap.map_or(f64::INFINITY, |cap| cap.get().into())
}

parameters! {
    /// Retransmission, acknowledgements and the begin of a connection.
    pub struct TcpOptions: "tcp-options" {
        /// Floor of the retransmission time-out.
        pub min_rto: Span = Span::from_ms(200),
        /// Retransmission time-out before a round trip is measured. Without it `min_rto`, as the
        /// connection is open and has measured its own; where the flow opens it first, 1 s (RFC 6298
        /// section 2.1), or `min_rto` if that is more.
        pub initial_rto: Option<Span> = None,
        /// Whether duplicate ACKs are a loss; off where packets are sprayed over paths.
        pub fast_retransmit: bool = true,
        /// How many of them are one (DupThresh; RFC 5681 section 3.2: 3).
        pub dupthresh: NonZeroU32 = DUPTHRESH,
        /// Whether each of those before lets one new packet go (limited transmit, RFC 3042).
        pub limited_transmit: bool = true,
        /// Whether ACKs tell which packet caused them, and what has arrived is not sent again.
        /// Losses are then mended as RFC 6675 says, else as RFC 6582 does.
        pub sack: bool = true,
        /// How long the receiver may hold back the ACK of every other packet (RFC 5681 section 4.2:
        /// at most 500 ms).
        pub ack_delay: Option<Span> = None,
        /// By how many packets an ACK may open the window in slow start, which then counts what is
        /// acknowledged (RFC 3465 section 2.3: 2); without it counts ACKs.
        pub abc_limit: Option<NonZeroU32> = Some(ABC_LIMIT),
        /// Whether a flow opens its connection first: its first byte leaves a round trip later, when its
        /// request is answered (RFC 9293 section 3.5).
        pub handshake: bool = false,
    }
}

impl Check for TcpOptions {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("min_rto", self.min_rto)?;
        self.initial_rto.map_or(Ok(()), |span| check_timer("initial_rto", span))?;
        check_ack_delay(self.ack_delay)
    }
}

impl TcpOptions {
    /// The rules of a sender within these limits, without marks and pacing.
    pub(super) fn rules(&self, window: &WindowLimits) -> Rules {
        Rules {
            initial_window: window.initial_window.get().into(),
            initial_ssthresh: f64::INFINITY,
            window_cap: window.cap(),
            timer: Timer::estimated(self.min_rto, self.initial_rto, self.handshake),
            fast_retransmit: self.fast_retransmit.then_some(FastRetransmit {
                dupthresh: self.dupthresh,
                limited_transmit: self.limited_transmit,
            }),
            sack: self.sack,
            ack_delay: self.ack_delay,
            ecn: false,
            paced: false,
            handshake: self.handshake,
        }
    }
}

/// Refuses to hold an ACK back for longer than RFC 5681 (4.2) allows.
fn check_ack_delay(delay: Option<Span>) -> Result<(), Refusal> {
    const LONGEST: Span = Span::from_ms(500);
    match delay {
        Some(delay) if delay == Span::ZERO || delay > LONGEST => {
            let expected = format!("a time above zero, at most {LONGEST}, or none");
            Err(Refusal::of(&delay, expected).under("ack_delay"))
        }
        _ => Ok(()),
    }
}
