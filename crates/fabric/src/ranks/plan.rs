//! Where ranks are, and which connections their messages need.

use super::Load;
use sojourn_core::{Rate, Span};
use sojourn_training::collective::{LANES, Place, Port, Shape};
use sojourn_training::program::{Event, Execution, Op, Program};
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Ranks on hosts, and the connections between them.
#[derive(Clone, Debug, PartialEq)]
pub struct RankPlan {
    program: Program,
    /// The host of each rank.
    hosts: Vec<u16>,
    server: Server,
    /// The connections, by sender, receiver and channel, and what each carries.
    lanes: Vec<Lane>,
    loads: Vec<Load>,
    /// The place of the first connection of each rank, and the number of all.
    starts: Vec<u32>,
    /// Whether any node waits until a message is acknowledged.
    pub(super) waits_for_acknowledgements: bool,
    /// What all nodes take that need no network, one behind the other.
    alone: Span,
}

/// The ranks of a server, and how they reach each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// How many ranks a server has: they are neighbours in number.
    pub ranks: u32,
    /// The link of a rank to the others.
    pub port: Port,
}

/// A connection: a rank sends to another one on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) channel: u8,
}

/// Why a program cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// A connection carries more packets than can be numbered.
    TooManyPackets {
        /// The rank that sends, ...
        from: u32,
        /// ... and the one that receives.
        to: u32,
    },
}

impl Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::TooManyPackets { from, to } => write!(
                f,
                "rank {from} sends more than 4294967295 packets to rank {to}: packets of a connection have \
                 numbers of 32 bits"
            ),
        }
    }
}

impl RankPlan {
    /// The plan of `program` on these hosts, one for each rank, with packets of up to `payload` bytes. Panics where
    /// the number of hosts is another one.
    pub fn new(
        program: Program,
        hosts: Vec<u16>,
        server: Server,
        payload: u64,
    ) -> Result<RankPlan, PlanError> {
        assert_eq!(hosts.len(), program.ranks() as usize, "a host for each rank");
        let (lanes, alone) = (BTreeMap::new(), Span::ZERO);
        let mut found = Found { program: &program, server, payload, lanes, alone };
        let waits_for_acknowledgements = found.walk()?;
        let alone = found.alone;
        let (lanes, loads): (Vec<Lane>, Vec<Load>) = found.lanes.into_iter().unzip();
        let ranks = 0..=program.ranks();
        let starts =
            ranks.map(|rank| lanes.partition_point(|lane| lane.from < rank) as u32).collect();
        Ok(RankPlan {
            program,
            hosts,
            server,
            lanes,
            loads,
            starts,
            waits_for_acknowledgements,
            alone,
        })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How long the program takes at most where links of `slowest` carry the messages: as if all ranks did everything
    /// one after the other, and each message took ten times as long as its bytes. Ranks that have not ended by then
    /// wait for what never comes.
    pub(crate) fn longest(&self, slowest: Rate) -> Span {
        let bytes = self.loads.iter().map(|load| load.bytes).fold(0, u64::saturating_add);
        self.alone.saturating_add(slowest.span(bytes.saturating_mul(10)))
    }

    /// What each connection carries.
    pub(crate) fn loads(&self) -> impl Iterator<Item = Load> {
        self.loads.iter().copied()
    }

    /// The ranks at the ends of each connection, and its packets.
    pub(crate) fn connections(&self) -> impl Iterator<Item = (u32, u32, u32)> {
        self.lanes.iter().zip(&self.loads).map(|(lane, load)| (lane.from, lane.to, load.packets))
    }

    /// The connections.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The host of `rank`.
    pub fn host(&self, rank: u32) -> u16 {
        self.hosts[rank as usize]
    }

    /// The place of a connection. Panics where there is none.
    pub(super) fn lane(&self, lane: Lane) -> u32 {
        let from = lane.from as usize;
        let (begin, end) = (self.starts[from], self.starts[from + 1]);
        let own = &self.lanes[begin as usize..end as usize];
        begin + own.binary_search(&lane).expect("a connection of the plan") as u32
    }

    /// Whether two ranks are on one server.
    pub(crate) fn are_neighbours(&self, one: u32, other: u32) -> bool {
        self.server.has_both(one, other)
    }

    /// The time of a message between ranks of one server.
    pub(super) fn on_server(&self, bytes: u64) -> Span {
        self.server.port.alone(bytes)
    }
}

impl Server {
    fn has_both(&self, one: u32, other: u32) -> bool {
        one / self.ranks == other / self.ranks
    }
}

/// The connections found so far.
struct Found<'a> {
    program: &'a Program,
    server: Server,
    payload: u64,
    lanes: BTreeMap<Lane, Load>,
    alone: Span,
}

impl Found<'_> {
    /// Notes what all nodes send. Returns whether any waits until a message is acknowledged.
    fn walk(&mut self) -> Result<bool, PlanError> {
        let mut waits = false;
        for rank in 0..self.program.ranks() {
            let graph = self.program.graph(rank);
            let mut calls: BTreeMap<u32, u64> = BTreeMap::new();
            for node in 0..graph.len() as u32 {
                match graph.op(node, rank) {
                    Op::Send { to, bytes, .. } => {
                        let lane = Lane { from: rank, to, channel: 0 };
                        self.add(lane, 1, bytes)?;
                        waits |= graph.children(node, Event::Finished).next().is_some();
                    }
                    Op::Collective { call, .. } => *calls.entry(call).or_default() += 1,
                    Op::Compute { span, .. } => self.alone = self.alone.saturating_add(span),
                    Op::Receive { .. } | Op::Join => {}
                }
            }
            for (call, times) in calls {
                self.add_call(rank, call, times)?;
            }
        }
        Ok(waits)
    }

    /// Notes what `rank` sends in a call that it makes so many times.
    fn add_call(&mut self, rank: u32, call: u32, times: u64) -> Result<(), PlanError> {
        let program = self.program;
        let this = &program.calls()[call as usize];
        let groups = program.groups(call).expect("a call has groups");
        let (group, index) = groups.place(rank).expect("who calls is in a group");
        if let Execution::ClosedForm(span) = this.execution {
            self.alone = self.alone.saturating_add(span.saturating_mul(times));
            return Ok(());
        }
        let shape = Shape { ranks: groups.size(group), bytes: this.bytes };
        for channel in 0..this.collective.channels() {
            for lane in 0..LANES {
                let at = Place { rank: index, channel, lane };
                for step in 0..this.collective.steps(shape, at) {
                    let Some(message) = this.collective.step(shape, at, step) else { continue };
                    let to = groups.member(group, message.to);
                    let lane = Lane { from: rank, to, channel: channel as u8 };
                    self.add(lane, times, message.part.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, lane: Lane, times: u64, bytes: u64) -> Result<(), PlanError> {
        if self.server.has_both(lane.from, lane.to) {
            let span = self.server.port.alone(bytes).saturating_mul(times);
            self.alone = self.alone.saturating_add(span);
            return Ok(());
        }
        let load = self.lanes.entry(lane).or_default();
        let Lane { from, to, .. } = lane;
        let more = load.add(times, bytes.max(1), self.payload);
        *load = more.ok_or(PlanError::TooManyPackets { from, to })?;
        Ok(())
    }
}
