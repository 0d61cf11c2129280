//! Where the mail of a domain goes: its name servers are asked (RFC 5321 section 5.1).

use crate::settings::{Families, Network};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use sojourn_core::Span;
use sojourn_mail_engine::{Answer, MailHost};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Asks where mail goes. What was answered is remembered as long as the name servers allow.
#[derive(Debug)]
pub(crate) struct Names {
    resolver: TokioResolver,
    families: Families,
    /// Domains that may be looked up at a time; the others wait in turn.
    domains: Semaphore,
    /// Questions that may be open at a time, some forty for a domain at most: each has a socket.
    questions: Semaphore,
}

const DOMAINS: usize = 512;
pub(crate) const QUESTIONS: usize = 512;
/// Whatever name servers say, nothing holds longer.
const LONGEST: Duration = Duration::from_secs(86_400);
/// So many mail hosts of a domain are asked for, the best, and so many addresses of each family are
/// kept of each: a domain may name thousands, and each would be two questions.
const EXCHANGES: usize = 20;
const ADDRESSES: usize = 20;
/// How long an answer holds of which a part is missing.
const PARTIAL: Duration = Duration::from_secs(60);

/// What was found out about the addresses of one host.
enum Found {
    Addresses(Vec<IpAddr>, Instant),
    /// The name does not exist, or has none; whether the former.
    Nothing {
        no_such_name: bool,
    },
    Failed(String),
}

impl Names {
    /// With the resolvers of `network`, or those of the system.
    pub(crate) fn new(network: &Network) -> Result<Names, NetError> {
        let mut builder = if network.resolvers.is_empty() {
            TokioResolver::builder_tokio()?
        } else {
            let servers = network.resolvers.iter().map(|&server| name_server(server)).collect();
            let config = ResolverConfig::from_parts(None, Vec::new(), servers);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        };
        let options: &mut ResolverOpts = builder.options_mut();
        options.use_hosts_file = ResolveHosts::Never;
        options.timeout = Duration::from_nanos(network.question.ps() / 1000);
        options.attempts = 1;
        options.preserve_intermediates = false;
        options.positive_max_ttl = Some(LONGEST);
        options.negative_max_ttl = Some(PARTIAL);
        let resolver = builder.build()?;
        let [domains, questions] = [DOMAINS, QUESTIONS].map(Semaphore::new);
        Ok(Names { resolver, families: network.families, domains, questions })
    }

    /// Where the mail of `domain` goes.
    pub(crate) async fn look_up(&self, domain: &str) -> Answer {
        let _turn = self.domains.acquire().await;
        let Some(name) = absolute(domain) else { return Answer::NoSuchDomain };
        match self.ask(name.clone(), RecordType::MX).await {
            Ok(answer) => {
                let exchanges = answer.answers().iter().filter_map(|record| match &record.data {
                    RData::MX(mx) => Some((mx.preference, mx.exchange.clone())),
                    _ => None,
                });
                let exchanges: Vec<_> = exchanges.collect();
                match &exchanges[..] {
                    [] => self.own_addresses(domain, name).await,
                    [(_, exchange)] if exchange.is_root() => Answer::NoMail,
                    _ => self.exchanges(exchanges, answer.valid_until()).await,
                }
            }
            Err(error) => match negative(&error) {
                Some(ResponseCode::NXDomain) => Answer::NoSuchDomain,
                Some(ResponseCode::NoError) => self.own_addresses(domain, name).await,
                _ => Answer::Failed(said(&error)),
            },
        }
    }

    /// A domain without MX records is its own mail host (section 5.1).
    async fn own_addresses(&self, domain: &str, name: Name) -> Answer {
        match self.addresses(name).await {
            Found::Addresses(addresses, until) => {
                let host = MailHost { name: domain.into(), preference: 0, addresses };
                Answer::Hosts { hosts: vec![host], lifetime: left(until) }
            }
            Found::Nothing { no_such_name: true } => Answer::NoSuchDomain,
            Found::Nothing { .. } => Answer::NoMail,
            Found::Failed(why) => Answer::Failed(why),
        }
    }

    async fn ask(&self, name: Name, kind: RecordType) -> Result<Lookup, NetError> {
        let _socket = self.questions.acquire().await;
        self.resolver.lookup(name, kind).await
    }

    async fn exchanges(&self, exchanges: Vec<(u16, Name)>, mut until: Instant) -> Answer {
        let named = exchanges.len();
        let asked = best(exchanges).into_iter().map(|(preference, exchange)| async move {
            let text = exchange.to_utf8();
            let name = text.trim_end_matches('.').into();
            (preference, name, self.addresses(exchange).await)
        });
        let (mut hosts, mut failed) = (Vec::new(), None);
        for (preference, name, found) in futures_util::future::join_all(asked).await {
            match found {
                Found::Addresses(addresses, at) => {
                    hosts.push(MailHost { name, preference, addresses });
                    until = until.min(at);
                }
                Found::Nothing { .. } => {}
                // It still stands before those that are less preferred.
                Found::Failed(why) => {
                    hosts.push(MailHost { name, preference, addresses: Vec::new() });
                    failed = Some(why);
                }
            }
        }
        match failed {
            Some(why) if hosts.iter().all(|it| it.addresses.is_empty()) => Answer::Failed(why),
            Some(_) => Answer::Hosts { hosts, lifetime: left(until.min(Instant::now() + PARTIAL)) },
            None if hosts.is_empty() && named > EXCHANGES => {
                Answer::Failed(format!("none of the best {EXCHANGES} mail hosts has an address"))
            }
            None if hosts.is_empty() => Answer::NoMail,
            None => Answer::Hosts { hosts, lifetime: left(until) },
        }
    }

