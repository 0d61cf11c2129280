//! The endpoint by HTTP.

use super::page;
use super::settings::decoded;
use crate::connection_limits::{First, Limits, Place, Places};
use crate::http::{PATIENCE, attend, protocol, response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, HeaderValue, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sojourn_smtp::server::Stage;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Those who have subscribed, as links name them.
pub(crate) trait Subscriptions: Send + Sync + 'static {
    /// What a connection is shown under TLS that begins now.
    fn tls(&self) -> Option<TlsAcceptor>;

    /// The subscription that a link is for; nothing when there is none. It may wait for the disk.
    fn find(&self, link: Link<'_>) -> Result<Option<Subscription>, NotNow>;

    /// Ends that subscription: on stable storage when this returns, however often it is asked for.
    fn end(&self, link: Link<'_>) -> Result<Option<Subscription>, NotNow>;

    /// A connection of this client was closed, as there are too many.
    fn closed(&self, client: SocketAddr);

    /// No client is let in, and `why`.
    fn trouble(&self, why: &str);
}

/// A link to unsubscribe that was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link<'a> {
    /// The list's return path.
    pub(crate) list: &'a str,
    pub(crate) token: &'a str,
    /// Who opened it; not known behind a proxy.
    pub(crate) client: Option<IpAddr>,
}

/// Why a link cannot be followed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// There were too many in this hour.
    TooMany,
    /// The register cannot be used.
    Broken,
}

/// One who has subscribed to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// The list, by its name for people.
    pub(crate) list: String,
    pub(crate) address: String,
}

/// Where links lead.
pub(crate) struct Endpoint<S> {
    /// The path that links begin with.
    pub(crate) path: String,
    pub(crate) under_tls: bool,
    pub(crate) subscriptions: Arc<S>,
}

/// Connections at once. A crowd at one address, or in one network, leaves places for others.
const CONNECTIONS: Limits = Limits { all: 100, network: 30, client: 10 };
/// How long a connection may last, whatever comes over it: it carries one click.
const LIFETIME: Duration = Duration::from_secs(20);
/// Octets of a request's body, which nothing depends on: `List-Unsubscribe=One-Click` in one of two
/// forms (RFC 8058 section 3.1).
const BODY: usize = 4096;

impl<S: Subscriptions> Endpoint<S> {
    /// Serves the endpoint at `listener`.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let Limits { all, .. } = CONNECTIONS;
        let places = match self.under_tls {
            true => Places::new(vec![CONNECTIONS], First::Newest),
            // All clients have the address of the proxy, which has to limit each of them.
            false => Places::new(vec![Limits { all, network: all, client: all }], First::Longest),
        };
        let subscriptions = Arc::clone(&self.subscriptions);
        let closed = move |client| subscriptions.closed(client);
        let trouble = |why: String| self.subscriptions.trouble(&why);
        let converse = |stream, place| {
            let endpoint = Arc::clone(&self);
            async move { drop(timeout(LIFETIME, endpoint.converse(stream, &place)).await) }
        };
        attend(listener, places, closed, trouble, converse).await;
    }

    async fn converse(&self, stream: TcpStream, place: &Place) {
        if !self.under_tls {
            return self.answer_all(stream, None, place).await;
        }
        let client = stream.peer_addr().ok().map(|it| it.ip());
        let Some(tls) = self.subscriptions.tls() else { return };
        if let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await {
            self.answer_all(stream, client, place).await;
        }
    }

    async fn answer_all(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        client: Option<IpAddr>,
        place: &Place,
    ) {
        let answer = service_fn(async |request| {
            place.set(Stage::Begun, Instant::now());
            Ok::<_, Infallible>(self.answer(request, client).await)
        });
        // A client that breaks off, or says nothing that can be read, gets no answer.
        let http = protocol().keep_alive(false).serve_connection(TokioIo::new(stream), answer);
        let _ = http.await;
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        client: Option<IpAddr>,
    ) -> Response<Full<Bytes>> {
        let Some((list, token)) = self.names(request.uri().path()) else {
            return respond(StatusCode::NOT_FOUND, page::unknown());
        };
        let subscriptions = Arc::clone(&self.subscriptions);
        let ends = match *request.method() {
            Method::GET | Method::HEAD => false,
            Method::POST => true,
            _ => {
                let mut response = respond(StatusCode::METHOD_NOT_ALLOWED, page::unknown());
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD, POST"));
                return response;
            }
        };
        // Read so that the connection can close in good order; a larger one is cut off.
        if ends && Limited::new(request.into_body(), BODY).collect().await.is_err() {
            return respond(StatusCode::PAYLOAD_TOO_LARGE, page::unknown());
        }
        let found = spawn_blocking(move || {
            let link = Link { list: &list, token: &token, client };
            if ends { subscriptions.end(link) } else { subscriptions.find(link) }
        });
        match found.await.unwrap_or(Err(NotNow::Broken)) {
            Ok(Some(Subscription { list, address })) => {
                let page = if ends { page::done } else { page::question };
                respond(StatusCode::OK, page(&list, &address))
            }
            Ok(None) => respond(StatusCode::NOT_FOUND, page::unknown()),
            Err(why) => {
                let (status, seconds) = match why {
                    NotNow::TooMany => (StatusCode::TOO_MANY_REQUESTS, "3600"),
                    NotNow::Broken => (StatusCode::SERVICE_UNAVAILABLE, "60"),
                };
                let mut response = respond(status, page::later());
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(seconds));
                response
            }
        }
    }

    /// The list and the token that a path names.
    fn names(&self, path: &str) -> Option<(String, String)> {
        let (list, token) = path.strip_prefix(&*self.path)?.strip_prefix('/')?.split_once('/')?;
        Some((decoded(list)?, decoded(token)?))
    }
}

