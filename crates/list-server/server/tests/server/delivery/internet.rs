//! A small internet around a server.

use crate::delivery::world::{Server, set, start_on};
use sojourn_core::Span;
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_testnet::fault::FaultKind;
use sojourn_testnet::names::NamesKind;
use sojourn_testnet::{Acceptance, Domain, Host, TestNet, TestNetConfig, Tls};
use std::path::PathBuf;

/// A host that is 2 ms away; `settings` are those of its personality.
pub(crate) fn host(personality: &str, settings: &[(&str, Value)]) -> Host {
    let mut table = Table::default();
    table.set("kind", Value::Text(personality.into()));
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    let personality = FaultKind::read(&Value::Table(table)).unwrap();
    Host { personality, round_trip: Span::from_ms(2), ..defaults() }
}

pub(crate) fn fast() -> Host {
    host("fast", &[])
}

pub(crate) fn with_tls(tls: Tls) -> Host {
    Host { tls, ..fast() }
}

pub(crate) fn text(value: &str) -> Value {
    Value::Text(value.into())
}

/// What is in the world, and what the server is set to.
pub(crate) struct Net {
    world: TestNetConfig,
    pub(crate) settings: Table,
    folder: tempfile::TempDir,
}

/// A world that runs.
pub(crate) struct Alive<'a> {
    net: &'a Net,
    internet: TestNet,
}

impl Net {
    pub(crate) fn new() -> Net {
        let mut settings = Table::default();
        set(&mut settings, "mail", "hello", text("lists.example"));
        let world =
            TestNetConfig { keep_texts: true, dns_round_trip: Span::from_ms(2), ..defaults() };
        Net { world, settings, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn set(mut self, table: &str, key: &str, value: Value) -> Net {
        set(&mut self.settings, table, key, value);
        self
    }

    /// Whoever is refused for now comes back after a second.
    pub(crate) fn retry_soon(self) -> Net {
        let mut retry = Table::default();
        retry.set("kind", text("fixed"));
        retry.set("every", text("1s"));
        self.set("mail", "retry", Value::Table(retry))
    }

    pub(crate) fn domain(mut self, name: &str, hosts: Vec<Host>) -> Net {
        let mut table = Table::default();
        table.set("name", text(name));
        let domain = Domain::read_table(&table).unwrap();
        self.world.domain.push(Domain { host: hosts, ..domain });
        self
    }

    /// What the name servers say of the last domain.
    pub(crate) fn names(mut self, kind: &str) -> Net {
        self.world.domain.last_mut().unwrap().names = NamesKind::read(&text(kind)).unwrap();
        self
    }

    pub(crate) fn start(&self) -> Alive<'_> {
        Alive { net: self, internet: TestNet::start(&self.world).unwrap() }
    }
}

impl Alive<'_> {
    /// A server on this world's spool.
    pub(crate) fn serve(&self) -> Server {
        self.serve_with(&[]).unwrap()
    }

    /// The same with more settings of `network`; or why there is none.
    pub(crate) fn serve_with(&self, more: &[(&str, Value)]) -> Result<Server, String> {
        let mut settings = self.net.settings.clone();
        let resolver = text(&self.internet.resolver().to_string());
        set(&mut settings, "network", "resolvers", Value::List(vec![resolver]));
        set(&mut settings, "network", "port", Value::Int(self.internet.smtp_port().into()));
        for (key, value) in more {
            set(&mut settings, "network", key, value.clone());
        }
        start_on(&settings, &self.spool())
    }

    pub(crate) fn spool(&self) -> PathBuf {
        self.net.folder.path().join("spool")
    }

    /// A file with the certificate that all good ones follow from.
    pub(crate) fn roots(&self) -> PathBuf {
        let path = self.net.folder.path().join("roots.pem");
        std::fs::write(&path, self.internet.authority()).unwrap();
        path
    }

    pub(crate) fn accepted(&self) -> Vec<Acceptance> {
        self.internet.accepted_since(0)
    }

    /// Who has it, in order.
    pub(crate) fn recipients(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.accepted().iter().map(|it| it.recipient.to_string()).collect();
        all.sort();
        all
    }
}
