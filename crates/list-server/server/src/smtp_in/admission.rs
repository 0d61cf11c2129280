//! Who may be connected, and with how many connections: each kind of clients has its own.

use super::connection::{Kind, receive};
use super::context::{Current, Phase};
use super::settings::Rules;
use crate::accepting::{PAUSE, Refusals};
use crate::connection_limits::{First, Limits, Places};
use crate::event::ServerEvent;
use sojourn_smtp::server::AuthUse;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::sleep;

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
    current: Arc<Current>,
    places: Arc<Places>,
    mut phase: watch::Receiver<Phase>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener is a socket");
    let mut refusals = Refusals::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = phase.changed() => return,
        };
        let (stream, peer) = match refusals.take(accepted) {
            Ok(accepted) => accepted,
            Err(news) => {
                if let Some(error) = news {
                    let why = format!("no connection can be accepted: {error}");
                    current.get().context.tell(&ServerEvent::Trouble(&why));
                }
                sleep(PAUSE).await;
                continue;
            }
        };
        let configured = current.get();
        let Some((config, implicit)) = configured.port(number) else { return };
        let context = &configured.context;
        let kind = match config.auth {
            AuthUse::Tls | AuthUse::Loopback if context.passwords.know(peer.ip()) => Kind::Known,
            _ if config.submission => Kind::Submission,
            _ => Kind::Untrusted,
        };
        let network = context.lists.submitters.network(peer.ip());
        let Some(place) = kind.enter(&places, peer.ip(), network) else {
            context.tell(&ServerEvent::TooMany { peer });
            // A client that awaits TLS would not understand.
            if !implicit {
                turn_away(stream);
            }
            continue;
        };
        let phase = phase.clone();
        tokio::spawn(receive(Arc::clone(&current), number, stream, peer, place, phase));
    }
}

/// Tells a client to come again. Nothing waits for it: the buffer of a new connection holds a reply.
fn turn_away(stream: TcpStream) {
    let reply = b"421 4.7.0 too many sessions, try again later\r\n";
    let _ = stream.into_std().and_then(|mut stream| stream.write(reply));
}
