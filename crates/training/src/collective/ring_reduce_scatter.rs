//! Reduce-scatter on a ring (NCCL, `device/reduce_scatter.h`).

use super::ring::{Cuts, block};
use super::{Message, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// Reduce-scatter on rings, n - 1 steps. Each rank sends (n - 1)/n of its buffer.
    pub struct RingReduceScatter: "ring-reduce-scatter" {
        /// How the rings are cut.
        pub cuts: Cuts [flatten],
    }
}

impl Check for RingReduceScatter {}

/// The number of steps.
fn steps(ranks: u32) -> u64 {
    u64::from(ranks - 1)
}

/// The number of loops of each channel, the same for all blocks.
fn rounds(cuts: &Cuts, shape: Shape) -> u64 {
    cuts.rounds(shape.bytes.div_ceil(shape.ranks.into()))
}

impl Steps for RingReduceScatter {
    const OPERATION: Operation = Operation::ReduceScatter;

    fn channels(&self) -> u32 {
        self.cuts.channels.into()
    }

    fn steps(&self, shape: Shape, _: Place) -> u64 {
        self.cuts.messages(rounds(&self.cuts, shape), steps(shape.ranks))
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        self.steps(shape, at)
    }

    /// Rank i first sends block i - 1, and ends with the sum of block i.
    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let steps = steps(shape.ranks);
        let turn = self.cuts.turn(index, steps);
        let number = block(at.rank, shape.ranks - 1, turn.step, shape.ranks);
        let block = Part::whole(shape.bytes).block(number, shape.ranks);
        let rounds = rounds(&self.cuts, shape);
        let chunk = self.cuts.loop_part(block, at.channel, turn.round, rounds);
        Some(self.cuts.message(shape, at, turn, steps, chunk, true))
    }

    /// (n - 1) S / n at full rate and one message's latency, if the pieces fill it.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        self.cuts.time(steps(shape.ranks), shape.bytes.div_ceil(shape.ranks.into()), port)
    }
}
