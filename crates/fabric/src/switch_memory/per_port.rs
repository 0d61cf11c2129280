//! Buffers of one size, one at each port.

use super::{Depth, MemoryPlan, Quota, check_cell};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, parameters};

parameters! {
    /// A buffer of this size at each port of a switch, which no other port can use, whatever the
    /// discipline: memory of the port's own.
    pub struct PerPort: "per-port" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub size: Depth,
        /// Size of a memory cell. A packet occupies whole cells.
        pub cell: Bytes = Bytes(1),
    }
}

impl Check for PerPort {
    fn check(&self) -> Result<(), Refusal> {
        check_cell(self.cell)
    }
}

impl PerPort {
    pub(super) fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        let quota = |rate: &Rate| Quota::own(self.size.at(*rate));
        let queues = ports.iter().map(quota).collect();
        Ok(Some(MemoryPlan { shared: 0, alpha: None, cell: self.cell, queues }))
    }
}
