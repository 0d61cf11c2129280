//! SMTP without I/O (RFC 5321): the client's side in [`client`], the server's in [`server`], and what
//! both have in common: addresses, replies, dot-stuffing, the header of a message.

mod address;
pub mod client;
pub mod header;
mod pushback;
mod reply;
pub mod server;
mod stuffing;

pub use address::{Address, BadAddress};
pub use pushback::Pushback;
pub use reply::{BadReply, Enhanced, NotAStatus, Reply, ReplyReader, Said, plain, wait_named};
pub use stuffing::{Canonical, Stuffer, Unstuffer};
