//! What the endpoints that speak HTTP share.

pub(crate) mod live;

use crate::accepting::{PAUSE, Refusals};
use crate::connection_limits::{Network, Place, Places};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1::Builder;
use hyper::{Response, StatusCode};
use hyper_util::rt::TokioTimer;
use std::io::Result;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::sleep;

/// An endpoint that is being served, on a separate thread.
#[derive(Debug)]
pub(crate) struct Served {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

/// How long a handshake, or the head of a request, may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Octets of a head.
const HEAD: usize = 16 * 1024;
/// Threads for the disk.
const BLOCKING: usize = 2;

impl Served {
    /// Serves by `work`, on a thread of this name.
    pub(crate) fn start(
        name: &str,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Served> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING)
            .build()?;
        let (stop, mut stopped) = watch::channel(false);
        let serve = async move {
            tokio::select! {
                () = work => {}
                // A server whose handle is gone stops too.
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        };
        let work = move || runtime.block_on(serve);
        let thread = std::thread::Builder::new().name(name.into()).spawn(work)?;
        Ok(Served { stop, thread })
    }

    /// Ends all connections.
    pub(crate) fn stop(self) {
        self.stop.send_replace(true);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Lets clients in at `listener`, as far as there are `places`, to `converse` with each. Tells of
/// each that is `closed` for want of places, and of `trouble` where the system has no file for one.
pub(crate) async fn attend<C: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    places: Arc<Places>,
    closed: impl Fn(SocketAddr) + Clone + Send + 'static,
    trouble: impl Fn(String),
    converse: impl Fn(TcpStream, Place) -> C,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener is a socket");
    let mut refusals = Refusals::default();
    loop {
        let (stream, peer) = match refusals.take(listener.accept().await) {
            Ok(accepted) => accepted,
            Err(news) => {
                if let Some(error) = news {
                    trouble(format!("no page can be shown: {error}"));
                }
                sleep(PAUSE).await;
                continue;
            }
        };
        let Some((place, leave)) = places.enter(0, Network::near(peer.ip()), peer.ip()) else {
            closed(peer);
            continue;
        };
        let (closed, talk) = (closed.clone(), converse(stream, place));
        tokio::spawn(async move {
            tokio::select! {
                () = talk => {}
                Ok(()) = leave => closed(peer),
            }
        });
        // Who gives way ends before the next one comes.
        yield_now().await;
    }
}

/// How it is spoken.
pub(crate) fn protocol() -> Builder {
    let mut http = Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD);
    http
}

/// An answer of this kind that no cache keeps, and whose page may load what `policy` says.
pub(crate) fn response<B>(
    status: StatusCode,
    kind: &'static str,
    policy: &'static str,
    body: B,
) -> Response<B> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        // The token is in the page's address.
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, policy),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
