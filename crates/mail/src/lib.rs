//! Delivery of list mail: one message to thousands of recipients, quickly, durably and politely.
//!
//! The [`Engine`] does no I/O and reads no clock. It is told what happened and when ([`Event`]) and
//! answers with what to do ([`Effect`]): look up, connect, send, write to stable storage, wake it
//! later. A simulated world and real sockets drive the same code.
//!
//! - [`smtp`]: both sides of a session (RFC 5321), the reply parser, dot-stuffing;
//! - [`policy`]: the five things that a list server may decide in one way or another: how a message
//!   is split, in what order recipients are served, how long to wait for a host, when to write what
//!   is done, when to try again;
//! - [`report`]: reports of failures, made and understood, and what they cost a subscriber;
//! - [`engine`]: destinations, hosts, sessions, and the journal.
//!
//! The paper: R. Kolstad, *Tuning Sendmail for Large Mailing Lists*, LISA 1997.

mod address;
pub mod author;
pub mod engine;
pub mod header;
pub mod leave;
mod list;
pub mod outgoing;
mod plain;
pub mod policy;
mod prefix;
pub mod report;
pub mod return_path;
pub mod smtp;
pub mod study;
pub mod token;
pub mod world;

pub use address::{Address, BadAddress};
pub use engine::{Config, Effect, Engine, Event};
pub use list::{List, RESERVED, mailto};
pub use plain::plain;
pub use prefix::prefix;
pub use return_path::ReturnPaths;
pub use study::MailCase;
