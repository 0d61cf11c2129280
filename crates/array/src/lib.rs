//! The array model: requests to disk arrays, as fork-join queues (Lebrecht, Dingle and Knottenbelt,
//! *Modelling Zoned RAID Systems using Fork-Join Queueing Simulation*, EPEW 2009).
//!
//! - [`disk`]: how long an access takes; [`layout`]: which accesses a request is made of;
//! - [`workload`]: which requests arrive when; [`scheduling`]: in which order a disk serves;
//! - [`positioning`]: how heads get to the places of accesses;
//! - [`engine`]: the event loop, and the recursion that takes its place where nothing feeds back;
//! - [`analysis`]: what is known exactly.

pub mod analysis;
pub mod controller;
pub mod disk;
pub mod engine;
pub mod layout;
mod offered;
pub mod positioning;
mod report;
pub mod scheduling;
pub mod study;
pub mod workload;

pub use disk::Disk;
pub use layout::Layout;
pub use report::VOCABULARY;
pub use study::ArrayCase;
pub use workload::Workload;
