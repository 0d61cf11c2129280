//! A server, hosts, and what they have seen of each other.

use crate::delivery::sink::{self, Log, Manners, Taken};
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::{
    DeliveryServer, Mail, Observer, ServerEvent, ServerHandle, Settings, StopReport,
};
use sojourn_mail_engine::{MessageId, Outcome};
use sojourn_smtp::Address;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// What an observer of delivery was called with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Attempt { recipient: String, outcome: Outcome, reason: String },
    Finished(MessageId),
    HostDown(IpAddr),
    DomainDown(String),
    Trouble(String),
}

struct Ear(mpsc::Sender<Told>);

impl Observer for Ear {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        let told = match event {
            ServerEvent::Attempt { recipient, outcome, reason, .. } => Told::Attempt {
                recipient: recipient.to_string(),
                outcome: *outcome,
                reason: reason.to_string(),
            },
            ServerEvent::Finished { message } => Told::Finished(*message),
            ServerEvent::HostDown(host, ..) => Told::HostDown(*host),
            ServerEvent::DomainDown(domain, ..) => Told::DomainDown((*domain).into()),
            ServerEvent::Trouble(what) => Told::Trouble((*what).into()),
            _ => return,
        };
        let _ = self.0.send(told);
    }
}

/// Hosts on one port of their own.
pub(crate) struct World {
    runtime: Runtime,
    port: u16,
    first: Option<std::net::TcpListener>,
    log: Log,
    folder: tempfile::TempDir,
    pub(crate) settings: Table,
}

impl World {
    pub(crate) fn new() -> World {
        // Whoever has this address has the port on all others.
        let first = std::net::TcpListener::bind("127.0.0.2:0").unwrap();
        let port = first.local_addr().unwrap().port();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let mut world = World {
            runtime,
            port,
            first: Some(first),
            log: Log::default(),
            folder: tempfile::tempdir().unwrap(),
            settings: Table::default(),
        };
        world.set("mail", "hello", Value::Text("lists.example".into()));
        world.set("network", "port", Value::Int(port.into()));
        // Nobody is asked where literals are.
        world.set("network", "resolvers", Value::List(vec![Value::Text("127.0.0.1:9".into())]));
        world
    }

    pub(crate) fn set(&mut self, table: &str, key: &str, value: Value) {
        set(&mut self.settings, table, key, value);
    }

    /// A host at `address`.
    pub(crate) fn host(&mut self, address: &str, manners: Manners) {
        let address = SocketAddr::new(address.parse().unwrap(), self.port);
        let listener = match self.first.take() {
            Some(first) if first.local_addr().unwrap() == address => first,
            other => {
                self.first = other;
                std::net::TcpListener::bind(address).unwrap()
            }
        };
        listener.set_nonblocking(true).unwrap();
        let _inside = self.runtime.enter();
        let listener = TcpListener::from_std(listener).unwrap();
        self.runtime.spawn(sink::serve(listener, manners, self.log.clone()));
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.folder.path().join("spool")
    }

    pub(crate) fn start(&self) -> Server {
        start_on(&self.settings, &self.spool()).unwrap()
    }

    pub(crate) fn taken(&self) -> Vec<Taken> {
        self.log.all()
    }

    /// Waits until so many messages have come.
    pub(crate) fn wait_for(&self, many: usize) {
        self.log.wait_for(many, LONG);
    }
}

/// Sets one setting of a table.
pub(crate) fn set(settings: &mut Table, table: &str, key: &str, value: Value) {
    if settings.get(table).is_none() {
        settings.set(table, Value::Table(Table::default()));
    }
    let Some(Value::Table(inner)) = settings.get_mut(table) else { unreachable!() };
    inner.set(key, value);
}

/// A server on a spool; or why there is none.
pub(crate) fn start_on(settings: &Table, spool: &Path) -> Result<Server, String> {
    let settings = Settings::read_table(settings).unwrap();
    let (ear, told) = mpsc::channel();
    let started = DeliveryServer::start(settings, spool, Ear(ear));
    let (delivery, running) = started.map_err(|error| error.to_string())?;
    Ok(Server { delivery, running, told })
}

/// What came of whom, attempt by attempt.
pub(crate) fn outcomes(told: &[Told]) -> Vec<(&str, Outcome)> {
    told.iter()
        .filter_map(|told| match told {
            Told::Attempt { recipient, outcome, .. } => Some((recipient.as_str(), *outcome)),
            _ => None,
        })
        .collect()
}

impl Told {
    pub(crate) fn is_attempt(&self, whom: &str, what: Outcome) -> bool {
        matches!(self, Told::Attempt { recipient, outcome, .. }
            if recipient == whom && *outcome == what)
    }
}

/// A server that runs.
pub(crate) struct Server {
    pub(crate) delivery: DeliveryServer,
    running: ServerHandle,
    told: mpsc::Receiver<Told>,
}

/// No test waits longer for anything.
const LONG: std::time::Duration = std::time::Duration::from_secs(60);

impl Server {
    pub(crate) fn submit(&self, recipients: &[&str], text: &str) -> MessageId {
        let recipients: Vec<Address> = recipients.iter().map(|it| it.parse().unwrap()).collect();
        let sender = Some("owner@lists.example".parse().unwrap());
        self.delivery.submit_blocking(Mail::new(sender, recipients, text.as_bytes())).unwrap()
    }

    /// All that is told until the message is finished, its end not included.
    pub(crate) fn until_finished(&self, message: MessageId) -> Vec<Told> {
        self.until(|told| *told == Told::Finished(message))
    }

    pub(crate) fn next(&self) -> Told {
        self.told.recv_timeout(LONG).expect("something happens")
    }

    /// All that is told until `end`, which is not included.
    pub(crate) fn until(&self, end: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut all = Vec::new();
        loop {
            let told = self.told.recv_timeout(LONG).unwrap_or_else(|_| panic!("so far {all:?}"));
            if end(&told) {
                return all;
            }
            all.push(told);
        }
    }

    pub(crate) fn stop(self) -> StopReport {
        self.running.stop()
    }
}
