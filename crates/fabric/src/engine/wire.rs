//! A link as the inner loop wants it.

use crate::topology::Link;
use sojourn_kernel::{Rate, Span, Time};
use std::hint::select_unpredictable;

/// One link, seen from the port that sends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Propagation; where the next switch cuts through, and what the header takes.
    delay: Span,
    /// Whether the next switch sends a packet on once its header is there.
    cuts: bool,
    /// How long a byte takes, where that is a whole number of picoseconds; otherwise 0.
    byte_ps: u32,
    /// The host that it leads to, if it does.
    pub(super) host: u32,
    /// Otherwise the switch, counted from 0.
    pub(super) switch: u32,
    /// The number of the port on the other end.
    pub(super) arrives_by: u8,
    rate: Rate,
}

impl Wire {
    pub(super) const NO_HOST: u32 = u32::MAX;

    /// `link` in a fabric of `hosts` hosts, whose headers have so many bytes.
    pub(super) fn new(link: &Link, hosts: usize, header: u16) -> Wire {
        let rate = link.spec.rate;
        let exact = 8_000_000_000_000 % rate.bits_per_second() == 0;
        let to_host = (link.to as usize) < hosts;
        Wire {
            delay: link.spec.delay + if link.cuts { rate.span(header.into()) } else { Span::ZERO },
            cuts: link.cuts,
            byte_ps: if exact { u32::try_from(rate.span(1).ps()).unwrap_or(0) } else { 0 },
            host: if to_host { link.to } else { Wire::NO_HOST },
            switch: if to_host { 0 } else { link.to - hosts as u32 },
            arrives_by: link.arrives_by,
            rate,
        }
    }

    /// How long `size` bytes take to leave.
    #[inline]
    pub(super) fn span(&self, size: u16) -> Span {
        match self.byte_ps {
            0 => self.rate.span(size.into()),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// When a packet is at the other end, to be sent on or taken, that `began` to leave and `left`
    /// then.
    #[inline]
    pub(super) fn arrival(&self, began: Time, left: Time) -> Time {
        select_unpredictable(self.cuts, began, left) + self.delay
    }

    /// How long `size` bytes take from the moment they begin to leave until they have arrived.
    pub(super) fn crossing(&self, size: u16) -> Span {
        self.arrival(Time::ZERO, Time::ZERO + self.span(size)) - Time::ZERO
    }
}
