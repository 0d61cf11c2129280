//! A server that takes on another configuration while it runs.
//!
//! Sessions are held to what is new from their next transaction on. Where something new cannot be
//! used, nothing changes.

use super::admission::attend;
use super::context::{Configured, Current, Phase, ReceptionContext};
use super::persistent::PersistentState;
use super::privileges::{bind, own_name};
use super::settings::{Serving, acceptor};
use crate::connection_limits::Places;
use crate::delivery::server::DeliveryServer;
use crate::error::SetupError;
use crate::lists::Lists;
use crate::lists::keys::{KeyFile, KeyRing, return_paths};
use crate::lists::signing::Signer;
use crate::settings::Settings;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::{Operation, Selection};
use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::AbortHandle;

/// Why a configuration is not taken on; the server goes on as it was.
#[derive(Debug)]
pub enum NotReloaded {
    /// It cannot be read, or has what no server can be set to.
    Unread(String),
    /// This setting only takes effect at a start.
    NeedsRestart(String),
    /// A port or a key cannot be had: with the rights that the server has by now.
    Setup(SetupError),
    /// Delivery cannot go on as it is set, mail that waits would lack something, or it has stopped.
    Delivery(String),
}

/// A port that is listened at.
struct Port {
    number: u64,
    /// As it is set, and as it is.
    set: SocketAddr,
    address: SocketAddr,
    attended: Option<AbortHandle>,
}

/// The ports of a server, and what sessions there are held to.
pub(crate) struct Ports {
    delivery: DeliveryServer,
    pub(crate) places: Arc<Places>,
    persistent: PersistentState,
    keys: PathBuf,
    pub(crate) current: Arc<Current>,
    open: Mutex<Vec<Port>>,
    turn: Mutex<()>,
    /// Sessions hear of the end from here, at its two stages.
    pub(crate) told: watch::Sender<Phase>,
    runtime: Handle,
}

impl Ports {
    /// Listens at `listeners`, those of `settings` in their order.
    pub(crate) fn open(
        settings: Serving,
        listeners: Vec<TcpListener>,
        context: Arc<ReceptionContext>,
        persistent: PersistentState,
        places: Arc<Places>,
        runtime: Handle,
    ) -> Arc<Ports> {
        let ports = Arc::new(Ports {
            delivery: context.delivery.clone(),
            places,
            persistent,
            keys: KeyFile::beside(Path::new(&settings.spool)),
            current: Arc::new(Current::new(Configured {
                context: Arc::clone(&context),
                settings: settings.clone(),
                ports: BTreeMap::new(),
            })),
            open: Mutex::default(),
            turn: Mutex::default(),
            told: watch::channel(Phase::Open).0,
            runtime,
        });
        let listeners = listeners.into_iter().map(Some).collect();
        ports.take_on(settings, context, listeners);
        ports
    }

