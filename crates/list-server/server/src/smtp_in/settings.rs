//! What a mail server is set to.

use super::submitters::{Program, Subnet, User, check_lists};
use crate::error::{SetupError, read};
use crate::hourly::HourlyBounds;
use crate::http::live::access::Live;
use crate::lists::signing::Dkim;
use crate::lists::unsubscribe::Unsubscribe;
use crate::settings::Network;
use sojourn_core::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_core::units::Bytes;
use sojourn_core::{Span, nested, parameters};
use sojourn_mail_engine::Config;
use sojourn_mail_engine::bounce::Rule;
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::{LOCAL_MAX, form};
use sojourn_smtp::Address;
use sojourn_smtp::server::{AuthUse, Bounds, Protocol};
use std::fmt::Display;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

parameters! {
    /// A list server that accepts mail from other programs and delivers it.
    pub struct Serving: "mail server" {
        /// Database of accepted messages until they are delivered.
        pub spool: String,
        /// File of the log. By default standard output. A new file is readable by its user only.
        pub log: Option<String>,
        /// Settings of delivery.
        pub mail: Config,
        /// Settings of the network.
        pub network: Network = defaults(),
        /// Who may send mail, and how much.
        pub reception: Rules = defaults(),
        /// Addresses and ports at which the server listens.
        pub listener: Vec<Listener>,
        /// Certificate for TLS. Without it there is no TLS.
        pub certificate: Option<Certificate>,
        /// Users who may send with a password.
        pub user: Vec<User> = Vec::new(),
        /// Programs that may send without a password, and what they may send.
        pub submitter: Vec<Program> = Vec::new(),
        /// Lists whose bounces this server handles.
        pub list: Vec<List> = Vec::new(),
        /// DKIM keys that sign the lists' mail.
        pub dkim: Vec<Dkim> = Vec::new(),
        /// Rules for suspending subscribers.
        pub bounces: Rule = defaults(),
        /// Endpoint at which recipients unsubscribe with one click. By default there is none.
        pub unsubscribe: Option<Unsubscribe>,
        /// Live page. By default there is none; `[live]` alone is enough to enable it.
        pub live: Option<Live>,
    }
}

parameters! {
    /// Who may send mail, and how much.
    pub struct Rules: "reception" {
        /// Networks that may send from any address and to every list, without a password. From
        /// other clients the server accepts only mail to the lists' return paths.
        pub trusted: Vec<Subnet> = Vec::new(),
        /// User as which the server runs after it has opened its ports and read its keys.
        pub run_as: Option<String>,
        /// Address that gets mail for `postmaster`, and for `postmaster` of each list's domain (RFC
        /// 5321 section 4.5.1). A server with lists needs it.
        pub postmaster: Option<Address>,
        /// Address that gets mail for `abuse` of each list's domain (RFC 2142 section 2). By
        /// default the postmaster.
        pub abuse: Option<Address>,
        /// Address to which providers send complaints of their users (feedback loops, RFC 6449), in
        /// a list's domain. A complaint with a copy's return path or unsubscribe link unsubscribes
        /// its recipient. Other mail to the address goes to abuse.
        pub complaints: Option<Address>,
        /// Maximum simultaneous sessions, without those that have yet to log in. At the limit, an
        /// idle session gives way to a new one (421), first one of the network with the most
        /// sessions. If there is none, or the new client's network has more, the new one is asked
        /// to try again later. From half of them on, the limits of a session shrink to
        /// `bounds.stressed`. (Postfix: default_process_limit, 100.)
        pub sessions: NonZeroU32 = NonZeroU32::new(200).expect("above 0"),
        /// Sessions of these for clients that may not send without a password. The rest is for
        /// trusted clients and for users that have logged in. Ports for submission have the same
        /// number again for clients that have yet to log in, and once more for those at an address
        /// from which a user has logged in before.
        pub strangers: NonZeroU32 = NonZeroU32::new(50).expect("above 0"),
        /// Maximum sessions of unknown clients from one network of 24 bits of IPv4, or 48 bits of
        /// IPv6, which one subscriber of a provider commonly has at most.
        pub neighbours: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Maximum sessions of these from one client: an address, or a network of 64 bits of IPv6.
        /// (Postfix: smtpd_client_connection_count_limit, half of all.)
        pub stranger: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
        /// Maximum trusted sessions from one network of `trusted` or of a submitter.
        pub network: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Memory for messages of all sessions, from their first octet until they are confirmed.
        /// Unknown clients have one half of it. Clients that need more are asked to try again later
        /// (452). It has to hold four of the largest messages.
        pub memory: Bytes = Bytes(200_000_000),
        /// Maximum known subscribers of all lists together. Mail for further ones is deferred
        /// (452). One subscriber takes about 100 octets of the disk.
        pub subscribers: NonZeroU32 = NonZeroU32::new(10_000_000).expect("above 0"),
        /// Whether a single CR or LF in a message of a trusted client becomes a line end, because
        /// some programs that use Python's smtplib send such lines. Otherwise, and in messages of
        /// all other clients, it is refused.
        pub repair: bool = true,
        /// Limits of one session.
        pub bounds: Bounds = defaults(),
        /// Hourly limits of what clients may make the server send or store.
        pub hourly: HourlyBounds = defaults(),
        /// Time in which incoming messages may end when the server is stopped.
        pub grace: Span = Span::from_s(10),
    }
}

