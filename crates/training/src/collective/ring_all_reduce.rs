//! All-reduce on a ring: a reduce-scatter, then an all-gather (NCCL, `device/all_reduce.h`).

use super::ring::{Cuts, block};
use super::{Message, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// All-reduce on rings, 2 (n - 1) steps: the algorithm of NCCL for large buffers. Each rank sends
    /// 2 (n - 1)/n of its buffer.
    pub struct RingAllReduce: "ring-all-reduce" {
        /// How the rings are cut.
        pub cuts: Cuts [flatten],
    }
}

impl Check for RingAllReduce {}

/// The number of steps.
fn steps(ranks: u32) -> u64 {
    2 * u64::from(ranks - 1)
}

/// The number of loops of each channel.
fn rounds(cuts: &Cuts, shape: Shape) -> u64 {
    cuts.rounds(shape.bytes.div_ceil(shape.ranks.into()))
}

impl Steps for RingAllReduce {
    const OPERATION: Operation = Operation::AllReduce;

    fn channels(&self) -> u32 {
        self.cuts.channels.into()
    }

    fn steps(&self, shape: Shape, _: Place) -> u64 {
        self.cuts.messages(rounds(&self.cuts, shape), steps(shape.ranks))
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        self.steps(shape, at)
    }

    /// Rank i first sends the sum of block i - 1, and after n - 1 steps has the sum of block i.
    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let steps = steps(shape.ranks);
        let turn = self.cuts.turn(index, steps);
        let reduce = turn.step < steps / 2;
        let (first, step) =
            if reduce { (shape.ranks - 1, turn.step) } else { (0, turn.step - steps / 2) };
        let rounds = rounds(&self.cuts, shape);
        let part = self.cuts.loop_part(Part::whole(shape.bytes), at.channel, turn.round, rounds);
        let chunk = part.block(block(at.rank, first, step, shape.ranks), shape.ranks);
        Some(self.cuts.message(shape, at, turn, steps, chunk, reduce))
    }

    /// 2 (n - 1) S / n at full rate and one message's latency, if the pieces fill it.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        self.cuts.time(steps(shape.ranks), shape.bytes.div_ceil(shape.ranks.into()), port)
    }
}
