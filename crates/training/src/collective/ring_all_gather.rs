//! All-gather on a ring (NCCL, `device/all_gather.h`).

use super::ring::{Cuts, block};
use super::{Message, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// All-gather on rings, n - 1 steps. Each rank sends (n - 1)/n of the gathered buffer.
    pub struct RingAllGather: "ring-all-gather" {
        /// How the rings are cut.
        pub cuts: Cuts [flatten],
    }
}

impl Check for RingAllGather {}

/// The number of steps.
fn steps(ranks: u32) -> u64 {
    u64::from(ranks - 1)
}

/// The number of loops of each channel, the same for all blocks.
fn rounds(cuts: &Cuts, shape: Shape) -> u64 {
    cuts.rounds(shape.bytes.div_ceil(shape.ranks.into()))
}

impl Steps for RingAllGather {
    const OPERATION: Operation = Operation::AllGather;

    fn channels(&self) -> u32 {
        self.cuts.channels.into()
    }

    fn steps(&self, shape: Shape, _: Place) -> u64 {
        self.cuts.messages(rounds(&self.cuts, shape), steps(shape.ranks))
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        self.steps(shape, at)
    }

    /// Rank i sends block i, then what it received before.
    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let steps = steps(shape.ranks);
        let turn = self.cuts.turn(index, steps);
        let number = block(at.rank, 0, turn.step, shape.ranks);
        let block = Part::whole(shape.bytes).block(number, shape.ranks);
        let rounds = rounds(&self.cuts, shape);
        let chunk = self.cuts.loop_part(block, at.channel, turn.round, rounds);
        Some(self.cuts.message(shape, at, turn, steps, chunk, false))
    }

    /// (n - 1) S / n at full rate and one message's latency, if the pieces fill it.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        self.cuts.time(steps(shape.ranks), shape.bytes.div_ceil(shape.ranks.into()), port)
    }
}
