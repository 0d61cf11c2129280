//! Lines that send ahead, against the same ones that keep their packets.

use super::oracle::{flows, scene, schemes, topologies};
use super::{Outcome, Scene, sojourn_simulate};
use crate::qdisc::{Builder, Queue, with_queue};
use crate::transport::Running;
use proptest::prelude::*;
use sojourn_kernel::{Span, Time};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every total, and how long each port was sending, also where the run ends in the midst of it.
    #[test]
    fn sending_ahead_changes_nothing(
        topology in topologies(),
        scheme in schemes(),
        flows in flows(),
        seed in any::<u64>(),
        ends in prop_oneof![Just(1_000_000u64), 1..200u64],
    ) {
        let queue = &scheme.queue;
        prop_assume!(with_queue!(queue, |queue| queue.lines().is_some()));
        let (scene, setup) = scene(&topology, &scheme, &flows, seed);
        let ahead = Scene { horizon: Time::ZERO + Span::from_us(ends), watches: [].into(), ..scene };
        // Who looks at ports in between wants to see what waits there.
        let kept = Scene { sample: Some(Span::from_s(1)), ..ahead.clone() };
        let [ahead, kept] = [ahead, kept].map(|scene| {
            let running = Running::new(&scheme.transport, setup.clone());
            let outcome = with_queue!(queue, |queue| {
                sojourn_simulate(&scene, queue, running, &Default::default())
            });
            Outcome { samples: Vec::new(), ..outcome.expect("nobody cancelled it") }
        });
        prop_assert_eq!(ahead, kept);
    }
}
