//! In what order a message's recipients are served.

mod by_destination;
mod list;
mod past_delay;

pub use super::order::by_destination::InDestinations;
pub use super::order::list::ListOrder;
pub use super::order::past_delay::PastDelay;

use super::split::Place;
use crate::ids::DestinationId;
use sojourn_core::{Span, variants};

variants! {
    /// In what order a message's recipients are served.
    pub enum OrderKind: "order" => order {
        PastDelay(PastDelay),
        List(ListOrder),
        ByDestination(InDestinations),
    }
}

/// A way to order.
pub trait Order {
    /// Lower ranks are served earlier; the list's order decides among equals. `delay` is how long
    /// attempts at the destination took lately, when there were any.
    fn rank(&self, place: Place, delay: Option<Span>) -> u64;
}

impl OrderKind {
    /// Puts `places` in order.
    pub fn sort(&self, places: &mut [Place], delay: impl Fn(DestinationId) -> Option<Span>) {
        // Rank and place as one number: quicker to compare than one after the other.
        let rank = |place: Place| order!(self, |way| way.rank(place, delay(place.destination)));
        let number = |(&it, place): (&Place, u128)| u128::from(rank(it)) << 64 | place;
        let mut ranked: Vec<u128> = places.iter().zip(0..).map(number).collect();
        ranked.sort_unstable();
        let sorted: Vec<Place> = ranked.iter().map(|&it| places[it as u64 as usize]).collect();
        places.copy_from_slice(&sorted);
    }
}