parameters! {
    /// A port at which the server accepts mail.
    pub struct Listener: "listener" {
        /// Address and port.
        pub address: SocketAddr,
        /// Protocol.
        pub protocol: Protocol = Protocol::Smtp,
        /// Whether TLS starts at once (RFC 8314). Otherwise STARTTLS is offered if there is a
        /// certificate. Such a port, and port 587, is for submission: untrusted clients have to log
        /// in soon, and do not compete with unknown clients at other ports.
        pub implicit_tls: bool = false,
        /// When a password is required.
        pub auth: AuthUse = AuthUse::Tls,
    }
}

parameters! {
    /// Certificate and key, as PEM files.
    pub struct Certificate: "certificate" {
        /// The certificate, and those up to a root.
        pub chain: String,
        /// The private key.
        pub key: String,
    }
}

nested!(Rules, Listener, Certificate);

impl Check for Rules {
    fn check(&self) -> Result<(), Refusal> {
        let too_many = |key: &str, given: NonZeroU32, expected: &str| {
            Err(Refusal::value(&Value::Int(given.get().into()), expected).under(key))
        };
        if self.strangers >= self.sessions {
            let expected = "fewer than reception.sessions: the trusted have the rest";
            return too_many("strangers", self.strangers, expected);
        }
        if self.neighbours > self.strangers {
            let expected = "at most reception.strangers, of which these are";
            return too_many("neighbours", self.neighbours, expected);
        }
        if self.stranger > self.neighbours {
            let expected = "at most reception.neighbours, of which these are";
            return too_many("stranger", self.stranger, expected);
        }
        if self.memory.0 < self.bounds.message.0.saturating_mul(2) {
            let expected = "at least twice bounds.message: strangers, who return whole messages, \
                            have half of it";
            return Err(Refusal::of(&self.memory, expected).under("memory"));
        }
        Ok(())
    }
}

impl Check for Listener {}

impl Listener {
    /// Whether it is for submission: at the port for that (RFC 6409 section 3.1), or under TLS from
    /// the beginning (RFC 8314), as no other SMTP is.
    pub(crate) fn is_for_submission(&self) -> bool {
        self.protocol == Protocol::Smtp && (self.implicit_tls || self.address.port() == 587)
    }
}

impl Check for Certificate {}

impl Check for Serving {
    fn check(&self) -> Result<(), Refusal> {
        self.check_listeners()?;
        self.check_senders()?;
        self.check_return_paths()?;
        let readers =
            [("postmaster", &self.reception.postmaster), ("abuse", &self.reception.abuse)];
        for (key, reader) in readers {
            self.is_elsewhere(reader).map_err(|it| it.under(key).under("reception"))?;
        }
        self.check_leaving()?;
        self.check_complaints()?;
        for (i, list) in self.list.iter().enumerate() {
            let here = |refusal: Refusal| refusal.under("reader").among(i).under("list");
            self.is_elsewhere(&list.reader).map_err(here)?;
        }
        if !self.list.is_empty() && self.reception.postmaster.is_none() {
            let expected = "who reads mail for postmaster and abuse of the lists' domains";
            return Err(Refusal::missing("postmaster", expected).under("reception"));
        }
        Ok(())
    }
}

impl Serving {
    /// There is a listener, and a certificate where TLS is spoken.
    fn check_listeners(&self) -> Result<(), Refusal> {
        if self.listener.is_empty() {
            return Err(Refusal::missing("listener", "at least one"));
        }
        if self.certificate.is_none()
            && let Some(bare) = self.listener.iter().find(|it| it.implicit_tls)
        {
            let expected = format!("what {} is to show under TLS", bare.address);
            return Err(Refusal::missing("certificate", expected));
        }
        if self.unsubscribe.as_ref().is_some_and(|it| it.tls) && self.certificate.is_none() {
            let expected = "what [unsubscribe] is to show under TLS, or unsubscribe.tls = false";
            return Err(Refusal::missing("certificate", expected));
        }
        Ok(())
    }

