//! Several threads, against one.

use super::random_scenarios::{buffers, flows, managed_or_not, scenario, topologies};
use crate::engine::parallel::{Judge, simulate_judged};
use crate::engine::{Cancelled, Execution, Outcome, Progress, Scenario, simulate, with_ports};
use crate::packet::Packet;
use crate::queue::{PFabric, QueueKind};
use crate::scheme::PacketScheme;
use crate::switch_memory::{Buffer, Tiers};
use crate::topology::{FatTree, Topology};
use crate::transport::{Outbox, Running, Setup, Tally, Transport, Wake};
use proptest::prelude::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_properties::cases;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

/// Has one side's thread disturbed at a meeting, and one thread alone for some windows then; and so
/// on. Meetings and windows are counted from when threads begin; none is number 0.
#[derive(Clone, Copy, Debug)]
struct Turns {
    side: usize,
    together: u64,
    alone: u64,
}

impl Turns {
    /// No thread is ever disturbed.
    const TOGETHER: Turns = Turns { side: 0, together: 0, alone: 0 };

    /// One thread is alone from the first meeting on.
    const ALONE: Turns = Turns { side: 1, together: 1, alone: 0 };

    /// The judge of `side`.
    fn judge(self, side: usize) -> Turns {
        if side == self.side { self } else { Turns { together: 0, ..self } }
    }
}

impl Judge for Turns {
    fn is_disturbed(&mut self, _: bool) -> bool {
        self.together = self.together.wrapping_sub(1);
        self.together == 0
    }

    fn tries_again(&mut self) -> bool {
        self.alone = self.alone.wrapping_sub(1);
        self.alone == 0
    }
}

fn turns() -> impl Strategy<Value = Turns> {
    (0..2usize, 1..300u64, 1..100u64).prop_map(|(side, together, alone)| Turns {
        side,
        together,
        alone,
    })
}

/// What `threads` find.
fn outcome(
    scheme: &PacketScheme,
    scenario: &Scenario,
    setup: &Setup,
    threads: usize,
    turns: Turns,
) -> Outcome {
    let running = || Running::new(&scheme.transport, setup.clone());
    let progress = Progress::default();
    let outcome = with_ports!(scenario, &scheme.queue, |ports| {
        let execution = Execution { threads, ..Execution::new(&progress) };
        simulate_judged(scenario, ports, running, |side| turns.judge(side), execution)
    });
    outcome.expect("not cancelled")
}

/// Fabrics that can be cut.
fn of_several_racks() -> impl Strategy<Value = Topology> {
    topologies().prop_filter("one rack", |topology| topology.graph().network().racks() > 1)
}

proptest! {
    #![proptest_config(cases(400))]

    /// Rows, totals, busy times, time series and peaks; to the end of all flows, or cut off.
    #[test]
    fn threads_change_nothing(
        topology in of_several_racks(),
        scheme in managed_or_not(),
        buffer in prop::option::weighted(0.3, buffers()),
        flows in flows(),
        seed in any::<u64>(),
        ends in prop_oneof![Just(None), (1..200_000u64).prop_map(Some)],
        sample in prop::option::weighted(0.3, 1..40u64),
        threads in 2..6usize,
        turns in prop_oneof![Just(Turns::TOGETHER), turns()],
    ) {
        let (whole, setup) = scenario(&topology, &scheme, &flows, seed);
        let memories = |edge: &Buffer| {
            let tiers = Tiers { edge, core: None };
            let memories = tiers.plans(&topology.graph()).ok()?;
            let fits = tiers.check(&topology.graph(), &memories, whole.largest);
            fits.is_ok().then_some(memories)
        };
        let mut scenario = Scenario {
            memories: buffer.as_ref().and_then(memories).unwrap_or_else(|| whole.memories.clone()),
            sample: sample.map(Span::from_us),
            ..whole.clone()
        };
        if let Some(ends) = ends {
            scenario.horizon = Time::ZERO + Span::from_ns(ends);
            scenario.watches = [].into();
        }
        let one = outcome(&scheme, &scenario, &setup, 1, Turns::TOGETHER);
        prop_assert_eq!(one, outcome(&scheme, &scenario, &setup, threads, turns));
    }
}

