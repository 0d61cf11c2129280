//! Requests from traces. `columns` has the formats whose lines are tables; each other format is one
//! file that reads lines.
//!
//! A trace is never held in memory. It is read twice: once to check it and to count its requests, and
//! again while it is replayed. `reader` parses lines into accesses, `window` sorts these by time,
//! `replay` turns them into requests in both passes. `unpack` decompresses, `clock` checks units of time,
//! `summary` adds up what was read, and `guess` says what a file looks like that is no such trace.

mod blkparse;
mod clock;
mod columns;
mod fio;
mod guess;
mod reader;
mod replay;
mod summary;
mod unpack;
mod window;

use crate::device::Op;
use clock::{Clock, Epoch};
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, choices};
use std::fmt;

/// Lists the formats: each its file and the type of its parameters.
macro_rules! formats {
    ($($file:ident::$type:ident,)+) => {
        $(pub use $file::$type;)+

        /// The names of the formats that a line is of.
        fn formats_of(line: &str) -> Vec<&'static str> {
            let mut found = Vec::new();
            $(if $type::recognizes(line) { found.push($type::FORMAT); })+
            found
        }
    };
}

formats! {
    columns::Alibaba,
    blkparse::Blkparse,
    columns::Cloudphysics,
    columns::Disksim,
    fio::Fio,
    columns::Mqsim,
    columns::Msr,
    columns::Spc,
    columns::Systor17,
    columns::Tencent,
}

choices! {
    /// What happens to requests beyond the end of the array.
    pub enum Beyond: "way with requests beyond the array" {
        /// The trace is refused.
        Refuse = "refuse",
        /// They begin again at the array's start, as often as it takes.
        Wrap = "wrap",
        /// They are left out.
        Drop = "drop",
    }
}

/// Declares a format: what all traces have, and its parameters behind. Where each line has the same
/// fields, `columns` says what stands between them, the first names of a header, and what each is.
macro_rules! trace {
    (
        $(#[doc = $doc:literal])+
        pub struct $type:ident: $name:literal {
            $($(#[doc = $own_doc:literal])+ pub $own:ident: $own_type:ty = $default:expr,)*
        }
        clock = $clock:expr;
        $(columns = $separator:literal, $header:expr, |$trace:pat_param| [$($column:expr),+ $(,)?];
        expected = $expected:literal;)?
    ) => {
        sojourn_core::parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// The trace, a file relative to the study, because it is read more than once.
                /// Requests are in order of time; one may be up to 65,536 requests late. The file
                /// may be compressed with gzip or zstd.
                pub file: sojourn_core::resource::FileName,
                /// The device whose requests are replayed. A trace of several devices is refused
                /// without one.
                pub device: Option<String> = None,
                /// Unit of its times. By default the unit of the format. If it is set, times may
                /// count from any start.
                pub tick: Option<sojourn_core::Span> = None,
                /// Factor by which the replay is faster than the recording.
                pub speed: f64 = 1.0,
                /// What happens to requests beyond the end of the array.
                pub beyond: super::Beyond = super::Beyond::Refuse,
                /// Number of its requests that are replayed, from the first on. By default all.
                /// More than the trace has is refused.
                pub requests: Option<std::num::NonZeroU32> = None,
                /// Number of these, from the first on, that have no rows.
                pub warmup: u32 = 0,
                $($(#[doc = $own_doc])+ pub $own: $own_type = $default,)*
            }
        }

        impl sojourn_core::parameters::Check for $type {
            fn check(&self) -> Result<(), sojourn_core::parameters::Refusal> {
                super::check(self.speed, self.tick)
            }
        }

        $(impl $type {
            fn lines(&self, tick: u128) -> super::columns::Columns {
                let $trace = self;
                super::columns::Columns {
                    tick,
                    separator: $separator,
                    header: $header,
                    columns: vec![$($column),+],
                    expected: $expected,
                }
            }
        })?

        impl $type {
            pub(super) const FORMAT: &'static str = $name;

            /// Whether a line is one of this format, whose other parameters are the defaults.
            pub(super) fn recognizes(line: &str) -> bool {
                let format = $type {
                    file: "".into(),
                    device: None,
                    tick: None,
                    speed: 1.0,
                    beyond: super::Beyond::Refuse,
                    requests: None,
                    warmup: 0,
                    $($own: $default,)*
                };
                let tick = super::Clock::tick(&$clock);
                let read = super::Lines::read(&mut format.lines(tick), line).ok();
                read.is_some_and(|line| line.is_telling())
            }

            fn settings(&self) -> super::replay::Settings {
                super::replay::Settings {
                    format: $name,
                    clock: $clock.with(self.tick),
                    file: self.file.clone(),
                    device: self.device.clone(),
                    speed: self.speed,
                    beyond: self.beyond,
                    requests: self.requests,
                    warmup: self.warmup,
                }
            }
        }

        impl $crate::workload::Kind for $type {
            fn ready(
                &self,
                context: &$crate::workload::WorkloadContext,
            ) -> Result<$crate::workload::Ready, sojourn_core::parameters::Refusal> {
                let settings = self.settings();
                settings.ready(self.lines(settings.clock.tick()), context)
            }

            fn block(
                &self,
                usual: u64,
            ) -> Result<u64, sojourn_core::parameters::Refusal> {
                let settings = self.settings();
                settings.block(self.lines(settings.clock.tick()), usual)
            }

            fn has_addresses(&self) -> bool {
                true
            }
        }
    };
}
use trace;

/// The meaning of a line of a trace.
enum Line<'a> {
    /// An access to a device.
    Access(Access<'a>),
    /// Space was given back: a trim, a discard.
    Discard,
    /// Something else that was done: flushed, synchronised, or never answered.
    Other,
    /// The names of the columns, or of the format.
    Header,
    /// Not about accesses at all.
    NoEvent,
}

impl Line<'_> {
    /// Whether hardly a line of another format means this.
    fn is_telling(&self) -> bool {
        !matches!(self, Line::NoEvent | Line::Other)
    }
}

/// An access that was recorded.
struct Access<'a> {
    device: Device<'a>,
    /// In picoseconds after any fixed time.
    at: u128,
    op: Op,
    /// Its first byte and its length in bytes.
    first: u64,
    bytes: u64,
}

/// The device of an access: a disk, of a host where the format names hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Device<'a> {
    host: &'a str,
    disk: &'a str,
}

