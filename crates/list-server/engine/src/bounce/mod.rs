//! Reports on delivery that come back from other hosts: what they say ([`returned`]), whose fault
//! a failure is ([`Faults`]), and what it costs a subscriber ([`Standing`]).

pub(crate) mod content;
mod encoding;
mod fault;
mod feedback;
mod fields;
mod mime;
mod origin;
mod phrases;
mod returned;
mod standing;
mod status;
mod words;

pub use fault::{Fault, Faults, FaultsError, Stage};
pub use feedback::{Complaint, Feedback};
pub use mime::PARSED_MAX;
pub use origin::{Origin, is_report, origin};
pub use returned::{Bounce, KINDS, Note, Returned, Severity, returned};
pub use standing::{Failure, PROBE_DAYS, Rule, Standing};
pub use status::{Action, Outcome, outcomes};
pub use words::words;
