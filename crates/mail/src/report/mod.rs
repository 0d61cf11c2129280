//! Reports on delivery: made for what failed here ([`Notice`]), understood when they come back from
//! elsewhere ([`returned`]), and what they mean for a subscriber ([`Standing`]).

mod bounce;
mod content;
mod encoding;
mod feedback;
mod fields;
mod mime;
mod notice;
mod origin;
mod standing;
mod status;
pub mod verp;
mod words;

pub use bounce::{Bounce, Returned, Severity, returned};
pub use feedback::{Complaint, Feedback};
pub use mime::PARSED_MAX;
pub use notice::{Notice, Written, date};
pub use origin::{Origin, is_report, origin};
pub use standing::{Rule, Standing};
pub use status::{Action, Outcome, outcomes};
pub use words::words;
