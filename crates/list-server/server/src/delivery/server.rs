//! The handle of a running list server.

use super::dns::Names;
use super::event_loop::Start;
use super::local::LocalDelivery;
use super::mail::Mail;
use super::request::{Configuration, Refused, Request, Sessions, StopReport};
use super::smtp_out::tls::{Security, TlsError};
use super::{dns, event_loop};
use crate::control::{Control, Reload};
use crate::event::Observer;
use crate::event::unix_ms;
use crate::settings::Settings;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use sojourn_mail_engine::list::return_path::ReturnPaths;
use sojourn_mail_engine::{Counts, MessageId, Operation, Selection, Shaping};
use sojourn_mail_spool::{Reserve, SpoolError, octets};
use std::fmt;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, available_parallelism};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{LocalSet, spawn_local};

/// A running list server, or one end of it: clones are the same server.
///
/// It runs on separate threads, whatever runtime the caller has or has not. When the last clone
/// is gone it goes on until it is [stopped](ServerHandle::stop).
#[derive(Clone, Debug)]
pub struct DeliveryServer {
    requests: mpsc::Sender<Request>,
    reserve: Arc<Reserve>,
}

/// The one who started a server and can stop it.
pub struct ServerHandle {
    requests: mpsc::Sender<Request>,
    thread: JoinHandle<StopReport>,
    /// Notices of the start for the operator.
    pub notices: Vec<String>,
    /// Who takes on another configuration when an operator asks for that.
    pub(crate) reload: Arc<OnceLock<Box<Reload>>>,
}

/// Why a server could not be started.
#[derive(Debug)]
pub enum StartError {
    /// The spool cannot be used.
    Spool(SpoolError),
    /// TLS cannot be used as it is set.
    Tls(TlsError),
    /// The name servers are not known.
    Names(String),
    /// The system gives no threads or sockets.
    System(std::io::Error),
}

/// Messages that may wait to be taken over: each holds its text.
const WAITING: usize = 16;
/// Files that a process needs beside its sessions.
const OTHER_FILES: u64 = 64;

impl DeliveryServer {
    /// Starts a server on the spool at `path`, and with it the delivery of what is there, of which
    /// `observer` has been told when this returns.
    ///
    /// # Errors
    ///
    /// The spool is in use, damaged, or cannot be read; certificates or name servers are missing.
    pub fn start(
        settings: Settings,
        path: &Path,
        observer: impl Observer,
    ) -> Result<(DeliveryServer, ServerHandle), StartError> {
        DeliveryServer::start_with_lists(
            settings,
            path,
            observer,
            Arc::new(()),
            ReturnPaths::default(),
        )
    }

    /// Like [`DeliveryServer::start`], for a server with lists, whose copies get return paths as `paths`
    /// says.
    ///
    /// # Errors
    ///
    /// Those of [`DeliveryServer::start`].
    pub fn start_with_lists(
        mut settings: Settings,
        path: &Path,
        observer: impl Observer,
        local: Arc<dyn LocalDelivery>,
        paths: ReturnPaths,
    ) -> Result<(DeliveryServer, ServerHandle), StartError> {
        let mut notices = Vec::new();
        notices.extend(fit_sessions(&mut settings));
        notices.extend(sojourn_mail_spool::private::exposed(path));
        let security = Security::new(settings.mail.tls, settings.network.roots.as_deref())
            .map_err(StartError::Tls)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            // They sign copies, and read reports.
            .max_blocking_threads(available_parallelism().map_or(1, NonZero::get))
            .build()
            .map_err(StartError::System)?;
        let names = {
            let _inside = runtime.enter();
            Names::new(&settings.network).map_err(|why| StartError::Names(why.to_string()))?
        };
        let (requests, inbox) = mpsc::channel(WAITING);
        let start =
            Start::open(settings, path, names, security, Box::new(observer), local, unix_ms)
                .map_err(StartError::Spool)?
                .with_return_paths(paths);
        let delivery = DeliveryServer { requests: requests.clone(), reserve: start.reserve() };
        let reload = Arc::new(OnceLock::new());
        let opened = {
            let _inside = runtime.enter();
            Control::open(path)
        };
        let control = match opened {
            Ok(control) => Some((control, delivery.clone(), reload.clone())),
            Err(error) => {
                notices.push(format!("an operator cannot ask for anything: {error}"));
                None
            }
        };
        let (begins, begun) = std::sync::mpsc::channel::<()>();
        let begun_is_told = move || drop(begins);
        let work = move || {
            LocalSet::new().block_on(&runtime, async {
                if let Some((control, delivery, reload)) = control {
                    spawn_local(control.serve(delivery, reload));
                }
                event_loop::run(start, inbox, begun_is_told).await
            })
        };
        let thread = std::thread::Builder::new().name("delivery".into()).spawn(work);
        let thread = thread.map_err(StartError::System)?;
        // No value is sent: this ends when the other end is gone.
        let _ = begun.recv();
        Ok((delivery, ServerHandle { requests, thread, notices, reload }))
    }

    /// Whether the disk has space for a message, before anything is done with it.
    pub(crate) fn admit(&self, size: usize, recipients: usize) -> Result<(), Refused> {
        self.reserve.admit(octets(size, recipients)).map_err(|full| Refused::Now(full.to_string()))
    }

    /// Hands over a message; returns when it and all its recipients are on stable storage.
    ///
    /// # Errors
    ///
    /// It was not taken over; nothing of it is kept.
    pub async fn submit(&self, mail: Mail) -> Result<MessageId, Refused> {
        let (answer, answered) = oneshot::channel();
        let request = Request::Submit(mail, answer);
        self.requests.send(request).await.map_err(|_| Refused::Stopped)?;
        answered.await.unwrap_or(Err(Refused::Stopped))
    }

