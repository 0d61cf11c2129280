//! SMTP without I/O (RFC 5321): a client's side here, a server's in [`server`].

mod client;
mod command;
mod dialogue;
mod envelope;
mod extensions;
mod hint;
mod reply;
pub mod server;
mod stuffing;

pub use client::Client;
pub use dialogue::{Framing, Loss, Output, Step, Tls};
pub use envelope::{Envelope, Verdict};
pub use extensions::Extensions;
pub use hint::wait_named;
pub use reply::{BadReply, Enhanced, NotAStatus, Reply, ReplyReader, Said};
pub use stuffing::{Canonical, Stuffer, Unstuffer};
