//! In any world and under any policies: nothing lost, nothing twice, no limit exceeded.

use crate::{chance, seconds};

#[test]
fn every_recipient_has_it_once_or_its_sender_knows_why_not() {
    let mut limited = 0;
    for seed in 0..1500 {
        let mut world = chance::world(seed);
        world.run_to_the_end(seconds(8 * 3600));
        assert_eq!(world.check_all(true), 0, "seed {seed}");
        limited += world.limits.limited(&world.config);
    }
    assert!(limited > 5000, "{limited} transactions with domains that have limits of their own");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 0..20 {
        let [one, two] = [0, 1].map(|_| {
            let mut world = chance::world(seed);
            world.keep_trace = true;
            world.run_to_the_end(seconds(8 * 3600));
            std::mem::take(&mut world.trace)
        });
        assert!(one.len() > 100 && one == two, "seed {seed}");
    }
}
