//! How often tests of properties draw: `.cargo/config.toml` has the share of the cases, and the seed.

use proptest::test_runner::Config;

/// The cases of a property that says nothing else, in full: proptest's own number.
const USUAL: u32 = 256;

/// A property that has seen fewer has hardly been tested.
const FEWEST: u32 = 24;

/// The configuration of a property that has `full` cases: it draws a share of them, `PROPTEST_CASES` / 256. No
/// file remembers cases that failed, as the seed repeats them.
pub fn cases(full: u32) -> Config {
    let config = Config::default();
    let share = (u64::from(full) * u64::from(config.cases) / u64::from(USUAL)) as u32;
    Config { cases: share.max(full.min(FEWEST)), failure_persistence: None, ..config }
}
