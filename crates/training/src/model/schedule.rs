//! In which order a pipeline stage works on its micro-batches.

use sojourn_core::parameters::Check;
use sojourn_core::{parameters, variants};

parameters! {
    /// One forward, one backward: stage i starts with p - 1 - i micro-batches forward, then alternates, then drains
    /// (Narayanan et al. 2019). The bubble is (p - 1)/m of the computing.
    pub struct OneForwardOneBackward: "1f1b" {}
}

parameters! {
    /// Interleaved: each stage has several chunks of layers, so that a micro-batch passes it several times (Narayanan
    /// et al. 2021). The bubble is (p - 1)/(v m) of the computing; the stages send v times as often.
    pub struct Interleaved: "interleaved" {
        /// How many chunks a stage has. With more of them the bubble is smaller and messages are more. Stages times
        /// chunks have to divide the layers.
        pub chunks: u32 [2..=1_000] = 2,
    }
}

impl Check for OneForwardOneBackward {}
impl Check for Interleaved {}

variants! {
    /// In which order a pipeline stage works.
    pub enum Schedule: "schedule" {
        OneForwardOneBackward(OneForwardOneBackward),
        Interleaved(Interleaved),
    }
}

/// A micro-batch on its way through a chunk of layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The direction.
    pub direction: Direction,
    /// The micro-batch.
    pub micro_batch: u32,
    /// The chunk of the stage.
    pub chunk: u32,
}

/// The direction of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the loss.
    Forward,
    /// From the loss.
    Backward,
}

impl Schedule {
    /// The number of chunks of a stage.
    pub fn chunks(&self) -> u32 {
        match self {
            Schedule::OneForwardOneBackward(_) => 1,
            Schedule::Interleaved(interleaved) => interleaved.chunks,
        }
    }

    /// What `stage` of `stages` does with `micro_batches` micro-batches, in order. With several chunks, `stages` has
    /// to divide `micro_batches`.
    pub fn passes(&self, stage: u32, stages: u32, micro_batches: u32) -> Vec<Pass> {
        let chunks = self.chunks();
        let all = micro_batches * chunks;
        let ahead = match chunks {
            1 => stages - 1 - stage,
            _ => 2 * (stages - 1 - stage) + (chunks - 1) * stages,
        };
        let pass = |direction, number: u32| {
            if chunks == 1 {
                return Pass { direction, micro_batch: number, chunk: 0 };
            }
            let turn = number % (stages * chunks);
            let chunk = match direction {
                Direction::Forward => turn / stages,
                Direction::Backward => chunks - 1 - turn / stages,
            };
            let micro_batch = number / (stages * chunks) * stages + turn % stages;
            Pass { direction, micro_batch, chunk }
        };
        let ahead = ahead.min(all);
        let warm = (0..ahead).map(|number| pass(Direction::Forward, number));
        let steady = (ahead..all).flat_map(|number| {
            [pass(Direction::Forward, number), pass(Direction::Backward, number - ahead)]
        });
        let drain = (all - ahead..all).map(|number| pass(Direction::Backward, number));
        warm.chain(steady).chain(drain).collect()
    }
}
