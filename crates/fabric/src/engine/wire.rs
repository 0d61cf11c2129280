//! A link as the inner loop wants it.

use crate::topology::Link;
use sojourn_core::{Rate, Span};

/// How long packets are on one link, where that takes no more than a multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// Propagation.
    delay: Span,
    /// How long a byte takes, where that is a whole number of picoseconds and the next unit takes
    /// packets whole; otherwise 0.
    byte_ps: u32,
    /// Where that is 0, which of the timings of [`Wires`] it has.
    timing: u32,
}

/// How long packets are on any link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    delay: Span,
    rate: Rate,
    /// How long a packet's header takes, where the next switch waits for no more than that.
    header: Option<Span>,
}

/// The timings of links for which a [`Wire`] does not suffice, outside of ports so that these stay small.
#[derive(Debug, Default)]
pub(super) struct Wires {
    timings: Vec<Timing>,
}

impl Timing {
    /// `link`, where headers have so many bytes.
    pub(super) fn new(link: &Link, header: u16) -> Timing {
        let rate = link.spec.rate;
        let header = link.cuts.then(|| rate.span(header.into()));
        Timing { delay: link.spec.delay, rate, header }
    }

    /// How long `size` bytes take to leave.
    fn span(&self, size: u16) -> Span {
        self.rate.span(size.into())
    }

    /// How long `size` bytes take from the moment they begin to leave until the other end may send
    /// them on, or has them.
    pub(super) fn crossing(&self, size: u16) -> Span {
        self.header.unwrap_or_else(|| self.span(size)) + self.delay
    }
}

impl Wires {
    /// Takes in `link`, where headers have so many bytes.
    pub(super) fn add(&mut self, link: &Link, header: u16) -> Wire {
        let rate = link.spec.rate;
        let exact = 8_000_000_000_000 % rate.bits_per_second() == 0 && !link.cuts;
        let byte_ps = if exact { u32::try_from(rate.span(1).ps()).unwrap_or(0) } else { 0 };
        if byte_ps == 0 {
            self.timings.push(Timing::new(link, header));
        }
        let timing = self.timings.len().saturating_sub(1) as u32;
        Wire { delay: link.spec.delay, byte_ps, timing }
    }

    /// How long `size` bytes take to leave by `wire`.
    #[inline(always)]
    pub(super) fn span(&self, wire: &Wire, size: u16) -> Span {
        match wire.byte_ps {
            0 => self.timings[wire.timing as usize].span(size),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// How long `size` bytes take to leave by `wire`, and until the other end may send them on, or has
    /// them.
    #[inline(always)]
    pub(super) fn times(&self, wire: &Wire, size: u16) -> (Span, Span) {
        if wire.byte_ps == 0 {
            return self.times_of_timing(wire, size);
        }
        let span = Span::from_ps(u64::from(size) * u64::from(wire.byte_ps));
        (span, span + wire.delay)
    }

    /// Like [`Wires::times`], for a link that has a [`Timing`]. A separate function keeps the common
    /// case short enough to be inlined.
    #[cold]
    #[inline(never)]
    fn times_of_timing(&self, wire: &Wire, size: u16) -> (Span, Span) {
        let timing = &self.timings[wire.timing as usize];
        (timing.span(size), timing.crossing(size))
    }
}
