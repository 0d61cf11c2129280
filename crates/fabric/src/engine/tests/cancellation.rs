//! A run that is cancelled ends within a window, however much happens in it.

use super::random_scenarios::scenario;
use crate::engine::cancellation::EVENTS;
use crate::engine::{
    Cancelled, Dependencies, Execution, Outcome, Progress, Scenario, simulate_on_threads,
};
use crate::flow::Flow;
use crate::packet::Packet;
use crate::queue::QueueKind;
use crate::scheme::PacketScheme;
use crate::topology::{FatTree, SingleSwitch, Topology};
use crate::transport::{LineRate, Outbox, Running, Setup, Tally, Transport, TransportKind, Wake};
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted, and when the run is cancelled.
struct Count<'a> {
    starts: AtomicU64,
    arrivals: AtomicU64,
    progress: &'a Progress,
    cancel_at_start: u64,
    cancel_at_arrival: u64,
}

/// A transport that cancels its own run.
struct Cancels<'a>(Running, &'a Count<'a>);

impl Count<'_> {
    fn count(&self, events: &AtomicU64, cancel_at: u64) {
        if events.fetch_add(1, Ordering::Relaxed) + 1 == cancel_at {
            self.progress.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Transport for Cancels<'_> {
    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.1.count(&self.1.starts, self.1.cancel_at_start);
        self.0.start(flow, outbox);
    }

    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        self.1.count(&self.1.arrivals, self.1.cancel_at_arrival);
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

/// A run of `flows` on a number of threads that is cancelled at its start or arrival of such a number;
/// how it ends, and how many starts and arrivals there were.
fn run(
    topology: &Topology,
    flows: Vec<Flow>,
    threads: usize,
    [cancel_at_start, cancel_at_arrival]: [u64; 2],
) -> (Result<Outcome, Cancelled>, [u64; 2]) {
    // Longer than any round trip here, so that every packet is sent once.
    let patient = LineRate { rto: Span::from_s(1), ..defaults() };
    let scheme = PacketScheme {
        transport: TransportKind::LineRate(patient),
        ..PacketScheme::known("LineRate+pFabric").expect("a scheme of the list")
    };
    let (few, setup) = scenario(topology, &scheme, &[(0, 0, 1, 0)], 4);
    let flows: Arc<[Flow]> = flows.into();
    let scenario = Scenario {
        dependencies: Dependencies::none(flows.len()).into(),
        watches: [].into(),
        flows: flows.clone(),
        ..few
    };
    let setup = Setup { flows, ..setup };
    let progress = Progress::default();
    let (starts, arrivals) = Default::default();
    let count = Count { starts, arrivals, progress: &progress, cancel_at_start, cancel_at_arrival };
    let transport = || Cancels(Running::new(&scheme.transport, setup.clone()), &count);
    let execution = Execution { threads, ..Execution::new(&progress) };
    // The engine is compiled for these ports alone: for all, that took longer than all tests.
    let QueueKind::PFabric(ports) = &scheme.queue else { unreachable!("it has these") };
    let outcome = simulate_on_threads(&scenario, ports, transport, execution);
    (outcome, [&count.starts, &count.arrivals].map(|events| events.load(Ordering::Relaxed)))
}

#[test]
fn many_starts_at_one_host_are_cut_short() {
    let topology = Topology::FatTree(FatTree { k: 4, ..defaults() });
    let flows = || (0..40_000).map(|_| Flow::new(0, 15, 1, Time::ZERO)).collect::<Vec<_>>();
    for threads in [1, 2] {
        let (outcome, [starts, _]) = run(&topology, flows(), threads, [10, u64::MAX]);
        assert_eq!(outcome, Err(Cancelled));
        assert!(starts <= 10 + EVENTS, "{starts} starts, {threads} threads");
    }
}

/// The links are so long that all packets cross each of them in one window.
#[test]
fn few_long_windows_are_cut_short() {
    let long = SingleSwitch { hosts: 64, delay: Span::from_us(20_000), ..defaults() };
    let flows = || (0..32).map(|host| Flow::new(host, 32 + host, 12_000_000, Time::ZERO)).collect();
    let topology = Topology::SingleSwitch(long);
    let (whole, [_, arrivals]) = run(&topology, flows(), 1, [u64::MAX; 2]);
    assert!(whole.is_ok_and(|outcome| outcome.counts.hops > 500_000));
    let (outcome, [_, before]) = run(&topology, flows(), 1, [u64::MAX, 10]);
    assert_eq!(outcome, Err(Cancelled));
    assert!(before < arrivals / 10, "{before} of {arrivals} packets arrived");
}
