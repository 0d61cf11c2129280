//! What is read in messages and written into them.

mod author;
mod header;
mod letter;
mod origin;
mod outgoing;
mod return_path;
mod seven_bit;
