//! No mail exchangers.

use super::{Answer, Names};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::time::Duration;

parameters! {
    /// The hosts' addresses as the domain's own, and no MX record (RFC 5321 section 5.1).
    pub struct AddressOnly: "address-only" {}
}

impl Check for AddressOnly {}

impl Names for AddressOnly {
    fn answer(&self, _now: Duration) -> Answer {
        Answer::Addresses
    }
}
