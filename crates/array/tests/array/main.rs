//! The array model against exact results, by hand, and against slow and obvious twins.

mod addresses;
mod arms;
mod closed_loops;
mod common;
mod densities;
mod distributions;
mod drives;
mod effects;
mod erasure;
mod exact;
mod flash;
mod loads;
mod mechanical;
mod parity;
mod plans;
mod rebuilding;
mod trace_formats;
mod traces;
mod twin;
