//! TCP NewReno (RFC 5681, 6582, 6298).

use super::control::{Control, Rules};
use super::timer::Timer;
use crate::packet::LONGEST_TIMER;
use sojourn_kernel::parameters::{Check, Refusal, Setting};
use sojourn_kernel::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// TCP NewReno: slow start, congestion avoidance, fast retransmit and recovery (RFC 5681,
    /// 6582), estimated time-outs (RFC 6298). Flows run over connections that are already open.
    pub struct NewReno: "new-reno" {
        /// Packets a flow may send before the first ACK (RFC 6928: 10).
        pub initial_window: NonZeroU32 = NonZeroU32::new(10).expect("10"),
        /// The window never exceeds this many packets.
        pub window_cap: Option<NonZeroU32> = None,
        /// Floor of the retransmission time-out.
        pub min_rto: Span = Span::from_ms(200),
        /// Retransmission time-out before the first round trip is measured.
        pub initial_rto: Span = Span::from_s(1),
        /// Whether three duplicate ACKs are a loss; off where packets are sprayed over paths.
        pub fast_retransmit: bool = true,
        /// Whether ACKs tell which packet caused them, and what has arrived is not sent again.
        pub sack: bool = true,
        /// How long the receiver may hold back the ACK of every other packet.
        pub ack_delay: Option<Span> = None,
    }
}

impl Check for NewReno {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("min_rto", self.min_rto)?;
        check_timer("initial_rto", self.initial_rto)?;
        self.ack_delay.map_or(Ok(()), |delay| check_timer("ack_delay", delay))
    }
}

/// Refuses a timer that would run out at once, or later than a run can last.
pub(super) fn check_timer(key: &str, span: Span) -> Result<(), Refusal> {
    if span == Span::ZERO || span > LONGEST_TIMER {
        let given = span.write().expect("a time");
        let expected = format!("a time above zero, at most {LONGEST_TIMER}");
        return Err(Refusal::value(&given, expected).under(key));
    }
    Ok(())
}

/// A cap as the window counts it.
pub(super) fn cap(window_cap: Option<NonZeroU32>) -> f64 {
    window_cap.map_or(f64::INFINITY, |cap| cap.get().into())
}

impl Control for NewReno {
    type State = ();

    fn rules(&self) -> Rules {
        Rules {
            initial_window: self.initial_window.get().into(),
            initial_threshold: f64::INFINITY,
            window_cap: cap(self.window_cap),
            timer: Timer::Estimated { min: self.min_rto, initial: self.initial_rto },
            fast_retransmit: self.fast_retransmit,
            sack: self.sack,
            ack_delay: self.ack_delay,
            ecn: false,
            paced: false,
        }
    }
}
