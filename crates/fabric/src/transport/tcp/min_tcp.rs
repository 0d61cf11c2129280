//! MinTCP: TCP returned to its roots (pFabric sections 2.3 and 3, scheme iii).

use super::congestion::{CongestionControl, Rules};
use super::parameters::cap;
use super::rto::Timer;
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// MinTCP: a window of at least one bandwidth-delay product from the start, additive increase
    /// each round trip, decrease only when the fixed timer runs out, and then slow start. No fast
    /// retransmit, no duplicate ACKs, no estimation (pFabric sections 2.3 and 3, scheme iii).
    pub struct MinTcp: "min-tcp" {
        /// Packets that a flow may send before the first ACK. Fewer than the bandwidth-delay
        /// product leave the path idle at first.
        pub initial_window: NonZeroU32 = NonZeroU32::new(12).expect("12"),
        /// Largest window, in packets. The text has no limit; the authors' code has one packet less
        /// than the queue, or the initial window if that is more.
        pub window_cap: Option<NonZeroU32> = None,
        /// Fixed retransmission time-out. If it is shorter than the round trip under load, packets
        /// are resent in vain.
        pub rto: Span = Span::from_us(40),
        /// Whether ACKs say which packets have arrived, so that those are not resent. The text does
        /// not mention it; the authors' code does it.
        pub sack: bool = true,
        /// Number of consecutive time-outs after which a flow sends only one byte of payload at
        /// each expiry of the timer, until an ACK arrives; then it uses slow start. This is the
        /// probe mode of the paper's SIGCOMM 2013 version, where it is 5. The HotNets text has
        /// none.
        pub probe_after: Option<NonZeroU32> = None,
    }
}

impl Check for MinTcp {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("rto", self.rto)
    }
}

impl CongestionControl for MinTcp {
    type State = ();

    fn rules(&self) -> Rules {
        let initial_window = f64::from(self.initial_window.get());
        Rules {
            initial_window,
            initial_ssthresh: initial_window,
            window_cap: cap(self.window_cap),
            timer: Timer::Fixed(self.rto),
            fast_retransmit: None,
            sack: self.sack,
            ack_delay: None,
            quick_acks: 0,
            ecn: false,
            paced: false,
            handshake: false,
            known_round_trip: false,
            restart_after_idle: false,
            tick: None,
            rack: None,
        }
    }

    fn probe_after(&self) -> Option<NonZeroU32> {
        self.probe_after
    }
}
