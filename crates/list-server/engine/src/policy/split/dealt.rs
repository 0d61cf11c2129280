//! Envelopes that recipients are dealt to in turn.

use super::{Place, Split};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::num::NonZeroU32;

parameters! {
    /// Envelopes of at most so many recipients, side by side, to which recipients are dealt in turn,
    /// in the order of service: where that goes by past delays, each has its part of the quick.
    pub struct Dealt: "dealt" {
        /// Maximum recipients per envelope.
        pub size: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
    }
}

impl Check for Dealt {}

impl Split for Dealt {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        let envelopes = places.len().div_ceil(self.size.get() as usize);
        let dealt_to = |first| places.iter().skip(first).step_by(envelopes).copied().collect();
        (0..envelopes).map(dealt_to).collect()
    }
}
