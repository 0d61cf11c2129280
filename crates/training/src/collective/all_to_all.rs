//! All-to-all in the order of NCCL's grouped sends and receives (`init.cc`).

use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// All-to-all in NCCL's order: in each round a rank sends to a rank above it and receives from the rank as far
    /// below it. The distances 0, 1, 3, 6, 10, .. k (k + 1)/2 modulo a power of two are between nodes; for each of
    /// them a rank goes through the ranks of the other node. No round waits for the one before.
    pub struct AllToAll: "all-to-all" {
        /// How many ranks a node has. It changes the order of messages only: with too few or too many, more
        /// messages than one may go to a network card at a time.
        pub node: u16 [1..=1024] = 1,
    }
}

impl Check for AllToAll {}

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
            part: Part::whole(shape.bytes).block(to, shape.ranks),
            reduce: false,
            needs: [Need::default(); 3],
        })
    }

    /// n - 1 messages of S/n one after another, and one latency.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let part = shape.bytes.div_ceil(shape.ranks.into());
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
}
