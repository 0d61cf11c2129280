//! Study files: a TOML text in, a list of pure cases, typed rows out.
//!
//! - [`Study`]: a study file, read, checked and crossed into [`Case`]s;
//! - [`Need`] and [`Resources`]: what is in the files that it names, which others read;
//! - [`Plan`]: a study of an array with a target, and what its disks cost;
//! - [`Estimate`]: a study of fabrics that are estimated from their links;
//! - [`thresholds`]: what it expects of its results;
//! - [`SpecError`]: what is wrong with it, and where, in a line for each mistake;
//! - [`read_settings`]: files of settings that are no study;
//! - [`registry`]: everything a study can name, documented; [`registry_of`]: of other parts;
//! - [`schema`]: the JSON Schema of study files, for editors;
//! - [`vocabulary`]: each model's words for its jobs and what is measured of them.

mod array_plan;
mod document;
mod error;
mod expect;
mod fabric_estimate;
mod files;
mod model;
mod registry;
mod schema;
mod settings;
mod study;
mod sweep;
mod vocabulary;

pub use array_plan::{CandidateList, Offer, Offers, Plan, PricedDisk, Target, Wanted};
pub use error::SpecError;
pub use expect::{Relation, Threshold};
pub use fabric_estimate::{Decomposition, Estimate, LinkTimes};
pub use files::{FileNeed, Need, Resources, Unread};
pub use registry::{registry, registry_of};
pub use schema::schema;
pub use settings::read_settings;
pub use study::{Case, Refused, Study, thresholds};
pub use vocabulary::vocabulary;

pub use sojourn_core::{Cancelled, Column, Execution, Keep, Progress, Report, Rows};
