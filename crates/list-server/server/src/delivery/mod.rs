//! Delivery: the engine on its thread, its clock, the names of hosts, and the sessions with them.

pub(crate) mod clock;
pub(crate) mod dns;
pub(crate) mod event_loop;
pub(crate) mod local;
pub(crate) mod mail;
pub(crate) mod request;
pub(crate) mod server;
pub(crate) mod smtp_out;
