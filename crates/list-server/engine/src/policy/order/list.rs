//! As the list has them.

use super::Order;
use crate::policy::split::Place;
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// As the list has them.
    pub struct ListOrder: "list" {}
}

impl Check for ListOrder {}

impl Order for ListOrder {
    fn rank(&self, _: Place, _: Option<Span>) -> u64 {
        0
    }
}
