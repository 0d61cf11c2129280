//! One envelope a destination.

use super::{Place, Split};
use sojourn_kernel::parameters;
use sojourn_kernel::parameters::Check;
use std::collections::BTreeMap;

parameters! {
    /// One envelope a destination, all side by side: no destination waits for another, and a
    /// message crosses the network once for each.
    pub struct ByDestination: "by-destination" {}
}

impl Check for ByDestination {}

impl Split for ByDestination {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        let mut envelopes: Vec<Vec<Place>> = Vec::new();
        let mut of_destination = BTreeMap::new();
        for place in places {
            let envelope = *of_destination.entry(place.destination).or_insert_with(|| {
                envelopes.push(Vec::new());
                envelopes.len() - 1
            });
            envelopes[envelope].push(place);
        }
        envelopes
    }
}
