//! The rows of collectives and iterations.

use super::Played;
use super::rank_columns::{OfRanks, PathTimes};
use super::table::Row;
use super::vocabulary::Kind;
use crate::engine::Outcome;
use crate::ranks::{CollectiveTimes, MessageOf, MessageSent, RankOutcome, RankPlan};
use crate::workload::Role;
use sojourn_core::{Job, Rate, Span, Time};
use sojourn_training::collective::{Collective, Port, Shape};
use sojourn_training::program::{Execution, Op, Spent, Step, critical_path};

/// Explains the column `ideal_ps` of collectives and iterations.
pub(super) const IDEALS: &str = "ideal of a collective: its closed form at the goodput of the slowest host's link, with the mean latency between \
     neighbours of a ring or chain, and the least one of other groups; ideal of an iteration: the rank that computes \
     longest, with its collectives inside of a server";

/// The collectives that were simulated message by message, as they began, the iteration, and the steps of its critical
/// path, and messages where they are kept, as they were handed to the network.
pub(super) fn rows(of: Played<'_>, outcome: &Outcome) -> Vec<Row> {
    let (Some(plan), Some(ranks)) = (&of.jobs.ranks, &outcome.ranks) else { return Vec::new() };
    let own = of.jobs.owners.iter().find(|owner| owner.role == Role::Connection);
    let part = own.map_or(0, |owner| owner.part);
    let ports = Ports { of, slowest: slowest_port(of) };
    let mut collectives: Vec<_> = ranks.collectives.iter().collect();
    collectives.sort_by_key(|(key, times)| (times.began, **key));
    let collectives = collectives
        .into_iter()
        .map(|(&(call, _, group), times)| collective(plan, (call, group), times, &ports, part));
    let path = match ranks.ended.contains(&Time::NEVER) {
        true => Vec::new(),
        false => critical_path(plan.program(), &ranks.nodes),
    };
    let steps = path.iter().map(|step| of_path(plan, step, part));
    let messages = messages(plan, ranks, part);
    collectives.chain([iteration(plan, ranks, &path, part)]).chain(steps).chain(messages).collect()
}

fn collective(
    plan: &RankPlan,
    (call, group): (u32, u32),
    times: &CollectiveTimes,
    ports: &Ports<'_>,
    part: u8,
) -> Row {
    let program = plan.program();
    let this = &program.calls()[call as usize];
    let groups = program.groups(call).expect("a call has groups");
    let ranks = groups.size(group);
    let shape = Shape { ranks, bytes: this.bytes };
    let is_over = times.over == ranks;
    let operation = this.collective.operation();
    let members = (0..ranks).map(|index| plan.host(groups.member(group, index)));
    let port = ports.of_hosts(members, goes_around(&this.collective));
    let took = times.ended.since(times.joined);
    let bits = this.bytes as f64 * 8.0 * operation.bus_factor(ranks);
    let job = Job {
        bytes: this.bytes,
        arrived: times.began,
        finished: if is_over { times.ended } else { Time::NEVER },
        ideal: this.collective.time(shape, &port),
    };
    let have_joined = times.ranks == ranks;
    let said = OfRanks {
        operation: Some(operation.name()),
        algorithm: Some(this.collective.name()),
        label: Some(this.label.clone()),
        group: Some(group),
        rank: have_joined.then_some(times.straggler),
        joined: if have_joined { times.joined } else { Time::NEVER },
        bus: if is_over && took > Span::ZERO { bits / took.seconds() } else { f64::NAN },
        ..OfRanks::new(ranks)
    };
    Row::of_ranks(Kind::Collective, job, part, said)
}

fn iteration(plan: &RankPlan, ranks: &RankOutcome, path: &[Step], part: u8) -> Row {
    let busy = |rank: &usize| ranks.computed[*rank] + ranks.on_server[*rank];
    let longest = (0..ranks.ended.len()).max_by_key(busy).expect("a rank");
    let ended = ranks.ended.iter().copied().max().unwrap_or(Time::NEVER);
    let has_ended = ended != Time::NEVER;
    let ideal = busy(&longest);
    let job = Job {
        bytes: plan.loads().map(|load| load.bytes).sum(),
        arrived: Time::ZERO,
        finished: ended,
        ideal,
    };
    let said = OfRanks {
        computed: Some(ranks.computed[longest]),
        on_server: Some(ranks.on_server[longest]),
        exposed: has_ended.then(|| ended.since(Time::ZERO).max(ideal) - ideal),
        path: has_ended.then(|| path_times(plan, path)),
        ..OfRanks::new(ranks.ended.len() as u32)
    };
    Row::of_ranks(Kind::Iteration, job, part, said)
}

/// Whether a step of a critical path is spent inside of a server.
fn is_on_server(plan: &RankPlan, step: &Step) -> bool {
    let program = plan.program();
    match program.op(step.at) {
        Op::Compute { .. } | Op::Join => false,
        Op::Send { to: other, .. } | Op::Receive { from: other, .. } => {
            plan.are_neighbours(step.at.rank, other)
        }
        Op::Collective { call, .. } => {
            program.calls()[call as usize].execution != Execution::Messages
        }
    }
}

