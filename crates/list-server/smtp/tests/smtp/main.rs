//! Tests of SMTP, by its public interface.

mod address;
mod client;
mod reply;
mod server;
mod stuffing;
mod words;
