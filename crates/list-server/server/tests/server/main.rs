//! Tests of the list server, on sockets of this machine.

mod delivery;
mod kill;
mod parts;
mod pflogsumm;
mod reception;
