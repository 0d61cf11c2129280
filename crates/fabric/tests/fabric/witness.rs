//! Watches a run from inside, through the engine's own seams: a transport that writes down what
//! its hosts send and receive and loses what a test wants lost, over queues that count what their
//! ports do.

use crate::common::Lab;
use sojourn_core::parameters::Refusal;
use sojourn_core::{Rate, Time};
use sojourn_fabric::Flow;
use sojourn_fabric::engine::{Dependencies, Outcome, Progress, Scenario, sojourn_simulate};
use sojourn_fabric::packet::{CE, Kind, Packet, PacketArena, PacketId};
use sojourn_fabric::queue::{Builder, Outlet, Queue};
use sojourn_fabric::transport::{Outbox, Running, Setup, Tally, Transport, Wake};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A packet as a host sent or received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    pub(crate) at: Time,
    pub(crate) flow: u32,
    pub(crate) kind: Kind,
    pub(crate) sequence: u32,
    /// How often it was sent before; 0 for what is received.
    pub(crate) again: u32,
    pub(crate) marked: bool,
}

/// What one port did.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortLog {
    /// Packets offered to it.
    pub(crate) offered: u64,
    /// Of these, packets it sent.
    pub(crate) sent: u64,
    /// Of these, packets it dropped.
    pub(crate) dropped: u64,
    /// Packets of each flow that were offered: data and ACKs.
    pub(crate) of_flow: BTreeMap<(u32, bool), u64>,
    /// The most bytes that ever waited.
    pub(crate) most_waiting: u64,
    waiting: u64,
}

/// What happened in a run.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) sent: Vec<Sight>,
    pub(crate) received: Vec<Sight>,
    pub(crate) ports: Vec<PortLog>,
}

impl Log {
    /// When which data packets of `flow` were sent.
    pub(crate) fn data_sent(&self, flow: u32) -> Vec<(u64, u32)> {
        let data = self.sent.iter().filter(|s| s.kind == Kind::DATA && s.flow == flow);
        data.map(|s| (s.at.ps(), s.sequence)).collect()
    }
}

/// Runs `flows` in `lab` over `queue` (the scheme's own is not used). `lose` is asked about every
/// packet that a host sends; what it says yes to never reaches the host's port.
pub(crate) fn watch<B: Builder>(
    lab: &Lab,
    queue: &B,
    flows: &[Flow],
    mut lose: impl FnMut(&Sight) -> bool,
) -> (Outcome, Log) {
    watch_losing(lab, queue, flows, &mut lose)
}

/// [`watch`], which the engine is compiled for once and not for each function that is asked.
fn watch_losing<B: Builder>(
    lab: &Lab,
    queue: &B,
    flows: &[Flow],
    lose: &mut dyn FnMut(&Sight) -> bool,
) -> (Outcome, Log) {
    let graph = lab.topology.graph();
    let network = graph.network();
    let memory = |ports: Vec<Rate>| lab.buffer.plan(&ports).expect("it can run");
    assert_eq!(lab.core_buffer, None, "not watched");
    let nic = network.links[..network.hosts].iter().map(|link| link.spec.rate).collect();
    let scenario = Scenario {
        network: network.into(),
        memories: graph.ports().into_iter().filter_map(memory).collect(),
        pauses: None,
        hosts: lab.hosts.clone(),
        losses: [].into(),
        balance: lab.scheme.balance,
        flows: flows.into(),
        dependencies: Dependencies::none(flows.len()).into(),
        watches: [].into(),
        instants: [].into(),
        smallest: lab.packets.smallest(),
        largest: lab.packets.full(),
        trimmed: lab.packets.trimmed(),
        horizon: flows.last().expect("a flow").arrived + lab.drain,
        sample: None,
        ranks: None,
        failures: Default::default(),
        streams: lab.streams,
    };
    let setup = Setup {
        digest_windows: false,
        flows: flows.into(),
        packets: lab.packets.clone(),
        priority: lab.scheme.priority.clone(),
        ack_priority: lab.scheme.ack_priority,
        network: scenario.network.clone(),
        nic,
        streams: lab.streams,
        exchanges: lab.scheme.transport.exchanges(scenario.flows.len()),
        connections: None,
    };
    let log = Rc::new(RefCell::new(Log::default()));
    let transport = Witness {
        inner: Running::new(&lab.scheme.transport, setup),
        log: log.clone(),
        times: BTreeMap::new(),
        lose,
    };
    let queue = Watched { inner: queue, log: log.clone() };
    let outcome = sojourn_simulate(&scenario, &queue, transport, &Progress::default());
    drop(queue);
    let log = Rc::into_inner(log).expect("the run is over").into_inner();
    (outcome.expect("not cancelled"), log)
}

struct Witness<'a> {
    inner: Running,
    log: Rc<RefCell<Log>>,
    /// How often each (flow, kind, sequence) was sent.
    times: BTreeMap<(u32, Kind, u32), u32>,
    lose: &'a mut dyn FnMut(&Sight) -> bool,
}

fn sight(packet: &Packet, at: Time, again: u32) -> Sight {
    let Packet { flow, kind, sequence, marks, .. } = *packet;
    Sight { at, flow, kind, sequence, again, marked: marks & CE != 0 }
}

