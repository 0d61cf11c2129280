//! What there is in an internet.

mod drawn;

pub use drawn::Drawn;

use crate::fault::FaultKind;
use crate::host as address;
use crate::host::Host;
use crate::names::{Mx, NamesKind};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Span, nested, parameters};
use std::collections::BTreeSet;

parameters! {
    /// A small internet.
    pub struct TestNetConfig: "internet" {
        /// Everything left to chance follows from it.
        pub seed: u64 = 1,
        /// The port of all mail servers; 0 for any that is free.
        pub smtp_port: u16 = 0,
        /// The port of the name server; 0 for any that is free.
        pub dns_port: u16 = 0,
        /// The second octet of the first host's address, 127.N.0.1; the next is 127.N.1.1.
        pub network: u8 = 64,
        /// How far away the name server is.
        pub dns_round_trip: Span = Span::from_ms(20),
        /// How long its answers hold, in whole seconds.
        pub ttl: Span = Span::from_s(300),
        /// Whether the texts of all messages are kept.
        pub keep_texts: bool = false,
        /// A world drawn at random.
        pub drawn: Option<Drawn>,
        /// Domains as they are written; they come after those that are drawn.
        pub domain: Vec<Domain> = Vec::new(),
    }
}

parameters! {
    /// A domain.
    pub struct Domain: "domain" {
        /// Its name.
        pub name: String,
        /// Its subscribers: `s0@name`, `s1@name` and so on.
        pub subscribers: u32 = 1,
        /// What the name servers say of it.
        pub names: NamesKind = NamesKind::Mx(defaults::<Mx>()),
        /// Its mail servers; one that is set to nothing else where none is written.
        pub host: Vec<Host> = vec![defaults::<Host>()],
    }
}

nested!(Drawn, Domain);

impl Check for TestNetConfig {
    fn check(&self) -> Result<(), Refusal> {
        let domains = self.domains();
        let mut known = BTreeSet::new();
        if let Some(twice) = domains.iter().find(|it| !known.insert(it.name.to_ascii_lowercase())) {
            let given = Value::Text(twice.name.clone());
            return Err(Refusal::value(&given, "domains of different names").under("domain"));
        }
        let all = domains.iter().flat_map(|it| &it.host);
        let at_v6 = all.filter(|host| host.ipv6).count();
        if at_v6 > 1 {
            let given = Value::Text(format!("{at_v6} hosts with ipv6"));
            return Err(Refusal::value(&given, "one at most: there is one address").under("domain"));
        }
        let hosts: usize = domains.iter().map(|it| it.host.len()).sum();
        if self.network == 0 || hosts > address::room(self.network) {
            let given = Value::Int(self.network.into());
            let expected = format!("1 to 255, with room for {hosts} hosts, 256 in each");
            return Err(Refusal::value(&given, expected).under("network"));
        }
        Ok(())
    }
}

impl Check for Domain {
    fn check(&self) -> Result<(), Refusal> {
        let labels = self.name.split('.');
        let fits = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if self.name.len() > 240 || !labels.into_iter().all(fits) {
            let given = Value::Text(self.name.clone());
            return Err(Refusal::value(&given, "the name of a domain").under("name"));
        }
        Ok(())
    }
}

/// What can be expected of a subscriber's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// It takes mail at once.
    Fast,
    /// It takes mail, and takes its time.
    Slow,
    /// It takes mail when it is tried again.
    Deferring,
    /// It takes no mail, or some of it, or only sometimes.
    Unreachable,
}

impl Class {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Class::Fast => "fast",
            Class::Slow => "slow",
            Class::Deferring => "deferring",
            Class::Unreachable => "unreachable",
        }
    }
}

/// A recipient to send to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// Where.
    pub address: String,
    /// What can be expected.
    pub class: Class,
}

impl TestNetConfig {
    /// All domains, those that are drawn first.
    pub fn domains(&self) -> Vec<Domain> {
        let drawn = self.drawn.iter().flat_map(|drawn| drawn.domains(self.seed));
        drawn.chain(self.domain.iter().cloned()).collect()
    }

    /// All subscribers in a random order: a list knows no domains.
    pub fn subscribers(&self) -> Vec<Subscriber> {
        let mut all = Vec::new();
        for domain in self.domains() {
            let class = domain.class();
            let address = |n| format!("s{n}@{}", domain.name);
            let people = (0..domain.subscribers).map(|n| Subscriber { address: address(n), class });
            all.extend(people);
        }
        drawn::shuffle(&mut all, self.seed, "subscribers");
        all
    }
}

impl Domain {
    /// What can be expected of it: the best of what its hosts promise.
    pub fn class(&self) -> Class {
        let names = match self.names {
            NamesKind::Mx(_) | NamesKind::AddressOnly(_) => Class::Fast,
            NamesKind::Slow(_) => Class::Slow,
            NamesKind::Servfail(ref it) if it.until.is_some() => Class::Deferring,
            NamesKind::Silent(ref it) if it.until.is_some() => Class::Deferring,
            _ => Class::Unreachable,
        };
        let hosts = self.host.iter().map(|host| match host.personality {
            FaultKind::Fast(_)
            | FaultKind::FewRecipients(_)
            | FaultKind::Busy(_)
            | FaultKind::OneMessage(_)
            | FaultKind::Old(_) => Class::Fast,
            FaultKind::Slow(_) => Class::Slow,
            FaultKind::Greylist(_) | FaultKind::Late(_) | FaultKind::AcceptThenReset(_) => {
                Class::Deferring
            }
            _ => Class::Unreachable,
        });
        names.max(hosts.min().unwrap_or(Class::Unreachable))
    }
}
