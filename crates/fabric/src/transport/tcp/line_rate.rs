//! No rate control at all (pFabric section 3, scheme iv).

use super::congestion::{CongestionControl, Rules, Window};
use super::rto::Timer;
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, Time, parameters};

parameters! {
    /// A flow sends at the speed of its host's link until its last packet is acknowledged, and
    /// goes back to the first packet that is missing whenever the fixed timer runs out (pFabric
    /// section 3, scheme iv).
    pub struct LineRate: "line-rate" {
        /// Fixed retransmission time-out. If it is shorter than the round trip under load, packets
        /// are resent in vain.
        pub rto: Span = Span::from_us(40),
        /// Whether ACKs say which packets have arrived, so that those are not resent.
        pub sack: bool = true,
    }
}

impl Check for LineRate {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("rto", self.rto)
    }
}

impl CongestionControl for LineRate {
    type State = ();

    fn rules(&self) -> Rules {
        Rules {
            initial_window: f64::INFINITY,
            initial_ssthresh: f64::INFINITY,
            window_cap: f64::INFINITY,
            timer: Timer::Fixed(self.rto),
            fast_retransmit: None,
            sack: self.sack,
            ack_delay: None,
            quick_acks: 0,
            ecn: false,
            paced: true,
            handshake: false,
            known_round_trip: false,
            restart_after_idle: false,
            tick: None,
            rack: None,
        }
    }

    fn timed_out(&self, _: &mut Window, _: &mut (), _: u32, _: Time) {}
}
