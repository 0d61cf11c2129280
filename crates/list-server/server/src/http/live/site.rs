//! The board by HTTP: the page, its events, `/state`, `/metrics`, `/healthz`.

use super::access::Names;
use super::access::Token;
use super::board::Board;
use super::window::Window;
use crate::connection_limits::{First, Limits, Place, Places};
use crate::delivery::request::Sessions;
use crate::delivery::server::DeliveryServer;
use crate::http::{attend, protocol, response};
use futures_util::{Stream, StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::header::AUTHORIZATION;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sojourn_mail_engine::Shaping;
use sojourn_smtp::server::Stage;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::broadcast;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// What is shown, and to which clients.
pub(crate) struct Site {
    /// The page itself.
    pub(crate) page: String,
    pub(crate) board: Board,
    pub(crate) delivery: DeliveryServer,
    /// How many sessions clients have with the reception.
    pub(crate) reception: Box<dyn Fn() -> usize + Send + Sync>,
}

/// Who is connected.
#[derive(Default)]
pub(super) struct Crowd {
    pub(super) delivering: Sessions,
    pub(super) reception: usize,
    /// Limits that are in use.
    pub(super) shaping: Vec<Shaping>,
}

/// Connections at once. Half of them may follow events: these stay.
const CONNECTIONS: usize = 32;
/// How long the engine may take to say how it is.
const ANSWER: Duration = Duration::from_secs(2);
/// What is new comes so often, and begins so many bins back.
const TICK: Duration = Duration::from_secs(1);
const NEW_BINS: usize = 3;
/// Ticks that a slow reader may be behind; then some are left out.
const BEHIND: usize = 4;

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// What all connections share.
struct Shared {
    site: Site,
    token: Token,
    ticks: broadcast::Sender<Bytes>,
    names: Names,
}

/// Shows `site` in `window`.
pub(crate) async fn show(window: Window, site: Site) {
    let (ticks, _) = broadcast::channel(BEHIND);
    let Window { listener, token, names, .. } = window;
    let shared = Arc::new(Shared { site, token, ticks, names });
    let limits = Limits { all: CONNECTIONS, network: CONNECTIONS, client: CONNECTIONS };
    let places = Places::new(vec![limits], First::Longest);
    let trouble = |why| {
        let delivery = shared.site.delivery.clone();
        tokio::spawn(async move { delivery.trouble(why).await });
    };
    let converse = |it, place| converse(Arc::clone(&shared), it, place);
    tokio::select! {
        () = attend(listener, places, |_| {}, trouble, converse) => {}
        () = tick(&shared) => {}
    }
}

async fn converse(shared: Arc<Shared>, stream: TcpStream, place: Place) {
    let Ok(local) = stream.local_addr() else { return };
    let answer = service_fn(|request| answer(Arc::clone(&shared), request, local, &place));
    // A client that breaks off or says nothing that can be read is no news.
    let _ = protocol().serve_connection(TokioIo::new(stream), answer).await;
}

/// Sends what is new to all that follow.
async fn tick(shared: &Shared) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if shared.ticks.receiver_count() > 0 {
            // No follower may be left by now.
            let _ = shared.ticks.send(shared.event(NEW_BINS).await);
        }
    }
}

impl Shared {
    /// Who is connected; nothing when the engine does not answer.
    async fn crowd(&self) -> Option<Crowd> {
        let delivery = &self.site.delivery;
        let delivering = timeout(ANSWER, delivery.sessions()).await.ok()?.ok()?;
        let shaping = timeout(ANSWER, delivery.shaping(None)).await.ok()?.ok()?;
        Some(Crowd { delivering, reception: (self.site.reception)(), shaping })
    }

    async fn state(&self, bins: usize) -> String {
        let crowd = self.crowd().await.unwrap_or_default();
        self.site.board.state(&crowd, bins).to_string()
    }

    /// That state as an event of a stream (HTML, "Server-sent events").
    async fn event(&self, bins: usize) -> Bytes {
        format!("data: {}\n\n", self.state(bins).await).into()
    }

    /// Whether the request shows the token.
    fn knows(&self, request: &Request<Incoming>) -> bool {
        let bearer = request.headers().get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
        let query = request.uri().query().unwrap_or("");
        let query = query.split('&').find_map(|part| part.strip_prefix("token="));
        bearer.or(query).is_some_and(|given| self.token.is(given))
    }
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    local: SocketAddr,
    place: &Place,
) -> Result<Response<Body>, Infallible> {
    const TEXT: &str = "text/plain; charset=utf-8";
    place.set(Stage::Idle, Instant::now());
    if let Some(status) = shared.names.refuse(&request, local) {
        let said = "the Host is not this server's: live.names has the names that are\n";
        return Ok(respond(status, TEXT, said));
    }
    let path = request.uri().path();
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Ok(respond(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET is all there is\n"));
    }
    if path == "/healthz" {
        return Ok(match shared.crowd().await {
            Some(_) => respond(StatusCode::OK, TEXT, "well\n"),
            None => respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, "the engine does not answer\n"),
        });
    }
    if !shared.knows(&request) {
        let said = "the token is missing or wrong: ?token=..., or Authorization: Bearer ...\n";
        return Ok(respond(StatusCode::UNAUTHORIZED, TEXT, said));
    }
    Ok(match path {
        "/" => respond(StatusCode::OK, "text/html; charset=utf-8", shared.site.page.clone()),
        "/state" => {
            respond(StatusCode::OK, "application/json", shared.state(usize::MAX).await + "\n")
        }
        "/events" if !place.stay(CONNECTIONS / 2) => {
            respond(StatusCode::SERVICE_UNAVAILABLE, TEXT, "too many follow the events\n")
        }
        "/events" => {
            let body = StreamBody::new(events(Arc::clone(&shared)));
            response(StatusCode::OK, "text/event-stream", POLICY, BodyExt::boxed_unsync(body))
        }
        "/metrics" => {
            let crowd = shared.crowd().await.unwrap_or_default();
            let kind = "text/plain; version=0.0.4; charset=utf-8";
            respond(StatusCode::OK, kind, shared.site.board.metrics(&crowd))
        }
        _ => respond(StatusCode::NOT_FOUND, TEXT, "there is /, /state, /metrics, /healthz\n"),
    })
}

/// All that is known, then what is new.
fn events(shared: Arc<Shared>) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    let events = shared.ticks.subscribe();
    let first = async move { shared.event(usize::MAX).await };
    let rest = stream::unfold(events, |mut events| async {
        loop {
            match events.recv().await {
                Ok(event) => return Some((event, events)),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    });
    stream::once(first).chain(rest).map(|event| Ok(Frame::data(event)))
}

fn respond(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Response<Body> {
    response(status, kind, POLICY, Full::new(text.into()).boxed_unsync())
}

/// The page has its style and script in itself, and asks no other server than this one.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
