//! Ranks that execute a program over the fabric: what they compute, and what they send each other.
//!
//! A [`RankPlan`] says which host a rank is on and which connections its messages need. While a scenario is simulated,
//! `Ranks` is the state of the ranks of one side. It learns from the engine what has come, and asks for messages and
//! notes. What a program says of ranks that are on one server is not simulated packet by packet: it takes the time of
//! a closed form, and the `Board` carries the news from one rank to another.

mod board;
mod connection;
mod outcome;
mod plan;
mod walk;

pub(crate) use board::Board;
pub use connection::Connections;
pub(crate) use connection::{Content, Load};
pub use outcome::{CollectiveTimes, MessageOf, MessageSent, RankOutcome};
pub use plan::{PlanError, RankPlan, Server};
pub(crate) use walk::{Note, Ranks};

use std::sync::Arc;

/// What all sides of a scenario share of its ranks; made for one simulation.
#[derive(Debug)]
pub struct RankRun {
    pub(crate) plan: Arc<RankPlan>,
    /// The first flow that is a connection.
    pub(crate) first: u32,
    pub(crate) connections: Arc<Connections>,
    pub(crate) board: Board,
    /// Whether the times of each message are kept.
    pub(crate) keeps_messages: bool,
}

impl RankRun {
    /// Before anything was sent. The connections of `plan` are the flows from `first` on, their packets have up to
    /// `payload` bytes.
    pub fn new(plan: Arc<RankPlan>, first: u32, payload: u64, keeps_messages: bool) -> RankRun {
        let connections = Arc::new(Connections::new(first, plan.loads(), payload));
        RankRun { plan, first, connections, board: Board::default(), keeps_messages }
    }

    /// The connections, for transports.
    pub fn connections(&self) -> Arc<Connections> {
        self.connections.clone()
    }
}
