//! The array model: requests to disk arrays, as fork-join queues (Lebrecht, Dingle and Knottenbelt,
//! *Modelling Zoned RAID Systems using Fork-Join Queueing Simulation*, EPEW 2009).
//!
//! - [`case`]: a study's parameters; its replications are run in `run`;
//! - [`device`]: how long an access takes, in which order a disk serves;
//! - [`layout`]: which accesses a request is made of;
//! - [`workload`]: which requests arrive when;
//! - [`engine`]: the event loop, and the recursion that takes its place where nothing feeds back;
//! - [`exact`]: what is known without simulating it.

pub mod case;
pub mod device;
mod effects;
pub mod engine;
pub mod exact;
pub mod layout;
mod model;
mod moments;
mod run;
pub mod workload;

pub use case::ArrayCase;
pub use device::Device;
pub use layout::Layout;
pub use moments::Moments;
pub use workload::Workload;
