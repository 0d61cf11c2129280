//! What a run gives back: rows, one a job, and totals.

use crate::engine::{Outcome, PacketCounts, Sample, Watch};
use crate::flow::{Completion, Flow, Packets};
use crate::job::{JobPart, Jobs, QueryRun, Role};
use crate::packet::CLASSES;
use crate::topology::Network;
use crate::transport::Tally;
use crate::workload::Query;
use crate::workload::offered::queue;
use sojourn_core::parameters::Value;
use sojourn_core::{
    Column, Job, JobKind, Keep, Metric, Report, Rows, SizeBin, Span, Time, Vocabulary,
};
use std::slice;

/// Names of the column `class`.
const CLASS_NAMES: [&str; CLASSES] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// Names of the column `part`: the parts of a case that draw jobs.
pub(crate) const PART_NAMES: [&str; 2] = ["workload", "background"];

/// Explains the column `ideal_ps` of flows.
fn ideal(cuts: bool, completion: Completion) -> String {
    let forwarding = if cuts { "cut through" } else { "store and forward" };
    let until = match completion {
        Completion::Receiver => "the last byte is at the receiver",
        Completion::Sender => "the last packet's ACK is back at the sender",
    };
    format!(
        "ideal: the flow alone in the fabric, {forwarding} on the flow's own path, until {until}"
    )
}

/// Explains the column `ideal_ps` of queries.
const IDEAL_OF_QUERIES: &str = "ideal of a query: from the question on, each request and answer \
                                alone in the fabric, but all answers through the client's link";

/// One row.
struct Row {
    kind: Kind,
    part: u8,
    job: Job,
    /// When its sender, or that of its last answer, knew that it is there.
    acknowledged: Time,
    /// When it began to be carried out.
    started: Time,
    /// The number of the query that it is, or is a part of.
    query: Option<usize>,
    src: u16,
    dst: Option<u16>,
    packets: u64,
    tally: Tally,
    deadline: Time,
    class: u8,
    /// Goodput in bits a second; NaN where it is not measured.
    goodput: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Flow,
    Bulk,
    Query,
    Response,
}

const KIND_NAMES: [&str; 4] = ["flow", "bulk", "query", "response"];

/// The bins of the pFabric paper, section 3, "FCT breakdown".
const BINS: &[SizeBin] = &[
    SizeBin { name: "(0,100KB]", above: 0.0, upto: 100e3 },
    SizeBin { name: "(100KB,10MB]", above: 100e3, upto: 10e6 },
    SizeBin { name: "(10MB,inf)", above: 10e6, upto: f64::INFINITY },
];

/// The vocabulary of fabrics: kinds of jobs, their metrics and size bins.
pub const VOCABULARY: Vocabulary = Vocabulary {
    // The ideal scheduler knows no packets.
    work: &[("packet-hop", "hops"), ("flow", "jobs")],
    percentiles: &[50.0, 90.0, 95.0, 99.0],
    lengths: &[
        "workload.flows",
        "workload.queries",
        "workload.rounds",
        "background.flows",
        "background.queries",
        "background.rounds",
    ],
    kinds: &[
        JobKind {
            name: KIND_NAMES[Kind::Flow as usize],
            label: "flow",
            plural: "flows",
            part_of: None,
            metrics: &[Metric::slowdown(true), COMPLETION_TIME],
            bins: BINS,
            note: "",
        },
        JobKind {
            name: KIND_NAMES[Kind::Query as usize],
            label: "query",
            plural: "queries",
            part_of: None,
            metrics: &[COMPLETION_TIME, Metric::slowdown(true)],
            bins: &[],
            note: "completion time of a query: until the last byte of the last answer has come",
        },
        JobKind {
            name: KIND_NAMES[Kind::Response as usize],
            label: "response",
            plural: "responses",
            part_of: Some(KIND_NAMES[Kind::Query as usize]),
            metrics: &[Metric::slowdown(true), COMPLETION_TIME],
            bins: BINS,
            note: "",
        },
        JobKind {
            name: KIND_NAMES[Kind::Bulk as usize],
            label: "bulk flow",
            plural: "bulk flows",
            part_of: None,
            metrics: &[Metric {
                column: "goodput_bps",
                name: "goodput",
                unit: "Mb/s",
                per_unit: 1e6,
                shown: true,
            }],
            bins: &[],
            note: "goodput of a bulk flow: new bytes acknowledged in the measuring window",
        },
    ],
    told: &[],
};

