//! Strict priority between classes.

use super::Policy;
use sojourn_core::parameters;
use sojourn_core::parameters::Check;

parameters! {
    /// The lowest class in which a packet waits: the others wait for as long as it takes.
    pub struct Strict: "strict" {}
}

impl Check for Strict {}

/// Nothing needs to be kept.
#[derive(Debug)]
pub(super) struct Strictly;

impl Policy for Strictly {
    type Params = Strict;

    fn new(_: &Strict, _: usize) -> Strictly {
        Strictly
    }

    #[inline]
    fn joins(&mut self, _: usize) {}

    #[inline]
    fn next(&self, waiting: u8) -> usize {
        waiting.trailing_zeros() as usize
    }

    #[inline]
    fn sends(&mut self, _: usize, _: u16) {}
}
