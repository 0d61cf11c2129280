//! Earliest deadline first.

use super::{Leaving, Number};
use sojourn_kernel::parameters::Check;
use sojourn_kernel::{Time, parameters};

parameters! {
    /// Time left until the flow's deadline when the packet leaves, in microseconds: EDF (pFabric
    /// section 2.2). A flow without a deadline comes last.
    pub struct Deadline: "deadline" {}
}

impl Check for Deadline {}

impl Number for Deadline {
    #[inline]
    fn number(&self, leaving: &Leaving<'_>) -> u64 {
        match leaving.flow.deadline {
            Time::NEVER => u64::MAX,
            deadline => deadline.since(leaving.now).ps() / 1_000_000,
        }
    }
}
