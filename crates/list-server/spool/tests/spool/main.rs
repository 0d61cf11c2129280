//! Tests of the spool, by its public interface.

mod check;
mod engine;
mod full;
mod repair;
mod spool;
mod texts;
mod waiting;
