//! Round trips: the retransmission time-out (RFC 6298), and those of single packets.

use sojourn_core::{Span, Time, choices};
use std::collections::VecDeque;

choices! {
    /// How the time-out is computed from the round trip.
    pub enum TimeOutRule: "rule of the time-out" {
        /// The larger of `min_rto` and SRTT + 4 RTTVAR (RFC 6298), of one packet a round trip.
        Rfc6298 = "rfc6298",
        /// SRTT plus at least `min_rto`, of a sample with each ACK, as Linux does it: what varies counts as
        /// much as it did most within a round trip, and that is forgotten slowly.
        Linux = "linux",
    }
}

/// How the retransmission time-out is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// From the measured round trip, between a floor and 60 s, doubled at each time-out.
    Estimated {
        /// Never less than this.
        min: Span,
        /// Before the first measurement.
        initial: Span,
        /// How it follows from the round trip.
        rule: TimeOutRule,
    },
    /// Always the same.
    Fixed(Span),
}

impl Timer {
    /// A timer that begins with `initial`; without it a new connection begins with 1 s (RFC 6298, 2.1),
    /// and one that was open with the floor, as it has measured its round trip.
    pub(super) fn estimated(
        min: Span,
        initial: Option<Span>,
        new: bool,
        rule: TimeOutRule,
    ) -> Timer {
        let unknown = if new { Span::from_s(1).max(min) } else { min };
        Timer::Estimated { min, initial: initial.unwrap_or(unknown), rule }
    }

    /// The least time-out.
    pub(super) fn min(self) -> Span {
        match self {
            Timer::Estimated { min, .. } => min,
            Timer::Fixed(span) => span,
        }
    }
}

/// RFC 6298 (2.4) allows a cap of at least 60 s.
const MAX_RTO: Span = Span::from_s(60);

/// The round-trip time that one sender has measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrip {
    /// Smoothed round trip; zero before the first measurement.
    smoothed: Span,
    /// By how much it varies; four times that under Linux's rule (`mdev`).
    variation: Span,
    /// What the time-out adds to the smoothed one: four times `variation`, or under Linux's rule its `rttvar`.
    margin: Span,
    /// Under Linux's rule: the largest variation in this round trip (`mdev_max`), and the packet whose
    /// acknowledgement ends that.
    largest: Span,
    ends: u32,
    doublings: u8,
    /// The packet being timed (Karn: one never sent before), and since when.
    timed: Option<(u32, Time)>,
}

impl RoundTrip {
    /// Times a packet that leaves for the first time, if none is being timed.
    #[inline]
    pub(super) fn sent(&mut self, sequence: u32, now: Time) {
        if self.timed.is_none() {
            self.timed = Some((sequence, now));
        }
    }

    /// Takes in the acknowledgement of everything below `sequence`, of what was `sent`.
    #[inline]
    pub(super) fn acknowledged(&mut self, sequence: u32, sent: u32, timer: Timer, now: Time) {
        if let Some((timed, since)) = self.timed
            && timed < sequence
        {
            self.timed = None;
            self.sample(now - since, timer, sequence, sent);
        }
    }

    /// The smoothed round trip; zero before the first measurement.
    #[inline]
    pub(super) fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// Takes in a round trip, when all below `acknowledged` is and all below `sent` was sent.
    #[inline]
    pub(super) fn sample(&mut self, sample: Span, timer: Timer, acknowledged: u32, sent: u32) {
        self.doublings = 0;
        match timer {
            Timer::Estimated { min, rule: TimeOutRule::Linux, .. } => {
                self.measure_as_linux(sample, min, acknowledged, sent);
            }
            _ => self.measure(sample),
        }
    }

    /// Linux's `tcp_rtt_estimator`: a round trip shorter than expected hardly counts as variation.
    #[inline(never)]
    fn measure_as_linux(&mut self, sample: Span, min: Span, acknowledged: u32, sent: u32) {
        if self.smoothed == Span::ZERO {
            (self.smoothed, self.variation) = (sample, sample.saturating_mul(2));
            self.margin = self.variation.max(min);
            (self.largest, self.ends) = (self.margin, sent);
            return;
        }
        let error = sample.ps() as i64 - self.smoothed.ps() as i64;
        self.smoothed = Span::from_ps((self.smoothed.ps() as i64 + error / 8) as u64);
        let mut more = error.abs() - (self.variation.ps() / 4) as i64;
        if error < 0 && more > 0 {
            more /= 8;
        }
        self.variation = Span::from_ps((self.variation.ps() as i64 + more) as u64);
        if self.variation > self.largest {
            self.largest = self.variation;
            self.margin = self.margin.max(self.largest);
        }
        if acknowledged > self.ends {
            if self.largest < self.margin {
                self.margin = self.margin - (self.margin - self.largest) / 4;
            }
            (self.ends, self.largest) = (sent, min);
        }
    }

