//! One envelope a destination.

use super::{Place, Split, together};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// One envelope a destination, all side by side: no destination waits for another, and a
    /// message crosses the network once for each.
    pub struct ByDestination: "by-destination" {}
}

impl Check for ByDestination {}

impl Split for ByDestination {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        together(&places)
    }
}
