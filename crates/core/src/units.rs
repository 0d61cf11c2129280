//! Quantities as people write them: `"10Gbps"`, `"22.5KB"`, `"12us"`, `"0.01/ms"`.
//!
//! KB is 1000 bytes, KiB 1024. A bare number is refused where a unit is needed, and so is a
//! quantity finer than the unit that carries it (a fraction of a picosecond, of a byte). A unit
//! has the spellings of other programs too, unless a spelling means bits to some and bytes to
//! others: those are refused, and the message offers both.

use crate::time::{Span, write_decimal};
use std::fmt;
use std::str::FromStr;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A link's speed in bits per second, never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

/// How often something happens, in events per second, finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Frequency(f64);

/// Why a text is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAQuantity;

impl Rate {
    /// `bits_per_second`, or nothing when it is zero.
    pub const fn new(bits_per_second: u64) -> Option<Rate> {
        if bits_per_second == 0 { None } else { Some(Rate(bits_per_second)) }
    }

    /// `n` gigabits per second. Panics when `n` is zero.
    pub const fn gbps(n: u64) -> Rate {
        assert!(n > 0, "a rate is above zero");
        Rate(n * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How long `bytes` take on a link of this rate, rounded up to a whole picosecond;
    /// [`Span::MAX`] when that is too long for a span.
    pub const fn span(self, bytes: u64) -> Span {
        // A packet's fit into 64 bits, which are divided in a fraction of the time.
        if let Some(bit_ps) = bytes.checked_mul(BYTE_BIT_PS as u64) {
            return Span::from_ps(bit_ps.div_ceil(self.0));
        }
        let bit_ps = bytes as u128 * BYTE_BIT_PS;
        Span::from_ps(saturate(bit_ps.div_ceil(self.0 as u128)))
    }

    /// Bytes that fit into `span`, rounded down; `u64::MAX` when they are more than that.
    pub const fn bytes_in(self, span: Span) -> u64 {
        saturate(span.ps() as u128 * self.0 as u128 / BYTE_BIT_PS)
    }
}

/// Picoseconds that a byte takes at one bit per second.
const BYTE_BIT_PS: u128 = 8_000_000_000_000;

const fn saturate(value: u128) -> u64 {
    if value > u64::MAX as u128 { u64::MAX } else { value as u64 }
}

impl Frequency {
    /// `per_second` events a second, or nothing unless it is finite and above zero.
    pub fn new(per_second: f64) -> Option<Frequency> {
        (per_second.is_finite() && per_second > 0.0).then_some(Frequency(per_second))
    }

    /// Events per second.
    pub fn per_second(self) -> f64 {
        self.0
    }
}

/// The spellings of units, each with its size in base units.
type Units = &'static [(&'static str, u64)];

const TIME: Units = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    // The micro sign (U+00B5) and the Greek letter mu (U+03BC) look alike.
    ("\u{b5}s", 1_000_000),
    ("\u{3bc}s", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
    ("nsec", 1_000),
    ("usec", 1_000_000),
    ("msec", 1_000_000_000),
    ("sec", 1_000_000_000_000),
];

const SIZE: Units = &[
    ("B", 1),
    ("KB", 1_000),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("bytes", 1),
];

/// "bps" is bits in any case. With a slash the letter decides: b is a bit and B a byte.
const SPEED: Units = &[
    ("bps", 1),
    ("Kbps", 1_000),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("tbps", 1_000_000_000_000),
    ("b/s", 1),
    ("Kb/s", 1_000),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
    ("bit/s", 1),
    ("Kbit/s", 1_000),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("B/s", 8),
    ("KB/s", 8_000),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
    ("TB/s", 8_000_000_000_000),
    ("KiB/s", 8 << 10),
    ("MiB/s", 8 << 20),
    ("GiB/s", 8 << 30),
];

/// What to add to the message about a text that is no time.
pub(crate) fn advice_on_time(text: &str) -> String {
    let Some((number, unit)) = parts(text) else { return String::new() };
    let lower = unit.to_lowercase();
    match lower.as_str() {
        "m" => format!("; write \"{number}min\" or \"{number}ms\""),
        lower if lower != unit && is_unit(lower, TIME) => format!("; write \"{number}{lower}\""),
        _ => String::new(),
    }
}

/// What to add to the message about a text that is no size.
pub(crate) fn advice_on_size(text: &str) -> String {
    match prefixed(text, SIZE, &["", "b", "byte", "bytes", "ib"]) {
        Some((number, prefix)) => {
            format!("; \"{number}{prefix}B\" counts in thousands, \"{number}{prefix}iB\" in 1024s")
        }
        None => String::new(),
    }
}

/// What to add to the message about a text that is no speed.
pub(crate) fn advice_on_speed(text: &str) -> String {
    let rests = [
        "", "b", "be", "bit", "bits", "bits/s", "bit/s", "b/s", "bps", "bytes/s", "byte/s", "ib/s",
        "bit/sec", "bits/sec", "b/sec", "byte", "bytes", "ib",
    ];
    match prefixed(text, SPEED, &rests) {
        Some((number, prefix)) => format!(
            "; write \"{number}{prefix}bps\" for bits per second, \"{number}{prefix}B/s\" for \
             bytes per second"
        ),
        None => String::new(),
    }
}

