//! ECN threshold marking on a drop-tail queue, as DCTCP wants it.

use super::fifo::Fifo;
use super::line::{LinePort, Rule, mark};
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, THRESHOLD, check_buffer};
use crate::packet::Packet;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, parameters};

parameters! {
    /// Drop-tail that marks a packet on arrival when, with it, more than the threshold waits: the
    /// instantaneous queue, no averaging (RFC 8257 section 3.1; pFabric section 3, scheme ii).
    pub struct Ecn: "ecn" {
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Waiting bytes above which an arriving packet is marked. If it is low, links may run
        /// empty; if it is high, all packets wait longer.
        pub threshold: Bytes = THRESHOLD,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for Ecn {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        check_threshold(self.threshold, self.buffer)
    }
}

/// Refuses a threshold that no queue can exceed.
pub(super) fn check_threshold(threshold: Bytes, buffer: Bytes) -> Result<(), Refusal> {
    if threshold > buffer {
        let expected = format!("at most the buffer, {buffer}");
        return Err(Refusal::of(&threshold, expected).under("threshold"));
    }
    Ok(())
}

/// What an ECN port keeps.
pub type EcnPort = LinePort<Above>;

/// Marks a packet with which more bytes wait than these.
#[derive(Debug)]
pub struct Above(u32);

impl Rule for Above {
    #[inline]
    fn came(&mut self, packet: &mut Packet, waiting: u32) {
        if waiting > self.0 {
            mark(packet);
        }
    }
}

impl Buffered for Ecn {
    type Port = EcnPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> EcnPort {
        LinePort::new(Fifo::new(room), Above(self.marks_above()))
    }

    fn endless(&self, _: Outlet) -> EcnPort {
        LinePort::new(Fifo::new(Capacity::endless()), Above(u32::MAX))
    }
}

impl Ecn {
    pub(super) fn marks_above(&self) -> u32 {
        u32::try_from(self.threshold.0).unwrap_or(u32::MAX)
    }
}
