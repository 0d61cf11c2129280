//! The list engine ([`sojourn_mail`]) on real storage.
//!
//! So far this is the [`Spool`]: what the engine wants written is written to an SQLite database,
//! and found there after a crash. Names, sockets and the clock that drive the engine are not here
//! yet.

mod epoch;
mod spool;

pub use epoch::Epoch;
pub use spool::{Doing, Spool, SpoolError};
