//! A link as the inner loop wants it.

use crate::topology::Link;
use sojourn_core::{Rate, Span};

/// How long packets are on one link, where that takes no more than a multiplication.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTiming {
    /// Propagation.
    delay: Span,
    /// How long a byte takes, where that is a whole number of picoseconds and the next unit takes
    /// packets whole; otherwise 0.
    byte_ps: u32,
    /// Where that is 0, which of the timings of [`LinkTimings`] it has.
    timing: u32,
}

/// How long packets are on any link.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactTiming {
    delay: Span,
    rate: Rate,
    /// How long a packet's header takes, where the next switch waits for no more than that.
    header: Option<Span>,
}

/// The timings of links for which a [`LinkTiming`] does not suffice, outside of ports so that these stay small.
#[derive(Debug, Default)]
pub(super) struct LinkTimings {
    timings: Vec<ExactTiming>,
}

impl ExactTiming {
    /// `link`, where headers have so many bytes.
    pub(super) fn new(link: &Link, header: u16) -> ExactTiming {
        let rate = link.spec.rate;
        let header = link.cuts.then(|| rate.span(header.into()));
        ExactTiming { delay: link.spec.delay, rate, header }
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

impl LinkTimings {
    /// Takes in `link`, where headers have so many bytes.
    pub(super) fn add(&mut self, link: &Link, header: u16) -> LinkTiming {
        let rate = link.spec.rate;
        let exact = 8_000_000_000_000 % rate.bits_per_second() == 0 && !link.cuts;
        let byte_ps = if exact { u32::try_from(rate.span(1).ps()).unwrap_or(0) } else { 0 };
        if byte_ps == 0 {
            self.timings.push(ExactTiming::new(link, header));
        }
        let timing = self.timings.len().saturating_sub(1) as u32;
        LinkTiming { delay: link.spec.delay, byte_ps, timing }
    }

    /// How long `size` bytes take to leave by `wire`.
    #[inline(always)]
    pub(super) fn span(&self, timing: &LinkTiming, size: u16) -> Span {
        match timing.byte_ps {
            0 => self.timings[timing.timing as usize].span(size),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// How long `size` bytes take to leave by `wire`, and until the other end may send them on, or has
    /// them.
    #[inline(always)]
    pub(super) fn times(&self, timing: &LinkTiming, size: u16) -> (Span, Span) {
        if timing.byte_ps == 0 {
            return self.times_of_timing(timing, size);
        }
        let span = Span::from_ps(u64::from(size) * u64::from(timing.byte_ps));
        (span, span + timing.delay)
    }

    /// Like [`LinkTimings::times`], for a link that has a [`ExactTiming`]. A separate function keeps the common
    /// case short enough to be inlined.
    #[cold]
    #[inline(never)]
    fn times_of_timing(&self, timing: &LinkTiming, size: u16) -> (Span, Span) {
        let timing = &self.timings[timing.timing as usize];
        (timing.span(size), timing.crossing(size))
    }
}
