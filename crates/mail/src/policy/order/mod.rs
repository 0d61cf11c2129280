//! In what order a message's recipients are served.

mod by_destination;
mod list;
mod past_delay;

pub use by_destination::InDestinations;
pub use list::ListOrder;
pub use past_delay::PastDelay;

use super::split::Place;
use sojourn_kernel::{Span, variants};

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
    pub fn sort(&self, places: &mut [Place], delay: impl Fn(u32) -> Option<Span>) {
        // Rank and place as one number: quicker to compare than one after the other.
        let rank = |place: Place| order!(self, |way| way.rank(place, delay(place.destination)));
        let number = |(&it, place): (&Place, u128)| u128::from(rank(it)) << 64 | place;
        let mut ranked: Vec<u128> = places.iter().zip(0..).map(number).collect();
        ranked.sort_unstable();
        let sorted: Vec<Place> = ranked.iter().map(|&it| places[it as u64 as usize]).collect();
        places.copy_from_slice(&sorted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::defaults;

    fn sorted(kind: &OrderKind) -> Vec<u32> {
        let place = |(recipient, destination)| Place { recipient, destination };
        let mut places = [(0, 5), (1, 4), (2, 6), (3, 4), (4, 5)].map(place);
        let delays = |destination| {
            [Some(Span::from_s(9)), None, Some(Span::from_s(1))][destination as usize - 4]
        };
        kind.sort(&mut places, delays);
        places.iter().map(|place| place.recipient).collect()
    }

    #[test]
    fn by_hand() {
        assert_eq!(sorted(&OrderKind::List(defaults())), [0, 1, 2, 3, 4]);
        assert_eq!(sorted(&OrderKind::ByDestination(defaults())), [1, 3, 0, 4, 2]);
        // Unknown destinations count as middling: after the quick, before the slow.
        assert_eq!(sorted(&OrderKind::PastDelay(defaults())), [2, 0, 4, 1, 3]);
    }
}
