//! One flow packet by packet: what was seen at its ends, the path of each packet, and the pauses on the way.

use crate::engine::Outcome;
use crate::flow::Flow;
use crate::packet::{CE, Kind, Packet};
use crate::path::{Balance, ports_of};
use crate::topology::{Link, Network};
use crate::transport::{Happening, Seen};
use sojourn_core::{Column, Rows, Streams, Time};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

/// The name of the table.
pub(crate) const TRACE: &str = "trace";

/// What the column `event` can be.
const EVENTS: [&str; 5] = ["arrived", "answered", "heard", "sent", "paused"];
const PAUSED: u8 = 4;

/// Paths that have names; a column of names has no more.
const MOST_PATHS: usize = 255;
const OTHER_PATHS: &str = "others";

/// The flow that is traced, and what its packets run through.
#[derive(Clone, Copy)]
pub(crate) struct OfFlow<'a> {
    pub(crate) number: u32,
    pub(crate) flow: Flow,
    pub(crate) network: &'a Network,
    pub(crate) balance: Balance,
    pub(crate) streams: Streams,
}

/// A row: a packet at an end of the flow, or a pause of a port on its way.
struct Event {
    at: Time,
    code: u8,
    sequence: i64,
    size: i64,
    marked: i64,
    lost: i64,
    round_trip: i64,
    until: i64,
    window: f64,
    rate: f64,
    path: u8,
}

/// The trace of a flow, in order of time, with the pauses until its last packet.
pub(crate) fn trace(of: OfFlow<'_>, outcome: &Outcome) -> Rows {
    let mut seen = outcome.seen.clone();
    seen.sort_by_key(|seen| (seen.at, seen.happening));
    let (lost, trips) = (lost(&seen), round_trips(&seen));
    let mut paths = Paths::default();
    let mut crossed = Vec::new();
    let mut events: Vec<Event> = Vec::with_capacity(seen.len());
    for (place, own) in seen.iter().enumerate() {
        let ports = (own.happening == Happening::Sent).then(|| of.ports(own.entropy)).flatten();
        let path = match &ports {
            Some(ports) => paths.named(ports, |ports| of.words(ports)),
            None => paths.named(&[], |_| String::new()),
        };
        for port in ports.into_iter().flatten() {
            if !crossed.contains(&port) {
                crossed.push(port);
            }
        }
        events.push(Event {
            at: own.at,
            code: own.happening as u8,
            sequence: own.sequence.into(),
            size: own.size.into(),
            marked: i64::from(own.kind == Kind::DATA && own.marks & CE != 0),
            lost: i64::from(lost[place]),
            round_trip: trips[place],
            until: -1,
            window: own.speed.window.unwrap_or(f64::NAN),
            rate: own.speed.rate.unwrap_or(f64::NAN),
            path,
        });
    }
    let last = seen.last().map_or(Time::ZERO, |seen| seen.at);
    for &(port, from, until) in &outcome.each_pause {
        if from <= last && crossed.contains(&port) {
            let path = paths.named(&[port], |ports| of.words(ports));
            let until = until.ps() as i64;
            events.push(Event { at: from, until, path, ..PAUSE });
        }
    }
    events.sort_by_key(|event| event.at);
    columns(&events, paths)
}

const PAUSE: Event = Event {
    at: Time::ZERO,
    code: PAUSED,
    sequence: -1,
    size: -1,
    marked: -1,
    lost: -1,
    round_trip: -1,
    until: -1,
    window: f64::NAN,
    rate: f64::NAN,
    path: 0,
};

impl OfFlow<'_> {
    /// The ports that a packet of the flow leaves by; none where its path is not known beforehand.
    fn ports(&self, entropy: u16) -> Option<Vec<u32>> {
        let Flow { from, to, .. } = self.flow;
        let packet =
            Packet { flow: self.number, to, echo: entropy, kind: Kind::DATA, ..Packet::LAST };
        ports_of(self.network, self.balance, self.streams, from, &packet)
    }

    /// Ports as the nodes that they are between: `host 3 > switch 0 > host 5`.
    fn words(&self, ports: &[u32]) -> String {
        let links = ports.iter().map(|&port| self.network.links[port as usize]);
        let first = ports.first().map(|&port| self.network.links[port as usize].from);
        let nodes = first.into_iter().chain(links.map(|Link { to, .. }| to));
        let names: Vec<String> = nodes.map(|node| self.network.node_name(node)).collect();
        names.join(" > ")
    }
}

