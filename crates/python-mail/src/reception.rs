//! The list server that takes mail in, its book of bounces, and its passwords.

use crate::delivery::failed;
use crate::{address, refused};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use sojourn_list_server::{
    Address, Dkim, KeyFile, Lines, Log, NotReloaded, Reloader, Serving, Standing, SubscriberStore,
    Suppression, hash_password,
};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How such a server is set: a file, read and checked.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct ServeSettings {
    serving: Serving,
    /// Where they were read, and what was laid over them.
    source: PathBuf,
    overrides: Vec<(String, String)>,
}

#[pymethods]
impl ServeSettings {
    #[staticmethod]
    fn parse(
        text: &str,
        source: &str,
        overrides: Vec<(String, String)>,
    ) -> PyResult<ServeSettings> {
        let complete = sojourn_list_server::complete;
        let serving = sojourn_study::read_settings(text, source, &overrides, complete);
        let serving = serving.map_err(refused)?;
        Ok(ServeSettings { serving, source: source.into(), overrides })
    }

    /// The file that keeps what is to be delivered.
    #[getter]
    fn spool(&self) -> PathBuf {
        self.serving.spool.clone().into()
    }

    /// The file of the keys that sign return paths.
    #[getter]
    fn keys(&self) -> PathBuf {
        KeyFile::beside(self.serving.spool.as_ref())
    }

    /// The file of the log; none where it goes to standard output.
    #[getter]
    fn log(&self) -> Option<PathBuf> {
        self.serving.log.as_ref().map(PathBuf::from)
    }

    /// The lists, by their return paths.
    #[getter]
    fn lists(&self) -> Vec<String> {
        self.serving.list.iter().map(|it| it.bounces.to_string()).collect()
    }

    /// The file that keeps the lists' bounces.
    #[getter]
    fn book(&self) -> PathBuf {
        SubscriberStore::beside(self.serving.spool.as_ref())
    }
}

/// A running server.
#[pyclass(frozen, module = "sojourn_mail")]
pub(crate) struct ListServer {
    server: Mutex<Option<sojourn_list_server::ListServer>>,
    /// The log's file, and what writes there.
    log: Option<(PathBuf, Lines<Box<dyn Write + Send>>)>,
    again: Again,
    reloader: Reloader,
    #[pyo3(get)]
    addresses: Vec<String>,
    #[pyo3(get)]
    live: Option<(String, PathBuf)>,
    #[pyo3(get)]
    unsubscribe: Option<String>,
    #[pyo3(get)]
    notices: Vec<String>,
}

/// Where a configuration is read again.
#[derive(Clone)]
struct Again {
    file: PathBuf,
    overrides: Vec<(String, String)>,
}

impl Again {
    /// From the file, by the rights that this process has.
    fn read(&self) -> Result<Serving, NotReloaded> {
        let text = std::fs::read_to_string(&self.file).map_err(|why| {
            let (file, denied) = (self.file.display(), why.kind() == ErrorKind::PermissionDenied);
            let remedy = "; sojourn mail reload hands it to the server, by root";
            NotReloaded::Unread(format!("{file}: {why}{}", if denied { remedy } else { "" }))
        })?;
        self.parse(&text)
    }

    /// From its text, where `named` is the file that an operator believes it to be.
    fn take(&self, named: &str, text: &str) -> Result<Serving, NotReloaded> {
        let (own, other) = (self.file.canonicalize(), Path::new(named).canonicalize());
        let same = match (own, other) {
            (Ok(own), Ok(other)) => own == other,
            // In a folder that this process may not look into.
            _ => self.file == Path::new(named),
        };
        if !same {
            let file = self.file.display();
            let started = format!("the server was started with {file}, not with {named}");
            return Err(NotReloaded::Unread(started));
        }
        self.parse(text)
    }

    fn parse(&self, text: &str) -> Result<Serving, NotReloaded> {
        let (file, complete) = (self.file.display().to_string(), sojourn_list_server::complete);
        let read = sojourn_study::read_settings(text, &file, &self.overrides, complete);
        // The log has a line for what was not reloaded.
        read.map_err(|why| NotReloaded::Unread(why.to_string().replace('\n', "; ")))
    }
}

