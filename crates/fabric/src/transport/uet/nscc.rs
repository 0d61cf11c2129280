//! NSCC: the sender's window (UEC 1.0, section 3.6.13; order of steps and rounding as in uet-htsim).

use super::{LastHopTrims, Uet};
use crate::topology::Reach;
use sojourn_core::{Rate, Span, Time};

/// The round trip and the rate at which the constants of the specification hold.
const REFERENCE_ROUND_TRIP: Span = Span::from_us(12);
const REFERENCE_BYTES: f64 = 150_000.0;

/// A shorter delay than this lets the window grow fast.
const SHORT_DELAY: Span = Span::from_us(1);

/// Bytes after which a receiver acknowledges, where windows are larger.
const ACK_EVERY: u64 = 16_384;

/// ACKs that are kept at least.
const LEAST_ANSWERS: u64 = 64;

/// How long a packet may go unanswered, the time for six full queues aside.
const LEAST_PATIENCE: Span = Span::from_us(15);

/// What all flows of one rate have in common. Sizes are bytes on the wire.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) rate: Rate,
    /// A full packet, and its header.
    pub(super) full: i64,
    pub(super) header: i64,
    /// The round trip between the hosts that are farthest apart.
    pub(super) round_trip: Span,
    /// The largest window, and the first.
    pub(super) most: i64,
    first: i64,
    pub(super) rto: Span,
    /// Bytes after which a receiver acknowledges.
    pub(super) ack_every: u64,
    /// So many ACKs later what an ACK says is forgotten, and one that comes later says nothing: as many
    /// as packets may be under way.
    pub(super) answers: u32,
    target: Span,
    /// Bytes per acknowledged byte and picosecond below the target.
    proportional: f64,
    /// Bytes per acknowledged byte at or above the target, which the window divides as the one above.
    fair: f64,
    /// Bytes a round trip.
    steady: f64,
    /// Bytes per acknowledged byte where hardly anything waits.
    fast: f64,
    gate: u32,
    weight: f64,
    trims_at_last_hop: LastHopTrims,
}

/// Bytes that a link of `rate` carries within `span`.
fn bytes_within(span: Span, rate: Rate) -> f64 {
    span.seconds() * (rate.bits_per_second() as f64 / 8.0)
}

impl Rules {
    /// For flows at `rate` in a fabric of such a `reach`, in packets of `full` bytes, `header` of them
    /// headers, and answers of `ack` bytes.
    pub(super) fn new(uet: &Uet, reach: Reach, rate: Rate, sizes: (u64, u64, u64)) -> Rules {
        let (full, header, ack) = sizes;
        let round_trip = reach.round_trip(rate, full, ack);
        let product = bytes_within(round_trip, rate).trunc();
        let most = ((1.5 * product) as i64).max(full as i64);
        // Whole packets: what waits for a part of one waits for the next.
        let quarter = (most as u64 / 4 / full).max(1) * full;
        let target = uet.target.unwrap_or(Span::from_ps(round_trip.ps() / 4 * 3));
        let payload = full as f64 - header as f64;
        let scale = product / REFERENCE_BYTES;
        let by_target = target.ps() as f64 / REFERENCE_ROUND_TRIP.ps() as f64;
        let first = uet.initial_window.map_or(most, |bytes| (bytes.0 as i64).max(full as i64));
        let kept = (most.max(first) as u64 / full).max(LEAST_ANSWERS);
        let queue = rate.span((product / full as f64).ceil() as u64 * full);
        Rules {
            rate,
            full: full as i64,
            header: header as i64,
            round_trip,
            most,
            first,
            rto: uet.rto.unwrap_or(LEAST_PATIENCE + queue * 6),
            ack_every: uet.ack_every.map_or(ACK_EVERY.min(quarter), |bytes| bytes.0),
            answers: u32::try_from(kept).unwrap_or(u32::MAX),
            target,
            proportional: 4.0 * payload * scale * by_target / target.ps() as f64,
            fair: 5.0 * payload * scale,
            steady: 0.15 * payload * scale,
            fast: 0.25 * scale,
            gate: uet.quick_adapt_gate,
            weight: uet.average_weight,
            trims_at_last_hop: uet.last_hop_trims,
        }
    }
}

/// The window of one sender.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// Bytes that may be under way.
    pub(super) size: i64,
    most: i64,
    /// The shortest round trip.
    base: Span,
    /// The average time that packets waited, in picoseconds.
    average: u64,
    /// What the window grows by when it is next adjusted, times the window.
    increase: i64,
    /// Bytes acknowledged since then, and when the steady increase was last added.
    acknowledged: i64,
    adjusted: Time,
    decreased: Time,
    /// Bytes acknowledged while the delay was short, and whether the window grows fast.
    short: i64,
    is_fast: bool,
    /// Quick adapt: bytes acknowledged in its period, when that ends, and whether a packet was trimmed.
    achieved: i64,
    ends: Option<Time>,
    trimmed: bool,
    /// Bytes whose marks are ignored after it, and those that have been.
    to_ignore: i64,
    ignored: i64,
}

impl Window {
    /// The window of a flow that begins at `now`.
    pub(super) fn new(rules: &Rules, now: Time) -> Window {
        Window {
            size: rules.first,
            most: rules.most,
            base: rules.round_trip,
            average: 0,
            increase: 0,
            acknowledged: 0,
            adjusted: now,
            decreased: now,
            short: 0,
            is_fast: false,
            achieved: 0,
            ends: None,
            trimmed: false,
            to_ignore: 0,
            ignored: 0,
        }
    }