const COMPLETION_TIME: Metric = Metric::time_in_ms("completion time");

impl Row {
    /// Whether it could have finished and has not.
    fn is_open(&self) -> bool {
        self.kind != Kind::Bulk && self.job.finished == Time::NEVER
    }
}

/// The jobs of a run and the fabric they ran in, for rows.
#[derive(Clone, Copy)]
pub(crate) struct Played<'a> {
    pub(crate) jobs: &'a Jobs,
    pub(crate) network: &'a Network,
    pub(crate) packets: &'a Packets,
    pub(crate) completion: Completion,
}

/// The report of a run `of` some jobs with this `outcome`; `ideals` are the best possible times of its
/// flows, `of_queries` those of its queries.
pub(crate) fn report(
    keep: Keep,
    of: Played<'_>,
    ideals: &[Span],
    of_queries: &[Span],
    outcome: &Outcome,
) -> Report {
    let (jobs, network) = (of.jobs, of.network);
    let run = Run { of, ideals, outcome };
    let played = run.flows().chain(run.queries(of_queries));
    let (rows, series, unfinished) = match keep {
        Keep::Rows => {
            let table: Vec<Row> = played.collect();
            let unfinished = table.iter().filter(|row| row.is_open()).count();
            (rows(&table, jobs.several), series(network, &outcome.samples), unfinished)
        }
        Keep::Totals => (Rows::default(), Rows::default(), played.filter(Row::is_open).count()),
    };
    let mut totals = totals(outcome, network, unfinished);
    totals.extend(queue(&jobs.offered, network));
    let mut said = ideal(network.links.iter().any(|link| link.cuts), of.completion);
    if !jobs.queries.is_empty() {
        said = format!("{said}; {IDEAL_OF_QUERIES}");
    }
    totals.push(("ideal".to_owned(), Value::Text(said)));
    Report { rows, series, totals }
}

/// The time series of switches' ports: the port, the bytes waiting there, and its utilisation since the
/// sample before.
fn series(network: &Network, samples: &[Sample]) -> Rows {
    if samples.is_empty() {
        return Rows::default();
    }
    let hosts = network.hosts as u32;
    let link = |sample: &Sample| &network.links[sample.port as usize];
    let to = |sample: &Sample| link(sample).to;
    let ints = |of: &dyn Fn(&Sample) -> u32| samples.iter().map(|s| of(s).into()).collect();
    let columns = vec![
        ("at_ps", Column::Ps(samples.iter().map(|sample| sample.at.ps() as i64).collect())),
        ("switch", Column::Int(ints(&|sample| link(sample).from - hosts))),
        (
            "towards",
            Column::Name(
                samples.iter().map(|sample| u8::from(to(sample) >= hosts)).collect(),
                vec!["host", "switch"],
            ),
        ),
        ("next", Column::Int(ints(&|s| if to(s) < hosts { to(s) } else { to(s) - hosts }))),
        ("port", Column::Int(ints(&|sample| sample.port - hosts))),
        (
            "waiting_bytes",
            Column::Int(samples.iter().map(|sample| sample.waiting as i64).collect()),
        ),
        (
            "busy",
            Column::Float(samples.iter().map(|s| s.busy.seconds() / s.since.seconds()).collect()),
        ),
    ];
    Rows { columns }
}

/// The input of rows.
struct Run<'a> {
    of: Played<'a>,
    ideals: &'a [Span],
    outcome: &'a Outcome,
}

