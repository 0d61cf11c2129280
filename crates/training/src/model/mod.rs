//! A model as a study: what is trained on what, and the program of ranks that follows from it.
//!
//! [`Iteration`] has everything that a user sets. Its numbers of parameters, operations and bytes are published
//! formulas; [`Iteration::program`] makes one graph for each pipeline stage, which all ranks of the stage share.
//!
//! ```
//! use sojourn_core::parameters::defaults;
//! use sojourn_training::model::Iteration;
//!
//! let iteration: Iteration = defaults();
//! assert_eq!((iteration.model.name(), iteration.ranks()), ("gpt-13b", 128));
//! let program = iteration.program()?;
//! assert_eq!(program.graphs(), 1);
//! # Ok::<(), sojourn_training::program::ProgramError>(())
//! ```

mod accelerator;
mod generate;
mod iteration;
mod placement;
mod replicas;
mod schedule;
mod transformer;

pub use accelerator::{A100, Accelerator, Custom, H100};
pub use iteration::{Iteration, MOST_RANKS, Placement, Precision, Recompute};
pub use schedule::{Direction, Interleaved, OneForwardOneBackward, Pass, Schedule};
pub use transformer::{
    Family, Gpt13b, Gpt175b, Llama70b, Llama405b, Mixtral8x7b, Model, Transformer, Weights,
};
