//! Reports on delivery that come back from other hosts: what they say ([`returned`]), and what they
//! cost a subscriber ([`Standing`]).

mod content;
mod encoding;
mod feedback;
mod fields;
mod mime;
mod origin;
mod returned;
mod standing;
mod status;
mod words;

pub use feedback::{Complaint, Feedback};
pub use mime::PARSED_MAX;
pub use origin::{Origin, is_report, origin};
pub use returned::{Bounce, Returned, Severity, returned};
pub use standing::{Rule, Standing};
pub use status::{Action, Outcome, outcomes};
pub use words::words;
