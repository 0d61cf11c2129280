//! Delivery logs of mail servers, read line by line into one kind of event.
//!
//! - [`Reader`]: takes bytes as they come, finds lines in them and tells a [`View`];
//! - [`mailer`]: how each mail server writes, one file each;
//! - [`view`]: what can be made of a log, one file each: tallies, rows, who is still waited for;
//! - [`Problems`]: what could not be read, counted, with the first few.
//!
//! Times are those of the log, as written there: microseconds from 1970 on a clock that knows no
//! time zone, because stamps of syslog name none. Whatever a log holds, memory is bounded: what has
//! to be given up is counted ([`Counts`]).

mod bounded;
mod columns;
mod event;
mod fields;
mod foreign;
mod framing;
mod journal;
mod json;
pub mod mailer;
mod messages;
mod problems;
mod reader;
mod refusal;
mod stamp;
mod syslog_header;
pub mod view;

pub use columns::{Column, Columns};
pub use event::{Attempt, Dsn, Event, MessageInfo, Outcome, Part};
pub use messages::{Delivery, Message};
pub use problems::{Problem, Problems, Why};
pub use reader::{Counts, Range, Reader, Settings};
pub use stamp::Clock;
pub use view::View;
