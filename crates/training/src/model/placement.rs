//! Groups of ranks, and which of them are on one server.
//!
//! Ranks are numbered as in Megatron-LM: tensor parallelism is innermost, then data, then pipeline parallelism.
//! Expert-parallel groups are neighbours among the replicas.

use super::iteration::Iteration;
use crate::collective::{AllToAll, Collective, Operation, Port, Shape, SkewedBy};
use crate::program::{Call, Execution, Groups, ProgramError};

/// The groups of a program, by their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Tensor,
    Data,
    /// Replicas that divide the experts.
    Expert,
    /// Replicas that have the same experts.
    SameExperts,
    /// The first and the last stage, which share a vocabulary.
    Vocabulary,
}

impl Iteration {
    /// All groups, in the order of [`Group`].
    pub(super) fn groups(&self) -> Result<Vec<Groups>, ProgramError> {
        let ranks = self.ranks();
        let (t, e) = (self.tensor, self.expert);
        let between = ranks - t * self.data;
        let ends = (0..t * self.data).map(|rank| vec![rank, rank + between]);
        let ends = if between > 0 { ends.collect() } else { Vec::new() };
        Ok(vec![
            Groups::strided(ranks, t, 1)?,
            Groups::strided(ranks, self.data, t)?,
            Groups::strided(ranks, e, t)?,
            Groups::strided(ranks, self.data / e, t * e)?,
            Groups::listed(ranks, ends)?,
        ])
    }

    /// The number of ranks of a group, and the distance between the first and the last.
    pub(super) fn extent(&self, group: Group) -> (u32, u32) {
        let (t, e, d) = (self.tensor, self.expert, self.data);
        let (size, stride) = match group {
            Group::Tensor => (t, 1),
            Group::Data => (d, t),
            Group::Expert => (e, t),
            Group::SameExperts => (d / e, t * e),
            Group::Vocabulary => (2, t * d * (self.pipeline - 1)),
        };
        (size, stride * (size - 1))
    }

    /// Whether every group of this kind is on one server.
    fn on_a_server(&self, group: Group) -> bool {
        let (size, distance) = self.extent(group);
        match group {
            Group::Vocabulary => self.ranks() <= self.server,
            _ => self.server.is_multiple_of(distance + distance / (size - 1).max(1)),
        }
    }

    /// A call of an operation by all groups of a kind.
    pub(super) fn call(&self, group: Group, operation: Operation, bytes: u64, label: &str) -> Call {
        let chosen = match operation {
            Operation::AllReduce => &self.all_reduce,
            Operation::AllGather => &self.all_gather,
            Operation::ReduceScatter => &self.reduce_scatter,
            _ => &self.all_to_all,
        };
        let (ranks, _) = self.extent(group);
        let (collective, execution) = if self.on_a_server(group) {
            let usual = self.skewed(Collective::usual(operation), label);
            let port = Port { rate: self.scale_up, latency: self.scale_up_latency };
            let time = usual.time(Shape { ranks, bytes }, &port);
            (usual, Execution::ClosedForm(time))
        } else {
            (self.skewed(chosen.clone(), label), Execution::Messages)
        };
        Call { groups: group as usize, collective, bytes, execution, label: label.to_owned() }
    }

    /// The exchange of tokens with experts that are not equally popular.
    fn skewed(&self, collective: Collective, label: &str) -> Collective {
        match collective {
            Collective::AllToAll(all) if self.skew > 0.0 => {
                let back = label == COMBINE;
                let skewed_by = if back { SkewedBy::Sender } else { SkewedBy::Receiver };
                Collective::AllToAll(AllToAll { skew: self.skew, skewed_by, ..all })
            }
            other => other,
        }
    }
}

/// What is said of the exchange in which tokens come back from experts.
pub(super) const COMBINE: &str = "combine";
