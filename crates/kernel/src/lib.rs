//! The ground every room stands on: integer [time], [quantities](units) with their units, the event
//! [calendar], named [random streams](stream), [parameters](mod@parameters) that document themselves,
//! and [tables](mod@csv) as text.
//!
//! Nothing here reads a clock, a socket or the operating system's randomness.

pub mod calendar;
pub mod csv;
mod decimal;
pub mod files;
pub mod parameters;
pub mod stream;
pub mod time;
pub mod units;

pub use calendar::Calendar;
pub use stream::{Ahead, Light, Stream, Streams};
pub use time::{Span, Time};
pub use units::{Bytes, Frequency, Rate};
