//! Which entropy value each packet carries, and so which of several paths it takes: the choice of the
//! sender, who hears what became of each value. A way to choose is one file here.

mod bitmap;
mod mixed;
mod oblivious;
mod reps;

pub use bitmap::Bitmap;
pub use mixed::Mixed;
pub use oblivious::Oblivious;
pub use reps::Reps;

use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Light, Time, variants};

/// Declares the ways to choose, one line each: the registry of their parameters, and what a sender
/// keeps.
macro_rules! spraying {
    ($($variant:ident($running:ty),)+) => {
        variants! {
            /// How the entropy value of each packet is chosen.
            pub enum Spraying: "spraying" { $($variant($variant),)+ }
        }

        /// What one sender knows of its entropy values.
        #[derive(Clone, Debug)]
        pub(super) enum Sprayer { $($variant($running),)+ }

        impl Sprayer {
            /// For a flow that begins, whose random numbers are those of `chance`.
            pub(super) fn new(spraying: &Spraying, chance: &mut Light) -> Sprayer {
                match spraying {
                    $(Spraying::$variant(own) =>
                        Sprayer::$variant(<$running>::new(own.paths, chance)),)+
                }
            }

            /// The entropy value of the next packet.
            #[inline]
            pub(super) fn next(&mut self, chance: &mut Light) -> u16 {
                match self { $(Sprayer::$variant(own) => own.next(chance),)+ }
            }

            /// Takes in what became of a packet with the entropy value `entropy`.
            #[inline]
            pub(super) fn hear(&mut self, entropy: u16, news: News, now: Time) {
                match self { $(Sprayer::$variant(own) => own.hear(entropy, news, now),)+ }
            }
        }
    };
}

spraying! {
    Mixed(mixed::Running),
    Oblivious(oblivious::Running),
    Bitmap(bitmap::Running),
    Reps(reps::Running),
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It arrived unmarked.
    Good,
    /// It arrived marked.
    Marked,
    /// It was trimmed inside of the fabric.
    Trimmed,
    /// Nothing was heard of it for too long.
    TimedOut,
}

/// Most entropy values: packets have 16 bits for one.
const MOST_PATHS: u32 = 1 << 15;

/// Refuses a number of entropy values that is no power of two.
fn check_paths(paths: u32) -> Result<(), Refusal> {
    if paths.is_power_of_two() && paths <= MOST_PATHS {
        return Ok(());
    }
    let expected = format!("a power of two, at most {MOST_PATHS}");
    Err(Refusal::value(&Value::Int(paths.into()), expected).under("paths"))
}

/// Entropy values in rounds: each of `paths` once, in an order that is drawn again for each round.
#[derive(Clone, Debug)]
struct Rounds {
    /// The lower bits, which change from packet to packet.
    mask: u16,
    /// The upper bits, drawn once.
    upper: u16,
    place: u16,
    order: u16,
}

impl Rounds {
    fn new(paths: u32, chance: &mut Light) -> Rounds {
        let mask = (paths - 1) as u16;
        let upper = chance.below(1 << 16) as u16 & !mask;
        Rounds { mask, upper, place: 0, order: chance.below(paths.into()) as u16 }
    }

    /// The lower bits whose turn it is.
    #[inline]
    fn lower(&self) -> u16 {
        (self.place ^ self.order) & self.mask
    }

