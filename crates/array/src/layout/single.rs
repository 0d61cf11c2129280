//! One disk.

use super::{Access, Lay, Plan};
use crate::disk::Op;
use sojourn_kernel::parameters::Check;
use sojourn_kernel::{Stream, parameters};

parameters! {
    /// One disk: an M/G/1 queue when requests arrive as a Poisson process (paper section 2).
    pub struct Single: "single" {}
}

impl Check for Single {}

impl Lay for Single {
    fn disks(&self) -> usize {
        1
    }

    #[inline]
    fn lay(&self, op: Op, blocks: u32, _: &mut Stream, plan: &mut Plan) {
        plan.push(Access::new(0, op, blocks));
    }
}
