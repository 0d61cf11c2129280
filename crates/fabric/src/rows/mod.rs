//! What a run gives back: rows, one a job, and totals.

mod deadlock;
mod go_back;
mod long_flows;
mod rank_columns;
mod ranks;
mod stopped;
mod table;
mod too_short;
mod trace;
mod vocabulary;
mod without_route;

pub(crate) use deadlock::deadlock;
pub(crate) use go_back::go_back;
pub(crate) use too_short::too_short;
pub(crate) use trace::{OfFlow, TRACE, trace};
pub(crate) use vocabulary::{
    BUSIEST_LINK, DEADLOCK, FAILED_ASSUMPTIONS, GOES_BACK, TOO_SHORT, VOCABULARY, WITHOUT_ROUTE,
    kinds_of,
};
use vocabulary::{BUSIEST_PORT, RECEIVED};
pub(crate) use without_route::without_route;

use crate::engine::{Outcome, PacketCounts, Sample};
use crate::flow::{Completion, Packets};
use crate::job::{Averaging, IdealTimes, Jobs};
use crate::topology::Network;
use crate::workload::JobKind;
use crate::workload::offered::queue;
use sojourn_core::parameters::Value;
use sojourn_core::{Column, Keep, Report, Rows, SERIES, Span};
use std::slice;
use table::{Row, Run, columns};

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

/// Explain the column `ideal_ps` of jobs that are sets of messages.
const IDEALS_OF_SETS: [(JobKind, &str); 2] = [
    (
        JobKind::Query,
        "ideal of a query: from the question on, each request and answer alone in the fabric, but all \
         answers through the client's link",
    ),
    (
        JobKind::Messages,
        "ideal of a job: from its first message on, each message alone in the fabric as soon as those \
         of the job that it waits for, but all that a host receives through its link",
    ),
];

/// The jobs of a run and the fabric they ran in, for rows.
#[derive(Clone, Copy)]
pub(crate) struct Played<'a> {
    pub(crate) jobs: &'a Jobs,
    pub(crate) network: &'a Network,
    pub(crate) packets: &'a Packets,
    pub(crate) completion: Completion,
    pub(crate) averaging: &'a Averaging,
    /// Whether links of the fabric fail.
    pub(crate) have_failures: bool,
}

/// The report of a run `of` some jobs with this `outcome`, measured by `ideals`.
pub(crate) fn report(keep: Keep, of: Played<'_>, ideals: &IdealTimes, outcome: &Outcome) -> Report {
    let (jobs, network) = (of.jobs, of.network);
    let run = Run { of, ideals, outcome };
    let played = run.rows().chain(ranks::rows(of, outcome));
    let (rows, beside, unfinished) = match keep {
        Keep::Rows => {
            let table: Vec<Row> = played.collect();
            let unfinished = table.iter().filter(|row| row.is_open()).count();
            let beside = [
                (SERIES, series(network, outcome)),
                (long_flows::AVERAGES, long_flows::averages(of, outcome)),
                (stopped::PAUSES, stopped::stopped(outcome, network)),
            ];
            let beside = beside.into_iter().filter(|(_, table)| !table.columns.is_empty());
            (columns(&table, of), beside.collect(), unfinished)
        }
        Keep::Totals => (Rows::default(), Vec::new(), played.filter(Row::is_open).count()),
    };
    let mut totals = totals(outcome, of, unfinished);
    totals.extend(queue(&jobs.offered, network));
    let mut said = ideal(network.links.iter().any(|link| link.cuts), of.completion);
    if jobs.ranks.is_some() {
        said = format!("{said}; {}", ranks::IDEALS);
    }
    for (kind, meaning) in IDEALS_OF_SETS {
        if jobs.sets.iter().any(|set| set.kind == kind) {
            said = format!("{said}; {meaning}");
        }
    }
    totals.push(("ideal".to_owned(), Value::Text(said)));
    Report { rows, beside, totals }
}

