//! The words of fabrics for jobs, and what is measured of them.

use crate::workload::offered::OFFERED;
use crate::workload::{Arrivals, Workload};
use sojourn_core::{Caution, Doubts, JobKind, Metric, SizeBin, Station, Vocabulary};

/// The kind of a row.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Flow,
    Bulk,
    Query,
    Response,
    Job,
    Collective,
    Iteration,
    Step,
    Message,
}

/// Names of the column `kind`.
pub(super) const KIND_NAMES: [&str; 9] =
    ["flow", "bulk", "query", "response", "job", "collective", "iteration", "step", "rank-message"];

/// The names of the kinds of rows that a workload can give.
pub(crate) fn kinds_of(workload: &Workload) -> &'static [&'static str] {
    match &workload.arrivals {
        Arrivals::Bulk(_) => &["bulk"],
        Arrivals::Query(_) => &["query", "response"],
        _ if workload.has_ranks() => &["collective", "iteration", "step", "rank-message"],
        _ => &["flow", "job"],
    }
}

/// The bins of the pFabric paper, section 3, "FCT breakdown".
const BINS: &[SizeBin] = &[
    SizeBin { name: "(0,100KB]", above: 0.0, upto: 100e3 },
    SizeBin { name: "(100KB,10MB]", above: 100e3, upto: 10e6 },
    SizeBin { name: "(10MB,inf)", above: 10e6, upto: f64::INFINITY },
];

/// The vocabulary of fabrics: kinds of jobs, their metrics and size bins.
pub(crate) const VOCABULARY: Vocabulary = Vocabulary {
    // The ideal scheduler knows no packets.
    work: &[("packet-hop", "hops"), ("flow", "jobs")],
    percentiles: &[50.0, 90.0, 95.0, 99.0],
    lengths: &[
        "workload.flows",
        "workload.queries",
        "workload.iterations",
        "workload.rounds",
        "background.flows",
        "background.queries",
        "background.iterations",
        "background.rounds",
        "workload.window",
        "background.window",
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
            name: KIND_NAMES[Kind::Job as usize],
            label: "job",
            plural: "jobs",
            part_of: None,
            metrics: &[COMPLETION_TIME, Metric::slowdown(true)],
            bins: &[],
            note: "completion time of a job: from the begin of its first message until its last one has come",
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
            note: "goodput of a bulk flow: new bytes at its receiver in the measuring window",
        },
        JobKind {
            name: KIND_NAMES[Kind::Iteration as usize],
            label: "iteration",
            plural: "iterations",
            part_of: None,
            metrics: &[
                Metric::time_in_ms("iteration time"),
                Metric {
                    column: "exposed_ps",
                    name: "exposed communication",
                    unit: "ms",
                    per_unit: 1e9,
                    shown: true,
                },
                on_path("path_network_ps", "network on the critical path"),
                on_path("path_on_server_ps", "servers on the critical path"),
                on_path("path_computing_ps", "computing on the critical path"),
            ],
            bins: &[],
            note: "exposed communication: what an iteration takes longer than the rank that computes longest, with \
                   its collectives inside of a server",
        },
        JobKind {
            name: KIND_NAMES[Kind::Collective as usize],
            label: "collective",
            plural: "collectives",
            part_of: None,
            metrics: &[
                COMPLETION_TIME,
                Metric {
                    column: "bus_bps",
                    name: "bus bandwidth",
                    unit: "GB/s",
                    per_unit: 8e9,
                    shown: true,
                },
                Metric::slowdown(true),
            ],
            bins: &[],
            note: "completion time of a collective: from the first rank that joins until the last one has sent and \
                   received everything; bus bandwidth: as nccl-tests defines it, from the last rank that joins on",
        },
        JobKind {
            name: KIND_NAMES[Kind::Step as usize],
            label: "step of the critical path",
            plural: "steps of the critical path",
            part_of: Some(KIND_NAMES[Kind::Iteration as usize]),
            metrics: &[Metric::time_in_ms("time")],
            bins: &[],
            note: "steps of the critical path: what the rank that ends last has waited for, back to the begin",
        },
        JobKind {
            name: KIND_NAMES[Kind::Message as usize],
            label: "message of ranks",
            plural: "messages of ranks",
            part_of: Some(KIND_NAMES[Kind::Iteration as usize]),
            metrics: &[COMPLETION_TIME],
            bins: &[],
            note: "completion time of a message of ranks: from the moment at which its rank hands it to the network \
                   until its last byte has come",
        },
    ],
    totals: &[
        count("drops", "drops"),
        count("packets_marked", "marked packets"),
        count("timeouts", "time-outs"),
        count("probes", "probes"),
        count("pauses", "pauses"),
        count("cnps", "CNPs"),
        kilobytes("port_memory_peak_bytes", "fullest port"),
        kilobytes("switch_memory_peak_bytes", "fullest switch"),
        kilobytes("headroom_peak_bytes", "fullest headroom"),
    ],
    split: None,
    background: &[],
    phrases: &[],
    doubts: Doubts {
        cautions: &[
            Caution {
                total: FAILED_ASSUMPTIONS,
                from: None,
                text: "the estimate's assumptions fail: {}{cases}",
            },
            Caution {
                total: RECEIVED,
                from: Some(1.0_f64.next_up()),
                text: "the goodputs of a host's flows sum to {} of what its link can carry{cases}: they are \
                       not what the host received",
            },
            Caution {
                total: OFFERED,
                from: Some(1.0),
                text: "up to {} of what the busiest link carries is offered to it{cases}: no steady state, \
                       and a longer run gives other numbers",
            },
            Caution { total: TOO_SHORT, from: None, text: "{}{cases}" },
            Caution { total: WITHOUT_ROUTE, from: None, text: "{}{cases}" },
            Caution { total: DEADLOCK, from: None, text: "{}{cases}" },
            Caution { total: GOES_BACK, from: None, text: "{}{cases}" },
        ],
        stations: &[
            Station {
                total: BUSIEST_PORT,
                // Hosts that lost packets leave a port idle at times, whatever is offered.
                full: 0.95,
                text: "a port is busy all the time{cases}: the load is at its capacity or over it, or a few \
                       flows fill it",
            },
            Station::any(BUSIEST_LINK),
        ],
        offered: &[OFFERED],
        closed_loop: None,
        failures: &[DEADLOCK],
    },
};