impl<'a> Device<'a> {
    /// A device of a format without hosts.
    fn disk(disk: &'a str) -> Device<'a> {
        Device { host: "", disk }
    }

    /// Whether a study calls it `name`: by its disk alone, or by host and disk.
    fn is(&self, name: &str) -> bool {
        name == self.disk || self.is_in_full(name)
    }

    /// Whether `name` is its host and its disk.
    fn is_in_full(&self, name: &str) -> bool {
        let disk = name.strip_prefix(self.host).and_then(|rest| rest.strip_prefix('_'));
        !self.host.is_empty() && disk == Some(self.disk)
    }
}

impl fmt::Display for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            "" => f.write_str(self.disk),
            host => write!(f, "{host}_{}", self.disk),
        }
    }
}

/// What a record says was done.
enum Action {
    Access(Op),
    Discard,
    Other,
}

impl Action {
    /// The action of this name, in any case.
    fn of(name: &str) -> Option<Action> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        match name {
            _ if is(&["read", "r"]) => Some(Action::Access(Op::Read)),
            _ if is(&["write", "w"]) => Some(Action::Access(Op::Write)),
            _ if is(&["trim", "discard", "unmap", "t", "d"]) => Some(Action::Discard),
            _ if is(&["flush", "sync", "f"]) => Some(Action::Other),
            _ => None,
        }
    }
}

/// Reads the lines of a format, one after the other; a clone of what has read none begins anew.
trait Lines: Clone + fmt::Debug + 'static {
    /// Whether the format has the sizes of a disk's requests in bytes, so that they are whole sectors.
    fn in_bytes(&self) -> bool {
        false
    }

    /// The meaning of a line, or what was expected of it.
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str>;

    /// What is said of a trace in which it found no access, if anything.
    fn without_access(&self) -> Option<String> {
        None
    }
}

fn check(speed: f64, tick: Option<Span>) -> Result<(), Refusal> {
    if !(1e-6..=1e6).contains(&speed) {
        let expected = "a factor from 0.000001 to 1000000";
        return Err(Refusal::value(&Value::Float(speed), expected).under("speed"));
    }
    match tick {
        Some(tick) if tick == Span::ZERO || tick > clock::LONGEST_TICK => {
            let expected = format!("a time above zero and of at most {}", clock::LONGEST_TICK);
            Err(Refusal::of(&tick, expected).under("tick"))
        }
        _ => Ok(()),
    }
}

/// The first words of a line; empty where there are fewer.
fn words<const N: usize>(line: &str) -> [&str; N] {
    let mut words = line.split_ascii_whitespace();
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

/// A number of units with or without decimals, in picoseconds; the unit has this many. Decimals beyond
/// the twelfth are left out.
fn ticks(text: &str, unit: u128) -> Option<u128> {
    let (units, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if !decimals.is_ascii() {
        return None;
    }
    let decimals = &decimals[..decimals.len().min(12)];
    let scale = 10u128.pow(decimals.len() as u32);
    let part = u128::from(whole(decimals)?) * unit / scale;
    Some(u128::from(whole(units)?) * unit + part)
}

/// A whole number of sectors, in bytes.
fn sectors(text: &str, sector: u64) -> Option<u64> {
    whole(text)?.checked_mul(sector)
}

/// A whole number, all of it digits.
fn whole(text: &str) -> Option<u64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let number = |sum: u64, byte| sum.checked_mul(10)?.checked_add(digit(byte)?);
    if text.is_empty() { None } else { text.bytes().try_fold(0, number) }
}
