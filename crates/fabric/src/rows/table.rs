//! The rows of all jobs of a run, and their columns.

use super::rank_columns::{self, OfRanks};
use super::vocabulary::{KIND_NAMES, Kind};
use super::{PART_NAMES, Played};
use crate::engine::{Outcome, Watch};
use crate::flow::{Completion, Packets};
use crate::job::{IdealTimes, MessageSet};
use crate::packet::CLASSES;
use crate::transport::Tally;
use crate::workload::{JobKind, Role};
use sojourn_core::{Column, Job, Rows, Span, Time};

/// Names of the column `class`.
const CLASS_NAMES: [&str; CLASSES] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// One row.
pub(super) struct Row {
    kind: Kind,
    part: u8,
    job: Job,
    /// When its sender, or that of its last message, knew that it is there.
    acknowledged: Time,
    /// When it began to be carried out.
    started: Time,
    /// Since when it, or a message of it, has no route any more.
    without_route: Time,
    /// The row of the set of messages that it is, or is a part of.
    set: Option<usize>,
    src: Option<u16>,
    dst: Option<u16>,
    packets: u64,
    tally: Tally,
    deadline: Time,
    class: u8,
    /// Bytes that its receiver got, each counted once, in the measuring window or else by the end; none where
    /// no packets are simulated. `known` are the bytes that its sender knows to have arrived without a gap.
    received: Option<u64>,
    known: u64,
    /// Goodput in bits a second; NaN where it is not measured.
    goodput: f64,
    /// What is said of collectives and iterations alone.
    ranks: Option<Box<OfRanks>>,
}

impl Row {
    /// The row of something that ranks do, in the part of the case that they are.
    pub(super) fn of_ranks(kind: Kind, job: Job, part: u8, ranks: OfRanks) -> Row {
        Row {
            kind,
            part,
            acknowledged: job.finished,
            started: job.arrived,
            job,
            without_route: Time::NEVER,
            set: None,
            src: None,
            dst: None,
            packets: 0,
            tally: Tally::default(),
            deadline: Time::NEVER,
            class: 0,
            received: None,
            known: 0,
            goodput: f64::NAN,
            ranks: Some(Box::new(ranks)),
        }
    }

    /// The same row, of something that goes from one host to another one.
    pub(super) fn between(self, from: u16, to: u16) -> Row {
        Row { src: Some(from), dst: Some(to), ..self }
    }

    /// Whether it could have finished and has not.
    pub(super) fn is_open(&self) -> bool {
        self.kind != Kind::Bulk && self.job.finished == Time::NEVER
    }
}

/// The input of rows.
pub(super) struct Run<'a> {
    pub(super) of: Played<'a>,
    pub(super) ideals: &'a IdealTimes,
    pub(super) outcome: &'a Outcome,
}

