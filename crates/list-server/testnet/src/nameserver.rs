//! The name server: authoritative for every domain there is, over UDP and TCP (RFC 1035).

use crate::host::Site;
use crate::names::{Answer, NamesKind};
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, MX, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv6Addr;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};

/// What a client takes over UDP that does not say otherwise.
const UDP_OCTETS: usize = 512;
/// An idle TCP connection is closed after so long (RFC 7766 section 6.2.3).
const IDLE: Duration = Duration::from_secs(10);

/// Everything it knows.
#[derive(Debug)]
pub(crate) struct Zones {
    zones: BTreeMap<String, Zone>,
    started: Instant,
    round_trip: Duration,
    ttl: u32,
    /// Whether it answers at all.
    alive: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Zone {
    names: NamesKind,
    hosts: Vec<Rc<Site>>,
}

impl Zones {
    pub(crate) fn new(
        started: Instant,
        round_trip: Duration,
        ttl: u32,
        alive: watch::Receiver<bool>,
    ) -> Zones {
        Zones { zones: BTreeMap::new(), started, round_trip, ttl, alive }
    }

    pub(crate) fn add(&mut self, domain: &str, names: NamesKind, hosts: Vec<Rc<Site>>) {
        self.zones.insert(domain.to_ascii_lowercase(), Zone { names, hosts });
    }

    /// The answer to a question, and how long it takes; nothing where none is given.
    fn answer(&self, question: &[u8], udp: bool) -> Option<(Vec<u8>, Duration)> {
        let question = Message::from_vec(question).ok()?;
        if question.metadata.message_type != MessageType::Query || !*self.alive.borrow() {
            return None;
        }
        let mut reply = Message::response(question.metadata.id, question.metadata.op_code);
        reply.metadata.recursion_desired = question.metadata.recursion_desired;
        reply.metadata.recursion_available = true;
        reply.metadata.authoritative = true;
        reply.queries.clone_from(&question.queries);
        reply.edns.clone_from(&question.edns);
        let mut takes = self.round_trip;
        match &question.queries[..] {
            [query] if question.metadata.op_code == OpCode::Query => {
                takes += self.fill(&mut reply, query.name(), query.query_type())?;
            }
            _ => reply.metadata.response_code = ResponseCode::NotImp,
        }
        let bytes = reply.to_vec().ok()?;
        let most = question.edns.map_or(UDP_OCTETS, |edns| edns.max_payload().into());
        if udp && bytes.len() > most.max(UDP_OCTETS) {
            return Some((reply.truncate().to_vec().ok()?, takes));
        }
        Some((bytes, takes))
    }

    /// Puts the answer into `reply`; how long it takes beyond the round trip. Nothing for silence.
    fn fill(&self, reply: &mut Message, name: &Name, kind: RecordType) -> Option<Duration> {
        let text = name.to_ascii().trim_end_matches('.').to_ascii_lowercase();
        let (domain, host) = match self.zones.get_key_value(&text) {
            Some((domain, _)) => (domain.as_str(), None),
            None => split(&text).unwrap_or((&text, None)),
        };
        let Some(zone) = self.zones.get(domain) else {
            reply.metadata.response_code = ResponseCode::NXDomain;
            return Some(Duration::ZERO);
        };
        let mut add = |data| reply.answers.push(Record::from_rdata(name.clone(), self.ttl, data));
        let answer = zone.names.answer(self.started.elapsed());
        match (answer, host) {
            (Answer::Silence, _) => return None,
            (Answer::Failure, _) => reply.metadata.response_code = ResponseCode::ServFail,
            (Answer::NoSuchDomain, _) => reply.metadata.response_code = ResponseCode::NXDomain,
            (_, Some(host)) => match zone.hosts.get(host) {
                Some(site) => addresses(site, kind, &mut add),
                None => reply.metadata.response_code = ResponseCode::NXDomain,
            },
            (Answer::Mx, None) if kind == RecordType::MX => {
                for (number, site) in zone.hosts.iter().enumerate() {
                    let exchange = Name::from_ascii(format!("mx{number}.{domain}.")).ok()?;
                    add(RData::MX(MX::new(site.host.preference, exchange)));
                }
            }
            (Answer::NullMx, None) if kind == RecordType::MX => {
                add(RData::MX(MX::new(0, Name::root())));
            }
            (Answer::Addresses, None) => {
                zone.hosts.iter().for_each(|site| addresses(site, kind, &mut add));
            }
            (Answer::Mx | Answer::NullMx | Answer::NoRecords, None) => {}
        }
        if reply.answers.is_empty() && reply.metadata.response_code != ResponseCode::ServFail {
            // Says how long the absence may be remembered (RFC 2308).
            let zone = Name::from_ascii(format!("{domain}.")).ok()?;
            let ttl = self.ttl as i32;
            let soa = SOA::new(zone.clone(), zone.clone(), 1, ttl, ttl, ttl, self.ttl);
            reply.authorities.push(Record::from_rdata(zone, self.ttl, RData::SOA(soa)));
        }
        Some(zone.names.thinking())
    }
}

/// The domain and the number of the host `mx{number}.{domain}`.
fn split(name: &str) -> Option<(&str, Option<usize>)> {
    let (host, domain) = name.split_once('.')?;
    Some((domain, Some(host.strip_prefix("mx")?.parse().ok()?)))
}

fn addresses(site: &Site, kind: RecordType, add: &mut impl FnMut(RData)) {
    match kind {
        RecordType::A => add(RData::A(A(site.address))),
        RecordType::AAAA if site.host.ipv6 => add(RData::AAAA(AAAA(Ipv6Addr::LOCALHOST))),
        // A network for documents (RFC 3849): nothing listens there.
        RecordType::AAAA if site.host.dead_ipv6 => {
            let octets = site.address.octets().map(u16::from);
            let [_, b, c, d] = octets;
            add(RData::AAAA(AAAA(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, b, c, d))));
        }
        _ => {}
    }
}

/// Answers over UDP, for ever.
pub(crate) async fn serve_udp(zones: Rc<Zones>, socket: UdpSocket) -> io::Result<()> {
    let socket = Rc::new(socket);
    let mut buffer = [0; 4096];
    loop {
        // What a client that is gone left behind is no reason to end.
        let Ok((size, client)) = socket.recv_from(&mut buffer).await else { continue };
        if let Some((reply, takes)) = zones.answer(&buffer[..size], true) {
            let socket = Rc::clone(&socket);
            spawn_local(async move {
                sleep(takes).await;
                drop(socket.send_to(&reply, client).await);
            });
        }
    }
}

/// Answers over TCP, for ever.
pub(crate) async fn serve_tcp(zones: Rc<Zones>, listener: TcpListener) -> io::Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        let zones = Rc::clone(&zones);
        spawn_local(async move {
            drop(tokio::time::timeout(IDLE, converse(&zones, stream)).await);
        });
    }
}

async fn converse(zones: &Zones, mut stream: TcpStream) -> io::Result<()> {
    loop {
        let size = stream.read_u16().await?;
        let mut question = vec![0; size.into()];
        stream.read_exact(&mut question).await?;
        let Some((reply, takes)) = zones.answer(&question, false) else { continue };
        sleep(takes).await;
        let size = u16::try_from(reply.len()).map_err(io::Error::other)?;
        stream.write_all(&[&size.to_be_bytes(), &reply[..]].concat()).await?;
    }
}
