//! One disk.

use super::block_run::Run;
use super::{Access, AccessPlan, LayoutPlan};
use crate::device::Op;
use sojourn_core::parameters::Check;
use sojourn_core::{Ahead, parameters};

parameters! {
    /// One disk: an M/G/1 queue when requests arrive as a Poisson process (paper section 2).
    pub struct Single: "single" {}
}

impl Check for Single {}

impl LayoutPlan for Single {
    fn disks(&self) -> usize {
        1
    }

    fn ways(&self, _: Op) -> u64 {
        1
    }

    fn lay(&self, op: Op, blocks: u32, _: u64, plan: &mut AccessPlan) {
        plan.push(Access::new(0, op, blocks));
    }

    fn lay_at(&self, run: Run, _: &mut Ahead, plan: &mut AccessPlan) {
        plan.push(Access { at: run.first, ..Access::new(0, run.op, run.blocks) });
    }

    fn data_disks(&self) -> u64 {
        1
    }
}
