//! One memory for all ports, some of it promised to each.

use super::{MemoryPlan, Quota, check_alpha, check_cell};
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Bytes, Rate, parameters};

parameters! {
    /// Each port has a reserve that no other can take; what is left of a switch's memory is shared
    /// with dynamic thresholds. A queue fills its reserve first; the threshold holds for what it
    /// has beyond that, and looks at the shared part alone.
    pub struct Reserved: "reserved" {
        /// Memory of each switch, including reserves.
        pub size: Bytes,
        /// Reserved memory per port. By default two full packets.
        pub reserve: Bytes = Bytes(3_000),
        /// Threshold of a port, as a multiple of the free shared memory. With "none" there is no
        /// threshold.
        pub alpha: Option<f64> = Some(1.0),
        /// Size of a memory cell. A packet occupies whole cells.
        pub cell: Bytes = Bytes(1),
    }
}

impl Check for Reserved {
    fn check(&self) -> Result<(), Refusal> {
        check_alpha(self.alpha)?;
        check_cell(self.cell)
    }
}

impl Reserved {
    pub(super) fn plan(&self, ports: &[Rate]) -> Result<Option<MemoryPlan>, Refusal> {
        let reserves = self.reserve.0.checked_mul(ports.len() as u64);
        let Some(shared) = reserves.and_then(|reserves| self.size.0.checked_sub(reserves)) else {
            let given = self.reserve.write().expect("a size");
            let most = Bytes(self.size.0 / ports.len() as u64);
            let expected = format!("at most {most}: {} over {} ports", self.size, ports.len());
            return Err(Refusal::value(&given, expected).under("reserve"));
        };
        let quota = Quota { reserve: self.reserve.0, cap: u64::MAX };
        let queues = vec![quota; ports.len()];
        Ok(Some(MemoryPlan { shared, alpha: self.alpha, cell: self.cell, queues }))
    }
}
