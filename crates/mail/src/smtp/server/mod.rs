//! SMTP and LMTP as a server of list mail speaks them, without I/O: bytes and the time go in,
//! replies and what is to be done come out (RFC 5321; RFC 2033).
//!
//! - Extensions: PIPELINING (RFC 2920), SIZE (1870), 8BITMIME (6152), SMTPUTF8 (6531), CHUNKING
//!   (3030), ENHANCEDSTATUSCODES (2034), STARTTLS (3207), AUTH PLAIN and LOGIN (4954, 4616).
//! - Only a submitter that is known, by its network or by a password, has mail sent on, as far as
//!   the [`House`] lets it; anybody may reach what is at home here.
//! - What a session holds is bounded: a line, a message, its recipients, and what came while it
//!   waited for its driver. So is its time: for a command, for a message, for all of it.

mod auth;
mod command;
mod dialogue;
mod house;
mod intake;
mod lines;
mod session;
mod state;
mod stress;
mod terms;
mod text;
mod trace;
mod transaction;

pub use auth::{Credentials, Password, Verdict};
pub use house::{House, Submitter, Welcome};
pub use session::Session;
pub use state::{Output, Stage};
pub use stress::{Stress, Stressed};
pub use terms::{AuthUse, Bounds, Peer, Protocol, Terms};
pub use text::Text;
pub use trace::Trace;
pub use transaction::Arrival;