impl ListServer {
    fn server(&self) -> MutexGuard<'_, Option<sojourn_list_server::ListServer>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl ListServer {
    #[staticmethod]
    #[pyo3(signature = (settings, page, log=None))]
    fn start(
        py: Python<'_>,
        settings: &ServeSettings,
        page: String,
        log: Option<PathBuf>,
    ) -> PyResult<ListServer> {
        let ServeSettings { serving, source, overrides } = settings;
        let (file, overrides) = (std::path::absolute(source)?, overrides.clone());
        let settings = serving.clone();
        let log = log.or_else(|| settings.log.as_ref().map(PathBuf::from));
        let out: Box<dyn Write + Send> = match &log {
            None => Box::new(std::io::stdout()),
            Some(path) => {
                let (is_new, file) = (!path.exists(), open(path)?);
                if let Some(user) = settings.reception.run_as.as_ref().filter(|_| is_new) {
                    sojourn_list_server::give(path, user);
                }
                Box::new(file)
            }
        };
        let (lines, port) = (Lines::new(out), settings.network.port);
        let logs = (Log::new(lines.clone(), port), Log::new(lines.clone(), port));
        let mut server = py
            .detach(|| sojourn_list_server::ListServer::start(settings, page, logs.0, logs.1))
            .map_err(failed)?;
        let addresses = server.addresses.iter().map(ToString::to_string).collect();
        let live = server.live.clone().map(|it| (it.address.to_string(), it.token));
        let unsubscribe = server.unsubscribe.map(|it| it.to_string());
        let mut notices = std::mem::take(&mut server.notices);
        notices.extend(log.as_deref().and_then(sojourn_mail_spool::private::exposed));
        let log = log.map(|path| (path, lines));
        let again = Again { file, overrides };
        let (reloader, on_ask) = (server.reloader(), again.clone());
        server.on_reload(move |named, text| on_ask.take(named, text));
        let server = Mutex::new(Some(server));
        Ok(ListServer { server, again, reloader, log, addresses, live, unsubscribe, notices })
    }

    /// Whether it still serves.
    fn is_running(&self) -> bool {
        self.server().as_ref().is_some_and(sojourn_list_server::ListServer::is_running)
    }

    /// Reads its configuration again and goes by it; returns notes about that.
    fn reload(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.reloader.reload(self.again.read())).map_err(failed)
    }

    /// Goes on with its log in a new file of the same name.
    fn reopen_log(&self) -> PyResult<()> {
        if let Some((path, lines)) = &self.log {
            lines.redirect(Box::new(open(path)?));
        }
        Ok(())
    }

    /// Reads its keys again: the last one signs from now on.
    fn reload_keys(&self, py: Python<'_>) -> PyResult<()> {
        let server = self.server();
        let Some(server) = server.as_ref() else { return Ok(()) };
        py.detach(|| server.reload_keys()).map_err(failed)
    }

    /// Stops it; how many messages are left in the spool, and how many sessions had to be cut.
    fn stop(&self, py: Python<'_>) -> PyResult<(usize, usize)> {
        let server = self.server().take();
        let server = server.ok_or_else(|| PyRuntimeError::new_err("it is stopped already"))?;
        let left = py.detach(|| server.stop());
        Ok((left.messages, left.cut))
    }
}

fn open(path: &Path) -> PyResult<File> {
    sojourn_mail_spool::private::append(path)
        .map_err(|why| failed(format!("{}: {why}", path.display())))
}

/// What to tell the operator where others than the owner may read or write a file.
#[pyfunction]
pub(crate) fn exposed_file(path: PathBuf) -> Option<String> {
    sojourn_mail_spool::private::exposed(&path)
}

/// A list's return path, a subscriber, its score, its last bounce, since when it is asked and since
/// when it is suspended (seconds since 1970), the status, the reason, who runs its host, and whose
/// fault the reason is, if it is a failure.
type Member = (
    (String, String, f64, i64, Option<i64>, Option<i64>),
    (Option<String>, String, String, Option<String>),
);

/// All whose mail came back, those who are suspended first.
#[pyfunction]
pub(crate) fn bounce_book(path: PathBuf) -> PyResult<Vec<Member>> {
    let members = SubscriberStore::open(&path).and_then(|book| book.members()).map_err(failed)?;
    let tuple = |it: sojourn_list_server::Member| {
        let (standing, fault) = (it.standing, it.fault().map(|it| it.to_string()));
        let Standing { score, last, probed, suspended, .. } = standing;
        (
            (it.list, it.subscriber, score, last, probed, suspended),
            (it.status, it.reason, it.provider, fault),
        )
    };
    Ok(members.into_iter().map(tuple).collect())
}

