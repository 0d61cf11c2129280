//! The delivery engine in a simulated internet: the model `mail`.
//!
//! [`world`] moves what happens between the engine and the hosts, [`internet`] has the kinds of
//! internets, and [`MailCase`] is one case of a study: its parts, how it runs, the rows it gives.

mod arrivals;
mod bottleneck;
mod case;
pub mod internet;
mod model;
mod recorder;
mod rows;
mod series;
pub mod world;

pub use arrivals::{Arrivals, Daily, ListedMessages, Poisson, Regular};
pub use bottleneck::Cause;
pub use case::{List, MailCase, Policy};
/// The decisions of the list server that a study may set.
pub use sojourn_mail_engine::policy;
