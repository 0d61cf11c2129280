//! A mail server: its ports, its threads, its end.

use super::admission::places;
use super::context::{Current, Phase, ReceptionContext};
use super::persistent::PersistentState;
use super::privileges::{become_user, bind};
use super::reload::{NotReloaded, Ports};
use super::settings::{Serving, acceptor};
use crate::control::Reload;
use crate::delivery::mail::Mail;
use crate::delivery::request::{Refused, StopReport};
use crate::delivery::server::{DeliveryServer, ServerHandle, StartError};
use crate::error::SetupError;
use crate::event::{Observer, ServerEvent, SharedObserver};
use crate::http::Served;
use crate::http::live::{Board, Frame, Shown, Site, show};
use crate::lists::keys::return_paths;
use crate::lists::signing::Signer;
use crate::lists::subscribers::SubscriberStore;
use crate::lists::unsubscribe::Endpoint;
use crate::lists::{Lists, now, state};
use crate::log::EventLimiter;
use crate::settings::Settings;
use sojourn_mail_spool::private;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// A list server that takes mail from other programs. It runs on separate threads.
#[derive(Debug)]
pub struct ListServer {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
    handle: ServerHandle,
    /// Where it listens, in the order of the settings.
    pub addresses: Vec<SocketAddr>,
    /// Notices of the start for the operator.
    pub notices: Vec<String>,
    watched: Option<Served>,
    served: Option<Served>,
    /// Where it is watched.
    pub live: Option<Shown>,
    /// Where recipients unsubscribe with one click.
    pub unsubscribe: Option<SocketAddr>,
    ports: Arc<Ports>,
}

/// Why a mail server cannot start.
#[derive(Debug)]
pub enum ServeError {
    /// Its reception.
    Setup(SetupError),
    /// Its delivery.
    Start(StartError),
}

/// Takes on another configuration for a running server.
#[derive(Clone, Debug)]
pub struct Reloader(Arc<Ports>);

impl Reloader {
    /// Goes by `settings` from now on; its notices are returned, and are in the log.
    /// Sessions do so from their next transaction on. This blocks while the server is busy; it panics inside a
    /// runtime.
    ///
    /// # Errors
    ///
    /// Something cannot be used as it is set, or needs a restart: nothing has changed.
    pub fn reload(
        &self,
        settings: Result<Serving, NotReloaded>,
    ) -> Result<Vec<String>, NotReloaded> {
        let done = settings.and_then(|it| self.0.reload(it));
        let context = Arc::clone(&self.0.current.get().context);
        match &done {
            Ok(notices) => context.tell(&ServerEvent::Reloaded { notices }),
            Err(why) => context.tell(&ServerEvent::NotReloaded { why: &why.to_string() }),
        }
        done
    }

    /// Where the server listens, in the order of the settings.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.addresses()
    }
}

/// How long sessions are waited for after they were asked to end.
const LAST: Duration = Duration::from_secs(2);
/// How often what was left out of the log is looked at.
const LOOK: Duration = Duration::from_secs(10);
/// Threads for passwords, signatures and the book.
const HELPERS: usize = 4;