impl Witness<'_> {
    fn sift(&mut self, turn: &mut Outbox) {
        let now = turn.now;
        turn.packets.retain(|packet| {
            let key = (packet.flow, packet.kind, packet.sequence);
            let times = self.times.entry(key).or_default();
            let sight = sight(packet, now, *times);
            *times += 1;
            self.log.borrow_mut().sent.push(sight);
            !(self.lose)(&sight)
        });
    }
}

impl Transport for Witness<'_> {
    fn start(&mut self, flow: u32, turn: &mut Outbox) {
        self.inner.start(flow, turn);
        self.sift(turn);
    }

    fn receive(&mut self, packet: &Packet, turn: &mut Outbox) {
        self.log.borrow_mut().received.push(sight(packet, turn.now, 0));
        self.inner.receive(packet, turn);
        self.sift(turn);
    }

    fn extend(&mut self, flow: u32, end: u32, turn: &mut Outbox) {
        self.inner.extend(flow, end, turn);
        self.sift(turn);
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.inner.first_missing(flow)
    }

    fn wake(&mut self, wake: Wake, turn: &mut Outbox) {
        self.inner.wake(wake, turn);
        self.sift(turn);
    }

    fn tally(&self, flow: u32) -> Tally {
        self.inner.tally(flow)
    }

    fn begin_watch(&mut self, flow: u32) {
        self.inner.begin_watch(flow);
    }

    fn received(&self, flow: u32) -> u64 {
        self.inner.received(flow)
    }
}

/// Ports of another queue, counted: the engine builds them in order of their numbers.
struct Watched<'a, B> {
    inner: &'a B,
    log: Rc<RefCell<Log>>,
}

struct WatchedPort<D> {
    inner: D,
    number: usize,
    log: Rc<RefCell<Log>>,
}

impl<B: Builder> Builder for Watched<'_, B> {
    type Port = WatchedPort<B::Port>;

    fn port(&self, outlet: Outlet) -> Self::Port {
        self.watched(self.inner.port(outlet))
    }

    fn host_port(&self, outlet: Outlet) -> Self::Port {
        self.watched(self.inner.host_port(outlet))
    }

    fn in_memory(&self, outlet: Outlet) -> Self::Port {
        self.watched(self.inner.in_memory(outlet))
    }

    fn check_largest(&self, largest: u16) -> Result<(), Refusal> {
        self.inner.check_largest(largest)
    }
}

impl<B> Watched<'_, B> {
    fn watched<D>(&self, inner: D) -> WatchedPort<D> {
        let ports = &mut self.log.borrow_mut().ports;
        ports.push(PortLog::default());
        WatchedPort { inner, number: ports.len() - 1, log: self.log.clone() }
    }
}

impl<D> WatchedPort<D> {
    fn write(&self, entry: impl FnOnce(&mut PortLog)) {
        entry(&mut self.log.borrow_mut().ports[self.number]);
    }

    fn offered(&self, packet: &Packet) {
        self.write(|port| {
            port.offered += 1;
            *port.of_flow.entry((packet.flow, packet.kind == Kind::ACK)).or_default() += 1;
        });
    }
}

impl<D: Queue> Queue for WatchedPort<D> {
    fn enqueue(
        &mut self,
        now: Time,
        link_free: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        self.offered(&arena[id]);
        let mut gone = (0, 0);
        let size = u64::from(arena[id].size);
        self.inner.enqueue(now, link_free, id, arena, |victim, arena| {
            gone = (gone.0 + 1, gone.1 + u64::from(arena[victim].size));
            drop(victim, arena);
        });
        self.write(|port| {
            port.dropped += gone.0;
            port.waiting = port.waiting + size - gone.1;
            port.most_waiting = port.most_waiting.max(port.waiting);
        });
    }

    fn trims(&self, arriving: PacketId, arena: &mut PacketArena) -> bool {
        self.inner.trims(arriving, arena)
    }

    fn evict(&mut self, arriving: PacketId, arena: &mut PacketArena) -> Option<PacketId> {
        let victim = self.inner.evict(arriving, arena)?;
        self.write(|port| {
            port.dropped += 1;
            port.waiting -= u64::from(arena[victim].size);
        });
        Some(victim)
    }

    fn pass(&mut self, packet: &mut Packet) -> bool {
        let passes = self.inner.pass(packet);
        if passes {
            self.offered(packet);
            self.write(|port| port.sent += 1);
        }
        passes
    }

    fn dequeue(
        &mut self,
        now: Time,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let (mut dropped, mut bytes) = (0, 0);
        let next = self.inner.dequeue(now, arena, |victim, arena| {
            dropped += 1;
            bytes += u64::from(arena[victim].size);
            drop(victim, arena);
        });
        self.write(|port| {
            port.dropped += dropped;
            port.sent += u64::from(next.is_some());
            port.waiting -= bytes + next.map_or(0, |id| u64::from(arena[id].size));
        });
        next
    }

    fn is_empty(&self) -> bool {
        self.inner.is_empty()
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.inner.waiting(arena)
    }

    fn peak(&self) -> u64 {
        self.inner.peak()
    }
}
