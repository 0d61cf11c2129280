//! GOAL schedules of LogGOPSim and ATLAHS, as [text] and in [binary] form.
//!
//! What is replayed, and how:
//!
//! - a `calc` takes its size in [`Options::unit`], on the stream `cpu`;
//! - a `send` ends as [`Options::send_end`] says. LogGOPSim's small messages end locally, its large ones when the
//!   receiver has matched them;
//! - `cpu` and `nic` of sends and receives are ignored: here a rank has one network card, and no overhead;
//! - receives from any rank or with any tag (-1) are refused: which message they take would depend on the run.

pub mod binary;
pub mod text;

use crate::SendEnd;
use sojourn_core::Span;
use sojourn_training::program::Event;

/// What schedules leave open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// When a send ends.
    pub send_end: SendEnd,
    /// The unit of a `calc`.
    pub unit: Span,
}

impl Default for Options {
    fn default() -> Options {
        Options { send_end: SendEnd::default(), unit: Span::from_ns(1) }
    }
}

/// -1 of a rank or tag, which stands for any.
const ANY: u32 = u32::MAX;

/// What `requires` waits for.
fn ended(is_send: bool, options: &Options) -> Event {
    if is_send { options.send_end.event() } else { Event::Finished }
}
