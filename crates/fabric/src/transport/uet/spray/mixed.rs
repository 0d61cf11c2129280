//! Spraying that uses good entropy values again, and otherwise skips bad ones.

use super::{News, bitmap, check_paths};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Light, Time, parameters};
use std::collections::VecDeque;

parameters! {
    /// Each entropy value of a packet that arrived unmarked goes once more, in the order of the news;
    /// where none is left, as with `bitmap` (the default of uet-htsim).
    pub struct Mixed: "mixed" {
        /// How many entropy values a flow has, a power of two. Fewer than there are paths leave some
        /// unused.
        pub paths: u32 = 64,
    }
}

impl Check for Mixed {
    fn check(&self) -> Result<(), Refusal> {
        check_paths(self.paths)
    }
}

/// One sender's.
#[derive(Clone, Debug)]
pub(in crate::transport::uet) struct Running {
    bitmap: bitmap::Running,
    good: VecDeque<u16>,
}

impl Running {
    pub(super) fn new(paths: u32, chance: &mut Light) -> Running {
        Running { bitmap: bitmap::Running::new(paths, chance), good: VecDeque::new() }
    }

    #[inline]
    pub(super) fn next(&mut self, chance: &mut Light) -> u16 {
        self.good.pop_front().unwrap_or_else(|| self.bitmap.next(chance))
    }

    #[inline]
    pub(super) fn hear(&mut self, entropy: u16, news: News, now: Time) {
        self.bitmap.hear(entropy, news, now);
        if news == News::Good {
            self.good.push_back(entropy);
        }
    }
}