    /// Like [`DeliveryServer::submit`], for a caller without a runtime. Panics inside one.
    ///
    /// # Errors
    ///
    /// It was not taken over; nothing of it is kept.
    pub fn submit_blocking(&self, mail: Mail) -> Result<MessageId, Refused> {
        let (answer, answered) = oneshot::channel();
        let request = Request::Submit(mail, answer);
        self.requests.blocking_send(request).map_err(|_| Refused::Stopped)?;
        answered.blocking_recv().unwrap_or(Err(Refused::Stopped))
    }

    /// Copies of lists' mail get return paths as `paths` says, from the next transaction on. This
    /// blocks while the server is busy; it panics inside a runtime.
    ///
    /// # Errors
    ///
    /// The server has stopped.
    pub fn set_return_paths(&self, paths: ReturnPaths) -> Result<(), Refused> {
        let request = Request::ReturnPaths(paths);
        self.requests.blocking_send(request).map_err(|_| Refused::Stopped)
    }

    /// Does what an operator wants with recipients that wait; returns when it is on stable storage.
    ///
    /// # Errors
    ///
    /// The server has stopped.
    pub async fn operate(
        &self,
        operation: Operation,
        selection: Selection,
    ) -> Result<Counts, Refused> {
        let (answer, answered) = oneshot::channel();
        let request = Request::Operate(operation, selection, answer);
        self.requests.send(request).await.map_err(|_| Refused::Stopped)?;
        answered.await.map_err(|_| Refused::Stopped)
    }

    /// Delivers as `settings` say from now on; sessions with hosts go on as they began. The name that
    /// the server gives stays. This blocks while the server is busy; it panics inside a runtime.
    /// Returns a notice for the operator, if there is one.
    ///
    /// # Errors
    ///
    /// Something cannot be used as it is set, or the server has stopped: nothing has changed.
    pub(crate) fn configure(
        &self,
        mut settings: Settings,
        local: Option<(Arc<dyn LocalDelivery>, ReturnPaths)>,
    ) -> Result<Option<String>, String> {
        let notice = fit_sessions(&mut settings);
        let security = Security::new(settings.mail.tls, settings.network.roots.as_deref())
            .map_err(|why| why.to_string())?;
        let (answer, answered) = oneshot::channel();
        let new = Box::new(Configuration { settings, security, local });
        let stopped = || Refused::Stopped.to_string();
        let request = Request::Configure(new, answer);
        self.requests.blocking_send(request).map_err(|_| stopped())?;
        answered.blocking_recv().unwrap_or_else(|_| Err(stopped())).map(|()| notice)
    }

    /// Shows a failure in the log; a server that has stopped shows none.
    pub(crate) async fn trouble(&self, why: String) {
        let _ = self.requests.send(Request::Trouble(why)).await;
    }

    /// How many sessions with hosts there are.
    ///
    /// # Errors
    ///
    /// The server has stopped.
    pub async fn sessions(&self) -> Result<Sessions, Refused> {
        let (answer, answered) = oneshot::channel();
        self.requests.send(Request::Count(answer)).await.map_err(|_| Refused::Stopped)?;
        answered.await.map_err(|_| Refused::Stopped)
    }

    /// The limits of a domain that there was mail for lately; of none, all limits that are in use.
    ///
    /// # Errors
    ///
    /// The server has stopped.
    pub(crate) async fn shaping(&self, domain: Option<String>) -> Result<Vec<Shaping>, Refused> {
        let (answer, answered) = oneshot::channel();
        let request = Request::Shaping(domain, answer);
        self.requests.send(request).await.map_err(|_| Refused::Stopped)?;
        answered.await.map_err(|_| Refused::Stopped)
    }
}

impl fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl ServerHandle {
    /// Whether it has not come to an end by itself, which it does when it panics.
    pub fn is_running(&self) -> bool {
        !self.thread.is_finished()
    }

    /// Stops the server: no transaction begins any more, and those under way end within
    /// `network.grace`, or are cut. What is not delivered stays in the spool, which is closed when
    /// this returns. Panics where the server did.
    pub fn stop(self) -> StopReport {
        // A server that is gone already is stopped.
        let _ = self.requests.blocking_send(Request::Stop);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Raises the number of files that the process may have open: each session has one, and as many
/// sessions more may wait for overdue answers. Where that is too low, there are fewer sessions, and a
/// notice is returned.
fn fit_sessions(settings: &mut Settings) -> Option<String> {
    let sessions = &mut settings.mail.limits.sessions;
    let beside = OTHER_FILES + dns::QUESTIONS as u64;
    let wanted = 2 * u64::from(sessions.get()) + beside;
    let files = raise_open_files(wanted).unwrap_or(wanted);
    if files >= wanted {
        return None;
    }
    let fits = u32::try_from(files.saturating_sub(beside) / 2).unwrap_or(u32::MAX).max(1);
    let asked = std::mem::replace(sessions, fits.try_into().expect("at least 1"));
    Some(format!(
        "this process may have {files} files open, which is enough for {fits} sessions and not \
         for mail.limits.sessions = {asked}"
    ))
}

/// Raises the number of files that the process may have open to `wanted`, or as far as it is allowed to;
/// returns the number.
fn raise_open_files(wanted: u64) -> nix::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let files = wanted.min(hard);
    if soft >= files {
        return Ok(soft);
    }
    setrlimit(Resource::RLIMIT_NOFILE, files, hard)?;
    Ok(files)
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Spool(error) => error.fmt(f),
            StartError::Tls(error) => error.fmt(f),
            StartError::Names(why) => write!(f, "no name servers can be asked: {why}"),
            StartError::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
