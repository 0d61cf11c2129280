//! Transformers: how many parameters they have, and how many operations a token takes.

use sojourn_core::parameters::{Check, Parameters, Refusal, Setting};
use sojourn_core::{choices, parameters, variants};

choices! {
    /// The layers of a transformer.
    pub enum Family: "family of transformers" {
        /// As in GPT-3: a feed-forward block of two matrices, biases, learned positions, one matrix for both
        /// vocabularies.
        Gpt = "gpt",
        /// As in Llama and Mixtral: a gated feed-forward block of three matrices, no biases, a matrix for each
        /// vocabulary.
        Llama = "llama",
    }
}

parameters! {
    /// A transformer with these numbers.
    pub struct Transformer: "transformer" {
        /// How many layers there are. More of them take more time and memory in proportion; the pipeline stages
        /// have to divide them.
        pub layers: u32 [1..=10_000],
        /// The size of a token's vector. The matrices of a layer grow with its square: a width that is twice too
        /// large makes an iteration four times too long.
        pub width: u32 [1..=1_000_000],
        /// How many attention heads there are. It changes neither parameters nor time, but tensor parallelism has
        /// to divide it.
        pub heads: u32 [1..=10_000],
        /// How many heads of keys and values there are (grouped-query attention). As many as heads, if it is left
        /// out; too many make layers of the Llama family too large.
        pub kv_heads: Option<u32>,
        /// The inner size of the feed-forward block. Most parameters are there, so a value that is too large or
        /// too small changes computing and traffic almost in proportion.
        pub ffn: u32 [1..=10_000_000],
        /// How many tokens there are. Too small, and the first and last stages of a pipeline compute and send too
        /// little.
        pub vocabulary: u32 [1..=100_000_000],
        /// The kind of its layers.
        pub family: Family = Family::Gpt,
        /// How many feed-forward blocks, or experts, a layer has. More than 1 makes a mixture of experts: memory
        /// and gradients grow with it, computing does not.
        pub experts: u32 [1..=10_000] = 1,
        /// How many experts a token goes to. Computing and all-to-all traffic grow in proportion.
        pub top_k: u32 [1..=10_000] = 1,
    }
}

impl Check for Transformer {
    fn check(&self) -> Result<(), Refusal> {
        if !self.width.is_multiple_of(self.heads) {
            let expected = format!("a divisor of the width {}", self.width);
            return Err(Refusal::of(&self.heads, expected).under("heads"));
        }
        if let Some(kv) = self.kv_heads
            && (kv == 0 || !self.heads.is_multiple_of(kv))
        {
            let expected = format!("a divisor of the {} heads", self.heads);
            return Err(Refusal::of(&kv, expected).under("kv_heads"));
        }
        if self.top_k > self.experts {
            let expected = format!("at most the {} experts of a layer", self.experts);
            return Err(Refusal::of(&self.top_k, expected).under("top_k"));
        }
        if self.experts > 1 && self.family == Family::Gpt {
            let expected = "\"llama\": experts are known for this family only";
            return Err(
                Refusal::value(&self.family.write().expect("a name"), expected).under("family")
            );
        }
        Ok(())
    }
}

/// The parameters of a layer, by how they are spread over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weights {
    /// Divided by tensor parallelism: matrices, and biases of what their columns compute.
    pub divided: u64,
    /// The same on every rank of a tensor-parallel group: norms, other biases, positions, routers.
    pub whole: u64,
    /// Of one expert, divided by tensor parallelism; zero without a mixture of experts.
    pub expert: u64,
}

impl Transformer {
    /// The size of the keys of a token, which is also the size of its values.
    fn kv_width(&self) -> u64 {
        let heads = u64::from(self.kv_heads.unwrap_or(self.heads));
        heads * u64::from(self.width / self.heads)
    }

    /// The parameters of a layer. GPT: 12 h² + 13 h with a block of 4 h; Llama: 2 h² + 2 h k d + 3 h f + 2 h, and
    /// with E experts h E more and E feed-forward blocks.
    pub fn layer(&self) -> Weights {
        let (h, f) = (u64::from(self.width), u64::from(self.ffn));
        let attention = 2 * h * h + 2 * h * self.kv_width();
        match (self.family, self.experts) {
            (Family::Gpt, _) => {
                let biases = h + 2 * self.kv_width() + f;
                Weights { divided: attention + 2 * h * f + biases, whole: 6 * h, expert: 0 }
            }
            (Family::Llama, 1) => {
                Weights { divided: attention + 3 * h * f, whole: 2 * h, expert: 0 }
            }
            (Family::Llama, experts) => {
                let router = h * u64::from(experts);
                Weights { divided: attention, whole: 2 * h + router, expert: 3 * h * f }
            }
        }
    }

    /// The parameters in front of the first layer.
    pub fn embedding(&self, sequence: u32) -> Weights {
        let h = u64::from(self.width);
        let positions = match self.family {
            Family::Gpt => u64::from(sequence) * h,
            Family::Llama => 0,
        };
        Weights { divided: u64::from(self.vocabulary) * h, whole: positions, expert: 0 }
    }