fn path_times(plan: &RankPlan, path: &[Step]) -> PathTimes {
    let mut times = PathTimes::default();
    for step in path {
        let own = match step.spent {
            Spent::Computing => &mut times.computing,
            _ if is_on_server(plan, step) => &mut times.on_server,
            _ => &mut times.network,
        };
        *own += step.ended.since(step.began);
    }
    times
}

/// A step of the critical path.
fn of_path(plan: &RankPlan, step: &Step, part: u8) -> Row {
    let program = plan.program();
    let graph = program.graph(step.at.rank);
    let label = graph.label(step.at.node).to_owned();
    let (operation, label, group, ranks, bytes) = match program.op(step.at) {
        Op::Collective { call, .. } => {
            let (this, groups) = (&program.calls()[call as usize], program.groups(call));
            let groups = groups.expect("a call has groups");
            let (group, _) = groups.place(step.at.rank).expect("who calls is in a group");
            let operation = this.collective.operation().name();
            (operation, this.label.clone(), Some(group), groups.size(group), this.bytes)
        }
        Op::Send { bytes, .. } => ("acknowledgement", label, None, 2, bytes),
        Op::Receive { .. } => ("message", label, None, 2, 0),
        Op::Compute { .. } | Op::Join => ("computing", label, None, 1, 0),
    };
    let ideal = step.ended.since(step.began);
    let job = Job { bytes, arrived: step.began, finished: step.ended, ideal };
    let said = OfRanks {
        operation: Some(operation),
        algorithm: is_on_server(plan, step).then_some("on the server"),
        label: (!label.is_empty()).then_some(label),
        group,
        rank: Some(step.at.rank),
        ..OfRanks::new(ranks)
    };
    Row::of_ranks(Kind::Step, job, part, said)
}

/// The messages that the network carried.
fn messages(plan: &RankPlan, ranks: &RankOutcome, part: u8) -> Vec<Row> {
    let program = plan.program();
    let mut sent: Vec<_> = ranks.sent.iter().collect();
    sent.sort_by_key(|(key, message)| (message.at, **key));
    let row = |(key, &message): (&(u32, u32), &MessageSent)| {
        let MessageSent { at, ranks: (from, to), bytes, of } = message;
        let finished = ranks.came.get(key).copied().unwrap_or(Time::NEVER);
        let network = finished.since(at);
        let (operation, label, group) = match of {
            MessageOf::Collective { call, group } => {
                let this = &program.calls()[call as usize];
                (this.collective.operation().name(), this.label.clone(), Some(group))
            }
            MessageOf::Node(node) => ("message", program.graph(from).label(node).to_owned(), None),
        };
        let said = OfRanks {
            operation: Some(operation),
            label: (!label.is_empty()).then_some(label),
            group,
            rank: Some(from),
            ..OfRanks::new(2)
        };
        let job = Job { bytes, arrived: at, finished, ideal: network };
        Row::of_ranks(Kind::Message, job, part, said).between(plan.host(from), plan.host(to))
    };
    sent.into_iter().map(row).collect()
}

/// Whether messages go from neighbour to neighbour.
fn goes_around(collective: &Collective) -> bool {
    matches!(
        collective,
        Collective::RingAllReduce(_)
            | Collective::RingAllGather(_)
            | Collective::RingReduceScatter(_)
            | Collective::ChainBroadcast(_)
    )
}

/// The ports of closed forms.
struct Ports<'a> {
    of: Played<'a>,
    slowest: Rate,
}

fn slowest_port(of: Played<'_>) -> Rate {
    let hosts = of.network.links[..of.network.hosts].iter();
    hosts.map(|link| link.spec.rate).min().expect("a fabric has hosts")
}

impl Ports<'_> {
    /// The port of a rank of those on these `hosts`: without headers. What `goes_around` a ring crosses all paths
    /// between neighbours, and so takes their mean latency; other messages may all take the shortest.
    fn of_hosts(&self, hosts: impl Iterator<Item = u16> + Clone, goes_around: bool) -> Port {
        let (network, packets) = (self.of.network, self.of.packets);
        let full = packets.full();
        let share = packets.payload.0 as f64 / f64::from(full);
        let goodput = (self.slowest.bits_per_second() as f64 * share) as u64;
        let latency = |(from, to): (u16, u16)| {
            let path = network.path(from.into(), to.into());
            let cross = path[1..].iter().map(|hop| match hop.cuts {
                true => Span::ZERO,
                false => hop.link.rate.span(full.into()),
            });
            cross.sum::<Span>() + path.iter().map(|hop| hop.link.delay).sum::<Span>()
        };
        let next = hosts.clone().cycle().skip(1);
        let all = hosts.zip(next).filter(|(from, to)| from != to).map(latency);
        let latency = match goes_around {
            true => all.clone().sum::<Span>() / (all.count() as u64).max(1),
            false => all.min().unwrap_or(Span::ZERO),
        };
        Port { rate: Rate::new(goodput).unwrap_or(self.slowest), latency }
    }
}
