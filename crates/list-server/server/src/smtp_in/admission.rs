//! Who may be connected, and with how many connections: each kind of clients has its own.

use super::connection::{Phase, receive};
use super::reload::Ports;
use super::settings::Rules;
use crate::connection_limits::{First, Limits, Network, Place, Places};
use crate::event::ServerEvent;
use sojourn_smtp::server::AuthUse;
use std::io::Write;
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

/// Kinds of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);

impl Kind {
    /// The place of a client at `address`, in a trusted network or of this kind; nothing where all
    /// others have a better claim.
    pub(crate) fn enter(
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
pub(crate) fn places(rules: &Rules) -> Arc<Places> {
    let [sessions, strangers, neighbours, stranger, network] =
        [rules.sessions, rules.strangers, rules.neighbours, rules.stranger, rules.network]
            .map(|it| it.get() as usize);
    let trusted = Limits { all: sessions.saturating_sub(strangers), network, client: network };
    let others = Limits { all: strangers, network: neighbours, client: stranger };
    Places::new(vec![trusted, others, others, others], First::Longest)
}

/// Lets clients in at one port, until it is to be closed.
pub(crate) async fn attend(
    listener: TcpListener,
    number: u64,
    ports: Arc<Ports>,
    mut phase: watch::Receiver<Phase>,
) {
    /// After the system had no file for a connection.
    const PAUSE: Duration = Duration::from_millis(100);
    let listener = tokio::net::TcpListener::from_std(listener).expect("it is a socket");
    loop {
        let (stream, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
            _ = phase.changed() => return,
        };
        let present = ports.present();
        let Some((terms, implicit)) = present.port(number) else { return };
        let hall = &present.hall;
        let kind = match terms.auth {
            AuthUse::Tls | AuthUse::Loopback if hall.passwords.know(peer.ip()) => Kind::Known,
            _ if terms.submission => Kind::Submission,
            _ => Kind::Stranger,
        };
        let network = hall.lists.submitters.network(peer.ip());
        let Some(place) = kind.enter(&ports.places, peer.ip(), network) else {
            hall.tell(&ServerEvent::TooMany { peer });
            // A client that awaits TLS would not understand.
            if !implicit {
                turn_away(stream);
            }
            continue;
        };
        let phase = phase.clone();
        tokio::spawn(receive(Arc::clone(&ports), number, stream, peer, place, phase));
    }
}

/// Tells a client to come again. Nothing waits for it: a new connection has room for a reply.
fn turn_away(stream: TcpStream) {
    let reply = b"421 4.7.0 too many sessions, try again later\r\n";
    let _ = stream.into_std().and_then(|mut stream| stream.write(reply));
}
