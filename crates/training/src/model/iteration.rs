//! What a user says of a training run, and what follows from it by formulas.

use super::accelerator::{Accelerator, H100};
use super::schedule::{OneForwardOneBackward, Schedule};
use super::transformer::{Gpt13b, Model, Transformer, Weights};
use crate::collective::{Collective, Operation};
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Bytes, Rate, Span, choices, parameters};

choices! {
    /// The numbers in which gradients are reduced.
    pub enum Precision: "precision" {
        /// 2 bytes.
        Bf16 = "bf16",
        /// 4 bytes, Megatron-LM's default where it trains in bf16.
        Fp32 = "fp32",
    }
}

choices! {
    /// What is computed once more instead of being kept.
    pub enum Recompute: "kind of recomputation" {
        /// Nothing: all activations stay in memory.
        None = "none",
        /// Every layer, before its backward pass: one more forward pass, with its tensor-parallel collectives.
        Full = "full",
    }
}

choices! {
    /// Which network cards hang on one leaf switch.
    pub enum Placement: "placement" {
        /// Those of one server, and of its neighbours: hosts have the numbers of their ranks.
        Servers = "servers",
        /// The n-th card of each server on the n-th leaf: rails. As many servers share their leaves as a leaf has
        /// hosts. Collectives between cards of the same number then stay below one leaf.
        Rails = "rails",
    }
}

parameters! {
    /// One iteration of a training run: ranks compute, and send each other what parallelism asks for. Each rank has
    /// a network card of its own, a host of the fabric. What ranks of one server send each other takes the time of a
    /// closed form and is not simulated packet by packet. Rows: `iteration`, and `collective`, one for each of those
    /// between servers.
    pub struct Iteration: "training" {
        /// The model.
        pub model: Model = Model::Gpt13b(Gpt13b {}),
        /// How many tokens a sequence has. Attention grows with its square, everything else in proportion.
        pub sequence: u32 [1..=100_000_000] = 2_048,
        /// How many sequences an iteration trains on, all replicas together. Computing and tensor-parallel traffic
        /// grow with it, data-parallel traffic does not: too large, and the network seems to cost nothing.
        pub batch: u32 [1..=100_000_000] = 1_024,
        /// How many sequences a rank computes at a time. Too small, and messages are many and small; too large, and
        /// a pipeline has too few micro-batches to fill it.
        pub micro_batch: u32 [1..=1_000_000] = 1,
        /// Over how many ranks each matrix is divided. More of them send more; beyond a server they send over the
        /// network in every layer.
        pub tensor: u32 [1..=100_000] = 8,
        /// Whether the ranks of a tensor-parallel group also divide the sequence where matrices are whole. It saves
        /// memory, and gathers the saved inputs once more.
        pub sequence_parallel: bool = false,
        /// Over how many stages the layers are divided. Too many for the micro-batches, and stages idle.
        pub pipeline: u32 [1..=100_000] = 1,
        /// How many replicas there are. More of them have fewer sequences each, so the traffic of gradients weighs
        /// more.
        pub data: u32 [1..=1_000_000] = 16,
        /// Over how many replicas experts are divided. More of them send more of their tokens over the network.
        pub expert: u32 [1..=100_000] = 1,
        /// How unequally tokens go to experts: as many go to the n-th as n to the power of minus this number. 0 has
        /// balanced experts. Too small, and dispatch and combine look as if no expert were popular.
        pub skew: f64 [0.0..=8.0] = 0.0,
        /// What replicas divide (Rajbhandari et al. 2020): 0 nothing, 1 the state of the optimiser, 2 the gradients
        /// too, 3 the parameters too. 1 and 2 send the same; 3 gathers the parameters of a layer before each pass of
        /// each micro-batch, so with many micro-batches it sends a multiple.
        pub zero: u8 [0..=3] = 0,
        /// The numbers in which gradients are reduced. `fp32` sends twice the bytes.
        pub gradients: Precision = Precision::Bf16,
        /// The most bytes of gradients that are reduced together, in whole layers, at least one (Megatron-LM: 40 million
        /// parameters). Too small, and collectives are many and small; too large, and the last one starts late and is
        /// exposed.
        pub bucket: Bytes = Bytes(80_000_000),
        /// The order in which a pipeline stage works.
        pub schedule: Schedule = Schedule::OneForwardOneBackward(OneForwardOneBackward {}),
        /// What is computed once more. `full` takes a third more computing and half as many tensor-parallel
        /// collectives again.
        pub recompute: Recompute = Recompute::None,
        /// Whether gradients are reduced while the last micro-batch goes backward, and parameters are gathered while
        /// the layers before compute. Without it all this traffic is exposed.
        pub overlap: bool = true,
        /// What computes.
        pub accelerator: Accelerator = Accelerator::H100(defaults::<H100>()),
        /// How many ranks a server has. Groups within a server do not use the network: too large a server hides
        /// traffic.
        pub server: u32 [1..=100_000] = 8,
        /// Which network cards hang on one leaf switch.
        pub placement: Placement = Placement::Servers,
        /// The speed of a rank's link within a server, in each direction (400 GB/s: ASTRA-sim's validated HGX H100).
        /// Too low, and tensor parallelism seems to dominate.
        pub scale_up: Rate = Rate::gbps(3_200),
        /// The latency within a server (936.25 ns: fitted by ASTRA-sim's validated HGX H100).
        pub scale_up_latency: Span = Span::from_ps(936_250),
        /// How all-reduces between servers are done.
        pub all_reduce: Collective = Collective::usual(Operation::AllReduce),
        /// How all-gathers between servers are done.
        pub all_gather: Collective = Collective::usual(Operation::AllGather),
        /// How reduce-scatters between servers are done.
        pub reduce_scatter: Collective = Collective::usual(Operation::ReduceScatter),
        /// How all-to-alls between servers are done.
        pub all_to_all: Collective = Collective::usual(Operation::AllToAll),
    }
}