impl ListServer {
    /// Opens the ports, reads the keys, takes on the rights that are set, and starts to deliver and
    /// to take mail. `page` is the document that is shown where `live` is set; its script follows
    /// `/events`.
    ///
    /// # Errors
    ///
    /// A port, a key, the user, the spool or the book of bounces cannot be had.
    pub fn start(
        settings: Serving,
        page: String,
        delivery_observer: impl Observer,
        observer: impl Observer,
    ) -> Result<ListServer, ServeError> {
        let opened = Opened::open(&settings)?;
        if let Some(user) = &settings.reception.run_as {
            become_user(user)?;
        }
        let spool = Path::new(&settings.spool);
        let window = opened.frame.map(|frame| frame.glaze(spool)).transpose()?;
        let board = Board::default();
        let observer = SharedObserver::new((board.clone(), EventLimiter::new(observer)));
        let (letters, written) = mpsc::unbounded_channel();
        let (persistent, state_notices) =
            persistent_state(&settings, spool, observer.clone(), letters)?;
        let lists = Arc::new(Lists::new(&settings, opened.signers, &persistent)?);
        let (delivery, handle) =
            deliver(&settings, &lists, &persistent, (board.clone(), delivery_observer))?;
        let context =
            ReceptionContext::new(&settings, lists, opened.tls, &persistent, delivery.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(HELPERS)
            .build()
            .map_err(SetupError::System)?;
        let (phase, watching) = watch::channel(Phase::Open);
        let mut notices = handle.notices.clone();
        notices.extend(state_notices);
        notices.extend(private::exposed(&SubscriberStore::beside(spool)));
        let places = places(&settings.reception);
        let live = window.as_ref().map(|window| window.shown.clone());
        let open = Arc::clone(&places);
        let watched = window.map(|window| {
            let site = Site {
                page,
                board,
                delivery: delivery.clone(),
                reception: Box::new(move || open.count()),
            };
            Served::start("live", show(window, site))
        });
        let watched = watched.transpose().map_err(SetupError::System)?;
        let unsubscribe = opened.one_click.as_ref().map(TcpListener::local_addr);
        let unsubscribe = unsubscribe.transpose().map_err(SetupError::System)?;
        let grace = Duration::from_secs_f64(settings.reception.grace.seconds());
        let endpoint = settings.unsubscribe.clone();
        let (listeners, context) = (opened.listeners, Arc::new(context));
        let runs_on = runtime.handle().clone();
        let ports = Ports::open(settings, listeners, context, persistent, places, runs_on);
        let served = opened.one_click.zip(endpoint).map(|(listener, it)| {
            let (path, under_tls) = (it.path(), it.tls);
            let endpoint = Endpoint { path, under_tls, subscriptions: Arc::clone(&ports.current) };
            Served::start("unsubscribe", Arc::new(endpoint).serve(listener))
        });
        let served = served.transpose().map_err(SetupError::System)?;
        let (told, current) = (ports.told.clone(), Arc::clone(&ports.current));
        runtime.spawn(send_letters(written, delivery));
        let work = move || serve(&runtime, grace, &current, &told, watching);
        let thread = std::thread::Builder::new().name("reception".into()).spawn(work);
        let thread = thread.map_err(SetupError::System)?;
        let addresses = opened.addresses;
        Ok(ListServer {
            phase,
            thread,
            handle,
            addresses,
            notices,
            watched,
            served,
            live,
            unsubscribe,
            ports,
        })
    }

    /// Whether no part of it has come to an end by itself, which it does when it panics.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished() && self.handle.is_running()
    }

    /// Reads the file of the keys again ([`KeyFile`](crate::KeyFile)): the last key in it signs from now on.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no keys; those from before are used on.
    pub fn reload_keys(&self) -> Result<(), SetupError> {
        self.ports.reload_keys()
    }

    /// Has `read` called when an operator asks for the server's configuration to be read again, with
    /// the name of the file as the operator has it, and its text; what it gives is taken on.
    pub fn on_reload(
        &self,
        read: impl Fn(&str, &str) -> Result<Serving, NotReloaded> + Send + Sync + 'static,
    ) {
        let reloader = self.reloader();
        let reload: Box<Reload> = Box::new(move |file, text| {
            reloader.reload(read(file, text)).map_err(|why| why.to_string())
        });
        // The first stays.
        let _ = self.handle.reload.set(reload);
    }

    /// What takes on another configuration.
    pub fn reloader(&self) -> Reloader {
        Reloader(Arc::clone(&self.ports))
    }

    /// Stops the server: its ports are closed, messages that are coming may come for
    /// `reception.grace`, transactions under way may end for `network.grace`. What is not delivered
    /// stays in the spool.
    pub fn stop(self) -> StopReport {
        self.phase.send_replace(Phase::Closing);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
        let left = self.handle.stop();
        [self.watched, self.served].into_iter().flatten().for_each(Served::stop);
        left
    }
}

