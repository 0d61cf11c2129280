//! Builds small fabrics, runs flows over them, and reads what came out.

use sojourn_core::parameters::{Setting, Table, Value, defaults};
use sojourn_core::resource::{Resource, no_tables};
use sojourn_core::{Bytes, Column, Execution, Keep, Rate, Rows, Span, Streams, Time};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::flow::Completion;
use sojourn_fabric::queue::{DropTail, PFabric, QueueKind};
use sojourn_fabric::topology::{FatTree, Forwarding, LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::{
    AckPriority, MinTcp, NewReno, Priority, TransportKind, WindowLimits,
};
use sojourn_fabric::workload::{Arrivals, Csv, Workload};
use sojourn_fabric::{
    Balance, Buffer, FabricCase, Failure, Flow, Hosts, PacketScheme, Packets, Ready, Report, Scheme,
};
use std::num::NonZeroU32;

/// Payload of a full packet.
pub(crate) const FULL: u64 = 1460;

/// A fabric, what runs on it, and where chance comes from.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    pub(crate) topology: Topology,
    pub(crate) scheme: PacketScheme,
    pub(crate) buffer: Buffer,
    pub(crate) core_buffer: Option<Buffer>,
    pub(crate) packets: Packets,
    pub(crate) hosts: Hosts,
    pub(crate) forwarding: Forwarding,
    pub(crate) completion: Completion,
    pub(crate) drain: Span,
    pub(crate) sample: Option<Span>,
    pub(crate) trace: Option<u32>,
    pub(crate) failure: Vec<Failure>,
    pub(crate) message_rows: bool,
    pub(crate) streams: Streams,
}

impl Lab {
    pub(crate) fn new(topology: Topology, scheme: PacketScheme) -> Lab {
        Lab {
            topology,
            scheme,
            buffer: Buffer::default(),
            core_buffer: None,
            packets: defaults(),
            hosts: Hosts::EXACT,
            forwarding: Forwarding::StoreAndForward,
            completion: Completion::Sender,
            drain: Span::from_s(1000),
            sample: None,
            trace: None,
            failure: Vec::new(),
            message_rows: false,
            streams: Streams::new(1, 0),
        }
    }

    pub(crate) fn case(&self, workload: Workload) -> FabricCase {
        FabricCase {
            window_digest: false,
            message_rows: self.message_rows,
            failure: self.failure.clone(),
            topology: self.topology.clone(),
            workload,
            background: None,
            scheme: Scheme::Packets(self.scheme.clone()),
            buffer: self.buffer.clone(),
            core_buffer: self.core_buffer.clone(),
            packets: self.packets.clone(),
            hosts: self.hosts.clone(),
            forwarding: self.forwarding,
            completion: self.completion,
            drain: self.drain,
            sample: self.sample,
            trace: self.trace,
        }
    }

    /// The flows of `workload`, drawn.
    pub(crate) fn ready(&self, workload: Workload) -> Ready {
        self.case(workload).ready(self.streams, &no_tables).expect("the case can run")
    }

    /// Runs `flows`, in order of arrival, to the end.
    pub(crate) fn run(&self, flows: &[Flow]) -> Run {
        Run::of(&self.ready(listed(&csv(flows))))
    }
}

/// What came out of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) rows: Rows,
    pub(crate) series: Rows,
    pub(crate) averages: Rows,
    pub(crate) pauses: Rows,
    pub(crate) trace: Rows,
    figures: Vec<(String, Value)>,
}

impl Run {
    pub(crate) fn of(ready: &Ready) -> Run {
        Run::kept(ready, Keep::Rows)
    }

    pub(crate) fn kept(ready: &Ready, keep: Keep) -> Run {
        Run::by(ready, Execution { keep, ..Execution::new(&Progress::default()) })
    }

    pub(crate) fn on(ready: &Ready, threads: usize) -> Run {
        Run::by(ready, Execution { threads, ..Execution::new(&Progress::default()) })
    }

    fn by(ready: &Ready, execution: Execution<'_>) -> Run {
        let report = ready.run(execution).expect("not cancelled");
        let Report { rows, beside, totals: figures } = report;
        let table = |name| {
            let own = beside.iter().find(|(table, _)| *table == name);
            own.map_or_else(Rows::default, |(_, rows)| rows.clone())
        };
        let [series, averages, pauses, trace] =
            ["series", "averages", "pauses", "trace"].map(table);
        Run { rows, series, averages, pauses, trace, figures }
    }

    /// Sojourn times in picoseconds; every flow has to be done.
    pub(crate) fn fcts(&self) -> Vec<u64> {
        let sojourns = self.rows.ints("sojourn_ps").iter();
        sojourns.map(|&ps| u64::try_from(ps).expect("every flow is done")).collect()
    }

    /// Mean sojourn time in seconds.
    pub(crate) fn mean_fct(&self) -> f64 {
        let fcts = self.fcts();
        fcts.iter().sum::<u64>() as f64 / fcts.len() as f64 / 1e12
    }

    pub(crate) fn sum(&self, column: &str) -> i64 {
        self.rows.ints(column).iter().sum()
    }

