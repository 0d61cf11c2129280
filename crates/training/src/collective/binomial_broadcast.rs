//! Broadcast down a binomial tree.

use super::chain_broadcast::{check_root, from_root};
use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Broadcast down a binomial tree, log2 n steps: MPI's algorithm for small buffers. In each step every rank
    /// that has the buffer sends it to one that has not.
    pub struct BinomialBroadcast: "binomial-broadcast" {
        /// The index in the group of the rank that has the data. The choice matters only where ranks are at
        /// different distances; a value that is not below the number of ranks is refused.
        pub root: u32 = 0,
    }
}

impl Check for BinomialBroadcast {}

/// The first step in which a rank at this distance from the root has the buffer.
fn first_step(distance: u32) -> u32 {
    u32::BITS - distance.leading_zeros()
}

impl Steps for BinomialBroadcast {
    const OPERATION: Operation = Operation::Broadcast;

    fn steps(&self, shape: Shape, at: Place) -> u64 {
        let distance = from_root(at.rank, self.root, shape.ranks);
        let reached = |step: &u32| u64::from(distance) + (1_u64 << step) < u64::from(shape.ranks);
        (first_step(distance)..u32::BITS).take_while(reached).count() as u64
    }

    fn arrivals(&self, _: Shape, at: Place) -> u64 {
        u64::from(at.rank != self.root)
    }

    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let distance = from_root(at.rank, self.root, shape.ranks);
        let further = 1 << (first_step(distance) + index as u32);
        let to = (u64::from(at.rank) + further) % u64::from(shape.ranks);
        let need = Need { slot: 0, count: u64::from(at.rank != self.root) };
        Some(Message {
            to: to as u32,
            slot: 0,
            part: Part::whole(shape.bytes),
            reduce: false,
            needs: [need, Need::default(), Need::default()],
        })
    }

    /// log2 n messages alone, if n is a power of two. Otherwise the last one may be spared its latency.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let steps = u64::from(shape.ranks.next_power_of_two().ilog2());
        port.alone(shape.bytes).saturating_mul(steps)
    }

    fn check_for(&self, ranks: u32) -> Result<(), String> {
        check_root(self.root, ranks)
    }
}