    async fn addresses(&self, name: Name) -> Found {
        let ask = async |wanted: bool, kind| match wanted {
            true => Some(self.ask(name.clone(), kind).await),
            false => None,
        };
        let (v4, v6) = tokio::join!(
            ask(self.families.v4(), RecordType::A),
            ask(self.families.v6(), RecordType::AAAA)
        );
        let (mut addresses, mut until) = (Vec::new(), Instant::now() + LONGEST);
        let (mut no_such_name, mut failed) = (false, None);
        for answer in [v4, v6].into_iter().flatten() {
            match answer {
                Ok(answer) => {
                    until = until.min(answer.valid_until());
                    let given = answer.answers().iter().filter_map(|record| match &record.data {
                        RData::A(a) => Some(IpAddr::V4(a.0)),
                        RData::AAAA(aaaa) => Some(IpAddr::V6(aaaa.0)),
                        _ => None,
                    });
                    addresses.extend(given.take(ADDRESSES));
                }
                Err(error) => match negative(&error) {
                    Some(ResponseCode::NXDomain) => no_such_name = true,
                    Some(ResponseCode::NoError) => {}
                    _ => failed = Some(said(&error)),
                },
            }
        }
        match failed {
            _ if !addresses.is_empty() => Found::Addresses(addresses, until),
            Some(why) => Found::Failed(why),
            None => Found::Nothing { no_such_name },
        }
    }
}

/// Those that are asked for: the most preferred, and of equals those that were named first.
fn best(mut exchanges: Vec<(u16, Name)>) -> Vec<(u16, Name)> {
    exchanges.sort_by_key(|(preference, _)| *preference);
    exchanges.truncate(EXCHANGES);
    exchanges
}

fn name_server(server: SocketAddr) -> NameServerConfig {
    let on_port = |mut connection: ConnectionConfig| {
        connection.port = server.port();
        connection
    };
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(on_port);
    NameServerConfig::new(server.ip(), true, connections.to_vec())
}

/// The domain as a name that no search list is tried on; nothing when it cannot be one.
fn absolute(domain: &str) -> Option<Name> {
    let mut name = Name::from_utf8(domain).ok()?;
    name.set_fqdn(true);
    Some(name)
}

/// The code of an answer that there is nothing.
fn negative(error: &NetError) -> Option<ResponseCode> {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(nothing)) => Some(nothing.response_code),
        _ => None,
    }
}

fn said(error: &NetError) -> String {
    let code = match error {
        NetError::Dns(DnsError::ResponseCode(code)) => Some(*code),
        _ => negative(error),
    };
    match (code, error) {
        (Some(code), _) => format!("the name servers answer: {code}"),
        (_, NetError::Timeout) => "the name servers do not answer".into(),
        _ => format!("the name servers cannot be asked: {error}"),
    }
}

fn left(until: Instant) -> Span {
    Span::from_seconds(until.saturating_duration_since(Instant::now()).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;
    use std::net::UdpSocket;

    const MX: u8 = 15;

    /// A question as it came, and who asked.
    struct Question(Vec<u8>, SocketAddr);

    impl Question {
        /// The next one on `wire`.
        fn next(wire: &UdpSocket) -> Question {
            let mut octets = [0; 512];
            let (_, asker) = wire.recv_from(&mut octets).unwrap();
            let root = octets[12..].iter().position(|octet| *octet == 0).unwrap();
            Question(octets[..12 + root + 5].to_vec(), asker)
        }

        fn is_mx(&self) -> bool {
            self.0[self.0.len() - 3] == MX
        }

        /// Answers (RFC 1035 section 4.1): so many mail hosts, or that there is nothing.
        fn answer(self, wire: &UdpSocket, hosts: u8) {
            let Question(mut answer, asker) = self;
            answer[2..12].copy_from_slice(&[0x85, 0x80, 0, 1, 0, hosts, 0, 0, 0, 0]);
            for host in 0..hosts {
                // Of the name that was asked for: MX, IN, 60 s, 8 octets, preference, name.
                answer.extend([0xc0, 12, 0, MX, 0, 1, 0, 0, 0, 60, 0, 8, 0, host]);
                answer.extend([3, b'h', b'a' + host / 10, b'0' + host % 10, 0xc0, 12]);
            }
            wire.send_to(&answer, asker).unwrap();
        }
    }

    /// What asks the name server on the socket that comes with it.
    fn asking() -> (Names, UdpSocket) {
        let wire = UdpSocket::bind("127.0.0.1:0").unwrap();
        let resolvers = vec![wire.local_addr().unwrap()];
        let network = Network { resolvers, ..defaults() };
        (Names::new(&network).unwrap(), wire)
    }

    #[tokio::test]
    async fn hosts_that_nobody_asked_for_may_have_addresses() {
        for (hosts, expected) in [
            (20, Answer::NoMail),
            (21, Answer::Failed("none of the best 20 mail hosts has an address".into())),
        ] {
            let (names, wire) = asking();
            std::thread::spawn(move || {
                loop {
                    let question = Question::next(&wire);
                    let hosts = if question.is_mx() { hosts } else { 0 };
                    question.answer(&wire, hosts);
                }
            });
            assert_eq!(names.look_up("there.example").await, expected);
        }
    }

    #[test]
    fn the_best_of_too_many_hosts_are_asked_for() {
        let hosts =
            (0..3000).map(|n| (n % 300, Name::from_ascii(format!("h{n}.example.")).unwrap()));
        let asked: Vec<String> =
            best(hosts.collect()).iter().map(|(_, name)| name.to_ascii()).collect();
        let expected = (0..2).flat_map(|preference| (0..10).map(move |i| preference + 300 * i));
        let expected: Vec<String> = expected.map(|n| format!("h{n}.example.")).collect();
        assert_eq!(asked, expected);
    }
}
