//! A list server on real sockets, with hosts of 127/8 that behave in one way or another.

mod delivery;
mod sink;
mod world;