    /// A total of the whole run.
    pub(crate) fn figure(&self, name: &str) -> i64 {
        match self.figures.iter().find(|(figure, _)| figure == name) {
            Some((_, Value::Int(total))) => *total,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A total of the whole run in words.
    pub(crate) fn words(&self, name: &str) -> &str {
        match self.figures.iter().find(|(figure, _)| figure == name) {
            Some((_, Value::Text(words))) => words,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The same, where the run has it.
    pub(crate) fn words_if_any(&self, name: &str) -> Option<&str> {
        self.figures.iter().any(|(figure, _)| figure == name).then(|| self.words(name))
    }

    /// A total of the whole run that is a share.
    pub(crate) fn share(&self, name: &str) -> f64 {
        match self.figures.iter().find(|(figure, _)| figure == name) {
            Some((_, Value::Float(share))) => *share,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// The names in the column `name`, row by row.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        match self.rows.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::Name(codes, names))) => {
                codes.iter().map(|&code| names[usize::from(code)].clone().into_owned()).collect()
            }
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn drops(&self) -> i64 {
        self.figure("packets_dropped_at_hosts") + self.figure("packets_dropped_at_switches")
    }
}

/// A flow without a deadline that arrives `ps` picoseconds after the start.
pub(crate) fn flow(from: u16, to: u16, bytes: u64, ps: u64) -> Flow {
    Flow::new(from, to, bytes, Time::from_ps(ps))
}

/// The workload that reads its flows from a text as [`csv`] gives it.
pub(crate) fn listed(csv: &str) -> Workload {
    Arrivals::Csv(Csv { file: Resource::text("flows.csv", csv).into() }).into()
}

/// `flows` as a file lists them.
pub(crate) fn csv(flows: &[Flow]) -> String {
    let line = |flow: &Flow| {
        let Flow { from, to, bytes, arrived, deadline, class } = *flow;
        let deadline = match deadline {
            Time::NEVER => String::new(),
            _ => (deadline - arrived).to_string(),
        };
        format!("{from},{to},{bytes},{arrived},{deadline},{class}\n")
    };
    let lines: String = flows.iter().map(line).collect();
    format!("src,dst,size_bytes,arrival,deadline,class\n{lines}")
}

pub(crate) fn single_switch(hosts: u32) -> Topology {
    Topology::SingleSwitch(SingleSwitch { hosts, ..defaults() })
}

pub(crate) fn leaf_spine(racks: u32, hosts: u32, spines: u32, uplinks: u32) -> LeafSpine {
    LeafSpine { racks, hosts, spines, uplinks, ..defaults() }
}

pub(crate) fn fat_tree(k: u32) -> Topology {
    Topology::FatTree(FatTree { k, ..defaults() })
}

pub(crate) fn known(name: &str) -> PacketScheme {
    PacketScheme::known(name).expect("a known scheme")
}

/// A transport over a queue, sprayed, without priorities.
pub(crate) fn scheme(transport: TransportKind, queue: QueueKind) -> PacketScheme {
    PacketScheme {
        name: "test".to_owned(),
        transport,
        queue,
        balance: Balance::Spray,
        priority: Priority::None(defaults()),
        ack_priority: AckPriority::Highest,
        pfc: None,
    }
}

pub(crate) fn drop_tail(buffer: u64) -> QueueKind {
    QueueKind::DropTail(DropTail { buffer: Bytes(buffer), ..defaults() })
}

/// pFabric's port as in the paper.
pub(crate) fn pfabric() -> QueueKind {
    QueueKind::PFabric(defaults::<PFabric>())
}

/// A buffer as a study file would have it: its kind, and other settings.
pub(crate) fn buffer(kind: &str, settings: &[(&str, &str)]) -> Buffer {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    for (key, text) in settings {
        table.set(key, value(text));
    }
    Buffer::read(&Value::Table(table)).expect("a buffer")
}

/// A setting as a study file would have it.
pub(crate) fn value(text: &str) -> Value {
    match (text.parse(), text.parse(), text.parse()) {
        (Ok(whole), ..) => Value::Int(whole),
        (_, Ok(number), _) => Value::Float(number),
        (.., Ok(truth)) => Value::Bool(truth),
        _ => Value::Text(text.to_owned()),
    }
}

/// A sender that never waits: all its packets leave at once, and no timer runs out.
pub(crate) fn all_at_once() -> TransportKind {
    TransportKind::MinTcp(MinTcp {
        initial_window: count(1_000_000),
        rto: Span::from_s(10),
        ..defaults()
    })
}

/// NewReno with this window to begin with.
pub(crate) fn new_reno(initial_window: u32) -> NewReno {
    NewReno {
        window: WindowLimits { initial_window: count(initial_window), ..defaults() },
        ..defaults()
    }
}

pub(crate) fn count(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("above zero")
}

pub(crate) fn gbps(n: u64) -> Rate {
    Rate::gbps(n)
}

/// A failure as a study has it: settings with commas between them.
pub(crate) fn failure(settings: &str) -> Failure {
    let mut table = Table::default();
    for setting in settings.split(", ").filter(|setting| !setting.is_empty()) {
        let (key, text) = setting.split_once(" = ").expect("a setting");
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        table.set(key, quoted.map_or_else(|| value(text), |text| Value::Text(text.to_owned())));
    }
    Failure::read(&Value::Table(table)).expect("a failure")
}
