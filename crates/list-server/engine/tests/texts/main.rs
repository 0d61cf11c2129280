//! What is read in messages and written into them.

mod author;
mod header;
mod leave;
mod origin;
mod outgoing;
mod return_path;
