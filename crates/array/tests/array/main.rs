//! The array room against exact results, by hand, and against slow and obvious twins.

mod common;
mod densities;
mod exact;
mod plans;
mod twin;
