//! Training iterations as programs of ranks, without a network or an engine.
//!
//! A *rank* is one accelerator with its network card. What it does in an iteration is a graph of nodes: it computes
//! for a time, sends and receives messages, and takes part in collectives.
//!
//! - [`program`]: graphs of ranks, what makes a program wrong, and the state of a rank while it is executed;
//! - [`collective`]: all-reduce and its kin as functions that say which message a rank sends in which step;
//! - [`model`]: a transformer, how it is spread over ranks, and the program of one iteration.
//!
//! Nothing here knows packets. An engine starts the nodes that are ready, moves the messages, and reports what has
//! happened.

pub mod collective;
pub mod model;
pub mod program;
