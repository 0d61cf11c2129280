//! Quantities as people write them: `"10Gbps"`, `"22.5KB"`, `"12us"`, `"0.01/ms"`.
//!
//! KB is 1000 bytes, KiB 1024. A bare number is refused where a unit is needed, and so is a
//! quantity finer than the unit that carries it (a fraction of a picosecond, of a byte).

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

const TIME: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", 1_000_000_000_000),
    ("min", 60_000_000_000_000),
    ("h", 3_600_000_000_000_000),
];

const SIZE: &[(&str, u64)] = &[
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
];

const SPEED: &[(&str, u64)] = &[
    ("bps", 1),
    ("Kbps", 1_000),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
];

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
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(NotAQuantity)?;
    let (number, unit) = (&text[..end], text[end..].trim_start());
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