    fn measure(&mut self, sample: Span) {
        if self.smoothed == Span::ZERO {
            (self.smoothed, self.variation) = (sample, sample / 2);
        } else {
            let (smoothed, sample) = (self.smoothed.ps(), sample.ps());
            let error = smoothed.abs_diff(sample);
            self.variation = Span::from_ps((3 * self.variation.ps() + error) / 4);
            self.smoothed = Span::from_ps((7 * smoothed + sample) / 8);
        }
        self.margin = self.variation.saturating_mul(4);
    }

    /// Doubles the time-out, and drops a measurement under way (RFC 6298, 5.5; Karn).
    pub(super) fn timed_out(&mut self) {
        self.doublings = self.doublings.saturating_add(1);
        self.timed = None;
    }

    /// Drops a measurement under way, as a packet is sent again (Karn).
    pub(super) fn forget(&mut self) {
        self.timed = None;
    }

    /// The retransmission time-out.
    #[inline]
    pub(super) fn time_out(&self, timer: Timer) -> Span {
        match timer {
            Timer::Fixed(span) => span,
            Timer::Estimated { min, initial, .. } => {
                let base = match self.smoothed {
                    Span::ZERO => initial,
                    smoothed => smoothed.saturating_add(self.margin),
                };
                let doubled = base.max(min).saturating_mul(1 << self.doublings.min(32));
                doubled.min(MAX_RTO.max(min))
            }
        }
    }
}

/// When the packets of a flow that are not yet acknowledged left last.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    /// Of the packets from `first` on.
    left: VecDeque<Time>,
    first: u32,
}

impl Departures {
    /// Notes that packet `sequence` leaves.
    pub(super) fn note(&mut self, sequence: u32, now: Time) {
        match self.left.get_mut((sequence - self.first) as usize) {
            Some(left) => *left = now,
            None => self.left.push_back(now),
        }
    }

    /// The round trip of the packet `cause`, which caused an ACK, if that is known. Forgets all packets
    /// before `snd_una`, as they are acknowledged.
    pub(super) fn round_trip(
        &mut self,
        cause: Option<u32>,
        snd_una: u32,
        now: Time,
    ) -> Option<Span> {
        let round_trip = cause.and_then(|sequence| {
            let place = sequence.checked_sub(self.first)?;
            self.left.get(place as usize).map(|&left| now - left)
        });
        while self.first < snd_una && self.left.pop_front().is_some() {
            self.first += 1;
        }
        round_trip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMER: Timer = Timer::Estimated {
        min: Span::from_us(200),
        initial: Span::from_s(1),
        rule: TimeOutRule::Rfc6298,
    };

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// What is open begins with its floor, what is opened first with RFC 6298's second.
    #[test]
    fn begins_as_the_connection_does() {
        let (short, long, given) = (Span::from_ms(5), Span::from_s(3), Some(Span::from_ms(40)));
        for (min, initial, new, begins) in [
            (short, None, false, short),
            (short, None, true, Span::from_s(1)),
            (long, None, true, long),
            (short, given, true, Span::from_ms(40)),
        ] {
            let timer = Timer::estimated(min, initial, new, TimeOutRule::Rfc6298);
            assert_eq!(RoundTrip::default().time_out(timer), begins);
        }
    }

    /// RFC 6298 (2.1) to (2.3), by hand: samples of 800 and 400 us.
    #[test]
    fn follows_the_rfc() {
        let mut trip = RoundTrip::default();
        assert_eq!(trip.time_out(TIMER), Span::from_s(1));
        trip.sent(0, at(0));
        trip.acknowledged(1, 1, TIMER, at(800));
        assert_eq!(trip.time_out(TIMER), Span::from_us(800 + 4 * 400));
        trip.sent(1, at(1000));
        trip.sent(2, at(1100));
        trip.acknowledged(3, 3, TIMER, at(1400));
        assert_eq!(trip.time_out(TIMER), Span::from_us(750 + 4 * (3 * 400 + 400) / 4));
    }

    #[test]
    fn doubles_and_comes_back_with_a_fresh_measurement() {
        let mut trip = RoundTrip::default();
        trip.sent(0, at(0));
        trip.acknowledged(1, 1, TIMER, at(10));
        assert_eq!(trip.time_out(TIMER), Span::from_us(200));
        trip.sent(1, at(10));
        trip.timed_out();
        trip.timed_out();
        assert_eq!(trip.time_out(TIMER), Span::from_us(800));
        trip.acknowledged(2, 2, TIMER, at(500));
        assert_eq!(trip.time_out(TIMER), Span::from_us(800), "Karn: a resent packet is no sample");
        trip.sent(2, at(500));
        trip.acknowledged(3, 3, TIMER, at(510));
        assert_eq!(trip.time_out(TIMER), Span::from_us(200));
    }

    #[test]
    fn is_capped() {
        let mut trip = RoundTrip::default();
        for _ in 0..300 {
            trip.timed_out();
        }
        assert_eq!(trip.time_out(TIMER), MAX_RTO);
        assert_eq!(trip.time_out(Timer::Fixed(Span::from_us(40))), Span::from_us(40));
    }
}
