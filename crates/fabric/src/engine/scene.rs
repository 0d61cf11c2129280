//! What is simulated, and what comes of it.

use crate::balance::Balance;
use crate::buffer::Plan;
use crate::flow::Flow;
use crate::topology::Network;
use crate::transport::Tally;
use sojourn_kernel::{Span, Streams, Time};
use std::sync::Arc;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The fabric.
    pub network: Arc<Network>,
    /// The memory of each switch; none where each port has the buffer of its discipline.
    pub memories: Arc<[Plan]>,
    /// How packets choose among paths.
    pub balance: Balance,
    /// All flows, by their time of arrival; behind them those that follow others.
    pub flows: Arc<[Flow]>,
    /// What the last flows follow, one each.
    pub after: Arc<[After]>,
    /// What of single flows is measured over a time.
    pub watches: Arc<[Watch]>,
    /// The smallest packet that can be on a wire.
    pub smallest: u16,
    /// The largest packet.
    pub largest: u16,
    /// What is not finished then is reported as unfinished.
    pub horizon: Time,
    /// Where random choices come from.
    pub streams: Streams,
}

/// What a flow follows: it starts when another one has arrived whole, from the host where that is.
/// Its own time of arrival is not known before, and [`Time::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// Which flow.
    pub flow: u32,
    /// How long after.
    pub delay: Span,
}

/// A flow that is looked at twice: what it gets done in between is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Which flow.
    pub flow: u32,
    /// From when on.
    pub from: Time,
    /// Until when: later than that.
    pub until: Time,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When the sender of each flow knew that all had arrived; [`Time::NEVER`] if it never did.
    pub finished: Vec<Time>,
    /// What each flow needed.
    pub tallies: Vec<Tally>,
    /// When each flow that follows another started; [`Time::NEVER`] if it never did.
    pub started: Vec<Time>,
    /// When each of them had arrived whole; [`Time::NEVER`] likewise.
    pub arrived: Vec<Time>,
    /// What each watched flow did while it was watched.
    pub watched: Vec<Tally>,
    /// Totals.
    pub figures: Figures,
    /// The most bytes that ever waited in one switch at once, where switches have a memory.
    pub memory_peak: Option<u64>,
    /// For each port, how long it was sending.
    pub busy: Vec<Span>,
    /// When the run ended.
    pub ended: Time,
}

/// Totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Packets sent by ports, hosts' ports too.
    pub hops: u64,
    /// Packets that transports handed to their host's port.
    pub injected: u64,
    /// Packets that reached the host they were for.
    pub delivered: u64,
    /// Packets dropped at hosts' ports, before they entered the fabric.
    pub dropped_at_hosts: u64,
    /// Packets dropped at switches' ports.
    pub dropped_at_switches: u64,
    /// Packets still on links or in queues at the end.
    pub in_network: u64,
    /// Data packets that arrived with a congestion mark.
    pub marked: u64,
    /// Turns of hosts: packets, starts and wake-ups.
    pub turns: u64,
}
