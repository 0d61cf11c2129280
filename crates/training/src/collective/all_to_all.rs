//! All-to-all in the order of NCCL's grouped sends and receives (`init.cc`).

use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, choices, parameters};

parameters! {
    /// All-to-all in NCCL's order: in each round a rank sends to a rank above it and receives from the rank as far
    /// below it. The distances 0, 1, 3, 6, 10, .. k (k + 1)/2 modulo a power of two are between nodes; for each of
    /// them a rank goes through the ranks of the other node. No round waits for the one before.
    pub struct AllToAll: "all-to-all" {
        /// How many ranks a node has. It changes the order of messages only: with too few or too many, more
        /// messages than one may go to a network card at a time.
        pub node: u16 [1..=1024] = 1,
        /// How unequal the parts are: that of the n-th rank is as large as n to the power of minus this number,
        /// and all parts together are as large as equal ones. 0 has equal parts, and with 1 the first of 8 ranks has
        /// 37 % instead of 12.5 %. More of it makes the link of the first rank the bottleneck.
        pub skew: f64 [0.0..=8.0] = 0.0,
        /// Whose number decides how large a part is.
        pub skewed_by: SkewedBy = SkewedBy::Receiver,
    }
}

choices! {
    /// Whose number decides how large a part is.
    pub enum SkewedBy: "end of a part" {
        /// The rank that receives it: tokens that go to experts.
        Receiver = "receiver",
        /// The rank that sends it: tokens that come back from experts.
        Sender = "sender",
    }
}

impl Check for AllToAll {}

impl AllToAll {
    /// The bytes of the part that goes from one rank to another.
    fn part(&self, shape: Shape, from: u32, to: u32) -> Part {
        if self.skew == 0.0 {
            return Part::whole(shape.bytes).block(to, shape.ranks);
        }
        let weight = |rank: u32| f64::from(rank + 1).powf(-self.skew);
        let own = match self.skewed_by {
            SkewedBy::Receiver => to,
            SkewedBy::Sender => from,
        };
        let all: f64 = (0..shape.ranks).map(weight).sum();
        Part { start: 0, bytes: (shape.bytes as f64 * weight(own) / all).round() as u64 }
    }
}

impl Steps for AllToAll {
    const OPERATION: Operation = Operation::AllToAll;

    fn steps(&self, shape: Shape, _: Place) -> u64 {
        let nodes = u64::from(shape.ranks / u32::from(self.node));
        nodes.next_power_of_two() * u64::from(self.node)
    }

    fn arrivals(&self, shape: Shape, _: Place) -> u64 {
        u64::from(shape.ranks - 1)
    }

    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let size = u32::from(self.node);
        let nodes = shape.ranks / size;
        let (round, turn) = (index / u64::from(size), (index % u64::from(size)) as u32);
        let distance = round * (round + 1) / 2 % u64::from(nodes).next_power_of_two();
        if distance >= u64::from(nodes) || distance == 0 && turn == 0 {
            return None;
        }
        let node = (u64::from(at.rank / size) + distance) % u64::from(nodes);
        let to = node as u32 * size + (at.rank % size + turn) % size;
        Some(Message {
            to,
            slot: 0,
            part: self.part(shape, at.rank, to),
            reduce: false,
            needs: [Need::default(); 3],
        })
    }

    /// n - 1 messages of the largest part, S/n if all are equal, one after another, and one latency.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let part = match self.skew {
            0.0 => shape.bytes.div_ceil(shape.ranks.into()),
            _ => self.part(shape, 0, 0).bytes,
        };
        port.pipelined(1, 1, u64::from(shape.ranks - 1), part)
    }

    fn check_for(&self, ranks: u32) -> Result<(), String> {
        match ranks % u32::from(self.node) {
            0 => Ok(()),
            _ => Err(format!("a group of {ranks} ranks has no whole nodes of {} ranks", self.node)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    /// The order that a comment in NCCL's `init.cc` lists for 16 ranks.
    #[test]
    fn sixteen_ranks() {
        let (shape, at) = (Shape { ranks: 16, bytes: 16 }, Place { rank: 3, channel: 0, lane: 0 });
        let all: AllToAll = defaults();
        let steps = (0..all.steps(shape, at)).filter_map(|step| all.step(shape, at, step));
        let distances: Vec<u32> = steps.map(|message| (message.to + 16 - 3) % 16).collect();
        assert_eq!(distances, [1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]);
    }

    /// 1 + 1/2 + .. + 1/8 is 2.718: the first rank has 36.8 % of all, whichever end decides.
    #[test]
    fn the_first_of_8_ranks_has_37_percent() {
        let shape = Shape { ranks: 8, bytes: 1_000_000 };
        let to: AllToAll = AllToAll { skew: 1.0, ..defaults() };
        let from = AllToAll { skewed_by: SkewedBy::Sender, ..to.clone() };
        let bytes = |all: &AllToAll, from, to| all.part(shape, from, to).bytes;
        assert_eq!(
            [bytes(&to, 3, 0), bytes(&to, 3, 7), bytes(&from, 0, 5)],
            [367_937, 45_992, 367_937]
        );
        let sum: u64 = (0..8).map(|rank| bytes(&to, 0, rank)).sum();
        assert!(sum.abs_diff(1_000_000) < 8, "{sum}");
    }
}
