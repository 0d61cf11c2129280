//! Tests of what all models share, by its public interface.

mod calendar;
mod distributions;
mod empirical;
mod streams;
mod tables;
mod units;
mod workloads;
