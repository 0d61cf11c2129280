//! What ranks did in a simulation.

use sojourn_core::{Span, Time};
use sojourn_training::program::NodeTimes;
use std::collections::BTreeMap;

/// When the ranks ended, and their collectives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankOutcome {
    /// When each rank had done all its nodes; [`Time::NEVER`] if it had not.
    pub ended: Vec<Time>,
    /// When the nodes of each rank began and ended; without nodes for a rank of another side.
    pub nodes: Vec<NodeTimes>,
    /// How long each rank computed, all its streams together.
    pub computed: Vec<Span>,
    /// How long each rank took part in collectives and waited for messages of its server, which are not simulated
    /// packet by packet, from the moment that the last rank had joined.
    pub on_server: Vec<Span>,
    /// The collectives that are simulated message by message: by call, tag and group.
    pub collectives: BTreeMap<(u32, u32, u32), CollectiveTimes>,
    /// The messages that the network carried, and when each had come, by connection and place; empty where they are
    /// not kept.
    pub sent: BTreeMap<(u32, u32), MessageSent>,
    /// See `sent`.
    pub came: BTreeMap<(u32, u32), Time>,
    /// How often each call was executed by its closed form, not packet by packet, by all groups together.
    pub closed: Vec<u64>,
}

/// A message of a rank, when it was handed to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageSent {
    /// When that was.
    pub at: Time,
    /// The ranks at both ends.
    pub ranks: (u32, u32),
    /// Its size.
    pub bytes: u64,
    /// What it belongs to.
    pub of: MessageOf,
}

/// What a message belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageOf {
    /// A node that sends it by itself.
    Node(u32),
    /// A collective.
    Collective {
        /// The call, ...
        call: u32,
        /// ... and which of its groups.
        group: u32,
    },
}

/// The times of one collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveTimes {
    /// When the first rank joined.
    pub began: Time,
    /// When the last rank joined.
    pub joined: Time,
    /// That rank: of several, the one with the highest number.
    pub straggler: u32,
    /// When the last rank so far had sent and received everything.
    pub ended: Time,
    /// How many ranks have joined, ...
    pub ranks: u32,
    /// ... and how many of them have sent and received everything.
    pub over: u32,
}

impl CollectiveTimes {
    /// One that `rank` is the first to join, now.
    pub(super) fn beginning(rank: u32, now: Time) -> CollectiveTimes {
        let (began, joined, straggler) = (now, now, rank);
        CollectiveTimes { began, joined, straggler, ended: Time::ZERO, ranks: 0, over: 0 }
    }

    /// A rank joins it.
    pub(super) fn join(&mut self, rank: u32, now: Time) {
        // Hosts are not visited in the order of time.
        self.began = self.began.min(now);
        (self.joined, self.straggler) = (self.joined, self.straggler).max((now, rank));
        self.ranks += 1;
    }

    fn joined_with(self, other: CollectiveTimes) -> CollectiveTimes {
        let last = (self.joined, self.straggler).max((other.joined, other.straggler));
        CollectiveTimes {
            began: self.began.min(other.began),
            joined: last.0,
            straggler: last.1,
            ended: self.ended.max(other.ended),
            ranks: self.ranks + other.ranks,
            over: self.over + other.over,
        }
    }
}

impl RankOutcome {
    /// Before anything has happened to the `nodes` of ranks.
    pub(super) fn new(nodes: Vec<NodeTimes>, calls: usize) -> RankOutcome {
        let ranks = nodes.len();
        RankOutcome {
            ended: vec![Time::NEVER; ranks],
            nodes,
            computed: vec![Span::ZERO; ranks],
            on_server: vec![Span::ZERO; ranks],
            collectives: BTreeMap::new(),
            sent: BTreeMap::new(),
            came: BTreeMap::new(),
            closed: vec![0; calls],
        }
    }

    /// Joins what another side saw of its ranks.
    pub(crate) fn join(&mut self, other: RankOutcome) {
        let sums = |own: &mut [Span], others: Vec<Span>| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        };
        sums(&mut self.computed, other.computed);
        sums(&mut self.on_server, other.on_server);
        self.ended.iter_mut().zip(other.ended).for_each(|(own, other)| *own = other.min(*own));
        self.sent.extend(other.sent);
        self.came.extend(other.came);
        for (own, other) in self.nodes.iter_mut().zip(other.nodes) {
            if own.is_empty() {
                *own = other;
            }
        }
        self.closed.iter_mut().zip(other.closed).for_each(|(own, other)| *own += other);
        for (key, times) in other.collectives {
            let own = self.collectives.entry(key);
            own.and_modify(|own| *own = own.joined_with(times)).or_insert(times);
        }
    }
}
