//! What a packet carries besides its transport's fields: by which port it came, and the load of its way.
//!
//! Both lie in `priority`, which no queue reads that is used with them: the port in the lowest bits, and the
//! utilisation above. `echo` has the time over which that was measured. So only paths that read no entropy go with it.

use super::{MAX_PORTS, Packet};

/// Bits of `priority` that the number of a port takes.
const PORT_BITS: u32 = MAX_PORTS.ilog2();
const PORT: u32 = (1 << PORT_BITS) - 1;

/// The units of a utilisation, and of a share of the time.
const UTILISATION: f64 = (1 << 14) as f64;
const SHARE: f64 = u16::MAX as f64;

/// The largest utilisation that a packet can carry, in its units.
const MOST: u32 = u32::MAX >> PORT_BITS;

/// The load of the busiest link on the way of a packet, as in-band telemetry has it (HPCC, Li et al., SIGCOMM 2019,
/// section 3.2): u' and tau / T of its algorithm 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    /// What its link was given, as a share of what it can carry: up to 256, in steps of 1 / 16,384.
    pub(crate) utilisation: f64,
    /// The time over which that was measured, as a share of a base round trip: above 0 and up to 1, in steps of
    /// 1 / 65,535.
    pub(crate) share: f64,
}

impl Packet {
    /// The number, at its switch, of the port that the packet came by: routing writes it.
    #[inline(always)]
    pub(crate) const fn came_by(&self) -> usize {
        (self.priority & PORT) as usize
    }

    /// Notes the number of the port that the packet comes by.
    #[inline(always)]
    pub(crate) fn set_came_by(&mut self, port: u16) {
        self.priority = self.priority & !PORT | u32::from(port);
    }

    /// The load of its way so far; none where no link has measured it.
    #[inline]
    pub(crate) fn load(&self) -> Option<Load> {
        let utilisation = f64::from(self.priority >> PORT_BITS) / UTILISATION;
        let share = f64::from(self.echo) / SHARE;
        (self.echo > 0).then_some(Load { utilisation, share })
    }

    /// Takes in the load of a link, which counts if it is the largest.
    #[inline]
    pub(crate) fn crosses(&mut self, load: Load) {
        let utilisation = ((load.utilisation * UTILISATION).round() as u32).min(MOST);
        if self.echo == 0 || utilisation > self.priority >> PORT_BITS {
            self.priority = self.priority & PORT | utilisation << PORT_BITS;
            self.echo = (load.share * SHARE).round().max(1.0) as u16;
        }
    }

    /// Has no load yet.
    #[inline]
    pub(crate) fn forget_load(&mut self) {
        (self.priority, self.echo) = (self.priority & PORT, 0);
    }

    /// Carries the load of `other`.
    #[inline]
    pub(crate) fn carry_load_of(&mut self, other: &Packet) {
        self.priority = self.priority & PORT | other.priority & !PORT;
        self.echo = other.echo;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_load_is_carried_beside_the_port() {
        let mut packet = Packet { priority: 0, ..Packet::LAST };
        packet.set_came_by(1023);
        assert_eq!(packet.load(), None);
        for (utilisation, share) in [(0.0, 0.0), (0.25, 0.5), (0.125, 1.0), (0.25, 0.75)] {
            packet.crosses(Load { utilisation, share });
        }
        packet.set_came_by(3);
        let load = packet.load().expect("a load");
        assert_eq!((packet.came_by(), load.utilisation), (3, 0.25));
        assert!((load.share - 0.5).abs() < 1.0 / 65_535.0);
        packet.crosses(Load { utilisation: 1e9, share: 1.0 });
        assert!((255.9..=256.0).contains(&packet.load().expect("a load").utilisation));
        assert_eq!(packet.came_by(), 3);
        packet.forget_load();
        assert_eq!((packet.load(), packet.came_by()), (None, 3));
    }
}
