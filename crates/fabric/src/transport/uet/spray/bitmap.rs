//! Spraying that skips entropy values which had bad news.

use super::{News, Rounds, check_paths};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Light, Time, parameters};

parameters! {
    /// Each entropy value in turn, but those with a penalty are skipped, which takes one off it: a mark
    /// adds one, a packet trimmed inside of the fabric four, and a time-out fifteen, which is the
    /// most (UEC 1.0, section 3.6.16; penalties as in uet-htsim).
    pub struct Bitmap: "bitmap" {
        /// How many entropy values a flow has, a power of two. Fewer than there are paths leave some
        /// unused; with many times as many, the news of one says little of the others on its path.
        pub paths: u32 = 64,
    }
}

impl Check for Bitmap {
    fn check(&self) -> Result<(), Refusal> {
        check_paths(self.paths)
    }
}

const MOST_PENALTY: u8 = 15;

/// One sender's.
#[derive(Clone, Debug)]
pub(in crate::transport::uet) struct Running {
    rounds: Rounds,
    /// By the lower bits of a value.
    penalties: Box<[u8]>,
}

impl Running {
    pub(super) fn new(paths: u32, chance: &mut Light) -> Running {
        let rounds = Rounds::new(paths, chance);
        Running { rounds, penalties: vec![0; paths as usize].into() }
    }

    #[inline]
    pub(super) fn next(&mut self, chance: &mut Light) -> u16 {
        let mut lower = self.rounds.lower();
        // The first value that is skipped pays, the others of the same packet do not.
        let first = &mut self.penalties[usize::from(lower)];
        if *first > 0 {
            *first -= 1;
            for _ in 0..self.penalties.len() {
                self.rounds.step(chance);
                lower = self.rounds.lower();
                if self.penalties[usize::from(lower)] == 0 {
                    break;
                }
            }
        }
        self.rounds.step(chance);
        self.rounds.upper | lower
    }

    #[inline]
    pub(super) fn hear(&mut self, entropy: u16, news: News, _: Time) {
        let more = match news {
            News::Good => return,
            News::Marked => 1,
            News::Trimmed => 4,
            News::TimedOut => MOST_PENALTY,
        };
        let penalty = &mut self.penalties[usize::from(entropy & self.rounds.mask)];
        *penalty = (*penalty + more).min(MOST_PENALTY);
    }
}
