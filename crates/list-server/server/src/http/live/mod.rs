//! What a running list server shows of itself: a page that follows it, numbers for Prometheus, and
//! whether it is well.
//!
//! [`Board`] observes everything and keeps little: sums, what is waiting, and the last of each kind.
//! What it holds is bounded by what is waiting and by limits. `site` shows it by HTTP, to clients that
//! know the token.

pub(crate) mod access;
mod board;
mod late;
mod metrics;
mod pace;
mod queue;
mod series;
mod site;
mod state;
mod window;

pub(crate) use board::Board;
pub(crate) use site::{Site, show};
pub(crate) use window::Frame;
pub use window::Shown;
