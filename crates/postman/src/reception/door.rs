//! A mail server: its ports, its threads, its end.

use super::error::SetupError;
use super::hall::Hall;
use super::happening::{Attendant, Happening};
use super::lists::{Lists, now};
use super::passwords::Passwords;
use super::places::Places;
use super::returns::good_days;
use super::rights::become_user;
use super::ring::{KeyRing, return_paths};
use super::settings::{Listener, Serving};
use super::signing::Signer;
use super::submitters::Submitters;
use super::tls::acceptor;
use super::visit::{Phase, receive};
use crate::book::Book;
use crate::handle::{Left, Postman, Running, StartError};
use crate::keys::KeyFile;
use crate::live::{Board, Frame, Shown, Site, Watched};
use crate::news::Observer;
use crate::ports::bind;
use crate::settings::Settings;
use sojourn_mail::smtp::server::{AuthUse, Terms};
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// A list server that takes mail from other programs. It runs on threads of its own.
#[derive(Debug)]
pub struct MailServer {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<()>,
    running: Running,
    /// Where it listens, in the order of the settings.
    pub addresses: Vec<SocketAddr>,
    /// What was found at the start that whoever runs the server has to know.
    pub notices: Vec<String>,
    watched: Option<Watched>,
    /// Where it is watched.
    pub live: Option<Shown>,
    keys: KeyRing,
}

/// Why a mail server cannot start.
#[derive(Debug)]
pub enum ServeError {
    /// Its reception.
    Setup(SetupError),
    /// Its delivery.
    Start(StartError),
}

/// What is left of a server that has stopped.
pub type Stopped = Left;

/// One port, and what is held against whoever comes there.
struct Port {
    listener: tokio::net::TcpListener,
    terms: Arc<Terms>,
    implicit: bool,
}

/// After sessions were told that it is over, how long until nobody waits for them.
const LAST: Duration = Duration::from_secs(2);
/// Threads for passwords, signatures and the book.
const HELPERS: usize = 4;

