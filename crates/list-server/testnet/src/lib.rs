//! A small internet on loopback, for tests, demonstrations and measurements of mail.
//!
//! An authoritative name server and mail servers of many kinds, each at a separate address of
//! 127/8 and all at one port. A [`TestNetConfig`] says what there is, written out or drawn at random;
//! [`TestNet::start`] brings it to life on a thread. Every message that a server takes
//! over is noted ([`Acceptance`]), so that losses and duplicates are counted exactly ([`count`]).
//!
//! - [`fault`]: how a mail server behaves, an entry each in a table;
//! - [`names`]: what a domain's name server says, an entry each in a table;
//! - [`Class`]: what a subscriber can expect of his domain.
//!
//! Distance is made by the servers: a connection's greeting comes after two round trips, the first
//! of them the handshake of TCP, and each answer after one. What is not modelled: loss, limited
//! rates, and the time that a long text takes on its way.

mod acceptance;
mod config;
mod connection;
mod count;
pub mod fault;
mod host;
mod kinds;
mod listener;
pub mod names;
mod nameserver;
mod session;
mod small_disk;
mod test_net;
mod text;
mod tls;

pub use acceptance::Acceptance;
pub use config::{Class, Domain, Drawn, Subscriber, TestNetConfig};
pub use count::{Count, count};
pub use host::Host;
pub use small_disk::SmallDisk;
pub use test_net::{StartError, TestNet};
pub use tls::Tls;