impl Run<'_> {
    /// The flows that are jobs themselves, by time of arrival.
    fn flows(&self) -> impl Iterator<Item = Row> {
        let Run { of: Played { jobs, packets, completion, .. }, ideals, outcome } = *self;
        let finished = match completion {
            Completion::Receiver => &outcome.received,
            Completion::Sender => &outcome.acknowledged,
        };
        let mut watched = jobs.watches.iter().zip(&outcome.watched);
        let flows = jobs.flows.iter().zip(&jobs.parts).enumerate();
        let jobs = flows.filter(|(_, (_, job_part))| job_part.role == Role::Job);
        let row = move |(number, (flow, job_part)): (usize, (&Flow, &JobPart))| {
            let measured = match flow.is_endless() {
                true => watched.next(),
                false => None,
            };
            let (kind, bytes, ideal, tally, goodput) = match measured {
                Some((watch, &tally)) => {
                    let bytes = u64::from(tally.acknowledged) * packets.payload.0;
                    (Kind::Bulk, bytes, Span::MAX, tally, bits_per_second(bytes, watch))
                }
                None => (Kind::Flow, flow.bytes, ideals[number], outcome.tallies[number], f64::NAN),
            };
            let &Flow { from: src, to, arrived, deadline, class, .. } = flow;
            Row {
                kind,
                part: job_part.part,
                job: Job { bytes, arrived, finished: finished[number], ideal },
                acknowledged: outcome.acknowledged[number],
                started: arrived,
                query: None,
                src,
                dst: Some(to),
                packets: packets.count(bytes).into(),
                tally,
                deadline,
                class,
                goodput,
            }
        };
        jobs.map(row)
    }

    /// The queries by time of arrival, numbered from the flows on, then all answers: a query is done
    /// when the last of its answers has come.
    fn queries(&self, ideals: &[Span]) -> Vec<Row> {
        let jobs = &self.of.jobs;
        let first = jobs.parts.iter().filter(|job_part| job_part.role == Role::Job).count();
        let (mut queries, mut answers) = (Vec::new(), Vec::new());
        for (place, (query_run, &ideal)) in jobs.queries.iter().zip(ideals).enumerate() {
            let number = first + place;
            let own: Vec<Row> =
                query_run.answers.clone().map(|a| self.answer(a, query_run, number)).collect();
            let tally = |value: fn(&Tally) -> u32| own.iter().map(|row| value(&row.tally)).sum();
            let Query { client, arrived, deadline, class, .. } = query_run.query;
            let last = |end: fn(&Row) -> Time| own.iter().map(end).max().unwrap_or(Time::NEVER);
            let finished = last(|row| row.job.finished);
            queries.push(Row {
                kind: Kind::Query,
                part: query_run.part,
                job: Job { bytes: query_run.query.bytes(), arrived, finished, ideal },
                acknowledged: last(|row| row.acknowledged),
                started: arrived,
                query: Some(number),
                src: client,
                dst: None,
                packets: own.iter().map(|row| row.packets).sum(),
                tally: Tally {
                    retransmits: tally(|tally| tally.retransmits),
                    timeouts: tally(|tally| tally.timeouts),
                    acknowledged: 0,
                },
                deadline,
                class,
                goodput: f64::NAN,
            });
            answers.extend(own);
        }
        queries.append(&mut answers);
        queries
    }

    /// Answer number `number` of all: with its request it is one job.
    fn answer(&self, number: usize, query_run: &QueryRun, query: usize) -> Row {
        let Run { of: Played { jobs, packets, .. }, ideals, outcome } = self;
        let place = jobs.first_answer() + number;
        let flow = &jobs.flows[place];
        let of_request = outcome.tallies[jobs.after[number].flow as usize];
        let own = outcome.tallies[place];
        Row {
            kind: Kind::Response,
            part: query_run.part,
            job: Job {
                bytes: flow.bytes,
                arrived: query_run.query.arrived,
                finished: outcome.received[place],
                ideal: ideals[place],
            },
            acknowledged: outcome.acknowledged[place],
            started: outcome.started[number],
            query: Some(query),
            src: flow.from,
            dst: Some(flow.to),
            packets: packets.count(flow.bytes).into(),
            tally: Tally {
                retransmits: own.retransmits + of_request.retransmits,
                timeouts: own.timeouts + of_request.timeouts,
                acknowledged: 0,
            },
            deadline: flow.deadline,
            class: flow.class,
            goodput: f64::NAN,
        }
    }
}

fn bits_per_second(bytes: u64, watch: &Watch) -> f64 {
    bytes as f64 * 8.0 / (watch.until - watch.from).seconds()
}