/// The total that says which assumptions of an estimate do not hold.
pub(crate) const FAILED_ASSUMPTIONS: &str = "doubts";
/// The total with the load of the busiest link of an estimate.
pub(crate) const BUSIEST_LINK: &str = "busiest_link_load";
/// The total with the busy share of the busiest port.
pub(super) const BUSIEST_PORT: &str = "busiest_port_utilisation";
/// The total with the share of its link that a host received, the largest of all hosts.
pub(super) const RECEIVED: &str = "received_share_of_link";
/// The total that says which time of a scheme is shorter than the round trip of some flows.
pub(crate) const TOO_SHORT: &str = "too_short";
/// The total that says how many flows had no route any more.
pub(crate) const WITHOUT_ROUTE: &str = "without_route";

/// The total that says which ports wait for each other for ever.
pub(crate) const DEADLOCK: &str = "deadlock";

/// The total that says how often packets that were overtaken were sent again.
pub(crate) const GOES_BACK: &str = "goes_back";

/// A total that counts.
const fn count(column: &'static str, name: &'static str) -> Metric {
    Metric { column, name, unit: "", per_unit: 1.0, shown: true }
}

/// A total in bytes, shown in KB.
const fn kilobytes(column: &'static str, name: &'static str) -> Metric {
    Metric { column, name, unit: "KB", per_unit: 1e3, shown: true }
}

/// A share of the time of a critical path.
const fn on_path(column: &'static str, name: &'static str) -> Metric {
    Metric { column, name, unit: "ms", per_unit: 1e9, shown: false }
}

const COMPLETION_TIME: Metric = Metric::time_in_ms("completion time");
