//! Transmission and propagation times of links, as the inner loop needs them.

use crate::topology::Link;
use sojourn_core::{Rate, Span};

/// Times of one link, where a multiplication suffices to find them.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkTiming {
    /// Propagation delay.
    delay: Span,
    /// Transmission time of a byte in picoseconds, where that is a whole number and the next node stores
    /// and forwards; otherwise 0.
    byte_ps: u32,
    /// Where that is 0, the number of its [`ExactTiming`] in [`LinkTimings`].
    timing: u32,
}

/// Times of any link, exact at every rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExactTiming {
    delay: Span,
    rate: Rate,
    /// Transmission time of a header, where the next switch cuts through.
    header: Option<Span>,
}

/// The timings of links for which a [`LinkTiming`] does not suffice; outside of ports, so that these stay
/// small.
#[derive(Debug, Default)]
pub(super) struct LinkTimings {
    timings: Vec<ExactTiming>,
}

impl ExactTiming {
    /// The times of `link`, where headers have so many bytes.
    pub(super) fn new(link: &Link, header: u16) -> ExactTiming {
        let rate = link.spec.rate;
        let header = link.cuts.then(|| rate.span(header.into()));
        ExactTiming { delay: link.spec.delay, rate, header }
    }

    /// Transmission time of `size` bytes.
    fn span(&self, size: u16) -> Span {
        self.rate.span(size.into())
    }

    /// Time from the first bit of `size` bytes on the link until the other end may send them on, or has
    /// them.
    pub(super) fn crossing(&self, size: u16) -> Span {
        self.header.unwrap_or_else(|| self.span(size)) + self.delay
    }
}

impl LinkTimings {
    /// Adds `link`, where headers have so many bytes.
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

    /// Transmission time of `size` bytes on the link of `timing`.
    #[inline(always)]
    pub(super) fn span(&self, timing: &LinkTiming, size: u16) -> Span {
        match timing.byte_ps {
            0 => self.timings[timing.timing as usize].span(size),
            ps => Span::from_ps(u64::from(size) * u64::from(ps)),
        }
    }

    /// Transmission time of `size` bytes on the link of `timing`, and time until the other end may send
    /// them on, or has them.
    #[inline(always)]
    pub(super) fn times(&self, timing: &LinkTiming, size: u16) -> (Span, Span) {
        if timing.byte_ps == 0 {
            return self.times_of_timing(timing, size);
        }
        let span = Span::from_ps(u64::from(size) * u64::from(timing.byte_ps));
        (span, span + timing.delay)
    }

    /// Like [`LinkTimings::times`], for a link with an [`ExactTiming`]. A separate function keeps the common
    /// case short enough to be inlined.
    #[cold]
    #[inline(never)]
    fn times_of_timing(&self, timing: &LinkTiming, size: u16) -> (Span, Span) {
        let timing = &self.timings[timing.timing as usize];
        (timing.span(size), timing.crossing(size))
    }
}
