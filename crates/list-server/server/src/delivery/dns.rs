//! Where the mail of a domain goes: its name servers are asked (RFC 5321 section 5.1).

use crate::settings::{Families, Network};
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts,
};
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
/// Aliases (CNAME) that are followed from a name. More are a loop, or as good as one.
const ALIASES: usize = 8;
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
            Ok((records, until)) => {
                let exchanges = records.into_iter().filter_map(|record| match record {
                    RData::MX(mx) => Some((mx.preference, mx.exchange)),
                    _ => None,
                });
                let exchanges: Vec<_> = exchanges.collect();
                match &exchanges[..] {
                    [] => self.own_addresses(domain, name).await,
                    [(_, exchange)] if exchange.is_root() => Answer::NoMail,
                    _ => self.exchanges(exchanges, until).await,
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

    /// The records of `name`, or of what it is an alias for, and until when they hold. Records of
    /// other names in the answer are not taken: anyone may put them there.
    async fn ask(
        &self,
        mut name: Name,
        kind: RecordType,
    ) -> Result<(Vec<RData>, Instant), NetError> {
        for _ in 0..ALIASES {
            let (own, until) = self.ask_once(&name, kind).await?;
            if !own.is_empty() {
                return Ok((own, until));
            }
            let Some(target) = self.alias(&name).await else { break };
            name = target;
        }
        Ok((Vec::new(), Instant::now() + PARTIAL))
    }

    /// The records of this kind that have this very name.
    async fn ask_once(
        &self,
        name: &Name,
        kind: RecordType,
    ) -> Result<(Vec<RData>, Instant), NetError> {
        let _socket = self.questions.acquire().await;
        let answer = self.resolver.lookup(name.clone(), kind).await?;
        let own = answer.answers().iter().filter(|it| it.name == *name && it.record_type() == kind);
        Ok((own.map(|it| it.data.clone()).collect(), answer.valid_until()))
    }

    /// What the name is an alias for.
    async fn alias(&self, name: &Name) -> Option<Name> {
        let (records, _) = self.ask_once(name, RecordType::CNAME).await.ok()?;
        records.into_iter().find_map(|record| match record {
            RData::CNAME(target) => Some(target.0),
            _ => None,
        })
    }

    /// Whether the aliases from this name on have no end.
    async fn is_loop(&self, mut name: Name) -> bool {
        for _ in 0..ALIASES {
            let Some(target) = self.alias(&name).await else { return false };
            name = target;
        }
        true
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
                Ok((records, at)) => {
                    until = until.min(at);
                    let given = records.into_iter().filter_map(|record| match record {
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
            // It may be mended, so mail waits for that.
            None if !no_such_name && self.is_loop(name).await => {
                Found::Failed("the name servers answer with a loop of aliases (CNAME)".into())
            }
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
    use hickory_resolver::proto::op::Message;
    use hickory_resolver::proto::rr::Record;
    use hickory_resolver::proto::rr::rdata::{A, CNAME, MX};
    use sojourn_core::parameters::defaults;
    use std::net::UdpSocket;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn record(owner: &str, data: RData) -> Record {
        Record::from_rdata(name(owner), 60, data)
    }

    fn mx(owner: &str, preference: u16, exchange: &str) -> Record {
        record(owner, RData::MX(MX::new(preference, name(exchange))))
    }

    fn alias(owner: &str, target: &str) -> Record {
        record(owner, RData::CNAME(CNAME(name(target))))
    }

    fn address(owner: &str, last: u8) -> Record {
        record(owner, RData::A(A::new(192, 0, 2, last)))
    }

    /// What asks a name server whose answers are those of `zone`; there is nothing where it has none.
    fn asking(zone: impl Fn(&str, RecordType) -> Vec<Record> + Send + 'static) -> Names {
        let wire = UdpSocket::bind("127.0.0.1:0").unwrap();
        let resolvers = vec![wire.local_addr().unwrap()];
        std::thread::spawn(move || {
            loop {
                let mut octets = [0; 512];
                let (size, asker) = wire.recv_from(&mut octets).unwrap();
                let question = Message::from_vec(&octets[..size]).unwrap();
                let metadata = question.metadata;
                let mut answer = Message::response(metadata.id, metadata.op_code);
                answer.metadata.recursion_available = true;
                answer.queries.clone_from(&question.queries);
                let query = &question.queries[0];
                answer.answers = zone(&query.name().to_ascii(), query.query_type());
                wire.send_to(&answer.to_vec().unwrap(), asker).unwrap();
            }
        });
        Names::new(&Network { resolvers, ..defaults() }).unwrap()
    }

    /// The names of the hosts, and the last octets of their addresses.
    fn hosts(answer: &Answer) -> Vec<(&str, Vec<String>)> {
        let Answer::Hosts { hosts, .. } = answer else { panic!("{answer:?}") };
        let of = |host: &MailHost| host.addresses.iter().map(ToString::to_string).collect();
        hosts.iter().map(|host| (&*host.name, of(host))).collect()
    }

    #[tokio::test]
    async fn hosts_that_nobody_asked_for_may_have_addresses() {
        for (number, expected) in [
            (20, Answer::NoMail),
            (21, Answer::Failed("none of the best 20 mail hosts has an address".into())),
        ] {
            let names = asking(move |_, kind| {
                let numbers = 0..if kind == RecordType::MX { number } else { 0 };
                let one = |it| mx("there.example.", it, &format!("h{it}.there.example."));
                numbers.map(one).collect()
            });
            assert_eq!(names.look_up("there.example").await, expected);
        }
    }

    /// An answer may have records of any names: those of others are not taken.
    #[tokio::test]
    async fn records_of_other_names_are_not_taken() {
        let names = asking(|owner, kind| match (owner, kind) {
            ("x.example.", RecordType::MX) => {
                vec![mx("y.example.", 0, "evil.example."), mx("X.example.", 10, "m.x.example.")]
            }
            ("m.x.example.", RecordType::A) => {
                vec![address("m.x.example.", 1), address("other.example.", 66)]
            }
            ("evil.example.", RecordType::A) => vec![address("evil.example.", 66)],
            // Only of another name: as if there were none, so the domain is its own host.
            ("z.example.", RecordType::MX) => vec![mx("y.example.", 0, "evil.example.")],
            ("z.example.", RecordType::A) => vec![address("z.example.", 2)],
            _ => Vec::new(),
        });
        let answer = names.look_up("x.example").await;
        assert_eq!(hosts(&answer), [("m.x.example", vec!["192.0.2.1".to_owned()])]);
        let answer = names.look_up("z.example").await;
        assert_eq!(hosts(&answer), [("z.example", vec!["192.0.2.2".to_owned()])]);
    }

    /// Aliases are followed, in one answer or in several, and from the cache as well.
    #[tokio::test]
    async fn aliases_lead_to_their_hosts() {
        let names = asking(|owner, kind| match (owner, kind) {
            ("a.example.", RecordType::MX) => vec![
                alias("a.example.", "b.example."),
                mx("b.example.", 10, "m.example."),
                mx("y.example.", 0, "evil.example."),
            ],
            ("c.example.", RecordType::MX | RecordType::CNAME) => {
                vec![alias("c.example.", "b.example.")]
            }
            ("a.example.", RecordType::CNAME) => vec![alias("a.example.", "b.example.")],
            ("b.example.", RecordType::MX) => vec![mx("b.example.", 10, "m.example.")],
            ("m.example." | "evil.example.", RecordType::A) => vec![address(owner, 1)],
            _ => Vec::new(),
        });
        for domain in ["a.example", "c.example", "a.example", "c.example"] {
            let answer = names.look_up(domain).await;
            assert_eq!(hosts(&answer), [("m.example", vec!["192.0.2.1".to_owned()])], "{domain}");
        }
    }

    /// A loop is a mistake that its owner may mend: mail waits, and is not returned at once.
    #[tokio::test]
    async fn loops_of_aliases_are_a_failure() {
        let names = asking(|owner, kind| match (owner, kind) {
            ("m.example.", RecordType::MX) => vec![mx("m.example.", 1, "a.example.")],
            ("m.example.", _) => Vec::new(),
            ("a.example.", _) => vec![alias("a.example.", "b.example.")],
            // In one answer.
            ("one.example.", _) => {
                vec![alias("one.example.", "two.example."), alias("two.example.", "one.example.")]
            }
            ("self.example.", _) => vec![alias("self.example.", "self.example.")],
            _ => vec![alias(owner, "a.example.")],
        });
        let expected = "the name servers answer with a loop of aliases (CNAME)";
        for domain in ["a.example", "b.example", "one.example", "self.example", "m.example"] {
            assert_eq!(names.look_up(domain).await, Answer::Failed(expected.into()), "{domain}");
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
