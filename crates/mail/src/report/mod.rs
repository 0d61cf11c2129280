//! Reports on delivery: made for what failed here ([`Notice`]), understood when they come back from
//! elsewhere ([`bounces`]), and what they mean for a subscriber ([`Standing`]).

mod bounce;
mod notice;
mod standing;
mod status;
pub mod verp;

pub use bounce::{Bounce, Severity, bounces};
pub use notice::{Notice, Written, date};
pub use standing::{Rule, Standing};
pub use status::{Action, Outcome, outcomes};
