//! What a run gives back: rows, one a job, and totals.

use crate::engine::{Figures, Outcome, Watch};
use crate::flow::{Flow, Packets, ideal_fct};
use crate::packet::CLASSES;
use crate::script::Script;
use crate::topology::{Hop, Network};
use crate::transport::Tally;
use sojourn_kernel::parameters::Value;
use sojourn_kernel::{Span, Time};
use sojourn_queueing::{Column, Job, Report, Rows};

/// What the rows' `class` is called.
const CLASS_NAMES: [&str; CLASSES] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// What the rows' `part` is called: the parts of a case that draw jobs.
pub(crate) const PART_NAMES: [&str; 2] = ["workload", "background"];

/// What the rows' `ideal_ps` is, for people.
const IDEAL: &str = "ideal: nobody else in the fabric, store and forward on the flow's own \
                         path, until the last packet's ACK is back at the sender";

/// One row.
struct Row {
    kind: Kind,
    part: u8,
    job: Job,
    src: u16,
    dst: u16,
    tally: Tally,
    deadline: Time,
    class: u8,
    /// Bits a second; NaN where there is nothing to measure it by.
    goodput: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Flow,
    Bulk,
}

const KIND_NAMES: [&str; 2] = ["flow", "bulk"];

/// What the run of `script` gives that had this `outcome`; `ideals` are the best possible times of
/// its flows.
pub(crate) fn report(
    script: &Script,
    packets: &Packets,
    network: &Network,
    ideals: &[Span],
    outcome: &Outcome,
) -> Report {
    let table = jobs(script, packets, ideals, outcome);
    let open = |row: &&Row| row.kind != Kind::Bulk && row.job.finished == Time::NEVER;
    let unfinished = table.iter().filter(open).count();
    Report {
        rows: rows(&table, packets, script.several),
        figures: figures(outcome, network, unfinished),
    }
}

/// The jobs in order, with all that is said of them.
fn jobs(script: &Script, packets: &Packets, ideals: &[Span], outcome: &Outcome) -> Vec<Row> {
    let mut watched = script.watches.iter().zip(&outcome.watched);
    let flows = script.flows.iter().zip(&script.parts).enumerate();
    let row = |(number, (flow, &part)): (usize, (&Flow, &u8))| {
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
        let finished = outcome.finished[number];
        let &Flow { from: src, to: dst, arrived, deadline, class, .. } = flow;
        let job = Job { bytes, arrived, finished, ideal };
        Row { kind, part, job, src, dst, tally, deadline, class, goodput }
    };
    flows.map(row).collect()
}

fn bits_per_second(bytes: u64, watch: &Watch) -> f64 {
    bytes as f64 * 8.0 / (watch.until - watch.from).seconds()
}

/// The columns; those that would say nothing are left out.
fn rows(table: &[Row], packets: &Packets, several: bool) -> Rows {
    let jobs: Vec<Job> = table.iter().map(|row| row.job).collect();
    let codes = table.iter().map(|row| row.kind as u8).collect();
    let mut rows = Rows::of(KIND_NAMES.to_vec(), codes, &jobs);
    let ints = |value: &dyn Fn(&Row) -> i64| table.iter().map(value).collect::<Vec<_>>();
    let names = |code: &dyn Fn(&Row) -> u8, names: &[&'static str]| {
        Column::Name(table.iter().map(code).collect(), names.to_vec())
    };
    rows.push("src", Column::Int(ints(&|row| row.src.into())));
    rows.push("dst", Column::Int(ints(&|row| row.dst.into())));
    rows.push("packets", Column::Int(ints(&|row| packets.count(row.job.bytes).into())));
    rows.push("retransmits", Column::Int(ints(&|row| row.tally.retransmits.into())));
    rows.push("timeouts", Column::Int(ints(&|row| row.tally.timeouts.into())));
    let deadlines = ints(&|row| match row.deadline {
        Time::NEVER => -1,
        deadline => deadline.ps() as i64,
    });
    rows.push("deadline_ps", Column::Ps(deadlines));
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
    rows
}

fn figures(outcome: &Outcome, network: &Network, unfinished: usize) -> Vec<(String, Value)> {
    let Figures {
        hops,
        injected,
        delivered,
        dropped_at_hosts,
        dropped_at_switches,
        in_network,
        marked,
        turns,
    } = outcome.figures;
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
        ("packets_in_network", in_network),
        ("packets_marked", marked),
        ("unfinished", unfinished as u64),
        ("simulated_ps", outcome.ended.ps()),
    ];
    let peak = outcome.memory_peak.map(|bytes| ("switch_memory_peak_bytes", bytes));
    let shares = [("host_link_utilisation", hosts), ("switch_port_utilisation", switches)];
    let mut figures: Vec<(String, Value)> = counts
        .into_iter()
        .chain(peak)
        .map(|(name, count)| (name.to_owned(), Value::Int(count as i64)))
        .chain(shares.iter().map(|&(name, busy)| (name.to_owned(), Value::Float(share(busy)))))
        .collect();
    figures.push(("ideal".to_owned(), Value::Text(IDEAL.to_owned())));
    figures
}

/// Best possible completion times; each pair of racks is routed once.
pub(crate) struct Ideals<'a> {
    network: &'a Network,
    packets: &'a Packets,
    /// By the racks of source and destination: the hops out and back.
    trips: Vec<Option<Box<RoundTrip>>>,
}

type RoundTrip = (Vec<Hop>, Vec<Hop>);

impl<'a> Ideals<'a> {
    pub(crate) fn new(network: &'a Network, packets: &'a Packets) -> Ideals<'a> {
        Ideals { network, packets, trips: vec![None; network.racks() * network.racks()] }
    }

    pub(crate) fn of(&mut self, flow: &Flow) -> Span {
        let (from, to) = (usize::from(flow.from), usize::from(flow.to));
        let network = self.network;
        let pair = network.rack_of(from) * network.racks() + network.rack_of(to);
        let (out, back) = &mut **self.trips[pair]
            .get_or_insert_with(|| Box::new((network.path(from, to), network.path(to, from))));
        // Between two racks all paths are alike but for their first and last links.
        let ends = [network.links[from].spec, network.links[to].spec];
        for (path, [first, last]) in [(&mut *out, ends), (&mut *back, [ends[1], ends[0]])] {
            path[0].link = first;
            path.last_mut().expect("two hops at least").link = last;
        }
        ideal_fct(self.packets, flow.bytes, out, back)
    }
}
