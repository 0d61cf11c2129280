//! Rotational positioning optimisation, as the paper has it.

use super::Order;
use sojourn_core::parameters::Check;
use sojourn_core::{choices, parameters};

parameters! {
    /// Rotational positioning optimisation (paper section 3.5): an access that starts takes the
    /// shortest of as many positionings as jobs wait at its disk. The order stays first come, first
    /// served; only positionings of seek and rotation are shortened. For independent positioning;
    /// what it stands for is `satf`, with mechanical.
    pub struct Rpo: "rpo" {
        /// Which waiting jobs are counted.
        pub counts: Counts = Counts::All,
    }
}

choices! {
    /// Which jobs rotational positioning optimisation counts.
    pub enum Counts: "way of counting jobs" {
        /// All jobs at the disk, the one that starts too.
        All = "all",
        /// The other jobs, one at least.
        Others = "others",
    }
}

impl Check for Rpo {}

impl Order for Rpo {
    const NEEDS_ARMS: Option<bool> = Some(false);

    #[inline]
    fn choices(&self, waiting: usize) -> usize {
        match self.counts {
            Counts::All => waiting + 1,
            Counts::Others => waiting.max(1),
        }
    }
}
