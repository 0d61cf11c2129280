//! Envelopes of so many recipients.

use super::{Place, Split};
use sojourn_core::parameters;
use sojourn_core::parameters::Check;
use std::num::NonZeroU32;

parameters! {
    /// Envelopes of so many recipients, in the order of service, side by side: the paper's 75 to
    /// 100 lists ("The First Suggestion", "Further Experiments").
    pub struct Chunks: "chunks" {
        /// Recipients per envelope.
        pub size: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
    }
}

impl Check for Chunks {}

impl Split for Chunks {
    fn cut(&self, places: Vec<Place>) -> Vec<Vec<Place>> {
        places.chunks(self.size.get() as usize).map(<[Place]>::to_vec).collect()
    }
}
