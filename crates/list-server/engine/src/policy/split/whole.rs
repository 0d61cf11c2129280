//! One envelope a message.

use super::{Place, Split};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// One envelope a message: its destinations are served one after the other, and each waits for
    /// those before it. Where the paper began ("The Problem"): five hours for a message.
    pub struct Whole: "whole" {}
}

impl Check for Whole {}

impl Split for Whole {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        vec![places]
    }
}