    /// Where it listens, in the order of the settings.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.lock().iter().map(|port| port.address).collect()
    }

    /// Reads the file of the keys again.
    pub(crate) fn reload_keys(&self) -> Result<(), SetupError> {
        let lists = Arc::clone(&self.current.get().context.lists);
        KeyRing { file: self.keys.clone(), lists, delivery: self.delivery.clone() }.reload()
    }

    /// Goes by `settings` from now on; returns notices for the operator.
    pub(crate) fn reload(self: &Arc<Ports>, settings: Serving) -> Result<Vec<String>, NotReloaded> {
        let _one_after_the_other = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.get();
        let (was, changes) = (&before.settings, changes(&before.settings, &settings));
        if let Some(fixed) = changes.iter().find(|change| needs_restart(&change.path)) {
            return Err(NotReloaded::NeedsRestart(fixed.path.clone()));
        }
        let mut notices: Vec<_> = changes.into_iter().map(|change| change.words).collect();
        let mut old: Vec<SocketAddr> = self.lock().iter().map(|port| port.set).collect();
        let mut listeners = Vec::new();
        for listener in &settings.listener {
            listeners.push(match old.iter().position(|it| *it == listener.address) {
                Some(place) => {
                    old.swap_remove(place);
                    None
                }
                None => Some(bind(listener.address)?),
            });
        }
        let tls = settings.certificate.as_ref().map(|it| {
            let known = before.context.tls.clone().filter(|_| was.certificate.as_ref() == Some(it));
            or_known(acceptor(it), known, &mut notices)
        });
        let tls = tls.transpose()?;
        let signers = settings.dkim.iter().map(|it| {
            let known = was.dkim.iter().position(|old| old == it);
            let known = known.map(|place| before.context.lists.signers[place].clone());
            or_known(Signer::load(it), known, &mut notices)
        });
        let signers = signers.collect::<Result<Vec<_>, _>>()?;
        let keys = KeyFile::read(&self.keys)?.token_keys();
        let lists = Arc::new(Lists::new(&settings, signers, &self.persistent)?);
        for list in &was.list {
            if let Some(lost) = before.context.lists.lost(list, &lists) {
                self.has_none_waiting(list, lost)?;
            }
        }
        let paths = return_paths(keys.clone(), &settings.list);
        let new = Settings { mail: settings.mail.clone(), network: settings.network.clone() };
        let local = Arc::<Lists>::clone(&lists);
        let notice =
            self.delivery.configure(new, Some((local, paths))).map_err(NotReloaded::Delivery)?;
        // Nothing can go wrong any more.
        lists.set_keys(keys);
        let delivery = self.delivery.clone();
        let context = ReceptionContext::new(&settings, lists, tls, &self.persistent, delivery);
        self.take_on(settings, Arc::new(context), listeners);
        notices.extend(notice);
        Ok(notices)
    }

    /// Refuses to take something from `list` while its mail waits, which would be sent without.
    fn has_none_waiting(&self, list: &List, lost: &'static str) -> Result<(), NotReloaded> {
        let list = list.bounces.clone();
        let selection = Selection { lists: vec![list.clone()], ..Selection::default() };
        let counts = self.runtime.block_on(self.delivery.operate(Operation::Count, selection));
        let counts = counts.map_err(|why| NotReloaded::Delivery(why.to_string()))?;
        match counts.recipients + counts.under_way {
            0 => Ok(()),
            some => Err(NotReloaded::Delivery(format!(
                "{lost} of {list} cannot go while its mail waits, for {some} recipients, who would \
                 get it without; to delete it: sojourn mail queue CONFIG delete --list {list}"
            ))),
        }
    }

    /// Has sessions held to what is new, listens at `listeners` and, where there is none, goes on
    /// with the port that was set so before; closes all others, while their sessions go on.
    fn take_on(
        self: &Arc<Ports>,
        settings: Serving,
        context: Arc<ReceptionContext>,
        listeners: Vec<Option<TcpListener>>,
    ) {
        let mut old = std::mem::take(&mut *self.lock());
        let next = old.iter().map(|port| port.number + 1).max().unwrap_or(0);
        let (mut configs, mut open, mut new) = (BTreeMap::new(), Vec::new(), Vec::new());
        for ((number, listener), set) in (next..).zip(listeners).zip(&settings.listener) {
            let known = old.iter().position(|port| port.set == set.address);
            let number = match (listener, known) {
                (None, Some(place)) => {
                    open.push(old.remove(place));
                    open.last().expect("a port was pushed above").number
                }
                (listener, _) => {
                    let listener = listener.expect("a port is open or opened");
                    let address = listener.local_addr().unwrap_or(set.address);
                    new.push((number, listener));
                    open.push(Port { number, set: set.address, address, attended: None });
                    number
                }
            };
            let config = Arc::new(context.session_config(&settings, set));
            configs.insert(number, (config, set.implicit_tls));
        }
        self.current.set(Configured { context, settings, ports: configs });
        for (number, listener) in new {
            let (current, places) = (Arc::clone(&self.current), Arc::clone(&self.places));
            let work = attend(listener, number, current, places, self.told.subscribe());
            let attended = self.runtime.spawn(work).abort_handle();
            let port = open.iter_mut().find(|port| port.number == number);
            port.expect("the port was added above").attended = Some(attended);
        }
        *self.lock() = open;
        old.iter().filter_map(|port| port.attended.as_ref()).for_each(AbortHandle::abort);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Port>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was read of a file; where this process may not read it any more, what it knows of it already.
fn or_known<T>(
    read: Result<T, SetupError>,
    known: Option<T>,
    notices: &mut Vec<String>,
) -> Result<T, SetupError> {
    match (read, known) {
        (Err(SetupError::Unreadable { path, error }), Some(known))
            if error.kind() == ErrorKind::PermissionDenied =>
        {
            let (path, user) = (path.display(), own_name());
            notices.push(format!(
                "{path} cannot be read any more as {user}: what was read before is used on; \
                 restart to take on another"
            ));
            Ok(known)
        }
        (read, _) => read,
    }
}

impl From<SetupError> for NotReloaded {
    fn from(error: SetupError) -> NotReloaded {
        NotReloaded::Setup(error)
    }
}

impl fmt::Display for NotReloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotReloaded::NeedsRestart(key) => write!(f, "another {key} needs a restart"),
            NotReloaded::Setup(error) => error.fmt(f),
            NotReloaded::Unread(why) | NotReloaded::Delivery(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for NotReloaded {}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ports({:?})", self.addresses())
    }
}