fn addresses(pairs: &[(String, String)]) -> PyResult<Vec<(Address, Address)>> {
    pairs.iter().map(|(list, who)| Ok((address(list)?, address(who)?))).collect()
}

/// Serves subscribers again, each of a list; how many got no mail, or had a score.
#[pyfunction]
pub(crate) fn resume_subscribers(path: PathBuf, pairs: Vec<(String, String)>) -> PyResult<u64> {
    let pairs = addresses(&pairs)?;
    SubscriberStore::open(&path).and_then(|mut book| book.resume(&pairs)).map_err(failed)
}

/// Forgets subscribers, each of a list; how many there were.
#[pyfunction]
pub(crate) fn erase_subscribers(path: PathBuf, pairs: Vec<(String, String)>) -> PyResult<u64> {
    let pairs = addresses(&pairs)?;
    SubscriberStore::open(&path).and_then(|mut book| book.erase(&pairs)).map_err(failed)
}

/// A list's return path, a subscriber, whether the subscriber has left (else is suspended), since
/// when (seconds since 1970), the status, the reason.
type Suppressed = (String, String, bool, i64, Option<String>, String);

/// Enters that subscribers get no mail; how many got some before.
#[pyfunction]
pub(crate) fn suppress_subscribers(path: PathBuf, rows: Vec<Suppressed>) -> PyResult<u64> {
    let read = |(list, subscriber, left, since, status, reason): Suppressed| {
        let why = if left { Suppression::Left } else { Suppression::Suspended };
        let (list, subscriber) = (address(&list)?, address(&subscriber)?);
        Ok(sojourn_list_server::Suppressed { list, subscriber, why, since, status, reason })
    };
    let all = rows.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
    SubscriberStore::open(&path).and_then(|mut book| book.suppress(&all)).map_err(failed)
}

/// Those who have unsubscribed, by list, the last one first: the list's return path, the address,
/// and when (seconds since 1970).
#[pyfunction]
pub(crate) fn unsubscribed(path: PathBuf) -> PyResult<Vec<(String, String, i64)>> {
    SubscriberStore::open(&path).and_then(|book| book.left()).map_err(failed)
}

/// A list's return path, a day (counted from 1970), why mail of that day is not verified, how much.
type Counted = (String, i64, String, u64);

/// Mail to return paths that is not verified, by list, the newest first.
#[pyfunction]
pub(crate) fn unverified_mail(path: PathBuf) -> PyResult<Vec<Counted>> {
    let counted = SubscriberStore::open(&path).and_then(|book| book.counted()).map_err(failed)?;
    Ok(counted.into_iter().map(|it| (it.list, it.day, it.kind, it.number)).collect())
}

/// When each key in a file was made (seconds since 1970); the last one signs.
#[pyfunction]
pub(crate) fn token_keys(path: PathBuf) -> PyResult<Vec<i64>> {
    KeyFile::read(&path).map(|keys| keys.made()).map_err(failed)
}

/// Adds a key, made at `now` (seconds since 1970), and drops those beyond the eighth.
#[pyfunction]
pub(crate) fn rotate_token_keys(path: PathBuf, now: i64) -> PyResult<Vec<i64>> {
    let rotate = |mut keys: KeyFile| keys.rotate(now).map(|()| keys.made());
    KeyFile::read(&path).and_then(rotate).map_err(failed)
}

/// Signs a text so many times, to learn what that costs.
#[pyfunction]
pub(crate) fn sign_often(
    py: Python<'_>,
    domain: String,
    key: String,
    text: Vec<u8>,
    times: u32,
) -> PyResult<()> {
    let dkim = Dkim { domain, selector: "s".into(), key };
    py.detach(|| sojourn_list_server::sign_often(&dkim, &text, times)).map_err(failed)
}

/// The hash of a password, as it stands in a configuration.
#[pyfunction]
pub(crate) fn mail_password(py: Python<'_>, password: &str) -> String {
    py.detach(|| hash_password(password))
}