/// The most ranks of an iteration.
pub const MOST_RANKS: u32 = 1 << 20;

impl Check for Iteration {
    fn check(&self) -> Result<(), Refusal> {
        let shape = self.model.transformer();
        let divides = |key: &str, value: u32, whole: u32, what: &str| match whole % value {
            0 => Ok(()),
            _ => Err(Refusal::of(&value, format!("a divisor of the {whole} {what}")).under(key)),
        };
        divides("tensor", self.tensor, shape.heads, "attention heads of the model")?;
        let kv = shape.kv_heads.unwrap_or(shape.heads);
        divides("tensor", self.tensor, kv, "heads of keys and values of the model")?;
        divides("tensor", self.tensor, shape.ffn, "columns of the model's feed-forward block")?;
        divides("expert", self.expert, shape.experts, "experts of the model")?;
        divides("expert", self.expert, self.data, "replicas (`data`)")?;
        if self.skew > 0.0 && self.expert == 1 {
            let expected = "0 where every replica has all experts (`expert = 1`)";
            return Err(Refusal::of(&self.skew, expected).under("skew"));
        }
        divides("data", self.data, self.batch, "sequences of the batch")?;
        let own = self.batch / self.data;
        divides("micro_batch", self.micro_batch, own, "sequences of a replica")?;
        let chunks = self.schedule.chunks();
        let parts = self.pipeline.saturating_mul(chunks);
        if !shape.layers.is_multiple_of(parts) {
            let expected = format!(
                "a number that, with {chunks} chunks a stage, divides the {} layers of the model",
                shape.layers
            );
            return Err(Refusal::of(&self.pipeline, expected).under("pipeline"));
        }
        if chunks > 1 && (self.pipeline < 2 || !self.micro_batches().is_multiple_of(self.pipeline))
        {
            let expected = format!(
                "with an interleaved schedule, a divisor of the {} micro-batches that is at least 2",
                self.micro_batches()
            );
            return Err(Refusal::of(&self.pipeline, expected).under("pipeline"));
        }
        let ranks = u64::from(self.tensor) * u64::from(self.data) * u64::from(self.pipeline);
        if ranks > u64::from(MOST_RANKS) {
            let expected = format!("a number that makes at most {MOST_RANKS} ranks, not {ranks}");
            return Err(Refusal::of(&self.data, expected).under("data"));
        }
        self.check_passes(&shape)?;
        self.check_collectives()
    }
}

/// The most passes of a layer on a rank, so that a graph stays within memory.
const MOST_PASSES: u64 = 1_000_000;