/// Settings that take effect while the server runs: all of a table, or one key of it.
const FREE: [&str; 22] = [
    "listener",
    "certificate",
    "user",
    "submitter",
    "list",
    "dkim",
    "bounces",
    "reception.trusted",
    "reception.postmaster",
    "reception.abuse",
    "reception.complaints",
    "reception.repair",
    "reception.bounds",
    "reception.subscribers",
    "reception.hourly",
    "network.resolvers",
    "network.question",
    "network.sources",
    "network.loopback",
    "network.families",
    "network.roots",
    "network.grace",
];

/// Whether another value of the setting at `path`, such as `reception.sessions`, takes effect at a
/// start only.
pub fn needs_restart(path: &str) -> bool {
    let (table, _) = path.split_once('.').unwrap_or((path, ""));
    let is_free = if table == "mail" { path != "mail.hello" } else { FREE.contains(&table) };
    !is_free && !FREE.contains(&path)
}

/// A setting that is another one.
pub(crate) struct Change {
    pub(crate) path: String,
    /// What the log and the operator read of it.
    pub(crate) words: String,
}

/// What is another in `new` than in `old`.
pub(crate) fn changes(old: &Serving, new: &Serving) -> Vec<Change> {
    let (old, new) = (old.write_table(), new.write_table());
    let mut all = Vec::new();
    for (key, before, after) in pairs(&old, &new) {
        match (before, after) {
            (Value::Table(before), Value::Table(after)) => all
                .extend(pairs(before, after).map(|(inner, ..)| changed(format!("{key}.{inner}")))),
            (Value::List(before), Value::List(after)) => {
                let words = entries(key, before, after).into_iter();
                all.extend(words.map(|words| Change { path: key.to_owned(), words }));
            }
            _ => all.push(changed(key.to_owned())),
        }
    }
    all
}

fn changed(path: String) -> Change {
    Change { words: format!("{path} changed"), path }
}

/// The keys whose values are not the same: every key is in both tables.
fn pairs<'a>(
    old: &'a Table,
    new: &'a Table,
) -> impl Iterator<Item = (&'a str, &'a Value, &'a Value)> {
    let both = new.iter().filter_map(|(key, after)| Some((key, old.get(key)?, after)));
    both.filter(|(_, before, after)| before != after)
}

/// Which entries of a list of tables came, went, or are others by the same name.
fn entries(key: &str, before: &[Value], after: &[Value]) -> Vec<String> {
    let surplus = |of: &[Value], to: &[Value]| {
        let mut rest = to.to_vec();
        let mut unknown = of.to_vec();
        unknown.retain(|entry| {
            let known = rest.iter().position(|it| it == entry);
            known.map(|place| rest.swap_remove(place)).is_none()
        });
        unknown.iter().map(|entry| name(key, entry)).collect::<Vec<_>>()
    };
    let (gone, mut come) = (surplus(before, after), surplus(after, before));
    let words = gone.into_iter().map(|name| match come.iter().position(|it| *it == name) {
        Some(place) => format!("{key} {} changed", come.remove(place)),
        None => format!("{key} {name} removed"),
    });
    let mut words: Vec<_> = words.collect();
    words.extend(come.iter().map(|name| format!("{key} {name} added")));
    words
}

/// What an entry of a list of tables is known by.
fn name(key: &str, entry: &Value) -> String {
    let Value::Table(entry) = entry else { return entry.to_string() };
    let keys: &[&str] = match key {
        "list" => &["bounces"],
        "listener" => &["address"],
        "submitter" => &["networks"],
        "dkim" => &["selector", "domain"],
        _ => &["name"],
    };
    let texts = keys.iter().filter_map(|key| entry.get(key)).map(|value| match value {
        Value::Text(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(" of ")
}
