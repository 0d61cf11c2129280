//! Requests from traces. Each format is one file that reads lines; what a trace is checked for is
//! here.
//!
//! A trace is kept in memory, some forty bytes a request.

mod blkparse;
mod fio;
mod msr;

pub use blkparse::Blkparse;
pub use fio::Fio;
pub use msr::Msr;

use super::{MAX_BLOCKS, Numbers, Ready, Request, Source, Stage};
use crate::disk::Op;
use sojourn_kernel::parameters::{Refusal, Setting, Value};
use sojourn_kernel::{Span, Time, choices};
use std::num::NonZeroU32;

choices! {
    /// What becomes of requests beyond the end of the array.
    pub enum Beyond: "way with requests beyond the array" {
        /// The trace is refused.
        Refuse = "refuse",
        /// They begin again at the array's start, as often as it takes.
        Wrap = "wrap",
        /// They are left out.
        Drop = "drop",
    }
}

/// Declares a format: what all traces have, and its own parameters behind.
macro_rules! trace {
    (
        $(#[doc = $doc:literal])+
        pub struct $type:ident: $name:literal {
            $($(#[doc = $own_doc:literal])+ pub $own:ident: $own_type:ty = $default:expr,)*
        }
    ) => {
        sojourn_kernel::parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// The trace, seen from the study's own place.
                pub file: String,
                /// Only what goes to this device; by default all, which then has to be one.
                pub device: Option<String> = None,
                /// How much faster than it was recorded it is replayed.
                pub speed: f64 = 1.0,
                /// What becomes of requests beyond the end of the array.
                pub beyond: super::Beyond = super::Beyond::Refuse,
                /// At most so many of its requests, the first ones.
                pub requests: Option<std::num::NonZeroU32> = None,
                /// How many of these come first and have no rows.
                pub warmup: u32 = 0,
                $($(#[doc = $own_doc])+ pub $own: $own_type = $default,)*
            }
        }

        impl sojourn_kernel::parameters::Check for $type {
            fn check(&self) -> Result<(), sojourn_kernel::parameters::Refusal> {
                super::check_speed(self.speed)
            }
        }

        impl $crate::workload::Kind for $type {
            fn ready(
                &self,
                stage: &$crate::workload::Stage<'_>,
            ) -> Result<$crate::workload::Ready, sojourn_kernel::parameters::Refusal> {
                super::Replay {
                    file: &self.file,
                    device: self.device.as_deref(),
                    speed: self.speed,
                    beyond: self.beyond,
                    requests: self.requests,
                    warmup: self.warmup,
                }
                .ready(self.lines(), stage)
            }

            fn has_addresses(&self) -> bool {
                true
            }

            fn files(&mut self) -> Vec<&mut String> {
                vec![&mut self.file]
            }
        }
    };
}
use trace;

/// What a line of a trace says.
enum Line<'a> {
    /// An access to a device.
    Access(Access<'a>),
    /// Something else that was done: flushed, trimmed, opened.
    Other,
    /// Not about accesses at all.
    NoEvent,
}

/// An access that was recorded.
struct Access<'a> {
    device: &'a str,
    /// In picoseconds, from whatever time on.
    at: u128,
    op: Op,
    /// Where it begins, and how long it is, in bytes.
    first: u64,
    bytes: u64,
}

/// Reads the lines of a format, one after the other.
trait Lines {
    /// What a line says, or what was expected of it.
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str>;
}

/// How a trace is replayed.
struct Replay<'a> {
    file: &'a str,
    device: Option<&'a str>,
    speed: f64,
    beyond: Beyond,
    requests: Option<NonZeroU32>,
    warmup: u32,
}

/// What there was in a trace, line by line.
#[derive(Default)]
struct Counts {
    lines: u64,
    other_actions: u64,
    other_devices: u64,
    without_length: u64,
    out_of_order: u64,
    beyond: u64,
}

/// Replays end long before time does.
const LONGEST: Span = Span::from_s(60 * 24 * 3600);

fn check_speed(speed: f64) -> Result<(), Refusal> {
    match (1e-6..=1e6).contains(&speed) {
        true => Ok(()),
        false => {
            let expected = "a factor from 0.000001 to 1000000";
            Err(Refusal::value(&Value::Float(speed), expected).under("speed"))
        }
    }
}

/// A whole number, all of it digits.
fn whole(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl Replay<'_> {
    fn ready(&self, lines: impl Lines, stage: &Stage<'_>) -> Result<Ready, Refusal> {
        let given = Value::Text(self.file.to_owned());
        let refuse = |expected: String| Refusal::value(&given, expected).under("file");
        let text =
            (stage.read)(self.file).map_err(|why| refuse(format!("a file to read: {why}")))?;
        let mut counts = Counts::default();
        let mut found = self.accesses(&text, lines, &mut counts).map_err(refuse)?;
        if found.is_empty() {
            return Err(refuse("a trace with at least one read or write".to_owned()));
        }
        found.sort_by_key(|access| access.0);
        found.truncate(self.requests.map_or(usize::MAX, |most| most.get() as usize));
        let zero = found[0].0;
        let length = found[found.len() - 1].0 - zero;
        if length as f64 / self.speed > LONGEST.ps() as f64 {
            return Err(refuse(
                "a trace of at most 60 days: has it another unit of time, a step of the clock, \
                 or is it to be replayed faster?"
                    .to_owned(),
            ));
        }
        let room = stage.blocks.expect("a trace has addresses");
        let arrived = |at: u128| match self.speed == 1.0 {
            true => Time::from_ps((at - zero) as u64),
            false => Time::from_ps(((at - zero) as f64 / self.speed).round() as u64),
        };
        let mut requests = Vec::with_capacity(found.len());
        for (at, op, first, bytes) in found {
            let (block, end) = (first / stage.block, (first + bytes).div_ceil(stage.block));
            let blocks = end - block;
            if blocks > u64::from(MAX_BLOCKS).min(room) {
                let most = room.min(MAX_BLOCKS.into());
                return Err(refuse(format!(
                    "requests of at most {most} blocks, but one has {bytes} bytes"
                )));
            }
            let mut block = block;
            if end > room {
                counts.beyond += 1;
                match self.beyond {
                    Beyond::Refuse => {
                        return Err(refuse(format!(
                            "requests within the array's {room} blocks, but one goes on to byte {}; \
                             beyond = \"wrap\" or \"drop\" takes such a trace",
                            first + bytes
                        )));
                    }
                    Beyond::Drop => continue,
                    Beyond::Wrap => block = (block % room).min(room - blocks),
                }
            }
            requests.push(Request {
                arrived: arrived(at),
                op,
                blocks: blocks as u32,
                at: Some(block),
            });
        }
        let all = requests.len() as u64;
        if all <= u64::from(self.warmup) {
            let given = self.warmup.write().expect("a number");
            let expected = format!("fewer than the {all} requests that there are");
            return Err(Refusal::value(&given, expected).under("warmup"));
        }
        let Ok(all) = u32::try_from(all) else {
            return Err(refuse("fewer than 2^32 requests".to_owned()));
        };
        let does = |op| requests.iter().any(|request| request.op == op);
        Ok(Ready {
            numbers: Numbers { warmup: self.warmup, requests: all - self.warmup },
            ops: [does(Op::Read), does(Op::Write)],
            notes: self.notes(&counts, length),
            source: Source::Listed(requests.into()),
        })
    }

    /// The accesses that are to be replayed, as (time, what, first byte, bytes).
    fn accesses(
        &self,
        text: &str,
        mut lines: impl Lines,
        counts: &mut Counts,
    ) -> Result<Vec<(u128, Op, u64, u64)>, String> {
        let mut found = Vec::new();
        let mut only: Option<&str> = None;
        let mut latest = 0;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if line.is_empty() {
                continue;
            }
            counts.lines += 1;
            let expected = |what| format!("a trace, but its line {number} is {line:?}, not {what}");
            let access = match lines.read(line).map_err(expected)? {
                Line::Access(access) => access,
                Line::Other => {
                    counts.other_actions += 1;
                    continue;
                }
                Line::NoEvent => continue,
            };
            match self.device {
                Some(device) if device != access.device => {
                    counts.other_devices += 1;
                    continue;
                }
                Some(_) => {}
                None => {
                    let first = *only.get_or_insert(access.device);
                    if first != access.device {
                        return Err(format!(
                            "a trace of one device, or one chosen with device = {first:?} \
                             or {:?}",
                            access.device
                        ));
                    }
                }
            }
            if access.bytes == 0 {
                counts.without_length += 1;
                continue;
            }
            if access.first.checked_add(access.bytes).is_none() {
                return Err(expected("an address that a device can have"));
            }
            counts.out_of_order += u64::from(access.at < latest);
            latest = access.at.max(latest);
            found.push((access.at, access.op, access.first, access.bytes));
        }
        Ok(found)
    }

    /// What there was in the trace, and what became of it.
    fn notes(&self, counts: &Counts, length: u128) -> Vec<(String, Value)> {
        let numbers = [
            ("trace_lines", counts.lines),
            ("trace_lines_of_other_devices", counts.other_devices),
            ("trace_other_actions", counts.other_actions),
            ("trace_requests_without_length", counts.without_length),
            ("trace_requests_out_of_order", counts.out_of_order),
            ("trace_requests_beyond_array", counts.beyond),
            ("trace_length_ps", length as u64),
        ];
        let parts = [
            (counts.other_devices, "lines of other devices left out"),
            (counts.other_actions, "other actions left out"),
            (counts.without_length, "requests without a length left out"),
            (counts.out_of_order, "requests out of order sorted by time"),
            (
                counts.beyond,
                match self.beyond {
                    Beyond::Drop => "requests beyond the array left out",
                    _ => "requests beyond the array wrapped",
                },
            ),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        let said = if parts.is_empty() { "taken as it is".to_owned() } else { parts.join(", ") };
        let numbers =
            numbers.iter().map(|&(name, count)| (name.to_owned(), Value::Int(count as i64)));
        numbers.chain([("trace".to_owned(), Value::Text(said))]).collect()
    }
}
