//! Jobs: the flows of all parts of a case in one list, whose row each is in, and which wait for which.

mod averaging;
mod dependencies;
mod ideal_times;

pub(crate) use averaging::Averaging;
pub use dependencies::Dependencies;
pub(crate) use dependencies::Waiting;
pub(crate) use ideal_times::IdealTimes;

use crate::flow::Flow;
use crate::lists::Lists;
use crate::ranks::RankPlan;
use crate::workload::offered::Offered;
use crate::workload::{Drawn, JobKind, MessageId, Role};
use sojourn_core::Time;
use std::sync::Arc;

/// All flows of one replication.
#[derive(Clone, Debug)]
pub(crate) struct Jobs {
    /// By time of arrival; behind them those that wait for others, by the time before which they cannot begin.
    /// Each stands behind those that it waits for.
    pub(crate) flows: Arc<[Flow]>,
    /// Which of the last flows wait for which.
    pub(crate) dependencies: Arc<Dependencies>,
    /// The ranks whose connections are the last of all flows, where there are any.
    pub(crate) ranks: Option<Arc<RankPlan>>,
    /// The measurements of flows without an end, in order.
    pub(crate) watches: Arc<[Watch]>,
    /// The owner of each flow.
    pub(crate) owners: Vec<Owner>,
    /// The jobs that are sets of messages, by the time before which they cannot begin.
    pub(crate) sets: Vec<MessageSet>,
    /// The flows of each of these.
    pub(crate) members: Lists,
    /// Whether the case has several parts.
    pub(crate) several: bool,
    /// The load that the flows offer in the long run, if all of them arrive as Poisson processes.
    pub(crate) offered: Vec<Offered>,
}

/// A measurement of one flow between two times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The flow.
    pub flow: u32,
    /// Begin of the measurement.
    pub from: Time,
    /// End of the measurement, later than its begin.
    pub until: Time,
}

/// The part of the case and the job that a flow belongs to, and its role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner {
    /// Number of the part.
    pub(crate) part: u8,
    /// The role of the flow.
    pub(crate) role: Role,
    /// The number of its job, if it is of one.
    pub(crate) set: Option<u32>,
}

/// A job that is a set of messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSet {
    /// Number of the part of the case.
    pub(crate) part: u8,
    /// What it is called, and which of its messages have rows.
    pub(crate) kind: JobKind,
    /// The soonest begin of any of its messages.
    pub(crate) soonest: Time,
}

/// A flow on its way into the order of all flows.
struct Placed {
    flow: Flow,
    owner: Owner,
    /// The message that it carries, of its part of the case.
    message: MessageId,
    begins: Begins,
}

/// What a flow begins by, in the order of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Begins {
    /// Its arrival time.
    AtItsTime,
    /// The ends of others.
    AfterOthers,
    /// What ranks do.
    ByRanks,
}

impl Jobs {
    /// The jobs that the parts of a case have drawn.
    pub(crate) fn new(parts: &[Drawn]) -> Jobs {
        let mut sets = message_sets(parts);
        let ranks = rank(&mut sets);
        let placed = placed(parts, &ranks);
        let owners: Vec<Owner> = placed.iter().map(|placed| placed.owner).collect();
        let members = (0..).zip(&owners).filter_map(|(flow, owner)| Some((owner.set?, flow)));
        Jobs {
            dependencies: Arc::new(dependencies(parts, &placed)),
            ranks: parts.iter().find_map(|drawn| drawn.ranks.clone()),
            watches: watches(parts, &placed),
            members: Lists::grouped(sets.len(), members),
            flows: placed.iter().map(|placed| placed.flow).collect(),
            owners,
            sets,
            several: parts.len() > 1,
            offered: parts
                .iter()
                .map(|drawn| drawn.offered)
                .collect::<Option<_>>()
                .unwrap_or_default(),
        }
    }

