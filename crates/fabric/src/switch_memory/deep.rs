//! One deep memory for all ports, with a cap a queue.

use super::{Depth, MemoryPlan, Quota, check_cell};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, Span, parameters};

parameters! {
    /// One memory outside of the chip for all ports of a switch, so large that only a cap keeps a
    /// queue from filling it: Arista's 7500R, 50 MB for a port of 10 Gb/s, 200 MB at 40 and 500 MB
    /// at 100, which is 40 ms at each speed. The chip's own small memory in front is not modelled,
    /// nor is the cap on packets.
    pub struct Deep: "deep" {
        /// Memory of each switch.
        pub size: Bytes,
        /// Maximum that may wait at a port.
        pub cap: Depth = Depth::Time(Span::from_ms(40)),
        /// Size of a memory cell. A packet occupies whole cells.
        pub cell: Bytes = Bytes(1),
    }
}

impl Check for Deep {
    fn check(&self) -> Result<(), Refusal> {
        check_cell(self.cell)
    }
}

impl Deep {
    pub(super) fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        let queues = ports.iter().map(|rate| Quota::shared(self.cap.at(*rate))).collect();
        Ok(Some(MemoryPlan { shared: self.size.0, alpha: None, cell: self.cell, queues }))
    }
}
