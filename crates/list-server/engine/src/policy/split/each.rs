//! One envelope a recipient.

use super::{Place, Split};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// One envelope a recipient: what a separate sender address for each (VERP) needs; the
    /// message crosses the network as often as there are recipients.
    pub struct Each: "each" {}
}

impl Check for Each {}

impl Split for Each {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        places.into_iter().map(|place| vec![place]).collect()
    }
}