impl MailServer {
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
        observer: impl Observer,
        attendant: impl Attendant,
    ) -> Result<MailServer, ServeError> {
        let listeners = settings.listener.iter().map(|it| bind(it.address));
        let listeners = listeners.collect::<Result<Vec<_>, _>>()?;
        let frame = settings.live.as_ref().map(Frame::open).transpose()?;
        let addresses: Result<Vec<_>, _> = listeners.iter().map(TcpListener::local_addr).collect();
        let addresses = addresses.map_err(SetupError::System)?;
        let tls = settings.certificate.as_ref().map(acceptor).transpose()?;
        let signers = settings.dkim.iter().map(Signer::load).collect::<Result<Vec<_>, _>>()?;
        if let Some(user) = &settings.reception.run_as {
            become_user(user)?;
        }
        let spool = Path::new(&settings.spool);
        let window = frame.map(|frame| frame.glaze(spool)).transpose()?;
        let book = Book::open(&Book::beside(spool)).map_err(SetupError::Book)?;
        let file = KeyFile::beside(spool);
        let keys = KeyFile::read_or_make(&file, now())?.token_keys();
        let rules = &settings.reception;
        let board = Board::default();
        let attendant: Arc<dyn Attendant> = Arc::new((board.clone(), attendant));
        let lists = Arc::new(Lists {
            lists: settings.list.clone(),
            signers,
            submitters: Submitters::new(&rules.trusted, &settings.submitter, &settings.user),
            postmaster: rules.postmaster.clone(),
            rule: settings.bounces.clone(),
            book: Mutex::new(book),
            most: rules.subscribers.get().into(),
            keys: RwLock::new(keys.clone()),
            good_days: good_days(settings.mail.lifetime),
            reader_hourly: rules.reader_hourly.get(),
            readings: Mutex::default(),
            attendant: Arc::clone(&attendant),
        });
        let delivery = Settings { mail: settings.mail.clone(), network: settings.network.clone() };
        let home = Arc::<Lists>::clone(&lists);
        let paths = return_paths(keys, &settings.list);
        let (postman, running) =
            Postman::start_with_home(delivery, spool, (board.clone(), observer), home, paths)
                .map_err(ServeError::Start)?;
        let keys = KeyRing { file, lists: Arc::clone(&lists), postman: postman.clone() };
        let hall = Arc::new(Hall {
            name: settings.mail.hello.clone(),
            postman,
            lists,
            passwords: Passwords::new(settings.user.clone().into(), Arc::clone(&attendant)),
            tls,
            attendant,
            held: AtomicUsize::new(0),
            memory: usize::try_from(rules.memory.0).unwrap_or(usize::MAX),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(HELPERS)
            .build()
            .map_err(SetupError::System)?;
        let (phase, watching) = watch::channel(Phase::Open);
        let notices = running.notices.clone();
        let places = Places::new(&settings.reception);
        let live = window.as_ref().map(|window| window.shown.clone());
        let watched = window.map(|window| {
            let (postman, taken) = (hall.postman.clone(), Arc::clone(&places));
            let site = Site { page, board, postman, reception: Box::new(move || taken.taken()) };
            Watched::start(window, site)
        });
        let watched = watched.transpose().map_err(SetupError::System)?;
        let work = move || open(&runtime, listeners, &settings, &hall, places, watching);
        let thread = std::thread::Builder::new().name("reception".into()).spawn(work);
        let thread = thread.map_err(SetupError::System)?;
        Ok(MailServer { phase, thread, running, addresses, notices, watched, live, keys })
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
        self.keys.reload()
    }

    /// Stops the server: its ports are closed, messages that are coming may come for
    /// `reception.grace`, transactions under way may end for `network.grace`. What is not delivered
    /// stays in the spool.
    pub fn stop(self) -> Stopped {
        self.phase.send_replace(Phase::Closing);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
        let left = self.running.stop();
        if let Some(watched) = self.watched {
            watched.stop();
        }
        left
    }
}

/// Serves until the phase is another.
fn open(
    runtime: &Runtime,
    listeners: Vec<TcpListener>,
    settings: &Serving,
    hall: &Arc<Hall>,
    places: Arc<Places>,
    phase: watch::Receiver<Phase>,
) {
    let grace = Duration::from_secs_f64(settings.reception.grace.seconds());
    runtime.block_on(async {
        // Sessions hear of the end from here, at its two stages.
        let (told, hears) = watch::channel(Phase::Open);
        let ports = listeners.into_iter().zip(&settings.listener).map(|(listener, it)| {
            let listener = tokio::net::TcpListener::from_std(listener).expect("it is a socket");
            let terms = Arc::new(terms(settings, it, hall));
            Port { listener, terms, implicit: it.implicit_tls }
        });
        for port in ports {
            let (hall, places, hears) = (Arc::clone(hall), Arc::clone(&places), hears.clone());
            tokio::spawn(attend(port, hall, places, hears));
        }
        drop(hears);
        let mut phase = phase;
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

fn terms(settings: &Serving, listener: &Listener, hall: &Hall) -> Terms {
    Terms {
        name: hall.name.clone(),
        protocol: listener.protocol,
        auth: if settings.user.is_empty() { AuthUse::Never } else { listener.auth },
        start_tls: hall.tls.is_some() && !listener.implicit_tls,
        repair: settings.reception.repair,
        bounds: settings.reception.bounds.clone(),
        house: Arc::<Lists>::clone(&hall.lists),
    }
}

/// Lets clients in at one port, until it is to be closed.
async fn attend(
    port: Port,
    hall: Arc<Hall>,
    places: Arc<Places>,
    mut phase: watch::Receiver<Phase>,
) {
    /// After the system had no file for a connection.
    const PAUSE: Duration = Duration::from_millis(100);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = port.listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            },
            _ = phase.changed() => return,
        };
        let known = hall.lists.submitters.knows(peer.ip());
        let Some(place) = places.take(peer.ip(), known) else {
            hall.tell(&Happening::TooMany { peer });
            tokio::spawn(turn_away(stream));
            continue;
        };
        let (hall, terms, phase) = (Arc::clone(&hall), Arc::clone(&port.terms), phase.clone());
        let implicit = port.implicit;
        tokio::spawn(async move {
            receive(hall, terms, stream, peer, known, implicit, phase).await;
            drop(place);
        });
    }
}

async fn turn_away(mut stream: TcpStream) {
    let reply = b"421 4.7.0 too many sessions, try again later\r\n";
    let _ = timeout(LAST, stream.write_all(reply)).await;
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
