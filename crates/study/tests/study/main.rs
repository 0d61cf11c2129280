//! Tests of studies, by their public interface.

mod edges;
mod estimate;
mod messages;
mod random;
mod read;
mod registry;
mod sweep;
