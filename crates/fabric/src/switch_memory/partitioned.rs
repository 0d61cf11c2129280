//! One memory, cut into equal parts.

use super::{MemoryPlan, Quota, check_cell};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, parameters};

parameters! {
    /// The memory of a switch, cut into a part of the same size for each port: complete
    /// partitioning (Kamoun and Kleinrock, 1980). A busy port cannot use what an idle one leaves.
    pub struct Partitioned: "static" {
        /// Memory of each switch.
        pub size: Bytes,
        /// Size of a memory cell. A packet occupies whole cells.
        pub cell: Bytes = Bytes(1),
    }
}

impl Check for Partitioned {
    fn check(&self) -> Result<(), Refusal> {
        check_cell(self.cell)
    }
}

impl Partitioned {
    pub(super) fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        let queues = vec![Quota::own(self.size.0 / ports.len() as u64); ports.len()];
        Ok(Some(MemoryPlan { shared: 0, alpha: None, cell: self.cell, queues }))
    }
}