impl Iteration {
    fn check_passes(&self, shape: &Transformer) -> Result<(), Refusal> {
        let layers = u64::from(shape.layers / self.pipeline);
        let passes = 2 * layers * u64::from(self.micro_batches());
        if passes > MOST_PASSES {
            let expected = format!(
                "a batch that makes at most {MOST_PASSES} passes of layers on a rank, not {passes}"
            );
            return Err(Refusal::of(&self.batch, expected).under("batch"));
        }
        let tags = 2 * u64::from(shape.layers) * u64::from(self.micro_batches());
        if u32::try_from(tags).is_err() {
            let expected = "a batch that makes at most 4294967295 passes of layers on all stages";
            return Err(Refusal::of(&self.batch, expected).under("batch"));
        }
        Ok(())
    }

    fn check_collectives(&self) -> Result<(), Refusal> {
        let ones = [
            ("all_reduce", &self.all_reduce, Operation::AllReduce),
            ("all_gather", &self.all_gather, Operation::AllGather),
            ("reduce_scatter", &self.reduce_scatter, Operation::ReduceScatter),
            ("all_to_all", &self.all_to_all, Operation::AllToAll),
        ];
        for (key, collective, operation) in ones {
            if collective.operation() != operation {
                let names: Vec<String> = Collective::entries()
                    .iter()
                    .map(|entry| entry.name)
                    .filter(|name| name.ends_with(operation.name()))
                    .map(str::to_owned)
                    .collect();
                let expected = format!("an algorithm for it ({})", names.join(", "));
                return Err(Refusal::of(collective, expected).under(key));
            }
        }
        Ok(())
    }

    /// The number of ranks.
    pub fn ranks(&self) -> u32 {
        self.tensor * self.data * self.pipeline
    }

    /// The number of micro-batches that a replica computes.
    pub fn micro_batches(&self) -> u32 {
        self.batch / self.data / self.micro_batch
    }

    /// The model as it is divided: its vocabulary is padded to a multiple of 128 times the tensor parallelism, as
    /// Megatron-LM does.
    pub fn transformer(&self) -> Transformer {
        let shape = self.model.transformer();
        let multiple = 128 * self.tensor;
        Transformer { vocabulary: shape.vocabulary.next_multiple_of(multiple), ..shape }
    }

    /// Tokens of a micro-batch.
    pub fn tokens(&self) -> u64 {
        u64::from(self.micro_batch) * u64::from(self.sequence)
    }

    /// The bytes of the activations between layers of a micro-batch, in bf16: 2 b s h.
    pub fn activation(&self) -> u64 {
        2 * self.tokens() * u64::from(self.model.transformer().width)
    }

    /// The parameters of a rank out of `weights`, without experts.
    pub fn dense(&self, weights: Weights) -> u64 {
        weights.divided.div_ceil(self.tensor.into()) + weights.whole
    }

    /// The parameters of experts of a rank out of `weights`.
    pub fn experts(&self, weights: Weights) -> u64 {
        let experts = u64::from(self.model.transformer().experts / self.expert);
        weights.expert.div_ceil(self.tensor.into()) * experts
    }

    /// The parameters of a rank of `stage`.
    pub fn rank_parameters(&self, stage: u32) -> u64 {
        let shape = self.transformer();
        let all = |weights| self.dense(weights) + self.experts(weights);
        let mut parameters = u64::from(shape.layers / self.pipeline) * all(shape.layer());
        if stage == 0 {
            parameters += all(shape.embedding(self.sequence));
        }
        if stage + 1 == self.pipeline {
            parameters += all(shape.output());
            if self.shares_vocabulary() {
                parameters += self.dense(Weights { whole: 0, ..shape.embedding(self.sequence) });
            }
        }
        parameters
    }

    /// Whether the last stage keeps a copy of the vocabulary of the first.
    pub fn shares_vocabulary(&self) -> bool {
        self.pipeline > 1 && self.model.transformer().output().divided == 0
    }

    /// Bytes of a gradient.
    pub fn gradient_bytes(&self) -> u64 {
        match self.gradients {
            Precision::Bf16 => 2,
            Precision::Fp32 => 4,
        }
    }

    /// Floating-point operations of an iteration on all ranks (Narayanan et al. 2021, appendix): a backward pass takes
    /// twice a forward one, and a full recomputation one more for the layers.
    pub fn flops(&self) -> f64 {
        let shape = self.transformer();
        let passes = match self.recompute {
            Recompute::None => 3.0,
            Recompute::Full => 4.0,
        };
        let layer = shape.attention_flops(self.sequence) + shape.ffn_flops();
        let token = passes * f64::from(shape.layers) * layer + 3.0 * shape.output_flops();
        token * f64::from(self.batch) * f64::from(self.sequence)
    }
}