    /// The latest time that a flow with an end arrives, or before which it does not begin.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        let finite = self.flows.iter().filter(|flow| !flow.is_endless());
        finite.map(|flow| flow.arrived).max()
    }

    /// When the last measurement ends, if there is one.
    pub(crate) fn last_look(&self) -> Option<Time> {
        self.watches.iter().map(|watch| watch.until).max()
    }
}

/// The sets of messages of all parts, part by part.
fn message_sets(parts: &[Drawn]) -> Vec<MessageSet> {
    let mut sets: Vec<MessageSet> = Vec::new();
    for (part, Drawn { flows, graph, .. }) in (0..).zip(parts) {
        let first = sets.len();
        let set = |&kind| MessageSet { part, kind, soonest: Time::NEVER };
        sets.extend(graph.jobs().iter().map(set));
        for (message, flow) in MessageId::all().zip(flows) {
            if let Some(job) = graph.job(message) {
                let soonest = &mut sets[first + job.place()].soonest;
                *soonest = flow.arrived.min(*soonest);
            }
        }
    }
    sets
}

/// Sorts `sets` by time, and returns the new number of each.
fn rank(sets: &mut Vec<MessageSet>) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sets.len() as u32).collect();
    order.sort_by_key(|&set| sets[set as usize].soonest);
    let mut ranks = vec![0; sets.len()];
    for (rank, &set) in (0..).zip(&order) {
        ranks[set as usize] = rank;
    }
    *sets = order.iter().map(|&set| sets[set as usize]).collect();
    ranks
}

/// All flows in order: of one time those of no job first. `ranks` are the numbers of the sets of messages,
/// part by part.
fn placed(parts: &[Drawn], ranks: &[u32]) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(parts.iter().map(|drawn| drawn.flows.len()).sum());
    for in_set in [false, true] {
        let mut first_set = 0;
        for (part, Drawn { flows, graph, ranks: of_ranks, .. }) in (0..).zip(parts) {
            for (message, &flow) in MessageId::all().zip(flows) {
                let job = graph.job(message);
                if job.is_some() != in_set {
                    continue;
                }
                let set = job.map(|job| ranks[first_set + job.place()]);
                let (role, begins) = match of_ranks {
                    Some(_) => (Role::Connection, Begins::ByRanks),
                    None if graph.waits(message) => (graph.role(message), Begins::AfterOthers),
                    None => (graph.role(message), Begins::AtItsTime),
                };
                let owner = Owner { part, role, set };
                placed.push(Placed { flow, owner, message, begins });
            }
            first_set += graph.jobs().len();
        }
    }
    placed.sort_by_key(|placed| (placed.begins, placed.flow.arrived));
    placed
}

/// Which of the last flows wait for which.
fn dependencies(parts: &[Drawn], placed: &[Placed]) -> Dependencies {
    let waiting = placed.iter().filter(|placed| placed.begins > Begins::AtItsTime).count();
    if waiting == 0 {
        return Dependencies::none(placed.len());
    }
    // By part of the case and message: the number of its flow.
    let mut numbers: Vec<Vec<u32>> = parts.iter().map(|drawn| vec![0; drawn.flows.len()]).collect();
    for (number, placed) in (0..).zip(placed) {
        numbers[usize::from(placed.owner.part)][placed.message.place()] = number;
    }
    let own = placed[placed.len() - waiting..].iter().map(|&Placed { owner, message, .. }| {
        let part = usize::from(owner.part);
        let graph = &parts[part].graph;
        let parents = graph.parents(message).map(|parent| numbers[part][parent.place()]);
        (parents.collect::<Vec<u32>>(), graph.delay(message))
    });
    Dependencies::new(placed.len(), own)
}

/// The measurements of flows without an end.
fn watches(parts: &[Drawn], placed: &[Placed]) -> Arc<[Watch]> {
    let endless = (0..).zip(placed).filter(|(_, placed)| placed.flow.is_endless());
    let watch = |(flow, placed): (u32, &Placed)| {
        let window = parts[usize::from(placed.owner.part)].window;
        let (from, until) = window.expect("a window for endless flows");
        Watch { flow, from, until }
    };
    endless.map(watch).collect()
}
