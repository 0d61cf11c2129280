//! How a message's recipients are split into envelopes.
//!
//! The groups of one envelope, one for each destination, are worked off one after the other;
//! envelopes are independent of each other. Recipients that have to be tried again leave their
//! envelope: when their time has come, those of one message and one destination are split anew.

mod by_destination;
mod chunks;
mod dealt;
mod each;
mod whole;

pub use super::split::by_destination::ByDestination;
pub use super::split::chunks::Chunks;
pub use super::split::dealt::Dealt;
pub use super::split::each::Each;
pub use super::split::whole::Whole;

use crate::ids::{DestinationId, RecipientIndex};
use sojourn_core::variants;

variants! {
    /// How a message's recipients are split into envelopes.
    pub enum SplitKind: "split" => split {
        ByDestination(ByDestination),
        Whole(Whole),
        Chunks(Chunks),
        Dealt(Dealt),
        Each(Each),
    }
}

/// One recipient, as far as splitting and ordering go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its place in the message's list.
    pub recipient: RecipientIndex,
    /// Its destination.
    pub destination: DestinationId,
}

/// A way to split.
pub trait Split {
    /// Cuts `places`, which are in the order of service, into envelopes; each place ends up in
    /// exactly one, and none is empty.
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>>;
}

/// Those of one destination together, in the order of their first places.
pub(crate) fn together(places: &[Place]) -> Vec<Vec<Place>> {
    // By destination, then by place, as one number: sorting them is quicker than looking each up.
    let number = |(it, place): (&Place, u64)| u64::from(it.destination.0) << 32 | place;
    let mut sorted: Vec<u64> = places.iter().zip(0..).map(number).collect();
    sorted.sort_unstable();
    let place = |number: u64| number as u32;
    let mut groups: Vec<&[u64]> = sorted.chunk_by(|a, b| a >> 32 == b >> 32).collect();
    groups.sort_unstable_by_key(|group| place(group[0]));
    let group = |group: &[u64]| group.iter().map(|&it| places[place(it) as usize]).collect();
    groups.into_iter().map(group).collect()
}

impl Split for SplitKind {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        split!(self, |way| way.cut(places))
    }
}
