//! In which order a disk serves what waits for it, and what it gains by looking ahead.

use sojourn_kernel::parameters::Check;
use sojourn_kernel::{choices, parameters, variants};

variants! {
    /// In which order each disk serves.
    pub enum Scheduling: "scheduling" {
        Fcfs(Fcfs),
        Rpo(Rpo),
    }
}

parameters! {
    /// First come, first served, each with a positioning of its own; the second phase of a write
    /// before all else, without interrupting (paper section 3.3).
    pub struct Fcfs: "fcfs" {}
}

parameters! {
    /// Rotational positioning optimisation (paper section 3.5): an access that starts takes the
    /// shortest of as many positionings as jobs wait at its disk. The order stays first come, first
    /// served; only positionings of seek and rotation are shortened.
    pub struct Rpo: "rpo" {
        /// Which jobs the number counts.
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

impl Check for Fcfs {}
impl Check for Rpo {}

impl Rpo {
    /// How many positionings an access that starts chooses from while `waiting` others wait.
    #[inline]
    pub(crate) fn choices(&self, waiting: usize) -> usize {
        match self.counts {
            Counts::All => waiting + 1,
            Counts::Others => waiting.max(1),
        }
    }
}
