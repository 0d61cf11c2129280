//! Units of time: whether the times of a trace lie where its clock would be, and which unit would fit.

use sojourn_core::Span;

/// Where a clock starts to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    /// 1601, as Windows' FILETIME does.
    Windows,
    /// 1970, as Unix does.
    Unix,
    /// Any time, such as the start of the trace.
    Start,
}

/// A clock of a format: the unit of its times, and where it starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    tick: Span,
    epoch: Epoch,
}

/// The longest unit that a study may set.
pub(super) const LONGEST_TICK: Span = Span::from_s(3600);

/// Traces are of 1995 to 2034, in seconds since 1970.
const YEARS: std::ops::Range<u64> = 788_918_400..2_051_222_400;
/// Seconds from 1601 to 1970.
const WINDOWS_TO_UNIX: u64 = 11_644_473_600;
/// The longest time since the start of a clock that counts from no date, in seconds: 25 years.
const LONGEST: u64 = YEARS.start;
/// A year in seconds.
const YEAR: f64 = 31_556_952.0;
const PS_PER_S: u128 = 1_000_000_000_000;

/// The units of clocks, with their names.
const UNITS: [(&str, u128); 5] = [
    ("1s", PS_PER_S),
    ("1ms", PS_PER_S / 1000),
    ("1us", PS_PER_S / 1_000_000),
    ("100ns", PS_PER_S / 10_000_000),
    ("1ns", PS_PER_S / 1_000_000_000),
];

impl Epoch {
    /// The seconds since the epoch at which traces were made.
    fn expected(self) -> std::ops::Range<u64> {
        match self {
            Epoch::Windows => YEARS.start + WINDOWS_TO_UNIX..YEARS.end + WINDOWS_TO_UNIX,
            Epoch::Unix => YEARS,
            Epoch::Start => 0..LONGEST,
        }
    }

    /// Whether a time, in picoseconds, is one at which traces were made.
    fn fits(self, at: u128) -> bool {
        u64::try_from(at / PS_PER_S).is_ok_and(|seconds| self.expected().contains(&seconds))
    }

    /// The year of its start.
    fn year(self) -> f64 {
        match self {
            Epoch::Windows => 1601.0,
            Epoch::Unix => 1970.0,
            Epoch::Start => 0.0,
        }
    }
}

impl Clock {
    /// A format's clock.
    pub(super) const fn new(tick: Span, epoch: Epoch) -> Clock {
        Clock { tick, epoch }
    }

    /// The clock where a study may set another unit, and with it leave the start open.
    pub(super) fn with(self, tick: Option<Span>) -> Clock {
        tick.map_or(self, |tick| Clock { tick, epoch: Epoch::Start })
    }

    /// Its unit, in picoseconds.
    pub(super) fn tick(&self) -> u128 {
        self.tick.ps().into()
    }

    /// Refuses a time, in picoseconds, at which no trace was made: what was expected of it.
    pub(super) fn check(&self, at: u128) -> Result<(), String> {
        let epochs: &[Epoch] = match self.epoch {
            Epoch::Start => &[Epoch::Start, Epoch::Unix, Epoch::Windows],
            Epoch::Unix => &[Epoch::Unix],
            Epoch::Windows => &[Epoch::Windows],
        };
        match epochs.iter().any(|epoch| epoch.fits(at)) {
            true => Ok(()),
            false => Err(self.other_unit(at)),
        }
    }

    /// The words for a time that does not fit, and for the unit that would.
    fn other_unit(&self, at: u128) -> String {
        let tick = self.tick();
        let count = at / tick;
        let (unit, start) = (self.tick, self.epoch.year());
        let year = |at: u128| (at as f64 / PS_PER_S as f64 / YEAR).floor();
        let expected = match self.epoch {
            Epoch::Start => format!("times of a clock in units of {unit}, but"),
            _ => format!("times since {start} in units of {unit}, of 1995 to 2034, but"),
        };
        let is = match self.epoch {
            Epoch::Start => format!("is {} years", year(at)),
            _ => format!("is in the year {}", year(at) + start),
        };
        let others = UNITS.iter().filter(|(_, other)| *other != tick).flat_map(|&(name, other)| {
            let at = count * other;
            let dated = [Epoch::Unix, Epoch::Windows].into_iter().filter(move |e| e.fits(at));
            dated.map(move |epoch| {
                let (in_year, since) = (year(at) + epoch.year(), epoch.year());
                format!("tick = {name:?} makes it {in_year}, counted from {since}")
            })
        });
        let fitting: Vec<String> = others.collect();
        let advice = match fitting.is_empty() {
            false => fitting.join("; "),
            true if Epoch::Start.fits(at) => {
                format!("tick = \"{unit}\" takes times that count from another start")
            }
            true => "tick sets another unit".to_owned(),
        };
        format!("{expected} {count} {is}: {advice}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows() -> Clock {
        Clock::new(Span::from_ns(100), Epoch::Windows)
    }

    /// The first day of 1995 and the last of 2034, by `date -u -d ... +%s`.
    #[test]
    fn forty_years_are_taken() {
        for (seconds, fits) in [
            (788_918_399, false),
            (788_918_400, true),
            (2_051_222_399, true),
            (2_051_222_400, false),
        ] {
            let unix = u128::from(seconds as u64) * PS_PER_S;
            assert_eq!(Clock::new(Span::from_s(1), Epoch::Unix).check(unix).is_ok(), fits);
            let since_1601 = unix + u128::from(WINDOWS_TO_UNIX) * PS_PER_S;
            assert_eq!(windows().check(since_1601).is_ok(), fits, "{seconds}");
        }
    }

    #[test]
    fn the_unit_that_fits_is_named() {
        let said = |count: u128| windows().check(count * 100_000).unwrap_err();
        for (count, unit, year) in [
            (1_577_808_000, "1s", 2019),
            (1_577_808_000_001, "1ms", 2019),
            (1_577_808_000_001_442, "1us", 2019),
            (1_577_808_000_001_442_000, "1ns", 2019),
        ] {
            let words = format!("tick = {unit:?} makes it {year}, counted from 1970");
            assert!(said(count).ends_with(&words), "{}", said(count));
        }
        assert!(said(1000).ends_with("tick = \"100ns\" takes times that count from another start"));
    }

    /// A unit that a study sets is checked as well: FILETIMEs are no microseconds.
    #[test]
    fn a_unit_that_is_set_leaves_the_start_open() {
        let clock = windows().with(Some(Span::from_us(1)));
        for count in [0, 1_000_000, 1_577_808_000_001_442] {
            assert_eq!(clock.check(count * 1_000_000), Ok(()));
        }
        let said = clock.check(128_166_372_003_061_629 * 1_000_000).unwrap_err();
        assert!(said.contains("tick = \"100ns\" makes it 2007, counted from 1601"), "{said}");
    }
}