/// A fat-tree of 16 hosts and 8 sides, with a flow from each host to the one opposite.
fn opposite() -> (PacketScheme, Scenario, Setup) {
    let scheme = PacketScheme::known("MinTCP+pFabric").expect("a scheme of the list");
    let topology = Topology::FatTree(FatTree { k: 4, ..defaults() });
    let flows: Vec<_> = (0..16).map(|host| (host, (host + 8) % 16, 3_000_000, 0)).collect();
    let (scenario, setup) = scenario(&topology, &scheme, &flows, 1);
    (scheme, scenario, setup)
}

/// Its ports. The engine is compiled for these alone: for all ports, that took longer than all tests.
fn its_ports(scheme: &PacketScheme) -> &PFabric {
    let QueueKind::PFabric(ports) = &scheme.queue else { unreachable!("it has these") };
    ports
}

/// Stops a scenario as soon as one thread is alone with it.
struct Stops<'a>(&'a Progress);

impl Judge for Stops<'_> {
    fn is_disturbed(&mut self, _: bool) -> bool {
        true
    }

    fn tries_again(&mut self) -> bool {
        self.0.cancelled.store(true, Ordering::Relaxed);
        false
    }
}

#[test]
fn all_sides_stop_when_they_are_told() {
    let (scheme, scenario, setup) = opposite();
    let ports = its_ports(&scheme);
    let running = || Running::new(&scheme.transport, setup.clone());
    let progress = Progress::default();
    progress.cancelled.store(true, Ordering::Relaxed);
    let judge = |side| Turns::TOGETHER.judge(side);
    let execution = Execution { threads: 4, ..Execution::new(&progress) };
    let outcome = simulate_judged(&scenario, ports, running, judge, execution);
    assert_eq!((outcome, progress.went_alone.into_inner()), (Err(Cancelled), false));

    let progress = Progress::default();
    let execution = Execution { threads: 4, ..Execution::new(&progress) };
    let outcome = simulate_judged(&scenario, ports, running, |_| Stops(&progress), execution);
    assert_eq!((outcome, progress.went_alone.into_inner()), (Err(Cancelled), true));
}

/// Threads that help say what they took; the one that asks knows its own.
#[test]
fn help_is_counted() {
    let (scheme, scenario, setup) = opposite();
    let running = || Running::new(&scheme.transport, setup.clone());
    let helped = |threads| {
        let progress = Progress::default();
        let execution = Execution { threads, ..Execution::new(&progress) };
        let outcome = simulate(&scenario, &scheme.queue, running, execution);
        assert!(outcome.is_ok());
        let done = scenario.flows.len() + scenario.watches.len();
        assert_eq!(progress.finished.load(Ordering::Relaxed), done as u64);
        progress.helped_ns.load(Ordering::Relaxed)
    };
    assert_eq!(helped(1), 0);
    assert!(helped(3) > 0);
}

/// A transport that fails at one host.
struct Fails(Running);

impl Transport for Fails {
    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.0.start(flow, outbox);
    }

    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        assert_ne!(packet.to, 15, "as it was told");
        self.0.receive(packet, outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        self.0.extend(flow, end, outbox);
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.0.first_missing(flow)
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        self.0.wake(wake, outbox);
    }

    fn tally(&self, flow: u32) -> Tally {
        self.0.tally(flow)
    }

    fn begin_watch(&mut self, flow: u32) {
        self.0.begin_watch(flow);
    }

    fn received(&self, flow: u32) -> u64 {
        self.0.received(flow)
    }
}

/// No side waits for one that has failed, whichever it is.
#[test]
fn a_side_that_fails_ends_them_all() {
    let (scheme, scenario, setup) = opposite();
    for (threads, turns) in
        [(1, Turns::TOGETHER), (2, Turns::TOGETHER), (8, Turns::TOGETHER), (8, Turns::ALONE)]
    {
        let running = || Fails(Running::new(&scheme.transport, setup.clone()));
        let (judge, progress) = (|side| turns.judge(side), Progress::default());
        let failed = catch_unwind(AssertUnwindSafe(|| {
            let execution = Execution { threads, ..Execution::new(&progress) };
            simulate_judged(&scenario, its_ports(&scheme), running, judge, execution)
        }));
        let panic = failed.expect_err("it fails");
        let said = panic.downcast_ref::<String>().expect("a panic says why");
        assert!(said.contains("as it was told"), "{threads} threads, {turns:?}: {said}");
    }
}
