//! Who may be connected, and with how many connections: each kind of clients has its own.

use super::settings::Rules;
use crate::places::{First, Limits, Network, Place, Places};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Kinds of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those who may send by their network, or by the password that they gave.
    Trusted,
    /// Others, at ports where mail comes from anywhere.
    Stranger,
    /// Others, at ports for submission: they have yet to log in.
    Submission,
    /// Others, at an address from which a user has logged in before.
    Known,
}

/// How long a session that gives way has to send its last reply.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

impl Kind {
    /// The place of a client at `address`, in a trusted network or of this kind; nothing where all
    /// others have a better claim.
    pub(super) fn enter(
        self,
        places: &Arc<Places>,
        address: IpAddr,
        trusted: Option<usize>,
    ) -> Option<(Place, oneshot::Receiver<()>)> {
        match trusted {
            Some(nth) => places.enter(Kind::Trusted as usize, Network::Set(nth), address),
            None => places.enter(self as usize, Network::near(address), address),
        }
    }
}

/// The places that `rules` give.
pub(super) fn places(rules: &Rules) -> Arc<Places> {
    let [sessions, strangers, neighbours, stranger, network] =
        [rules.sessions, rules.strangers, rules.neighbours, rules.stranger, rules.network]
            .map(|it| it.get() as usize);
    let trusted = Limits { all: sessions.saturating_sub(strangers), network, client: network };
    let others = Limits { all: strangers, network: neighbours, client: stranger };
    Places::new(vec![trusted, others, others, others], First::Longest)
}