/// The number of a text and the prefix of its unit, such as `M`, where the unit is none of `units`,
/// and what follows the prefix is one of `rests`.
fn prefixed<'a>(text: &'a str, units: Units, rests: &[&str]) -> Option<(&'a str, char)> {
    let (number, unit) = parts(text)?;
    let mut letters = unit.chars();
    let prefix = letters.next()?.to_ascii_uppercase();
    let rest = letters.as_str().to_lowercase();
    let known = is_unit(unit, units) || !['K', 'M', 'G', 'T'].contains(&prefix);
    (!known && rests.contains(&rest.as_str())).then_some((number, prefix))
}

fn is_unit(name: &str, units: Units) -> bool {
    units.iter().any(|(unit, _)| *unit == name)
}

/// Whether two texts are the same quantity, such as `"90s"` and `"1.5min"`.
pub fn is_same_quantity(one: &str, other: &str) -> bool {
    fn both<T: FromStr + PartialEq>(one: &str, other: &str) -> bool {
        one.parse::<T>().is_ok_and(|one| other.parse::<T>().is_ok_and(|other| one == other))
    }
    let tries = [both::<Span>, both::<Bytes>, both::<Rate>, both::<Frequency>];
    tries.iter().any(|is_same| is_same(one, other))
}

/// A regular expression (ECMA 262) of the texts of a quantity in these units.
fn quantity(units: &[(&str, u64)]) -> String {
    format!("\\s*{DECIMAL}\\s*({})\\s*", names(units))
}

const DECIMAL: &str = "[0-9]+(\\.[0-9]+)?";

fn names(units: &[(&str, u64)]) -> String {
    units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join("|")
}

impl Span {
    /// A regular expression (ECMA 262) of its texts.
    pub fn pattern() -> String {
        quantity(TIME)
    }
}

impl Bytes {
    /// A regular expression (ECMA 262) of its texts.
    pub fn pattern() -> String {
        quantity(SIZE)
    }
}

impl Rate {
    /// A regular expression (ECMA 262) of its texts.
    pub fn pattern() -> String {
        quantity(SPEED)
    }
}

impl Frequency {
    /// A regular expression (ECMA 262) of its texts.
    pub fn pattern() -> String {
        format!("\\s*{DECIMAL}\\s*/\\s*({})\\s*", names(TIME))
    }
}

impl FromStr for Span {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Span, NotAQuantity> {
        scaled(text, TIME).map(Span::from_ps)
    }
}

impl FromStr for Bytes {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Bytes, NotAQuantity> {
        scaled(text, SIZE).map(Bytes)
    }
}

impl FromStr for Rate {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Rate, NotAQuantity> {
        scaled(text, SPEED).and_then(|bits| Rate::new(bits).ok_or(NotAQuantity))
    }
}

impl FromStr for Frequency {
    type Err = NotAQuantity;
    fn from_str(text: &str) -> Result<Frequency, NotAQuantity> {
        let (number, unit) = text.split_once('/').ok_or(NotAQuantity)?;
        let (number, unit) = (number.trim(), unit.trim());
        let ps = TIME.iter().find(|(name, _)| *name == unit).ok_or(NotAQuantity)?.1;
        decimal(number)?;
        let count: f64 = number.parse().map_err(|_| NotAQuantity)?;
        Frequency::new(count * (1e12 / ps as f64)).ok_or(NotAQuantity)
    }
}

/// Reads `<decimal><unit>` (a space between them is allowed) as a whole number of base units.
fn scaled(text: &str, units: &[(&str, u64)]) -> Result<u64, NotAQuantity> {
    let (number, unit) = parts(text).ok_or(NotAQuantity)?;
    let factor = units.iter().find(|(name, _)| *name == unit).ok_or(NotAQuantity)?.1;
    let (whole, fraction) = decimal(number)?;
    let fraction = fraction.trim_end_matches('0');
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| NotAQuantity)?;
    let scale = 10u128.checked_pow(fraction.len() as u32).ok_or(NotAQuantity)?;
    let scaled = digits.checked_mul(factor.into()).ok_or(NotAQuantity)?;
    if scaled % scale != 0 {
        return Err(NotAQuantity);
    }
    u64::try_from(scaled / scale).map_err(|_| NotAQuantity)
}

/// The number of a quantity and its unit, whatever that is.
fn parts(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((&text[..end], text[end..].trim_start()))
}

/// The whole and the fractional digits of `12` or `12.5`; neither `.5` nor `12.` is a number here.
fn decimal(number: &str) -> Result<(&str, &str), NotAQuantity> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(whole) && digits(fraction) { Ok((whole, fraction)) } else { Err(NotAQuantity) }
}

/// The shortest exact text in decimal units: `22.5KB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(
            f,
            self.0,
            &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "KB"), (1, "B")],
        )
    }
}

/// The shortest exact text: `10Gbps`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(
            f,
            self.0,
            &[(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "Kbps"), (1, "bps")],
        )
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.0)
    }
}
