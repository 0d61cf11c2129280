//! Tests of the engine, by its public interface.

mod config;
mod faults;
mod list;
mod policy;
mod reason;
mod replies;
mod report;
mod standing;
mod texts;
mod token;
