//! Formulas: what is known of some arrays without simulating them. Runs report it beside what was
//! simulated, as a check.

mod distribution;
mod exponential;
mod forks;
mod input;
mod known;
mod lattice;
mod law;
mod one_server;
mod queue;

pub use distribution::Distribution;
pub use exponential::{bounds, nelson_tantawi, two_servers, varma_makowski};
pub use forks::Fork;
pub use input::{FormulaInput, Offered};
pub use known::Known;
pub use law::Law;
pub use one_server::{Bulks, one_server, waiting};