/// The time series of switches' ports: the port, the bytes waiting there, and its utilisation since the
/// sample before; with priority flow control how often it was stopped since then, and for which share of the time.
fn series(network: &Network, outcome: &Outcome) -> Rows {
    let samples = &outcome.samples;
    if samples.is_empty() {
        return Rows::default();
    }
    let hosts = network.hosts as u32;
    let link = |sample: &Sample| &network.links[sample.port as usize];
    let to = |sample: &Sample| link(sample).to;
    let ints = |of: &dyn Fn(&Sample) -> u32| samples.iter().map(|s| of(s).into()).collect();
    let mut columns = vec![
        ("at_ps", Column::Ps(samples.iter().map(|sample| sample.at.ps() as i64).collect())),
        ("switch", Column::Int(ints(&|sample| link(sample).from - hosts))),
        (
            "towards",
            Column::of_names(
                samples.iter().map(|sample| u8::from(to(sample) >= hosts)).collect(),
                &["host", "switch"],
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
    if !outcome.pauses.is_empty() {
        let paused = |s: &Sample| s.pauses.time.seconds() / s.since.seconds();
        columns
            .push(("pauses", Column::Int(samples.iter().map(|s| s.pauses.count as i64).collect())));
        columns.push(("paused", Column::Float(samples.iter().map(paused).collect())));
    }
    Rows { columns }
}

fn totals(outcome: &Outcome, of: Played<'_>, unfinished: usize) -> Vec<(String, Value)> {
    let network = of.network;
    let PacketCounts {
        hops,
        injected,
        delivered,
        dropped_at_hosts,
        dropped_at_switches,
        dropped_in_core,
        lost_on_links,
        lost_by_script,
        in_network,
        marked,
        turns,
    } = outcome.counts;
    // Of long flows, in their measuring windows.
    let tallies = if outcome.watched.is_empty() { &outcome.tallies } else { &outcome.watched };
    let longest = tallies.iter().map(|tally| tally.longest_timeout).max();
    let counts = [
        ("events", hops + turns),
        ("hops", hops),
        ("host_turns", turns),
        ("packets_injected", injected),
        ("packets_delivered", delivered),
        ("drops", dropped_at_hosts + dropped_at_switches + lost_on_links + lost_by_script),
        ("packets_dropped_at_hosts", dropped_at_hosts),
        ("packets_dropped_at_switches", dropped_at_switches),
        ("packets_dropped_in_core", dropped_in_core),
        ("packets_in_network", in_network),
        ("packets_marked", marked),
        ("timeouts", outcome.tallies.iter().map(|tally| u64::from(tally.timeouts)).sum()),
        ("longest_timeout_ps", longest.map_or(0, Span::ps)),
        ("unfinished", unfinished as u64),
        ("simulated_ps", outcome.ended.ps()),
    ];
    let peaks = || outcome.memory_peaks.iter().copied().enumerate();
    let core = || peaks().filter(|(switch, _)| !network.is_edge(*switch));
    let at_ports = outcome.port_peaks.get(network.hosts..).unwrap_or_default();
    let peaks = [
        at_ports.iter().copied().max().map(|peak| ("port_memory_peak_bytes", peak)),
        peaks().map(|(_, peak)| ("switch_memory_peak_bytes", peak)).max(),
        core().map(|(_, peak)| ("core_memory_peak_bytes", peak)).max(),
        of.jobs
            .watches
            .iter()
            .map(|own| ("measuring_window_ps", (own.until - own.from).ps()))
            .min(),
    ];
    let cnps: Option<u64> = tallies.iter().map(|tally| tally.cnps.map(u64::from)).sum();
    let received = long_flows::received_share(of, outcome);
    let lost = of.have_failures.then_some(("packets_lost_on_links", lost_on_links));
    let probes: Option<u64> = tallies.iter().map(|tally| tally.probes.map(u64::from)).sum();
    let script = Some(("packets_lost_by_script", lost_by_script)).filter(|_| lost_by_script > 0);
    let closed = outcome.ranks.as_ref().map(|ranks| ranks.closed.iter().sum());
    counts
        .into_iter()
        .chain(lost)
        .chain(peaks.into_iter().flatten())
        .chain(pauses(outcome, network.hosts))
        .chain(probes.filter(|_| !tallies.is_empty()).map(|probes| ("probes", probes)))
        .chain(cnps.filter(|_| !tallies.is_empty()).map(|cnps| ("cnps", cnps)))
        .chain(script)
        .chain(closed.map(|closed| ("collectives_by_closed_form", closed)))
        .map(|(name, count)| (name.to_owned(), Value::Int(count as i64)))
        .chain(utilisations(outcome, network.hosts))
        .chain(received.map(|share| (RECEIVED.to_owned(), Value::Float(share))))
        .collect()
}

/// What pauses did, to ports of so many `hosts` too; nothing without priority flow control.
fn pauses(outcome: &Outcome, hosts: usize) -> Vec<(&'static str, u64)> {
    if outcome.pauses.is_empty() {
        return Vec::new();
    }
    let pauses = || outcome.pauses.iter();
    let at_hosts = pauses().take(hosts);
    vec![
        ("pauses", pauses().map(|port| port.count).sum()),
        ("pauses_at_hosts", at_hosts.map(|port| port.count).sum()),
        ("paused_ps", pauses().map(|port| port.time.ps()).sum()),
        ("longest_paused_port_ps", pauses().map(|port| port.time.ps()).max().unwrap_or(0)),
        ("headroom_peak_bytes", outcome.headroom_peaks.iter().copied().max().unwrap_or(0)),
    ]
}

/// The shares of the run for which links of so many `hosts` and ports were busy.
fn utilisations(outcome: &Outcome, hosts: usize) -> impl Iterator<Item = (String, Value)> {
    let (hosts, switches) = outcome.busy.split_at(hosts);
    let share = |busy: &[Span]| {
        let all = outcome.ended.seconds() * busy.len() as f64;
        let busy: f64 = busy.iter().map(|span| span.seconds()).sum();
        if all > 0.0 { busy / all } else { 0.0 }
    };
    // Flows without an end take what there is: then a port that never rests says nothing.
    let busiest = outcome.busy.iter().max().filter(|_| outcome.watched.is_empty());
    let shares = [
        Some(("host_link_utilisation", hosts)),
        Some(("switch_port_utilisation", switches)),
        busiest.map(|busy| (BUSIEST_PORT, slice::from_ref(busy))),
    ];
    let named = shares.into_iter().flatten();
    let all: Vec<(String, Value)> =
        named.map(|(name, busy)| (name.to_owned(), Value::Float(share(busy)))).collect();
    all.into_iter()
}
