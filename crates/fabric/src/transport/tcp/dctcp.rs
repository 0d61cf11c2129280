//! DCTCP (RFC 8257): the window shrinks by as much as the marks say.

use super::congestion::{
    ABC_LIMIT, Acked, CongestionControl, DUPTHRESH, FastRetransmit, Rules, Window,
};
use super::new_reno::{cap, check_ack_delay};
use super::rto::Timer;
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// DCTCP (RFC 8257): NewReno, and at most once a window of data the window shrinks by
    /// alpha/2, where alpha is the smoothed share of marked packets. Wants a queue that marks:
    /// `ecn` or `levels`.
    pub struct Dctcp: "dctcp" {
        /// Packets a flow may send before the first ACK.
        pub initial_window: NonZeroU32 = NonZeroU32::new(10).expect("10"),
        /// The window never exceeds this many packets.
        pub window_cap: Option<NonZeroU32> = None,
        /// Weight of the newest window in alpha (RFC 8257 section 3.3: 1/16).
        pub gain: f64 [0.0..=1.0] = 0.0625,
        /// Alpha of a new flow (RFC 8257 section 3.3: 1; the pFabric authors' code: 0).
        pub initial_alpha: f64 [0.0..=1.0] = 1.0,
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

impl Check for Dctcp {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("min_rto", self.min_rto)?;
        self.initial_rto.map_or(Ok(()), |span| check_timer("initial_rto", span))?;
        check_ack_delay(self.ack_delay)
    }
}

/// What DCTCP keeps for one flow.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Smoothed share of marked packets; none before the first window is over.
    alpha: Option<f64>,
    arrived: u32,
    marked: u32,
    /// The window under observation ends when this packet is acknowledged.
    observed: u32,
    /// No second reduction before this packet is acknowledged.
    reduced: u32,
}

impl CongestionControl for Dctcp {
    type State = Marks;

    fn rules(&self) -> Rules {
        Rules {
            initial_window: self.initial_window.get().into(),
            initial_threshold: f64::INFINITY,
            window_cap: cap(self.window_cap),
            timer: Timer::estimated(self.min_rto, self.initial_rto, self.handshake),
            fast_retransmit: self.fast_retransmit.then_some(FastRetransmit {
                dupthresh: self.dupthresh,
                limited_transmit: self.limited_transmit,
            }),
            sack: self.sack,
            ack_delay: self.ack_delay,
            ecn: true,
            paced: false,
            handshake: self.handshake,
        }
    }

    fn acked(&self, window: &mut Window, marks: &mut Marks, acked: &Acked) {
        marks.arrived += acked.arrived;
        marks.marked += if acked.marked { acked.arrived } else { 0 };
        let mut alpha = marks.alpha.unwrap_or(self.initial_alpha);
        if acked.upto > marks.observed {
            let share = f64::from(marks.marked) / f64::from(marks.arrived.max(1));
            alpha += self.gain * (share - alpha);
            *marks = Marks {
                alpha: Some(alpha),
                arrived: 0,
                marked: 0,
                observed: acked.next,
                reduced: marks.reduced,
            };
        }
        if acked.marked {
            if acked.upto >= marks.reduced {
                window.size = (window.size * (1.0 - alpha / 2.0)).max(1.0);
                window.threshold = window.size.max(2.0);
                marks.reduced = acked.next + 1;
            }
        } else if acked.cumulative > 0 {
            window.grow_by(acked, self.abc_limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Time;
    use sojourn_core::parameters::defaults;

    fn ack(upto: u32, next: u32, marked: bool) -> Acked {
        let (cause, rtt, now) = (None, Span::ZERO, Time::ZERO);
        let repairing = false;
        Acked { cumulative: 1, arrived: 1, marked, upto, next, repairing, cause, rtt, now }
    }

    /// By hand, g = 1/16 from alpha = 1: a window of ten with two marks.
    #[test]
    fn alpha_and_window_follow_the_rfc() {
        let dctcp = Dctcp { initial_alpha: 1.0, ..defaults() };
        let (mut window, mut marks) = (Window { size: 10.0, threshold: 5.0 }, Marks::default());
        dctcp.acked(&mut window, &mut marks, &ack(1, 10, true));
        // First window: one packet, marked: alpha stays 1, the window is halved.
        assert_eq!((marks.alpha, window.size, window.threshold), (Some(1.0), 5.0, 5.0));
        for upto in 2..=10 {
            dctcp.acked(&mut window, &mut marks, &ack(upto, 15, upto == 4));
        }
        // One reduction a window: the mark at 4 came before packet 10 was acknowledged.
        assert!(window.size > 5.0);
        dctcp.acked(&mut window, &mut marks, &ack(11, 16, false));
        let share = 1.0 / 10.0;
        assert_eq!(marks.alpha, Some(1.0 + (share - 1.0) / 16.0));
    }
}
