//! Come back later.

use super::{Act, Fault, SessionView, Step, duration};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::net::IpAddr;

parameters! {
    /// Refuses a recipient for now until so long after it was first tried from the same network by
    /// the same sender. Postgrey's key: the first 24 bits of an IPv4 address, 64 of an IPv6
    /// address, the sender, the recipient.
    pub struct Greylist: "greylist" {
        /// How long (Postgrey: 300 s).
        pub wait: Span = Span::from_s(60),
        /// Whether its answer says how long.
        pub named: bool = false,
    }
}

impl Check for Greylist {}

impl Fault for Greylist {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        let Step::Rcpt(recipient) = step else { return Act::Usual };
        let network = match view.client {
            IpAddr::V4(it) => u64::from(u32::from(it) >> 8),
            IpAddr::V6(it) => (u128::from(it) >> 64) as u64,
        };
        let triplet = format!("{network:x} {} {recipient}", view.sender);
        let first = *view.memory.seen.entry(triplet).or_insert(view.now);
        let due = first + duration(self.wait);
        match due.checked_sub(view.now).filter(|left| !left.is_zero()) {
            None => Act::Usual,
            Some(left) if self.named => {
                let seconds = left.as_secs_f64().ceil();
                Act::Say(format!("450 4.2.0 Greylisted, try again in {seconds} seconds"))
            }
            Some(_) => Act::Say("450 4.2.0 Greylisted, try again later".into()),
        }
    }
}
