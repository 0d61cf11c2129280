//! Study files: a TOML text in, a list of pure cases, typed rows out.
//!
//! - [`Study`]: a study file, read, checked and crossed into [`Case`]s;
//! - [`SpecError`]: the one message that says what is wrong with it, and where;
//! - [`registry`]: everything a study can name, documented.

mod document;
mod error;
mod registry;
mod room;
mod study;
mod sweep;

pub use error::SpecError;
pub use registry::registry;
pub use study::{Case, Study};

pub use sojourn_queueing::{Cancelled, Column, Keep, Progress, Report, Rows};