/// What may need rights that the server gives up at its start: ports, keys and certificates.
struct Opened {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    frame: Option<Frame>,
    one_click: Option<TcpListener>,
    tls: Option<TlsAcceptor>,
    signers: Vec<Signer>,
}

impl Opened {
    fn open(settings: &Serving) -> Result<Opened, SetupError> {
        let listeners = settings.listener.iter().map(|it| bind(it.address));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let frame = settings.live.as_ref().map(Frame::open).transpose()?;
        let addresses: Result<_, _> = listeners.iter().map(TcpListener::local_addr).collect();
        let addresses = addresses.map_err(SetupError::System)?;
        let one_click = settings.unsubscribe.as_ref().map(|it| bind(it.address)).transpose()?;
        let tls = settings.certificate.as_ref().map(acceptor).transpose()?;
        let signers = settings.dkim.iter().map(Signer::load).collect::<Result<_, _>>()?;
        Ok(Opened { listeners, addresses, frame, one_click, tls, signers })
    }
}

/// Opens the register and the keys beside `spool`; also returns notices for the operator.
fn persistent_state(
    settings: &Serving,
    spool: &Path,
    observer: SharedObserver,
    letters: UnboundedSender<Mail>,
) -> Result<(PersistentState, Vec<String>), SetupError> {
    let (subscribers, keys, notices) = state::open(spool, now())?;
    let memory = usize::try_from(settings.reception.memory.0).unwrap_or(usize::MAX);
    PersistentState::new(observer, subscribers, keys.token_keys(), memory, letters)
        .map(|state| (state, notices))
        .map_err(SetupError::Subscribers)
}

/// Starts delivery for the lists of `settings`.
fn deliver(
    settings: &Serving,
    lists: &Arc<Lists>,
    persistent: &PersistentState,
    observer: impl Observer,
) -> Result<(DeliveryServer, ServerHandle), ServeError> {
    let keys = persistent.keys.read().unwrap_or_else(PoisonError::into_inner).clone();
    let paths = return_paths(keys, &settings.list);
    let local = Arc::<Lists>::clone(lists);
    let delivery = Settings { mail: settings.mail.clone(), network: settings.network.clone() };
    DeliveryServer::start_with_lists(delivery, Path::new(&settings.spool), observer, local, paths)
        .map_err(ServeError::Start)
}

/// Has messages of this server delivered. One that is not taken waits until it is.
async fn send_letters(mut letters: UnboundedReceiver<Mail>, delivery: DeliveryServer) {
    while let Some(mail) = letters.recv().await {
        while let Err(Refused::Full(_) | Refused::Now(_)) = delivery.submit(mail.clone()).await {
            sleep(LOOK).await;
        }
    }
}

/// Serves until the phase is another.
fn serve(
    runtime: &Runtime,
    grace: Duration,
    current: &Arc<Current>,
    told: &watch::Sender<Phase>,
    mut phase: watch::Receiver<Phase>,
) {
    runtime.block_on(async {
        let current = Arc::clone(current);
        tokio::spawn(async move {
            loop {
                sleep(LOOK).await;
                let context = Arc::clone(&current.get().context);
                context.observer.pause();
                let lists = Arc::clone(&context.lists);
                // What this panics of was printed; the next look goes on.
                drop(spawn_blocking(move || lists.report(now())).await);
            }
        });
        // A server whose handle is gone stops too.
        let _ = phase.wait_for(|phase| *phase != Phase::Open).await;
        told.send_replace(Phase::Closing);
        // The channel has no receiver any more when all sessions are over.
        if timeout(grace, told.closed()).await.is_err() {
            told.send_replace(Phase::Closed);
            let _ = timeout(LAST, told.closed()).await;
        }
    });
}

impl From<SetupError> for ServeError {
    fn from(error: SetupError) -> ServeError {
        ServeError::Setup(error)
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Setup(error) => error.fmt(f),
            ServeError::Start(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ServeError {}
