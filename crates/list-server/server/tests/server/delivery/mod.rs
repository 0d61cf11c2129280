//! A list server on real sockets, beside hosts of 127/8 that behave in one way or another.

mod altered;
mod deliveries;
mod internet;
mod ipv6;
mod limits;
mod sink;
mod stops;
mod tarpits;
mod troubles;
mod world;
