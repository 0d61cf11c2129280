//! Parts of a server that need none around them.

mod book;
mod keys;
mod lines;
mod links;
mod log;
mod mail;
mod networks;
mod state;
