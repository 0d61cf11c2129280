//! Recipients of one destination together.

use super::Order;
use crate::policy::split::Place;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Recipients of one destination together, destinations in the order in which they became
    /// known: chunks then have few destinations each.
    pub struct InDestinations: "by-destination" {}
}

impl Check for InDestinations {}

impl Order for InDestinations {
    fn rank(&self, place: Place, _: Option<Span>) -> u64 {
        place.destination.0.into()
    }
}
