//! What a running list server shows of itself: a page that follows it, numbers for Prometheus, and
//! whether it is well.
//!
//! [`Board`] is told everything and keeps little: sums, what is waiting, and the last of each kind.
//! What it holds is bounded by what is waiting and by limits of its own. `site` shows it by HTTP, to
//! whoever knows the token.

mod board;
mod host;
mod late;
mod metrics;
mod pace;
mod queue;
mod series;
mod settings;
mod site;
mod state;
mod token;
mod window;

pub(crate) use super::live::board::Board;
pub use super::live::settings::Live;
pub(crate) use super::live::site::{Site, show};
pub(crate) use super::live::window::Frame;
pub use super::live::window::Shown;
