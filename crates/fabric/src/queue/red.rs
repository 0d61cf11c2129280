//! ECN marks with a probability that rises with the queue: RED on the queue as it is, as DCQCN wants it.

use super::fifo::Fifo;
use super::line::{LinePort, Rule, mark};
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, check_buffer};
use crate::packet::Packet;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Light, parameters};

parameters! {
    /// Drop-tail that marks an arriving packet with a probability: none up to `kmin` waiting bytes, this packet
    /// counted, rising evenly to `pmax` at `kmax`, and each packet above. The queue is not averaged (DCQCN, Zhu et
    /// al., SIGCOMM 2015, section 3.1, whose values are the defaults, for 40 Gb/s).
    pub struct Red: "red" {
        /// Room for waiting packets, at each port.
        pub buffer: Bytes = BUFFER,
        /// Waiting bytes up to which no packet is marked. Too few mark bursts of a single flow, and leave
        /// the link idle; too many let the queue grow before any sender slows down.
        pub kmin: Bytes = Bytes(5_000),
        /// Waiting bytes above which each packet is marked. Close to `kmin`, all flows slow down
        /// at once; far above it, the queue grows with the number of flows.
        pub kmax: Bytes = Bytes(200_000),
        /// The probability of a mark at `kmax`. With a small one the queue has to be long for a flow to hear of
        /// it; with 1 there is no jump at `kmax`.
        pub pmax: f64 = 0.01,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for Red {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        if self.kmin > self.kmax {
            let expected = format!("at most kmax, {}", self.kmax);
            return Err(Refusal::of(&self.kmin, expected).under("kmin"));
        }
        if self.kmax.0 > u32::MAX.into() {
            return Err(Refusal::of(&self.kmax, "at most \"4GB\"").under("kmax"));
        }
        if !(self.pmax > 0.0 && self.pmax <= 1.0) {
            return Err(Refusal::of(&self.pmax, "more than 0, and at most 1").under("pmax"));
        }
        Ok(())
    }
}

/// What a port keeps.
pub type RedPort = LinePort<Ramp>;

/// Marks a packet with a probability that rises with the bytes that wait.
#[derive(Debug)]
pub struct Ramp {
    /// Waiting bytes above which a packet may be marked, and above which it is marked for certain.
    kmin: u32,
    kmax: u32,
    /// How much the threshold of a random number of 32 bits rises per byte above `kmin`.
    slope: f64,
    chance: Light,
}

impl Buffered for Red {
    type Port = RedPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, outlet: Outlet) -> RedPort {
        LinePort::new(Fifo::new(room), self.ramp(outlet))
    }

    /// A host marks nothing.
    fn endless(&self, outlet: Outlet) -> RedPort {
        let never = Ramp { kmin: u32::MAX, kmax: u32::MAX, ..self.ramp(outlet) };
        LinePort::new(Fifo::new(Capacity::endless()), never)
    }
}

impl Red {
    fn ramp(&self, outlet: Outlet) -> Ramp {
        let bytes = (self.kmax.0 - self.kmin.0).max(1) as f64;
        Ramp {
            kmin: self.kmin.0 as u32,
            kmax: self.kmax.0 as u32,
            slope: self.pmax * RANGE as f64 / bytes,
            chance: Light::new(outlet.stream),
        }
    }
}

/// Random numbers are below this.
const RANGE: u64 = 1 << 32;

impl Ramp {
    /// Whether a packet is marked with which `bytes` wait.
    #[inline]
    fn marks(&mut self, bytes: u32) -> bool {
        if bytes <= self.kmin {
            return false;
        }
        bytes > self.kmax
            || self.chance.below(RANGE) < (f64::from(bytes - self.kmin) * self.slope) as u64
    }
}

impl Rule for Ramp {
    #[inline]
    fn came(&mut self, packet: &mut Packet, waiting: u32) {
        if self.marks(waiting) {
            mark(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;

    /// Nothing up to kmin, the share of pmax between, all above kmax.
    #[test]
    fn marks_rise_from_kmin_to_kmax() {
        let red = Red { kmin: Bytes(1_000), kmax: Bytes(5_000), pmax: 0.4, ..defaults() };
        let mut ramp = red.ramp(Outlet::alone(Streams::new(1, 0).stream("ties", 0)));
        let mut share = |bytes| (0..20_000).filter(|_| ramp.marks(bytes)).count() as f64 / 20_000.0;
        assert_eq!([1_000, 5_001].map(&mut share), [0.0, 1.0]);
        for (bytes, expected) in [(2_000, 0.1), (3_000, 0.2), (5_000, 0.4)] {
            let marked = share(bytes);
            // Five standard deviations.
            assert!((marked - expected).abs() < 0.018, "{marked} at {bytes} B");
        }
    }
}