impl Run<'_> {
    /// All rows: flows, by time of arrival, those that wait for others behind; the sets of messages by time;
    /// and the responses of queries, query by query.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        let jobs = self.of.jobs;
        let flows = jobs.owners.iter().filter(|owner| owner.role == Role::Flow).count();
        let sets = jobs.sets.iter().enumerate();
        let rows_of_sets = sets.clone().map(move |(place, set)| self.set(place, set, flows));
        let responses = sets.flat_map(move |(place, _)| {
            let members = jobs.members.of(place as u32).iter().map(|&member| member as usize);
            let responses = members.filter(|&member| jobs.owners[member].role == Role::Response);
            responses.map(move |response| self.response(response, flows + place))
        });
        self.flows(flows).chain(rows_of_sets).chain(responses)
    }

    /// The flows with rows; the first set of messages has the row number `first_set`.
    fn flows(&self, first_set: usize) -> impl Iterator<Item = Row> {
        let Run { of: Played { jobs, packets, completion, averaging, .. }, ideals, outcome } =
            *self;
        let finished = match completion {
            Completion::Receiver => &outcome.received,
            Completion::Sender => &outcome.acknowledged,
        };
        let mut watched = jobs.watches.iter().zip(&outcome.watched).zip(&outcome.progress);
        let flows = jobs.flows.iter().zip(&jobs.owners).enumerate();
        let flows = flows.filter(|(_, (_, owner))| owner.role == Role::Flow);
        flows.map(move |(number, (flow, owner))| {
            let measured = match flow.is_endless() {
                true => watched.next(),
                false => None,
            };
            let (kind, bytes, ideal, tally, received, goodput) = match measured {
                Some(((watch, &tally), received)) => {
                    let at = |time| received[averaging.place(time)];
                    let bytes = at(watch.until) - at(watch.from);
                    let goodput = bits_per_second(bytes, watch);
                    (Kind::Bulk, bytes, Span::MAX, tally, Some(bytes), goodput)
                }
                None => {
                    let (ideal, tally) = (ideals.flows[number], outcome.tallies[number]);
                    (Kind::Flow, flow.bytes, ideal, tally, self.received(number), f64::NAN)
                }
            };
            let started = self.began(number);
            let arrived = if started == Time::NEVER { flow.arrived } else { started };
            Row {
                kind,
                part: owner.part,
                job: Job { bytes, arrived, finished: finished[number], ideal },
                acknowledged: outcome.acknowledged[number],
                started,
                without_route: self.without_route(number, finished[number]),
                set: owner.set.map(|set| first_set + set as usize),
                src: Some(flow.from),
                dst: Some(flow.to),
                packets: packets.count(bytes).into(),
                tally,
                deadline: flow.deadline,
                class: flow.class,
                received,
                known: known(packets, flow.bytes, &tally),
                goodput,
                ranks: None,
            }
        })
    }

    /// Bytes of flow number `flow` that its receiver had at the end.
    fn received(&self, flow: usize) -> Option<u64> {
        self.outcome.delivered.get(flow).copied()
    }

    /// Since when flow number `flow` has no route any more; [`Time::NEVER`] where it has one, or has `finished`.
    fn without_route(&self, flow: usize, finished: Time) -> Time {
        let since = self.outcome.without_route.get(flow).copied();
        since.filter(|_| finished == Time::NEVER).unwrap_or(Time::NEVER)
    }

    /// When flow number `flow` began; [`Time::NEVER`] if it waited for others to the end.
    fn began(&self, flow: usize) -> Time {
        match self.of.jobs.dependencies.place(flow as u32) {
            Some(place) => self.outcome.began[place],
            None => self.of.jobs.flows[flow].arrived,
        }
    }

    /// Set number `place` of messages: it begins with the first of them, and is done when the last one has
    /// arrived whole. The first set has the row number `first`.
    fn set(&self, place: usize, set: &MessageSet, first: usize) -> Row {
        let Run { of: Played { jobs, packets, .. }, ideals, outcome } = self;
        let members = jobs.members.of(place as u32).iter().map(|&member| member as usize);
        let began = members.clone().map(|member| self.began(member)).min();
        let arrived = began.filter(|began| *began != Time::NEVER).unwrap_or(set.soonest);
        let tallies = members.clone().map(|member| &outcome.tallies[member]);
        let own = members.clone().filter(|&member| jobs.owners[member].role != Role::Request);
        let bytes = |member: usize| jobs.flows[member].bytes;
        let last = |ends: &[Time]| own.clone().map(|member| ends[member]).max();
        let any = jobs.members.of(place as u32).first().map(|&member| jobs.flows[member as usize]);
        let deadlines = members.clone().map(|member| jobs.flows[member].deadline);
        let cut = members.map(|member| self.without_route(member, outcome.received[member]));
        let (kind, src) = match set.kind {
            JobKind::Query => (Kind::Query, any.map(|request| request.from)),
            JobKind::Messages => (Kind::Job, None),
        };
        Row {
            kind,
            part: set.part,
            job: Job {
                bytes: own.clone().map(bytes).sum(),
                arrived,
                finished: last(&outcome.received).unwrap_or(Time::NEVER),
                ideal: ideals.sets[place],
            },
            acknowledged: last(&outcome.acknowledged).unwrap_or(Time::NEVER),
            started: arrived,
            without_route: cut.min().unwrap_or(Time::NEVER),
            set: Some(first + place),
            src,
            dst: None,
            packets: own.clone().map(|member| u64::from(packets.count(bytes(member)))).sum(),
            tally: Tally {
                retransmits: tallies.clone().map(|tally| tally.retransmits).sum(),
                timeouts: tallies.clone().map(|tally| tally.timeouts).sum(),
                probes: tallies.map(|tally| tally.probes).sum(),
                ..Tally::default()
            },
            deadline: deadlines.max().unwrap_or(Time::NEVER),
            class: any.map_or(0, |any| any.class),
            received: own.clone().map(|member| self.received(member)).sum(),
            known: own.map(|member| known(packets, bytes(member), &outcome.tallies[member])).sum(),
            goodput: f64::NAN,
            ranks: None,
        }
    }

    /// Flow number `place`, a response: with its request it is one job. `set` is the row of its query.
    fn response(&self, place: usize, set: usize) -> Row {
        let Run { of: Played { jobs, packets, .. }, ideals, outcome } = self;
        let flow = &jobs.flows[place];
        let request = jobs.dependencies.parents(place as u32)[0] as usize;
        let (own, of_request) = (outcome.tallies[place], outcome.tallies[request]);
        Row {
            kind: Kind::Response,
            part: jobs.owners[place].part,
            job: Job {
                bytes: flow.bytes,
                arrived: jobs.flows[request].arrived,
                finished: outcome.received[place],
                ideal: ideals.flows[place],
            },
            acknowledged: outcome.acknowledged[place],
            started: self.began(place),
            without_route: self.without_route(place, outcome.received[place]),
            set: Some(set),
            src: Some(flow.from),
            dst: Some(flow.to),
            packets: packets.count(flow.bytes).into(),
            tally: Tally {
                retransmits: own.retransmits + of_request.retransmits,
                timeouts: own.timeouts + of_request.timeouts,
                probes: own.probes.zip(of_request.probes).map(|(own, other)| own + other),
                ..Tally::default()
            },
            deadline: flow.deadline,
            class: flow.class,
            received: self.received(place),
            known: known(packets, flow.bytes, &own),
            goodput: f64::NAN,
            ranks: None,
        }
    }
}

