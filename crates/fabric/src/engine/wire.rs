//! A link as the inner loop wants it.

use crate::packet::Packet;
use crate::topology::Link;
use sojourn_kernel::{Rate, Span, Time};

/// One link, seen from the port that sends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Propagation.
    delay: Span,
    /// How long a byte takes, where that is a whole number of picoseconds and the next unit takes
    /// packets whole; otherwise 0.
    byte_ps: u32,
    /// The host that it leads to, if it does.
    pub(super) host: u32,
    /// Otherwise the switch, counted from 0.
    pub(super) switch: u32,
    /// The number of the port on the other end.
    arrives_by: u8,
    rate: Rate,
    /// How long a packet's header takes, where the next switch waits for no more than that.
    header: Option<Span>,
    /// What the time of an arrival is multiplied with for the order at a tie; 0 where there is one
    /// port.
    ties: u64,
    /// What hashes begin with at the switch that it leads to.
    pub(super) salt: u64,
}

impl Wire {
    pub(super) const NO_HOST: u32 = u32::MAX;

    /// `link` in a fabric of `hosts` hosts, where headers have so many bytes.
    pub(super) fn new(link: &Link, hosts: usize, header: u16) -> Wire {
        let rate = link.spec.rate;
        let exact = 8_000_000_000_000 % rate.bits_per_second() == 0 && !link.cuts;
        let to_host = (link.to as usize) < hosts;
        Wire {
            delay: link.spec.delay,
            byte_ps: if exact { u32::try_from(rate.span(1).ps()).unwrap_or(0) } else { 0 },
            host: if to_host { link.to } else { Wire::NO_HOST },
            switch: if to_host { 0 } else { link.to - hosts as u32 },
            arrives_by: link.arrives_by,
            rate,
            header: link.cuts.then(|| rate.span(header.into())),
            ties: 0,
            salt: 0,
        }
    }

    /// The same with what is `drawn` for each switch: bits for ties, and a salt of hashes.
    pub(super) fn drawn(self, drawn: &[(u64, u64)]) -> Wire {
        if self.host != Wire::NO_HOST {
            return self;
        }
        let (ties, salt) = drawn[self.switch as usize];
        Wire { ties: ties | 1, salt, ..self }
    }

    /// The key of an arrival at `at`. Of packets that arrive at one node at the same time, which one
    /// comes first is as likely as not: their ports' numbers are compared after bits are turned over
    /// that depend on the node, the time and the seed, so that they stay different.
    #[inline(always)]
    pub(super) fn arriving(&self, at: Time) -> u64 {
        let turned = (at.ps().wrapping_mul(self.ties) >> 56) as u8;
        Packet::arriving(at, self.arrives_by ^ turned)
    }

    /// How long `size` bytes take to leave.
    #[inline(always)]
    pub(super) fn span(&self, size: u16) -> Span {
        match self.byte_ps {
            0 => self.rate.span(size.into()),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// How long `size` bytes take from the moment they begin to leave until the other end may send
    /// them on, or has them.
    pub(super) fn crossing(&self, size: u16) -> Span {
        self.header.unwrap_or_else(|| self.span(size)) + self.delay
    }

    /// Both, where the next unit takes packets whole.
    #[inline(always)]
    pub(super) fn whole(&self, size: u16) -> Option<(Span, Span)> {
        // One question for most links: only of others is it asked whether they are cut through.
        let whole = self.byte_ps != 0 || self.header.is_none();
        whole.then(|| self.span(size)).map(|span| (span, span + self.delay))
    }
}
