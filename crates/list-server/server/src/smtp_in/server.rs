//! A mail server: its ports, its threads, its end.

use super::admission::places;
use super::connection::Phase;
use super::context::ReceptionContext;
use super::login::Passwords;
use super::message_memory::Memory;
use super::privileges::{become_user, bind};
use super::quota::Hour;
use super::reload::{NotReloaded, Ports};
use super::settings::{Listener, Serving, acceptor};
use crate::control::Reload;
use crate::delivery::request::StopReport;
use crate::delivery::server::{DeliveryServer, ServerHandle, StartError};
use crate::error::SetupError;
use crate::event::{Observer, ServerEvent, SharedObserver};
use crate::http::Served;
use crate::http::live::{Board, Frame, Shown, Site, show};
use crate::lists::keys::{KeyFile, return_paths};
use crate::lists::signing::Signer;
use crate::lists::subscribers::SubscriberStore;
use crate::lists::unsubscribe::Endpoint;
use crate::lists::{Lists, now};
use crate::log::EventLimiter;
use crate::settings::Settings;
use sojourn_mail_engine::list::token::TokenKeys;
use sojourn_mail_spool::private;
use sojourn_smtp::server::{AuthUse, SessionConfig};
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// A list server that takes mail from other programs. It runs on threads of its own.
#[derive(Debug)]
pub struct ListServer {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
    running: ServerHandle,
    /// Where it listens, in the order of the settings.
    pub addresses: Vec<SocketAddr>,
    /// What was found at the start that whoever runs the server has to know.
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
    /// Goes by `settings` from now on; what is to be said about it is returned, and told in the log.
    /// Sessions do so from their next transaction on. This blocks while the server is busy; it panics inside a
    /// runtime.
    ///
    /// # Errors
    ///
    /// Something cannot be used as it is set, or needs a restart: nothing has changed.
    pub fn reload(&self, settings: Result<Serving, String>) -> Result<Vec<String>, String> {
        let done =
            settings.and_then(|it| self.0.reload(it).map_err(|why: NotReloaded| why.to_string()));
        let hall = &self.0.present().hall;
        match &done {
            Ok(notices) => hall.tell(&ServerEvent::Reloaded { notices }),
            Err(why) => hall.tell(&ServerEvent::NotReloaded { why }),
        }
        done
    }

    /// Where the server listens, in the order of the settings.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.0.addresses()
    }
}

/// What a server keeps when its configuration changes.
pub(crate) struct PersistentState {
    pub(crate) observer: SharedObserver,
    pub(crate) book: Arc<Mutex<SubscriberStore>>,
    pub(crate) keys: Arc<RwLock<TokenKeys>>,
    /// What counts wrong passwords.
    pub(crate) passwords: Arc<Passwords>,
    /// What messages may occupy, all sessions together.
    pub(crate) memory: Arc<Memory>,
    pub(crate) strangers_memory: Arc<Memory>,
    /// What people were given to read in this hour.
    pub(crate) hour: Arc<Mutex<Hour>>,
}

