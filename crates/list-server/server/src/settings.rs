//! What a list server that is connected to the world is set to.

use sojourn_core::parameters::{Check, Refusal, Table, Value, defaults};
use sojourn_core::{Span, choices, nested, parameters};
use sojourn_mail_engine::{Config, OwnHosts};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

parameters! {
    /// A list server.
    pub struct Settings: "list server" {
        /// What it decides, and how. Its name, `mail.hello`, is the machine's unless it is set.
        pub mail: Config,
        /// How it reaches the world.
        pub network: Network = defaults(),
    }
}

impl Check for Settings {}

/// Sets what a file of settings may leave to the machine: its name.
pub fn complete(settings: &mut Table) {
    if settings.get("mail").is_none() {
        settings.set("mail", Value::Table(Table::default()));
    }
    if let Some(Value::Table(mail)) = settings.get_mut("mail")
        && mail.get("hello").is_none()
    {
        mail.set("hello", Value::Text(host_name()));
    }
}

/// The machine's name.
pub(crate) fn host_name() -> String {
    nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned()
}

parameters! {
    /// Network settings of a list server.
    pub struct Network: "network" {
        /// Port on which hosts accept mail.
        pub port: u16 = 25,
        /// Name servers. By default those of the system (resolv.conf).
        pub resolvers: Vec<SocketAddr> = Vec::new(),
        /// Time-out of one question to a name server, which is asked again meanwhile.
        pub question: Span = Span::from_s(5),
        /// Source addresses of connections, used in turn for their address family. By default the
        /// system chooses.
        pub sources: Vec<IpAddr> = Vec::new(),
        /// Whether a server that accepts mail may deliver to loopback addresses, so to other
        /// servers of its machine. It never delivers to itself.
        pub loopback: bool = false,
        /// Address families to use.
        pub families: Families = Families::Both,
        /// File of trusted certificates (PEM) for required TLS. By default those of the system.
        pub roots: Option<String>,
        /// Time in which open transactions may end when the server is stopped.
        pub grace: Span = Span::from_s(10),
    }
}

nested!(Network);

impl Network {
    /// What is the server itself, where it takes mail at these addresses.
    pub(crate) fn itself(&self, listening: Option<Vec<IpAddr>>) -> OwnHosts {
        let Some(mut addresses) = listening else { return OwnHosts::default() };
        let by_name = !addresses.is_empty();
        if !self.loopback {
            addresses.push(Ipv4Addr::UNSPECIFIED.into());
            addresses.push(Ipv6Addr::UNSPECIFIED.into());
        }
        OwnHosts { by_name, addresses }
    }
}

impl Check for Network {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key, given: &dyn std::fmt::Display, expected| {
            Err(Refusal::value(&Value::Text(given.to_string()), expected).under(key))
        };
        if self.port == 0 {
            return refuse("port", &self.port, "a port from 1 to 65535");
        }
        if let Some(none) = self.resolvers.iter().find(|server| server.port() == 0) {
            return refuse("resolvers", none, "a port from 1 to 65535");
        }
        if self.question < Span::from_ms(1) {
            return refuse("question", &self.question, "at least 1ms");
        }
        Ok(())
    }
}

choices! {
    /// Address families.
    pub enum Families: "choice of address families" {
        /// IPv4, then IPv6.
        Both = "both",
        /// IPv4 alone.
        V4 = "ipv4",
        /// IPv6 alone.
        V6 = "ipv6",
    }
}

impl Families {
    pub(crate) fn v4(self) -> bool {
        self != Families::V6
    }

    pub(crate) fn v6(self) -> bool {
        self != Families::V4
    }
}
