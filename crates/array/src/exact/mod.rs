//! What is known of some arrays without simulating them: beside the simulation, a check that users
//! see.

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
pub use input::{FormulaInput, Offered, Services};
pub use known::Known;
pub use law::Law;
pub use one_server::{Bulks, one_server, waiting};