/// After sessions were told that it is over, how long until nobody waits for them.
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
    #[expect(clippy::too_many_lines, reason = "to be cut into ports, storage and threads")]
    pub fn start(
        settings: Serving,
        page: String,
        delivery_observer: impl Observer,
        observer: impl Observer,
    ) -> Result<ListServer, ServeError> {
        let listeners = settings.listener.iter().map(|it| bind(it.address));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let frame = settings.live.as_ref().map(Frame::open).transpose()?;
        let addresses: Result<Vec<_>, _> = listeners.iter().map(TcpListener::local_addr).collect();
        let addresses = addresses.map_err(SetupError::System)?;
        let one_click = settings.unsubscribe.as_ref().map(|it| bind(it.address)).transpose()?;
        let tls = settings.certificate.as_ref().map(acceptor).transpose()?;
        let signers = settings.dkim.iter().map(Signer::load).collect::<Result<Vec<_>, _>>()?;
        if let Some(user) = &settings.reception.run_as {
            become_user(user)?;
        }
        let spool = Path::new(&settings.spool);
        let window = frame.map(|frame| frame.glaze(spool)).transpose()?;
        let book = SubscriberStore::open(&SubscriberStore::beside(spool))
            .map_err(SetupError::SubscriberStore)?;
        let file = KeyFile::beside(spool);
        let keys = KeyFile::read_or_make(&file, now())?.token_keys();
        let board = Board::default();
        let observer = SharedObserver::new((board.clone(), EventLimiter::new(observer)));
        let memory = usize::try_from(settings.reception.memory.0).unwrap_or(usize::MAX);
        let memory = Memory::new(memory);
        let kept = PersistentState {
            passwords: Arc::new(Passwords::new(observer.clone())),
            observer: observer.clone(),
            book: Arc::new(Mutex::new(book)),
            keys: Arc::new(RwLock::new(keys.clone())),
            strangers_memory: memory.half(),
            memory,
            hour: Arc::default(),
        };
        let lists = Arc::new(Lists::new(&settings, signers, &kept)?);
        let delivery = Settings { mail: settings.mail.clone(), network: settings.network.clone() };
        let home = Arc::<Lists>::clone(&lists);
        let paths = return_paths(keys, &settings.list);
        let (postman, running) = DeliveryServer::start_with_home(
            delivery,
            spool,
            (board.clone(), delivery_observer),
            home,
            paths,
        )
        .map_err(ServeError::Start)?;
        let hall = Arc::new(hall(&settings, lists, tls, &kept, postman));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(HELPERS)
            .build()
            .map_err(SetupError::System)?;
        let (phase, watching) = watch::channel(Phase::Open);
        let mut notices = running.notices.clone();
        notices.extend(private::exposed(&SubscriberStore::beside(spool)));
        let places = places(&settings.reception);
        let live = window.as_ref().map(|window| window.shown.clone());
        let watched = window.map(|window| {
            let (postman, open) = (hall.postman.clone(), Arc::clone(&places));
            let site = Site { page, board, postman, reception: Box::new(move || open.count()) };
            Served::start("live", show(window, site))
        });
        let watched = watched.transpose().map_err(SetupError::System)?;
        let unsubscribe = one_click.as_ref().map(TcpListener::local_addr);
        let unsubscribe = unsubscribe.transpose().map_err(SetupError::System)?;
        let grace = Duration::from_secs_f64(settings.reception.grace.seconds());
        let endpoint = settings.unsubscribe.clone();
        let ports = Ports::open(settings, listeners, hall, kept, places, runtime.handle().clone());
        let served = one_click.zip(endpoint).map(|(listener, it)| {
            let (path, under_tls) = (it.path(), it.tls);
            let endpoint = Endpoint { path, under_tls, subscriptions: Arc::clone(&ports) };
            Served::start("unsubscribe", Arc::new(endpoint).serve(listener))
        });
        let served = served.transpose().map_err(SetupError::System)?;
        let told = ports.told.clone();
        let work = move || serve(&runtime, grace, observer, &told, watching);
        let thread = std::thread::Builder::new().name("reception".into()).spawn(work);
        let thread = thread.map_err(SetupError::System)?;
        Ok(ListServer {
            phase,
            thread,
            running,
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
        !self.thread.is_finished() && self.running.is_running()
    }

    /// Reads the file of the keys again ([`KeyFile`]): the last key in it signs from now on.
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
        read: impl Fn(&str, &str) -> Result<Serving, String> + Send + Sync + 'static,
    ) {
        let reloader = self.reloader();
        let reload: Box<Reload> = Box::new(move |file, text| reloader.reload(read(file, text)));
        // The first stays.
        let _ = self.running.reload.set(reload);
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
        let left = self.running.stop();
        [self.watched, self.served].into_iter().flatten().for_each(Served::stop);
        left
    }
}

/// Serves until the phase is another.
fn serve(
    runtime: &Runtime,
    grace: Duration,
    observer: SharedObserver,
    told: &watch::Sender<Phase>,
    mut phase: watch::Receiver<Phase>,
) {
    runtime.block_on(async {
        tokio::spawn(async move {
            loop {
                sleep(LOOK).await;
                observer.pause();
            }
        });
        // A server whose handle is gone stops too.
        let _ = phase.wait_for(|phase| *phase != Phase::Open).await;
        told.send_replace(Phase::Closing);
        // Nobody hears any more when all sessions are over.
        if timeout(grace, told.closed()).await.is_err() {
            told.send_replace(Phase::Closed);
            let _ = timeout(LAST, told.closed()).await;
        }
    });
}

/// What the sessions share that begin under `settings`.
pub(crate) fn hall(
    settings: &Serving,
    lists: Arc<Lists>,
    tls: Option<TlsAcceptor>,
    kept: &PersistentState,
    postman: DeliveryServer,
) -> ReceptionContext {
    ReceptionContext {
        name: settings.mail.hello.clone(),
        postman,
        lists,
        users: settings.user.clone().into(),
        tls,
        observer: kept.observer.clone(),
        passwords: Arc::clone(&kept.passwords),
        memory: Arc::clone(&kept.memory),
        strangers_memory: Arc::clone(&kept.strangers_memory),
    }
}

pub(crate) fn terms(
    settings: &Serving,
    listener: &Listener,
    hall: &ReceptionContext,
) -> SessionConfig {
    SessionConfig {
        name: hall.name.clone(),
        protocol: listener.protocol,
        auth: if settings.user.is_empty() { AuthUse::Never } else { listener.auth },
        submission: listener.is_for_submission() && !settings.user.is_empty(),
        start_tls: hall.tls.is_some() && !listener.implicit_tls,
        repair: settings.reception.repair,
        bounds: settings.reception.bounds.clone(),
        house: hall.house(),
    }
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
