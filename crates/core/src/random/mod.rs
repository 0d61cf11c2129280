//! Randomness: named [streams](Stream), and what is drawn from them.

mod distribution;
mod empirical;
mod logarithm;
mod stream;

pub use distribution::{Constant, Distribution, Exponential, Gaps, Geometric, LogNormal, Uniform};
pub use empirical::{BadRow, Empirical, Reading};
pub use stream::{Ahead, Light, Stream, Streams, mix};