    /// Counts bytes that the receiver has got.
    pub(super) fn count(&mut self, bytes: i64) {
        self.achieved += bytes;
        self.acknowledged += bytes;
        self.ignored += bytes;
    }

    /// Takes in a round trip, which may be the shortest so far.
    pub(super) fn measure(&mut self, trip: Span, rules: &Rules) {
        if trip < self.base {
            self.base = trip;
            self.most = (1.5 * bytes_within(trip, rules.rate).trunc()) as i64;
        }
    }

    /// The time that a packet waited on a round trip that was measured; it goes into the average.
    pub(super) fn waited(&mut self, trip: Span, marked: bool, rules: &Rules) -> Span {
        let waited = trip - self.base;
        let sample = match !marked && waited > rules.target {
            true => self.base.ps() as f64 / 4.0,
            false => waited.ps() as f64,
        };
        self.average_in(sample, rules);
        waited
    }

    fn average_in(&mut self, sample: f64, rules: &Rules) {
        self.average = (rules.weight * sample + (1.0 - rules.weight) * self.average as f64) as u64;
    }

    /// The average time that packets waited.
    pub(super) fn average(&self) -> Span {
        Span::from_ps(self.average)
    }

    /// Takes in an ACK for `bytes` at `now`, whose packet waited for `waited`, while `flight` bytes
    /// are under way.
    pub(super) fn acknowledge(
        &mut self,
        (marked, waited): (bool, Span),
        bytes: i64,
        flight: i64,
        now: Time,
        rules: &Rules,
    ) {
        let bad = self.trimmed || waited > rules.target * 4;
        if self.quick_adapt((bad, marked), flight, now, rules) {
            return;
        }
        match (marked, waited >= rules.target) {
            (false, true) => self.increase += (rules.fair * bytes as f64) as i64,
            (false, false) => self.grow(bytes, waited, rules),
            (true, true) => self.shrink(now, rules),
            (true, false) => {}
        }
        self.bound(rules);
        if self.acknowledged > 8 * rules.full || now - self.adjusted > rules.round_trip {
            self.size += self.increase / self.size;
            if now - self.adjusted >= rules.round_trip {
                self.size = (self.size as f64 + rules.steady) as i64;
                self.adjusted = now;
            }
            self.begin_period();
        }
        self.bound(rules);
    }

    fn begin_period(&mut self) {
        self.increase = 0;
        self.acknowledged = 0;
    }

    fn bound(&mut self, rules: &Rules) {
        self.size = self.size.max(rules.full).min(self.most.max(rules.full));
    }

    /// Grows fast where hardly anything has waited for a whole window, else by how far below the target
    /// the delay is.
    fn grow(&mut self, bytes: i64, waited: Span, rules: &Rules) {
        if waited < SHORT_DELAY {
            self.short += bytes;
            if self.short > self.size || self.is_fast {
                self.size = (self.size as f64 + bytes as f64 * rules.fast) as i64;
                self.is_fast = true;
                return;
            }
        } else {
            self.short = 0;
        }
        self.is_fast = false;
        let below = (rules.target - waited).ps() as f64;
        self.increase += (rules.proportional * bytes as f64 * below) as i64;
    }

    /// Shrinks by how far the average delay is above the target, once a round trip, to half at most.
    fn shrink(&mut self, now: Time, rules: &Rules) {
        self.is_fast = false;
        self.short = 0;
        let (average, target) = (self.average, rules.target.ps());
        if average > target && now - self.decreased > self.base {
            let above = 0.8 * (average - target) as f64 / average as f64;
            self.size = ((self.size as f64 * (1.0 - above).max(0.5)) as i64).max(rules.full);
            self.decreased = now;
        }
    }

    /// Where much went wrong within a period, sets the window to what has got through in it. Returns
    /// whether that was done, or whether this is still news from before.
    fn quick_adapt(
        &mut self,
        (bad, ignorable): (bool, bool),
        flight: i64,
        now: Time,
        rules: &Rules,
    ) -> bool {
        let mut done = false;
        if self.ignored < self.to_ignore && ignorable {
            done = true;
        } else if self.ends.is_none_or(|ends| now > ends) {
            if self.ends.is_some() && bad && self.achieved < self.most >> rules.gate {
                self.size = self.achieved.max(rules.full);
                self.to_ignore = flight;
                self.ignored = 0;
                self.trimmed = false;
                done = true;
            }
            self.achieved = 0;
            self.ends = Some(now + self.base + rules.target);
        }
        if done {
            self.begin_period();
        }
        done
    }

    /// Takes in at `now` that a packet of `bytes` was trimmed, by the port to its receiver where
    /// `at_last_hop` says so; `credits` says whether the receiver gives credit too.
    pub(super) fn trimmed(
        &mut self,
        bytes: i64,
        (at_last_hop, credits): (bool, bool),
        flight: i64,
        now: Time,
        rules: &Rules,
    ) {
        self.ignored += bytes;
        self.average_in(rules.round_trip.ps() as f64, rules);
        let is_receivers = credits && at_last_hop;
        if is_receivers && rules.trims_at_last_hop == LastHopTrims::Ignored {
            return;
        }
        self.trimmed = true;
        let done = self.quick_adapt((true, true), flight, now, rules);
        if !done && !is_receivers {
            self.size -= bytes;
            self.bound(rules);
        }
    }

    /// Takes in that nothing was heard of a packet of `bytes` for too long.
    pub(super) fn timed_out(&mut self, bytes: i64, rules: &Rules) {
        self.size = (self.size - bytes).max(rules.full);
    }
}
