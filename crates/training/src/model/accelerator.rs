//! Accelerators: how fast they compute.

use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters, variants};

parameters! {
    /// NVIDIA A100: 312 TFLOP/s in bf16 without sparsity, by its data sheet.
    pub struct A100: "a100" {
        /// The share of the peak that training reaches. 0.44 to 0.52 were published for GPT on up to 3,072 of them
        /// (Narayanan et al. 2021, table 1: 137 to 163 TFLOP/s). Too high, and computing hides less of the traffic
        /// than it should; too low, and the network seems to cost nothing.
        pub efficiency: f64 [0.001..=1.0] = 0.5,
    }
}

parameters! {
    /// NVIDIA H100 SXM: 989 TFLOP/s in bf16 without sparsity, by its data sheet.
    pub struct H100: "h100" {
        /// The share of the peak that training reaches. 0.38 to 0.43 were published for Llama 3 with 405 thousand
        /// million parameters on 16,384 of them (Meta 2024). Too high, and computing hides less of the traffic than
        /// it should; too low, and the network seems to cost nothing.
        pub efficiency: f64 [0.001..=1.0] = 0.4,
    }
}

parameters! {
    /// Any accelerator.
    pub struct Custom: "custom" {
        /// Its peak in TFLOP/s, without sparsity. Too high, and computing hides less of the traffic than it should.
        pub peak: f64 [0.001..=1_000_000.0],
        /// The share of the peak that training reaches. Too low, and the network seems to cost nothing.
        pub efficiency: f64 [0.001..=1.0],
        /// Where both numbers come from.
        pub source: String,
    }
}

impl Check for A100 {}
impl Check for H100 {}
impl Check for Custom {}

variants! {
    /// What computes.
    pub enum Accelerator: "accelerator" {
        A100(A100),
        H100(H100),
        Custom(Custom),
    }
}

impl Accelerator {
    /// Floating-point operations that it does in a second of training.
    pub fn flops(&self) -> f64 {
        let (tera, efficiency) = match self {
            Accelerator::A100(a100) => (312.0, a100.efficiency),
            Accelerator::H100(h100) => (989.0, h100.efficiency),
            Accelerator::Custom(custom) => (custom.peak, custom.efficiency),
        };
        tera * 1e12 * efficiency
    }

    /// Where its numbers come from.
    pub fn source(&self) -> &str {
        match self {
            Accelerator::A100(_) => {
                "peak: NVIDIA A100 data sheet; efficiency: Narayanan et al. 2021, table 1"
            }
            Accelerator::H100(_) => "peak: NVIDIA H100 data sheet; efficiency: Meta 2024, Llama 3",
            Accelerator::Custom(custom) => &custom.source,
        }
    }

    /// How long `flops` floating-point operations take.
    pub fn span(&self, flops: f64) -> Span {
        Span::from_seconds(flops / self.flops())
    }
}
