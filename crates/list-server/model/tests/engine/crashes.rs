//! The process ends at a write, before or after it reached the disk, with the power or alone.

use crate::world::Crash;
use crate::{chance, seconds};
use sojourn_core::{Span, Streams};
use sojourn_mail_engine::policy::CheckpointKind;

/// Runs the world of `seed` with `crashes`; how many recipients have a message more than once.
fn duplicates(seed: u64, crashes: Vec<Crash>) -> usize {
    let mut world = chance::world(seed);
    let holds = matches!(world.config.checkpoint, CheckpointKind::Group(_));
    world.crashes = crashes;
    world.run_to_the_end(seconds(16 * 3600));
    world.check_all(holds)
}

/// At every single write of some worlds.
#[test]
fn at_every_write() {
    let (mut crashes, mut more) = (0, 0);
    for seed in 0..12 {
        let mut world = chance::world(seed);
        world.run_to_the_end(seconds(8 * 3600));
        for write in 0..world.writes {
            for (written, power) in [(false, false), (false, true), (true, false), (true, true)] {
                more += duplicates(seed, vec![Crash { write, written, power }]);
                crashes += 1;
            }
        }
    }
    assert!(crashes > 500, "{crashes} crashes");
    assert!(more > 0, "no crash ever hit a transaction in flight");
}

/// Up to three times, at writes drawn from the seed.
#[test]
fn again_and_again() {
    for seed in 0..2500 {
        let stream = &mut Streams::new(seed, 0).stream("crashes", 0);
        let crashes = (0..1 + stream.below(3))
            .map(|_| Crash {
                write: stream.below(200),
                written: stream.below(2) == 0,
                power: stream.below(2) == 0,
            })
            .collect();
        duplicates(seed, crashes);
    }
}

/// The disk is full for a while: no message is taken over, none is lost, none goes twice.
#[test]
fn a_disk_that_cannot_be_written() {
    let mut refused = 0;
    for seed in 0..200 {
        let mut world = chance::world(seed);
        let stream = &mut Streams::new(seed, 0).stream("disk", 0);
        let from = sojourn_core::Time::ZERO + Span::from_ms(stream.below(6000));
        world.disk_fails = (from, from + Span::from_s(1 + stream.below(400)));
        world.run_to_the_end(seconds(8 * 3600));
        refused += world.refused.len();
        assert_eq!(world.check_all(true), 0, "seed {seed}");
    }
    assert!(refused > 0);
}