/// The paths that have come so far.
#[derive(Default)]
struct Paths {
    codes: BTreeMap<Vec<u32>, u8>,
    names: Vec<Cow<'static, str>>,
}

impl Paths {
    fn named(&mut self, ports: &[u32], words: impl FnOnce(&[u32]) -> String) -> u8 {
        if let Some(&code) = self.codes.get(ports) {
            return code;
        }
        if self.names.len() == MOST_PATHS {
            self.names.push(OTHER_PATHS.into());
        }
        let code = self.names.len().min(MOST_PATHS) as u8;
        if self.names.len() < MOST_PATHS {
            self.names.push(words(ports).into());
            self.codes.insert(ports.to_vec(), code);
        }
        code
    }
}

/// Of each packet that was sent, whether it never arrived: of one that was sent several times, so many of the
/// first as arrivals are missing.
fn lost(seen: &[Seen]) -> Vec<bool> {
    let mut missing: BTreeMap<u32, i64> = BTreeMap::new();
    for own in seen {
        let count = missing.entry(own.sequence);
        match own.happening {
            Happening::Sent => *count.or_default() += 1,
            Happening::Arrived => *count.or_default() -= 1,
            Happening::Answered | Happening::Heard => {}
        }
    }
    let is_lost = |own: &Seen| {
        let left = missing.get_mut(&own.sequence).filter(|left| **left > 0);
        let is_lost = own.happening == Happening::Sent && left.is_some();
        if is_lost {
            *missing.entry(own.sequence).or_default() -= 1;
        }
        is_lost
    };
    seen.iter().map(is_lost).collect()
}

/// Of each answer that the sender heard, how long before it the packet was sent that the receiver answered; -1 where
/// there is none. Answers come in the order in which those like them were given.
fn round_trips(seen: &[Seen]) -> Vec<i64> {
    let mut sent: BTreeMap<u32, Time> = BTreeMap::new();
    let mut given: BTreeMap<(Kind, u32), VecDeque<Option<Time>>> = BTreeMap::new();
    let mut cause = None;
    let trip = |own: &Seen| {
        let like = (own.kind, own.sequence);
        match own.happening {
            Happening::Sent => drop(sent.insert(own.sequence, own.at)),
            Happening::Arrived => cause = sent.get(&own.sequence).copied(),
            Happening::Answered => given.entry(like).or_default().push_back(cause),
            Happening::Heard => {
                let began = given.get_mut(&like).and_then(VecDeque::pop_front).flatten();
                return began.map_or(-1, |began| (own.at - began).ps() as i64);
            }
        }
        -1
    };
    seen.iter().map(trip).collect()
}

fn columns(events: &[Event], paths: Paths) -> Rows {
    let ints = |of: fn(&Event) -> i64| Column::Int(events.iter().map(of).collect());
    let times = |of: fn(&Event) -> i64| Column::Ps(events.iter().map(of).collect());
    let numbers = |of: fn(&Event) -> f64| Column::Float(events.iter().map(of).collect());
    let codes = events.iter().map(|event| event.code).collect();
    let path = events.iter().map(|event| event.path).collect();
    Rows {
        columns: vec![
            ("at_ps", times(|event| event.at.ps() as i64)),
            ("event", Column::of_names(codes, &EVENTS)),
            ("sequence", ints(|event| event.sequence)),
            ("size_bytes", ints(|event| event.size)),
            ("marked", ints(|event| event.marked)),
            ("lost", ints(|event| event.lost)),
            ("round_trip_ps", times(|event| event.round_trip)),
            ("until_ps", times(|event| event.until)),
            ("window_bytes", numbers(|event| event.window)),
            ("rate_bps", numbers(|event| event.rate)),
            ("path", Column::Name(path, paths.names)),
        ],
    }
}
