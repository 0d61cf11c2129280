//! One memory for all ports, with dynamic thresholds.

use super::{MemoryPlan, Quota, check_alpha, check_cell};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Rate, parameters};

parameters! {
    /// One memory for all ports of a switch, with dynamic thresholds (Choudhury and Hahne, 1998): a
    /// packet is taken in as long as the queue of its port, this packet counted, is no longer than
    /// alpha times the memory that is free. S queues that always want more so hold alpha B /
    /// (1 + alpha S) each, and the rest stays free for other ports.
    pub struct Shared: "shared" {
        /// Memory of each switch.
        pub size: Bytes,
        /// Threshold of a port, as a multiple of the free memory. A small one protects idle ports;
        /// a large one lets a busy port take more. With "none" there is no threshold (complete
        /// sharing).
        pub alpha: Option<f64> = Some(1.0),
        /// Size of a memory cell. A packet occupies whole cells.
        pub cell: Bytes = Bytes(1),
    }
}

impl Check for Shared {
    fn check(&self) -> Result<(), Refusal> {
        check_alpha(self.alpha)?;
        check_cell(self.cell)
    }
}

impl Shared {
    pub(super) fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        let queues = vec![Quota::shared(u64::MAX); ports.len()];
        Ok(Some(MemoryPlan { shared: self.size.0, alpha: self.alpha, cell: self.cell, queues }))
    }
}
