//! Spraying that hears nothing.

use super::{News, Rounds, check_paths};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Light, Time, parameters};

parameters! {
    /// Each entropy value once, then each again in another order, whatever becomes of the packets
    /// (UEC 1.0, section 3.6.16; as in uet-htsim).
    pub struct Oblivious: "oblivious" {
        /// How many entropy values a flow has, a power of two. Fewer than there are paths leave some
        /// unused, and a few times as many spread evenly over them.
        pub paths: u32 = 64,
    }
}

impl Check for Oblivious {
    fn check(&self) -> Result<(), Refusal> {
        check_paths(self.paths)
    }
}

/// One sender's.
#[derive(Clone, Debug)]
pub(in crate::transport::uet) struct Running(Rounds);

impl Running {
    pub(super) fn new(paths: u32, chance: &mut Light) -> Running {
        Running(Rounds::new(paths, chance))
    }

    #[inline]
    pub(super) fn next(&mut self, chance: &mut Light) -> u16 {
        let entropy = self.0.upper | self.0.lower();
        self.0.step(chance);
        entropy
    }

    #[inline]
    pub(super) fn hear(&mut self, _: u16, _: News, _: Time) {}
}