    /// Goes on to the next value.
    #[inline]
    fn step(&mut self, chance: &mut Light) {
        self.place = (self.place + 1) & self.mask;
        if self.place == 0 {
            self.order = chance.below(u64::from(self.mask) + 1) as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;
    use sojourn_core::{Span, Streams};
    use std::collections::BTreeMap;

    const PATHS: u32 = 16;
    const NOW: Time = Time::ZERO;

    fn light() -> Light {
        Light::new(Streams::new(1, 0).stream("spray", 0))
    }

    fn all() -> [Spraying; 4] {
        [
            Spraying::Oblivious(Oblivious { paths: PATHS }),
            Spraying::Bitmap(Bitmap { paths: PATHS }),
            Spraying::Reps(Reps { paths: PATHS }),
            Spraying::Mixed(Mixed { paths: PATHS }),
        ]
    }

    /// How often each value comes up in `rounds` rounds of all, without news.
    fn counts(sprayer: &mut Sprayer, chance: &mut Light, rounds: u32) -> BTreeMap<u16, u32> {
        let mut counts = BTreeMap::new();
        for _ in 0..rounds * PATHS {
            *counts.entry(sprayer.next(chance)).or_default() += 1;
        }
        counts
    }

    /// Without news each value comes once a round, but for REPS, which draws them.
    #[test]
    fn each_value_comes_once_a_round() {
        for spraying in all() {
            let (mut chance, drawn) = (light(), matches!(spraying, Spraying::Reps(_)));
            let mut sprayer = Sprayer::new(&spraying, &mut chance);
            let counts = counts(&mut sprayer, &mut chance, 100);
            assert_eq!(counts.len(), PATHS as usize, "{spraying:?}");
            let equal = counts.values().all(|&count| count == 100);
            assert_eq!(equal, !drawn, "{spraying:?}");
        }
    }

    /// A value that timed out is skipped fifteen times, one trimmed in the fabric four times, a marked
    /// one once; oblivious spraying hears nothing.
    #[test]
    fn a_bitmap_skips_what_had_bad_news() {
        for (news, skipped) in [(News::TimedOut, 15), (News::Trimmed, 4), (News::Marked, 1)] {
            let mut chance = light();
            let mut sprayer = Sprayer::new(&all()[1], &mut chance);
            let bad = sprayer.next(&mut chance);
            sprayer.hear(bad, news, NOW);
            let counts = counts(&mut sprayer, &mut chance, 40);
            let most = counts.values().max().unwrap();
            let missing: u32 = most - counts[&bad];
            assert!(missing.abs_diff(skipped) <= 2, "{news:?} {counts:?}");
        }
    }

    /// REPS uses each good value once more, the oldest first; a marked one not. After a time-out it uses
    /// those of its ring again and again, for 10 ms.
    #[test]
    fn good_values_are_recycled() {
        let mut chance = light();
        let mut sprayer = Sprayer::new(&all()[2], &mut chance);
        for entropy in [3, 5, 7] {
            sprayer.hear(entropy, News::Good, NOW);
        }
        sprayer.hear(9, News::Marked, NOW);
        assert_eq!([(); 3].map(|()| sprayer.next(&mut chance)), [3, 5, 7]);
        sprayer.hear(0, News::TimedOut, NOW);
        let frozen: Vec<u16> = (0..9).map(|_| sprayer.next(&mut chance)).collect();
        assert_eq!(frozen, [3, 5, 7, 3, 5, 7, 3, 5, 7]);
        sprayer.hear(1, News::Good, NOW + Span::from_ms(11));
        let later = counts(&mut sprayer, &mut chance, 40);
        assert!(later.len() > 8, "{later:?}");
    }

    /// Mixed spraying sends by all good values, in the order of the news, before it skips.
    #[test]
    fn mixed_spraying_recycles_first() {
        let mut chance = light();
        let mut sprayer = Sprayer::new(&all()[3], &mut chance);
        for entropy in 0..40 {
            sprayer.hear(entropy, News::Good, NOW);
        }
        let recycled: Vec<u16> = (0..40).map(|_| sprayer.next(&mut chance)).collect();
        assert_eq!(recycled, (0..40).collect::<Vec<u16>>());
        assert_eq!(counts(&mut sprayer, &mut chance, 10).len(), PATHS as usize);
    }

    #[test]
    fn a_number_of_values_is_a_power_of_two() {
        assert_eq!(defaults::<Mixed>().paths, 64);
        assert!(check_paths(128).is_ok());
        for wrong in [0, 3, 1 << 16] {
            let refusal = check_paths(wrong).unwrap_err();
            assert_eq!(refusal.expected, "a power of two, at most 32768");
        }
    }
}