fn respond(status: StatusCode, page: String) -> Response<Full<Bytes>> {
    response(status, "text/html; charset=utf-8", POLICY, Full::new(page.into()))
}

/// A page has its style in itself and sends its form to where it came from.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
    frame-ancestors 'none'; base-uri 'none'";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::Served;
    use crate::smtp_in::privileges::bind;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::Mutex;

    /// One subscriber, whose token is "good".
    #[derive(Default)]
    struct One(Mutex<Vec<String>>);

    impl Subscriptions for One {
        fn closed(&self, _: SocketAddr) {}

        fn trouble(&self, _: &str) {}

        fn tls(&self) -> Option<TlsAcceptor> {
            None
        }

        fn find(&self, Link { list, token, .. }: Link<'_>) -> Result<Option<Subscription>, NotNow> {
            self.0.lock().unwrap().push(format!("find {list} {token}"));
            let known = Subscription { list: "News <1>".into(), address: "ann@x.example".into() };
            match token {
                "good" => Ok(Some(known)),
                "full" => Err(NotNow::Broken),
                "much" => Err(NotNow::TooMany),
                _ => Ok(None),
            }
        }

        fn end(&self, link: Link<'_>) -> Result<Option<Subscription>, NotNow> {
            let found = self.find(link);
            let mut told = self.0.lock().unwrap();
            let last = told.last_mut().unwrap();
            *last = last.replace("find", "end");
            found
        }
    }

    /// An endpoint as long as this lives.
    struct Stage {
        address: SocketAddr,
        one: Arc<One>,
        served: Option<Served>,
    }

    impl Stage {
        fn start() -> Stage {
            let listener = bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let (address, one) = (listener.local_addr().unwrap(), Arc::new(One::default()));
            let path = "/leave".to_owned();
            let endpoint = Endpoint { path, under_tls: false, subscriptions: Arc::clone(&one) };
            let served = Served::start("unsubscribe", Arc::new(endpoint).serve(listener));
            let served = Some(served.unwrap());
            Stage { address, one, served }
        }

        fn ask(&self, request: &str) -> String {
            let mut stream = TcpStream::connect(self.address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }

        fn request(&self, line: &str, body: &str) -> String {
            let length = body.len();
            self.ask(&format!(
                "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                 Content-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: {length}\r\n\r\n{body}"
            ))
        }

        fn told(&self) -> Vec<String> {
            self.one.0.lock().unwrap().clone()
        }
    }

    impl Drop for Stage {
        fn drop(&mut self) {
            self.served.take().expect("a site is stopped once").stop();
        }
    }

    const CLICK: &str = "List-Unsubscribe=One-Click";

    #[test]
    fn a_post_unsubscribes_and_a_get_asks() {
        let served = Stage::start();
        let answer = served.request("POST /leave/news%40x@lists.example/good", CLICK);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("Unsubscribed from News &lt;1&gt;"), "{answer}");
        assert!(!answer.to_lowercase().contains("set-cookie"), "{answer}");
        let answer = served.request("GET /leave/news@lists.example/good", "");
        assert!(answer.contains("<form method=\"post\">"), "{answer}");
        assert_eq!(
            served.told(),
            ["end news@x@lists.example good", "find news@lists.example good"]
        );
    }

    /// Idle connections give way to those that ask.
    #[test]
    fn a_crowd_does_not_keep_others_out() {
        let served = Stage::start();
        let idle: Vec<_> =
            (0..2 * CONNECTIONS.all).map(|_| TcpStream::connect(served.address).unwrap()).collect();
        let answer = served.request("POST /leave/news@lists.example/good", CLICK);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        drop(idle);
    }

    #[test]
    fn what_is_no_link_changes_nothing() {
        let served = Stage::start();
        for (line, status) in [
            ("POST /leave/news@lists.example/bad", "404"),
            ("GET /leave/news@lists.example/bad", "404"),
            ("POST /leave/news@lists.example/full", "503"),
            ("GET /leave/news@lists.example/much", "429"),
            ("POST /other/news@lists.example/good", "404"),
            ("POST /leave/%ff/good", "404"),
            ("POST /leave", "404"),
            ("PUT /leave/news@lists.example/good", "405"),
            ("OPTIONS * ", "400"),
        ] {
            let answer = served.request(line, CLICK);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        }
        let answer = served.request("POST /leave/news@lists.example/good", &"x".repeat(5000));
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert!(served.told().iter().all(|it| !it.ends_with("good")), "{:?}", served.told());
    }
}
