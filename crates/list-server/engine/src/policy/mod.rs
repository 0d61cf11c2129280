//! What a list server may decide in one way or another. Each kind of decision has a folder; each
//! way is one file in it, with its parameters, and one line in the folder's list.

pub mod checkpoint;
pub mod order;
pub mod retry;
pub mod split;
pub mod timeouts;

mod domain;
mod limits;

pub use checkpoint::CheckpointKind;
pub(crate) use domain::gap;
pub use domain::{DomainLimits, RollUp};
pub use limits::Limits;
pub use order::OrderKind;
pub use retry::RetryKind;
pub use split::SplitKind;
pub use timeouts::TimeoutsKind;