/// The columns; those that would say nothing are left out.
fn rows(table: &[Row], several: bool) -> Rows {
    let codes = table.iter().map(|row| row.kind as u8).collect();
    let mut rows = Rows::of(KIND_NAMES.to_vec(), codes, table.iter().map(|row| row.job).collect());
    let ints = |value: &dyn Fn(&Row) -> i64| table.iter().map(value).collect::<Vec<_>>();
    let names = |code: &dyn Fn(&Row) -> u8, names: &[&'static str]| {
        Column::Name(table.iter().map(code).collect(), names.to_vec())
    };
    rows.push("src", Column::Int(ints(&|row| row.src.into())));
    rows.push("dst", Column::Int(ints(&|row| row.dst.map_or(-1, i64::from))));
    rows.push("packets", Column::Int(ints(&|row| row.packets as i64)));
    rows.push("retransmits", Column::Int(ints(&|row| row.tally.retransmits.into())));
    rows.push("timeouts", Column::Int(ints(&|row| row.tally.timeouts.into())));
    rows.push("deadline_ps", Column::Ps(ints(&|row| ps(row.deadline))));
    rows.push("acknowledged_ps", Column::Ps(ints(&|row| ps(row.acknowledged))));
    if table.iter().any(|row| row.class > 0) {
        rows.push("class", names(&|row| row.class, &CLASS_NAMES));
    }
    if several {
        rows.push("part", names(&|row| row.part, &PART_NAMES));
    }
    if table.iter().any(|row| row.kind == Kind::Bulk) {
        let goodput = table.iter().map(|row| row.goodput).collect();
        rows.push("goodput_bps", Column::Float(goodput));
    }
    if table.iter().any(|row| row.query.is_some()) {
        rows.push("query", Column::Int(ints(&|row| row.query.map_or(-1, |query| query as i64))));
        rows.push("started_ps", Column::Ps(ints(&|row| ps(row.started))));
    }
    rows
}

/// A time for a column.
fn ps(time: Time) -> i64 {
    match time {
        Time::NEVER => -1,
        time => time.ps() as i64,
    }
}

fn totals(outcome: &Outcome, network: &Network, unfinished: usize) -> Vec<(String, Value)> {
    let PacketCounts {
        hops,
        injected,
        delivered,
        dropped_at_hosts,
        dropped_at_switches,
        dropped_in_core,
        in_network,
        marked,
        turns,
    } = outcome.counts;
    let (hosts, switches) = outcome.busy.split_at(network.hosts);
    let share = |busy: &[Span]| {
        let all = outcome.ended.seconds() * busy.len() as f64;
        let busy: f64 = busy.iter().map(|span| span.seconds()).sum();
        if all > 0.0 { busy / all } else { 0.0 }
    };
    let counts = [
        ("events", hops + turns),
        ("hops", hops),
        ("host_turns", turns),
        ("packets_injected", injected),
        ("packets_delivered", delivered),
        ("drops", dropped_at_hosts + dropped_at_switches),
        ("packets_dropped_at_hosts", dropped_at_hosts),
        ("packets_dropped_at_switches", dropped_at_switches),
        ("packets_dropped_in_core", dropped_in_core),
        ("packets_in_network", in_network),
        ("packets_marked", marked),
        ("unfinished", unfinished as u64),
        ("simulated_ps", outcome.ended.ps()),
    ];
    let peaks = || outcome.memory_peaks.iter().copied().enumerate();
    let core = || peaks().filter(|(switch, _)| !network.is_edge(*switch));
    let peaks = [
        peaks().map(|(_, peak)| ("switch_memory_peak_bytes", peak)).max(),
        core().map(|(_, peak)| ("core_memory_peak_bytes", peak)).max(),
    ];
    // Flows without an end take what there is: then a port that never rests says nothing.
    let busiest = outcome.busy.iter().max().filter(|_| outcome.watched.is_empty());
    let shares = [
        Some(("host_link_utilisation", hosts)),
        Some(("switch_port_utilisation", switches)),
        busiest.map(|busy| ("busiest_port_utilisation", slice::from_ref(busy))),
    ];
    let shares = shares.into_iter().flatten();
    counts
        .into_iter()
        .chain(peaks.into_iter().flatten())
        .map(|(name, count)| (name.to_owned(), Value::Int(count as i64)))
        .chain(shares.map(|(name, busy)| (name.to_owned(), Value::Float(share(busy)))))
        .collect()
}
