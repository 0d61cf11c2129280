//! The links as the inner loop wants them.

use crate::topology::Network;
use sojourn_kernel::{Rate, Span};

/// One link, seen from the port that sends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Propagation.
    pub(super) delay: Span,
    rate: Rate,
    /// How long a byte takes, where that is a whole number of picoseconds; otherwise 0.
    byte_ps: u32,
    /// The host, or the switch counted from 0, that it leads to.
    pub(super) to: u32,
    /// Whether that is a host.
    pub(super) to_host: bool,
    /// The number of the port on the other end.
    pub(super) arrives_by: u8,
}

impl Wire {
    /// How long `size` bytes take to leave.
    #[inline]
    pub(super) fn span(&self, size: u16) -> Span {
        match self.byte_ps {
            0 => self.rate.span(size.into()),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }
}

/// All links by the number of the port.
#[derive(Debug)]
pub(super) struct Wires(Vec<Wire>);

impl Wires {
    pub(super) fn new(network: &Network) -> Wires {
        let hosts = network.hosts as u32;
        let wire = |link: &crate::topology::Link| {
            let rate = link.spec.rate;
            let exact = 8_000_000_000_000 % rate.bits_per_second() == 0;
            Wire {
                delay: link.spec.delay,
                rate,
                byte_ps: if exact {
                    u32::try_from(rate.span(1).ps()).unwrap_or(0)
                } else {
                    0
                },
                to: if link.to < hosts {
                    link.to
                } else {
                    link.to - hosts
                },
                to_host: link.to < hosts,
                arrives_by: link.arrives_by,
            }
        };
        Wires(network.links.iter().map(wire).collect())
    }

    #[inline]
    pub(super) fn of(&self, unit: u32) -> &Wire {
        &self.0[unit as usize]
    }

    /// The least time from the moment a packet begins to leave a port to its arrival.
    pub(super) fn lookahead(&self, smallest: u16) -> Span {
        self.0
            .iter()
            .map(|wire| wire.span(smallest) + wire.delay)
            .min()
            .unwrap_or(Span::MAX)
    }

    /// The greatest.
    pub(super) fn longest(&self, largest: u16) -> Span {
        self.0
            .iter()
            .map(|wire| wire.span(largest) + wire.delay)
            .max()
            .unwrap_or(Span::ZERO)
    }
}