    /// The parameters behind the last layer. The family `gpt` has no matrix of its own there.
    pub fn output(&self) -> Weights {
        let h = u64::from(self.width);
        match self.family {
            Family::Gpt => Weights { divided: 0, whole: 2 * h, expert: 0 },
            Family::Llama => {
                Weights { divided: u64::from(self.vocabulary) * h, whole: h, expert: 0 }
            }
        }
    }

    /// The parameters that the output layer uses, with the vocabulary that the family `gpt` shares with the embedding.
    pub fn head(&self, sequence: u32) -> Weights {
        Weights { divided: self.embedding(sequence).divided, ..self.output() }
    }

    /// All parameters, with learned positions for `sequence` tokens.
    pub fn parameters(&self, sequence: u32) -> u64 {
        self.counted(sequence, self.experts)
    }

    /// The parameters that one token uses.
    pub fn active_parameters(&self, sequence: u32) -> u64 {
        self.counted(sequence, self.top_k)
    }

    fn counted(&self, sequence: u32, experts: u32) -> u64 {
        let count = |weights: Weights| {
            weights.divided + weights.whole + weights.expert * u64::from(experts)
        };
        u64::from(self.layers) * count(self.layer())
            + count(self.embedding(sequence))
            + count(self.output())
    }

    /// Floating-point operations of the attention of a layer for a token, forward: 8 h² + 4 s h for GPT (Narayanan
    /// et al. 2021). The scores count in full, although causal kernels compute half of them.
    pub fn attention_flops(&self, sequence: u32) -> f64 {
        let (h, s) = (f64::from(self.width), f64::from(sequence));
        4.0 * h * h + 4.0 * h * self.kv_width() as f64 + 4.0 * s * h
    }

    /// Floating-point operations of the feed-forward block of a layer for a token, forward: 16 h² for GPT, 6 h f for
    /// Llama, for each expert that the token goes to.
    pub fn ffn_flops(&self) -> f64 {
        let (h, f) = (f64::from(self.width), f64::from(self.ffn));
        match self.family {
            Family::Gpt => 4.0 * h * f,
            Family::Llama if self.experts == 1 => 6.0 * h * f,
            Family::Llama => {
                6.0 * h * f * f64::from(self.top_k) + 2.0 * h * f64::from(self.experts)
            }
        }
    }

    /// Floating-point operations of the output layer for a token, forward: 2 h V.
    pub fn output_flops(&self) -> f64 {
        2.0 * f64::from(self.width) * f64::from(self.vocabulary)
    }
}

macro_rules! named {
    ($($(#[doc = $doc:literal])+ $type:ident = $name:literal: $($value:expr),+;)+) => {$(
        parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {}
        }
        impl Check for $type {}
        impl Known for $type {
            fn transformer(&self) -> Transformer {
                transformer($($value),+)
            }
        }
    )+};
}

trait Known: Parameters {
    fn transformer(&self) -> Transformer;
}

impl Known for Transformer {
    fn transformer(&self) -> Transformer {
        self.clone()
    }
}

/// A transformer of these layers, width and inner size, heads of queries and of keys, tokens, and experts.
fn transformer(
    family: Family,
    [layers, width, ffn]: [u32; 3],
    [heads, kv]: [u32; 2],
    vocabulary: u32,
    [experts, top_k]: [u32; 2],
) -> Transformer {
    let kv_heads = Some(kv);
    Transformer { layers, width, heads, kv_heads, ffn, vocabulary, family, experts, top_k }
}

named! {
    /// GPT-3 with 13 thousand million parameters (Brown et al. 2020; they print the width 5140, but 40 heads of 128
    /// make 5120).
    Gpt13b = "gpt-13b": Family::Gpt, [40, 5_120, 20_480], [40, 40], 50_257, [1, 1];
    /// GPT-3 with 175 thousand million parameters (Brown et al. 2020).
    Gpt175b = "gpt-175b": Family::Gpt, [96, 12_288, 49_152], [96, 96], 50_257, [1, 1];
    /// Llama 3 with 70 thousand million parameters (Meta, The Llama 3 Herd of Models, 2024).
    Llama70b = "llama-3-70b": Family::Llama, [80, 8_192, 28_672], [64, 8], 128_256, [1, 1];
    /// Llama 3 with 405 thousand million parameters (Meta, The Llama 3 Herd of Models, 2024).
    Llama405b = "llama-3-405b": Family::Llama, [126, 16_384, 53_248], [128, 8], 128_256, [1, 1];
    /// Mixtral with 8 experts, 2 for each token, and 47 thousand million parameters (Jiang et al. 2024).
    Mixtral8x7b = "mixtral-8x7b": Family::Llama, [32, 4_096, 14_336], [32, 8], 32_000, [8, 2];
}

variants! {
    /// The model that is trained.
    pub enum Model: "model" => with_model {
        Gpt13b(Gpt13b),
        Gpt175b(Gpt175b),
        Llama70b(Llama70b),
        Llama405b(Llama405b),
        Mixtral8x7b(Mixtral8x7b),
        Transformer(Transformer),
    }
}

impl Model {
    /// Its numbers.
    pub fn transformer(&self) -> Transformer {
        with_model!(self, |params| params.transformer())
    }
}