    /// A network, a user or a program may send, each user has a name, and no program more than the
    /// network that it is in.
    fn check_senders(&self) -> Result<(), Refusal> {
        let submitters = self.user.len() + self.submitter.len();
        if self.reception.trusted.is_empty() && submitters == 0 {
            let missing = Refusal::missing("trusted", "a network, or a user: who may send?");
            return Err(missing.under("reception"));
        }
        for (i, user) in self.user.iter().enumerate() {
            if self.user[..i].iter().any(|other| other.name == user.name) {
                let given = Value::Text(user.name.clone());
                let refusal = Refusal::value(&given, "each name once").under("name");
                return Err(refusal.among(i).under("user"));
            }
            check_lists(&user.lists, &self.list).map_err(|it| it.among(i).under("user"))?;
        }
        for (i, program) in self.submitter.iter().enumerate() {
            let here = |refusal: Refusal| refusal.among(i).under("submitter");
            check_lists(&program.lists, &self.list).map_err(here)?;
            let trusted = |net: &Subnet| self.reception.trusted.iter().any(|it| it.covers(*net));
            if let Some(j) = program.networks.iter().position(trusted) {
                let given = program.networks[j].write().expect("a network is a text");
                let expected = "a network outside of reception.trusted, which may send everything";
                return Err(here(Refusal::value(&given, expected).under("networks")));
            }
        }
        Ok(())
    }

    /// No two lists have one return path, and a probe's token fits behind each.
    fn check_return_paths(&self) -> Result<(), Refusal> {
        for (i, list) in self.list.iter().enumerate() {
            if self.bounces.probe && list.bounces.local().len() > LOCAL_MAX {
                let expected = format!(
                    "at most {LOCAL_MAX} octets before the @, as a probe's token follows, or \
                     bounces.probe = false"
                );
                let refusal = Refusal::of(&list.bounces, expected).under("bounces");
                return Err(refusal.among(i).under("list"));
            }
            let same = |other: &List| reads(&other.bounces, &list.bounces);
            if self.list.iter().enumerate().any(|(j, other)| i != j && same(other)) {
                let expected = "a return path that is not another list's, with or without a +";
                let refusal = Refusal::of(&list.bounces, expected).under("bounces");
                return Err(refusal.among(i).under("list"));
            }
        }
        Ok(())
    }

    /// The address for leaving a list is nothing else's.
    fn check_leaving(&self) -> Result<(), Refusal> {
        for (i, list) in self.list.iter().enumerate() {
            let Some(leave) = &list.leave else { continue };
            let others = self.list.iter().enumerate().filter(|(j, _)| i != *j);
            let leaves = others.filter_map(|(_, other)| other.leave.as_ref());
            let role =
                ["postmaster", "abuse"].iter().any(|it| leave.name().eq_ignore_ascii_case(it));
            let mut all = self.list.iter().map(|it| &it.bounces).chain(leaves);
            if role || all.any(|it| reads(it, leave) || reads(leave, it)) {
                let expected = "an address of the list's own that is no return path and no role";
                let refusal = Refusal::of(leave, expected).under("leave");
                return Err(refusal.among(i).under("list"));
            }
        }
        Ok(())
    }

    /// The address for complaints is of a list's domain, and nothing else's.
    fn check_complaints(&self) -> Result<(), Refusal> {
        let Some(complaints) = &self.reception.complaints else { return Ok(()) };
        let leaves = self.list.iter().filter_map(|it| it.leave.as_ref());
        let mut all = self.list.iter().map(|it| &it.bounces).chain(leaves);
        let is_ours = all.clone().any(|it| it.domain() == complaints.domain());
        let is_role =
            ["postmaster", "abuse"].iter().any(|it| complaints.name().eq_ignore_ascii_case(it));
        if !is_ours || is_role || all.any(|it| reads(it, complaints) || reads(complaints, it)) {
            let expected = "an address of a list's domain that is no return path and no role";
            return Err(Refusal::of(complaints, expected).under("complaints").under("reception"));
        }
        Ok(())
    }

    /// Refuses a reader whose mail would come back.
    fn is_elsewhere(&self, reader: &Option<Address>) -> Result<(), Refusal> {
        let here = |it: &Address| self.list.iter().any(|list| list.bounces.domain() == it.domain());
        let Some(reader) = reader.as_ref().filter(|it| here(it)) else { return Ok(()) };
        let expected = "an address of another domain than the lists', where it would come back";
        Err(Refusal::of(reader, expected))
    }
}

/// Whether mail to `address` could be taken for mail to `back`, or for a subscriber's bounce.
fn reads(back: &Address, address: &Address) -> bool {
    let named = format!("{}+x=y", address.name());
    let named = Address::of(&named, address.domain()).unwrap_or_else(|_| address.clone());
    form(back, address).is_some() || form(back, &named).is_some()
}

/// Reads certificate and key; what they say is in no message.
pub(crate) fn acceptor(certificate: &Certificate) -> Result<TlsAcceptor, SetupError> {
    let (chain, key) = (Path::new(&certificate.chain), Path::new(&certificate.key));
    let bad = |path: &Path, why: &dyn Display| SetupError::Key {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let certificates = CertificateDer::pem_slice_iter(&read(chain)?).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| bad(chain, &error))?;
    if certificates.is_empty() {
        return Err(bad(chain, &"it has no certificate"));
    }
    let private = PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| bad(key, &error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(chain, &error))?
        .with_no_client_auth()
        .with_single_cert(certificates, private)
        .map_err(|error| bad(key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
