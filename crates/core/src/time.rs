//! Simulated time: a point ([`Time`]) and a distance ([`Span`]), both whole picoseconds in 64 bits.
//!
//! Integers make equal times really equal, so that ties are broken by rule and never by rounding. 64
//! bits of picoseconds last 213 days, and rows, whose numbers have a sign, have half of them. The
//! arithmetic here is not checked in a release: a model checks its parameters and, where chance
//! decides, its clock from time to time, so that no sum leaves the range.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in simulated time, in picoseconds since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A distance between two points in time, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of every simulation.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const NEVER: Time = Time(u64::MAX);

    /// The point `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }

    /// Picoseconds since the start.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Seconds since the start, rounded to a float.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The time `span` after this one; [`Time::NEVER`] when no run comes that far.
    pub const fn after(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The distance from `earlier` to here; zero when `earlier` is later.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);
    /// The longest span.
    pub const MAX: Span = Span(u64::MAX);
    /// The longest that a setting may be: 100 days, so that a time within the 106 days that rows
    /// have, and such a span behind it, are still a [`Time`].
    pub const LONGEST_SETTING: Span = Span::from_s(100 * 86_400);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_s(s: u64) -> Span {
        Span(s * 1_000_000_000_000)
    }

    /// The span nearest to `seconds`; negative and NaN give zero, too long gives [`Span::MAX`].
    pub fn from_seconds(seconds: f64) -> Span {
        Span((seconds * 1e12).round() as u64)
    }

    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to a float.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The sum, or [`Span::MAX`] when it does not fit.
    pub const fn saturating_add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }

    /// The product, or [`Span::MAX`] when it does not fit.
    pub const fn saturating_mul(self, factor: u64) -> Span {
        Span(self.0.saturating_mul(factor))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0 + span.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        self.0 += span.0;
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, factor: u64) -> Span {
        Span(self.0 * factor)
    }
}

impl Div<u64> for Span {
    type Output = Span;
    fn div(self, divisor: u64) -> Span {
        Span(self.0 / divisor)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Span>>(spans: I) -> Span {
        spans.fold(Span::ZERO, Add::add)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

/// The shortest exact text: `40us`, `383ns`, `1.5ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(
            f,
            self.0,
            &[
                (1_000_000_000_000, "s"),
                (1_000_000_000, "ms"),
                (1_000_000, "us"),
                (1_000, "ns"),
                (1, "ps"),
            ],
        )
    }
}

/// Writes `value` exactly in the largest of `units` (largest first) that it reaches.
pub(crate) fn write_decimal(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
) -> fmt::Result {
    let base = units[units.len() - 1];
    let (scale, unit) = *units.iter().find(|(scale, _)| value >= *scale).unwrap_or(&base);
    let (whole, rest) = (value / scale, value % scale);
    if rest == 0 {
        return write!(f, "{whole}{unit}");
    }
    let width = scale.ilog10() as usize;
    let fraction = format!("{rest:0width$}");
    write!(f, "{whole}.{}{unit}", fraction.trim_end_matches('0'))
}
