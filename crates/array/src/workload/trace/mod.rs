//! Requests from traces. Each format is one file that reads lines.
//!
//! A trace is never held in memory. It is read twice: once to check it and to count its requests, and
//! again while it is replayed. `reader` parses lines into accesses, `window` sorts these by time,
//! `replay` turns them into requests in both passes.

mod blkparse;
mod fio;
mod msr;
mod reader;
mod replay;
mod window;

pub use blkparse::Blkparse;
pub use fio::Fio;
pub use msr::Msr;

use crate::device::Op;
use sojourn_core::choices;
use sojourn_core::parameters::{Refusal, Value};
use std::fmt;

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
        sojourn_core::parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// The trace, seen from the study's own place: a file, since it is read more than
                /// once, in order of time but for what comes at most 65536 requests late.
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

        impl sojourn_core::parameters::Check for $type {
            fn check(&self) -> Result<(), sojourn_core::parameters::Refusal> {
                super::check_speed(self.speed)
            }
        }

        impl $crate::workload::Kind for $type {
            fn ready(
                &self,
                context: &$crate::workload::WorkloadContext<'_>,
            ) -> Result<$crate::workload::Ready, sojourn_core::parameters::Refusal> {
                super::replay::Settings {
                    format: $name,
                    file: self.file.clone(),
                    device: self.device.clone(),
                    speed: self.speed,
                    beyond: self.beyond,
                    requests: self.requests,
                    warmup: self.warmup,
                }
                .ready(self.lines(), context)
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

/// The meaning of a line of a trace.
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
    /// In picoseconds after any fixed time.
    at: u128,
    op: Op,
    /// Its first byte and its length in bytes.
    first: u64,
    bytes: u64,
}

/// Reads the lines of a format, one after the other; a clone of what has read none begins anew.
trait Lines: Clone + fmt::Debug + 'static {
    /// The meaning of a line, or what was expected of it.
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str>;
}

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
    let digit = |byte: u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let number = |sum: u64, byte| sum.checked_mul(10)?.checked_add(digit(byte)?);
    if text.is_empty() { None } else { text.bytes().try_fold(0, number) }
}
