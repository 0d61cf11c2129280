//! Taking mail in: the sessions of [`sojourn_smtp::server`] on sockets, and what they need of
//! the system: certificates, passwords, the register of subscribers, signatures.

pub(crate) mod admission;
pub(crate) mod connection;
pub(crate) mod context;
pub(crate) mod deliver;
pub(crate) mod login;
pub(crate) mod message_memory;
pub(crate) mod not_taken;
pub(crate) mod persistent;
pub(crate) mod privileges;
pub(crate) mod relay;
pub(crate) mod reload;
pub(crate) mod server;
pub(crate) mod settings;
pub(crate) mod submitters;