/// Bytes of a flow of `bytes` that its sender knows have arrived, none missing before them.
fn known(packets: &Packets, bytes: u64, tally: &Tally) -> u64 {
    packets.carried(bytes, tally.acknowledged, tally.acknowledged == packets.count(bytes))
}

fn bits_per_second(bytes: u64, watch: &Watch) -> f64 {
    bytes as f64 * 8.0 / (watch.until - watch.from).seconds()
}

/// The columns; those that would say nothing are left out.
pub(super) fn columns(table: &[Row], of: Played<'_>) -> Rows {
    let codes = table.iter().map(|row| row.kind as u8).collect();
    let mut rows = Rows::of(KIND_NAMES.to_vec(), codes, table.iter().map(|row| row.job).collect());
    let ints = |value: &dyn Fn(&Row) -> i64| table.iter().map(value).collect::<Vec<_>>();
    let names = |code: &dyn Fn(&Row) -> u8, names: &[&'static str]| {
        Column::of_names(table.iter().map(code).collect(), names)
    };
    let host = |host: Option<u16>| host.map_or(-1, i64::from);
    rows.push("src", Column::Int(ints(&|row| host(row.src))));
    rows.push("dst", Column::Int(ints(&|row| host(row.dst))));
    rows.push("packets", Column::Int(ints(&|row| row.packets as i64)));
    rows.push("retransmits", Column::Int(ints(&|row| row.tally.retransmits.into())));
    rows.push("timeouts", Column::Int(ints(&|row| row.tally.timeouts.into())));
    if table.iter().any(|row| row.tally.probes.is_some()) {
        let probes = |row: &Row| row.tally.probes.map_or(-1, i64::from);
        rows.push("probes", Column::Int(ints(&probes)));
    }
    if table.iter().any(|row| row.tally.cnps.is_some()) {
        let cnps = |row: &Row| row.tally.cnps.map_or(-1, i64::from);
        rows.push("cnps", Column::Int(ints(&cnps)));
    }
    rows.push("deadline_ps", Column::Ps(ints(&|row| ps(row.deadline))));
    rows.push("acknowledged_ps", Column::Ps(ints(&|row| ps(row.acknowledged))));
    if table.iter().any(|row| row.tally.window_digest > 0) {
        rows.push("window_digest", Column::Int(ints(&|row| digest(row.tally.window_digest))));
    }
    if table.iter().any(|row| row.class > 0) {
        rows.push("class", names(&|row| row.class, &CLASS_NAMES));
    }
    if of.jobs.several {
        rows.push("part", names(&|row| row.part, &PART_NAMES));
    }
    if table.iter().any(|row| row.kind == Kind::Bulk || row.is_open() && row.received.is_some()) {
        let received = |row: &Row| row.received.map_or(-1, |bytes| bytes as i64);
        rows.push("received_bytes", Column::Int(ints(&received)));
        rows.push("acknowledged_bytes", Column::Int(ints(&|row| row.known as i64)));
    }
    if table.iter().any(|row| row.kind == Kind::Bulk) {
        let goodput = table.iter().map(|row| row.goodput).collect();
        rows.push("goodput_bps", Column::Float(goodput));
    }
    let of_set = |row: &Row, kinds: [Kind; 2]| match row.set {
        Some(set) if kinds.contains(&row.kind) => set as i64,
        _ => -1,
    };
    for (name, set, member) in
        [("query", Kind::Query, Kind::Response), ("of_job", Kind::Job, Kind::Flow)]
    {
        if table.iter().any(|row| row.kind == set) {
            rows.push(name, Column::Int(ints(&|row| of_set(row, [set, member]))));
        }
    }
    if !of.jobs.sets.is_empty() || !of.jobs.dependencies.waiting().is_empty() {
        rows.push("started_ps", Column::Ps(ints(&|row| ps(row.started))));
    }
    if table.iter().any(|row| row.ranks.is_some()) {
        rank_columns::columns(table.iter().map(|row| row.ranks.as_deref()), &mut rows);
    }
    if table.iter().any(|row| row.without_route != Time::NEVER) {
        rows.push("without_route_ps", Column::Ps(ints(&|row| ps(row.without_route))));
    }
    rows
}

/// A digest for a column, which has no room for the last of its bits.
fn digest(digest: u64) -> i64 {
    match digest {
        0 => -1,
        digest => (digest >> 1) as i64,
    }
}

/// A time for a column.
fn ps(time: Time) -> i64 {
    match time {
        Time::NEVER => -1,
        time => time.ps() as i64,
    }
}
