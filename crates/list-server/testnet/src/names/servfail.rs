//! Cannot say.

use super::{Answer, Names};
use crate::fault::duration;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};
use std::time::Duration;

parameters! {
    /// SERVFAIL.
    pub struct Servfail: "servfail" {
        /// Until so long after the start; then the domain's hosts as MX records.
        pub until: Option<Span>,
    }
}

impl Check for Servfail {}

impl Names for Servfail {
    fn answer(&self, now: Duration) -> Answer {
        match self.until {
            Some(until) if now >= duration(until) => Answer::Mx,
            _ => Answer::Failure,
        }
    }
}
