//! Drop-tail: first in, first out, and what does not fit is lost.

use super::fifo::Fifo;
use super::line::{LinePort, Untouched};
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, check_buffer};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, parameters};

parameters! {
    /// First in, first out; a packet that does not fit is dropped. The pFabric paper's TCP runs
    /// over 225 KB of it (section 3, scheme i).
    pub struct DropTail: "drop-tail" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for DropTail {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)
    }
}

/// What a drop-tail port keeps.
pub type DropTailPort = LinePort<Untouched>;

impl Buffered for DropTail {
    type Port = DropTailPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> DropTailPort {
        LinePort::new(Fifo::new(room), Untouched)
    }
}
