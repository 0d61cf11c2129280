//! SMTP and LMTP as a server of list mail speaks them, without I/O: bytes and the time go in,
//! replies and effects come out (RFC 5321; RFC 2033).
//!
//! - Extensions: PIPELINING (RFC 2920), SIZE (1870), 8BITMIME (6152), SMTPUTF8 (6531), CHUNKING
//!   (3030), ENHANCEDSTATUSCODES (2034), STARTTLS (3207), AUTH PLAIN and LOGIN (4954, 4616).
//! - Only a submitter that is known, by its network or by a password, has mail sent on, as far as
//!   the [`RecipientPolicy`] lets it; every client may send to the addresses that are local.
//! - What a session holds is bounded: a line, a message, its recipients, and what came while it
//!   waited for its driver. So is its time: for a command, for a message, for all of it.

mod auth;
mod commands;
mod dialogue;
mod limits;
mod recipient_policy;
mod session;
mod state;
mod text;
mod transaction;

pub use auth::{Credentials, Password, Verdict};
pub use limits::{AuthUse, Bounds, Peer, Protocol, SessionConfig, Stress, Stressed};
pub use recipient_policy::{RecipientDecision, RecipientPolicy, Submitter};
pub use session::Session;
pub use state::{Output, Stage};
pub use text::Text;
pub use transaction::{Arrival, Trace};
