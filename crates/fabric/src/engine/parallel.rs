//! Several threads, against one.

use super::worlds::{buffers, flows, scene, schemes, topologies};
use super::{Cancelled, Outcome, Progress, Scene, simulate_on_threads};
use crate::buffer::{Buffer, Tiers};
use crate::packet::Packet;
use crate::qdisc::{Builder, Queue, with_queue};
use crate::scheme::PacketScheme;
use crate::topology::{FatTree, Topology};
use crate::transport::{Running, Setup, Tally, Transport, Turn, Wake};
use proptest::prelude::*;
use sojourn_kernel::parameters::defaults;
use sojourn_kernel::{Span, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// What `threads` find.
fn outcome(scheme: &PacketScheme, scene: &Scene, setup: &Setup, threads: usize) -> Outcome {
    let running = || Running::new(&scheme.transport, setup.clone());
    let outcome = with_queue!(&scheme.queue, |queue| {
        simulate_on_threads(scene, queue, running, threads, &Progress::default())
    });
    outcome.expect("nobody cancelled it")
}

/// Fabrics that can be cut.
fn of_several_racks() -> impl Strategy<Value = Topology> {
    topologies().prop_filter("one rack", |topology| topology.graph().network().racks() > 1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Rows, totals, busy times, time series and peaks; to the end of all flows, or cut off.
    #[test]
    fn threads_change_nothing(
        topology in of_several_racks(),
        scheme in schemes(),
        buffer in prop::option::weighted(0.3, buffers()),
        flows in flows(),
        seed in any::<u64>(),
        ends in prop_oneof![Just(None), (1..200_000u64).prop_map(Some)],
        sample in prop::option::weighted(0.3, 1..40u64),
        threads in 2..6usize,
    ) {
        let (whole, setup) = scene(&topology, &scheme, &flows, seed);
        let memories = |edge: &Buffer| {
            let tiers = Tiers { edge, core: None };
            let memories = tiers.plans(&topology.graph()).ok()?;
            let fits = tiers.check(&topology.graph(), &memories, &scheme.queue, whole.largest);
            (scheme.queue.shares() && fits.is_ok()).then_some(memories)
        };
        let mut scene = Scene {
            memories: buffer.as_ref().and_then(memories).unwrap_or_else(|| whole.memories.clone()),
            sample: sample.map(Span::from_us),
            ..whole.clone()
        };
        if let Some(ends) = ends {
            scene.horizon = Time::ZERO + Span::from_ns(ends);
            scene.watches = [].into();
        }
        let one = outcome(&scheme, &scene, &setup, 1);
        prop_assert_eq!(one, outcome(&scheme, &scene, &setup, threads));
    }
}

/// A fat-tree of 16 hosts and 8 sides, with a flow from each host to the one opposite.
fn opposite() -> (PacketScheme, Scene, Setup) {
    let scheme = PacketScheme::known("MinTCP+pFabric").expect("it is known");
    let topology = Topology::FatTree(FatTree { k: 4, ..defaults() });
    let flows: Vec<_> = (0..16).map(|host| (host, (host + 8) % 16, 3_000_000, 0)).collect();
    let (scene, setup) = scene(&topology, &scheme, &flows, 1);
    (scheme, scene, setup)
}

#[test]
fn all_sides_stop_when_they_are_told() {
    let (scheme, scene, setup) = opposite();
    let (progress, queue) = (Progress::default(), &scheme.queue);
    progress.cancelled.store(true, Ordering::Relaxed);
    let running = || Running::new(&scheme.transport, setup.clone());
    let outcome =
        with_queue!(queue, |queue| { simulate_on_threads(&scene, queue, running, 4, &progress) });
    assert_eq!(outcome, Err(Cancelled));
}

/// Threads that help say what they took; the one that asks knows its own.
#[test]
fn help_is_counted() {
    let (scheme, scene, setup) = opposite();
    let running = || Running::new(&scheme.transport, setup.clone());
    let helped = |threads| {
        let progress = Progress::default();
        let outcome = with_queue!(&scheme.queue, |queue| {
            simulate_on_threads(&scene, queue, running, threads, &progress)
        });
        assert!(outcome.is_ok());
        let done = scene.flows.len() + scene.watches.len();
        assert_eq!(progress.finished.load(Ordering::Relaxed), done as u64);
        progress.helped_ns.load(Ordering::Relaxed)
    };
    assert_eq!(helped(1), 0);
    assert!(helped(3) > 0);
}

/// A transport that fails at one host.
struct Fails(Running);

impl Transport for Fails {
    fn start(&mut self, flow: u32, turn: &mut Turn) {
        self.0.start(flow, turn);
    }

    fn receive(&mut self, packet: &Packet, turn: &mut Turn) {
        assert_ne!(packet.to, 15, "as it was told");
        self.0.receive(packet, turn);
    }

    fn wake(&mut self, wake: Wake, turn: &mut Turn) {
        self.0.wake(wake, turn);
    }

    fn tally(&self, flow: u32) -> Tally {
        self.0.tally(flow)
    }
}

/// Nobody waits for a side that has failed, whichever it is.
#[test]
fn a_side_that_fails_ends_them_all() {
    let (scheme, scene, setup) = opposite();
    for threads in [1, 2, 8] {
        let running = || Fails(Running::new(&scheme.transport, setup.clone()));
        let failed = catch_unwind(AssertUnwindSafe(|| {
            with_queue!(&scheme.queue, |queue| {
                simulate_on_threads(&scene, queue, running, threads, &Progress::default())
            })
        }));
        let panic = failed.expect_err("it fails");
        let said = panic.downcast_ref::<String>().expect("it says why");
        assert!(said.contains("as it was told"), "{threads} threads: {said}");
    }
}
