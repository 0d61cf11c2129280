//! Queries: forks that join, and what runs beside them.

use crate::common::{FULL, Lab, Run, count, drop_tail, known, leaf_spine, new_reno, scheme};
use crate::witness::watch;
use proptest::prelude::*;
use sojourn_core::parameters::{Parameters, Refusal, Table, Value, defaults};
use sojourn_core::resource::{FileName, NameOrFile, Resource, no_tables};
use sojourn_core::{Bytes, Frequency, Keep, Rate, Rows, Span, Streams};
use sojourn_fabric::queue::DropTail;
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::TransportKind;
use sojourn_fabric::workload::{
    Arrivals, FanIn, LoadOf, Poisson, Queries, Servers, SizeOf, When, Workload, WorkloadContext,
};
use sojourn_fabric::{FabricCase, Flow, Packets, Scheme};
use sojourn_properties::cases;
use std::collections::BTreeSet;

fn some(queries: Queries) -> Workload {
    Arrivals::Query(queries).into()
}

fn switch(hosts: u32) -> Topology {
    let delay = Span::from_us(1);
    Topology::SingleSwitch(SingleSwitch { hosts, delay, ..defaults() })
}

fn tcp() -> sojourn_fabric::PacketScheme {
    scheme(TransportKind::NewReno(new_reno(10)), drop_tail(1_000_000))
}

/// Three servers, a packet each, over links of 10 Gb/s and 1 us. Request number k of 140 B leaves
/// the client after k times 112 ns, and is at its server 1000 + 112 + 1000 ns later. The server sends
/// its ACK, 32 ns, and then the answer: 1200 ns and 1000 ns to the switch, where the first answer is
/// after 112 + 2112 + 32 + 2200 = 4456 ns. From then on the client's link is busy for three packets.
#[test]
fn a_query_is_done_when_its_last_answer_has_come() {
    let queries = Queries {
        queries: count(5),
        fan_in: FanIn(vec![3]),
        clients: Some(count(1)),
        size: Bytes(FULL),
        size_of: SizeOf::Response,
        ..defaults()
    };
    let run = Run::of(&Lab::new(switch(4), tcp()).ready(some(queries)));
    assert_eq!(run.names("kind"), [["query"; 5].as_slice(), &["response"; 15]].concat());
    assert_eq!(run.rows.ints("sojourn_ps")[..5], [4_456_000 + 3_600_000 + 1_000_000; 5]);
    // The best possible knows of no ACK of a request.
    assert_eq!(run.rows.ints("ideal_ps")[..5], [4_424_000 + 3_600_000 + 1_000_000; 5]);
    assert_eq!(run.rows.ints("ideal_ps")[5..], [2_224_000 + 4_400_000; 15]);
    let arrived = run.rows.ints("arrived_ps");
    for (query, asked) in arrived[..5].iter().enumerate() {
        let own = 5 + 3 * query..8 + 3 * query;
        let since = |column: &str| -> Vec<i64> {
            let mut times = run.rows.ints(column)[own.clone()].to_vec();
            times.sort_unstable();
            times.iter().map(|at| at - asked).collect()
        };
        assert_eq!(since("arrived_ps"), [0; 3]);
        assert_eq!(since("started_ps"), [2_224_000, 2_336_000, 2_448_000]);
        assert_eq!(since("finished_ps"), [6_656_000, 7_856_000, 9_056_000]);
    }
    assert_eq!(run.rows.ints("dst")[..5], [-1; 5]);
    assert_eq!(run.rows.ints("size_bytes")[..5], [3 * FULL as i64; 5]);
    assert_eq!(run.rows.ints("packets")[..5], [3; 5]);
}

/// A server that thinks answers later by as much.
#[test]
fn servers_think() {
    let think = Span::from_us(50);
    let queries = Queries { fan_in: FanIn(vec![1]), size: Bytes(FULL), think, ..defaults() };
    let run = Run::of(&Lab::new(switch(4), tcp()).ready(some(queries)));
    let alone = 2_224_000 + 50_000_000 + 4_400_000;
    let rows = run.rows.ints("sojourn_ps").iter().zip(run.rows.ints("ideal_ps"));
    for (&sojourn, &ideal) in rows {
        assert_eq!(ideal, alone);
        // No ACK is in the way any more, but another query may be.
        assert!((alone..alone + 20_000).contains(&sojourn), "{sojourn}");
    }
}

/// A case with queries, and what its rows have to hold.
fn queries() -> impl Strategy<Value = Queries> {
    let fan_in = prop::collection::vec(1u32..7, 1..3);
    let when = prop_oneof![Just(When::Poisson), Just(When::Periodic)];
    let servers = prop_oneof![Just(Servers::Random), Just(Servers::Fixed)];
    let size_of = prop_oneof![Just(SizeOf::Query), Just(SizeOf::Response)];
    let thinks = (0u64..30, 0u64..100);
    (1u32..40, fan_in, when, servers, size_of, 7u64..40_000, thinks).prop_map(
        |(queries, fan_in, arrivals, servers, size_of, size, (think, spread))| Queries {
            queries: count(queries),
            fan_in: FanIn(fan_in),
            clients: None,
            rate: Frequency::new(10_000.0).expect("above zero"),
            arrivals,
            jitter: Span::from_us(30),
            servers,
            size: Bytes(size),
            size_of,
            request: Bytes(100),
            think: Span::from_us(think),
            think_spread: Span::from_us(spread),
        },
    )
}

proptest! {
    #![proptest_config(cases(60))]

    /// Every query has exactly its answers, from different servers, and ends with the slowest; none
    /// is quicker than the best possible.
    #[test]
    fn queries_are_conserved(
        queries in queries(),
        seed in any::<u64>(),
        shallow in any::<bool>(),
        far in prop::sample::select(vec![0u64, 3]),
        name in prop::sample::select(vec!["DCTCP", "MinTCP+pFabric", "NDP", "TCP+DropTail"]),
    ) {
        let spines = LeafSpine { delay_spread: Span::from_us(far), ..leaf_spine(2, 4, 2, 1) };
        let mut lab = Lab::new(Topology::LeafSpine(spines), known(name));
        lab.streams = Streams::new(seed, 0);
        if shallow {
            // Too little time for some of them.
            lab.drain = Span::from_us(40);
        }
        let number = queries.queries.get() as usize;
        let ready = lab.ready(some(queries.clone()));
        let run = Run::of(&ready);
        let of = |column: &str| run.rows.ints(column);
        let rows = of("job").len();
        let asked: u32 = queries.fan_in.0.iter().cycle().take(number).sum();
        prop_assert_eq!(rows, number + asked as usize);
        prop_assert!(of("arrived_ps")[..number].is_sorted());
        prop_assert!(run.rows.floats("slowdown").iter().all(|slowdown| slowdown.is_nan() || *slowdown >= 1.0));
        let mut fan_ins = Vec::new();
        for query in 0..number {
            let own: Vec<usize> =
                (number..rows).filter(|&row| of("query")[row] == query as i64).collect();
            fan_ins.push(own.len() as u32);
            prop_assert_eq!(of("query")[query], query as i64);
            let servers: BTreeSet<i64> = own.iter().map(|&row| of("src")[row]).collect();
            prop_assert_eq!(servers.len(), own.len());
            prop_assert!(!servers.contains(&of("src")[query]));
            prop_assert!(own.iter().all(|&row| of("dst")[row] == of("src")[query]));
            prop_assert!(own.iter().all(|&row| of("arrived_ps")[row] == of("arrived_ps")[query]));
            let ends: Vec<i64> = own.iter().map(|&row| of("finished_ps")[row]).collect();
            let last = if ends.contains(&-1) { -1 } else { *ends.iter().max().expect("answers") };
            prop_assert_eq!(of("finished_ps")[query], last);
            for column in ["size_bytes", "packets", "retransmits", "timeouts"] {
                let sum: i64 = own.iter().map(|&row| of(column)[row]).sum();
                prop_assert_eq!(of(column)[query], sum);
            }
            let size = match queries.size_of {
                SizeOf::Query => queries.size.0,
                SizeOf::Response => queries.size.0 * own.len() as u64,
            };
            prop_assert_eq!(of("size_bytes")[query] as u64, size);
            let least = (queries.think.ps() + 2 * 200_000) as i64;
            prop_assert!(own.iter().all(|&row| of("started_ps")[row] == -1
                || of("started_ps")[row] - of("arrived_ps")[row] > least));
        }
        fan_ins.sort_unstable();
        let mut wanted: Vec<u32> = queries.fan_in.0.iter().copied().cycle().take(number).collect();
        wanted.sort_unstable();
        prop_assert_eq!(fan_ins, wanted);
        let open = of("finished_ps").iter().filter(|at| **at == -1).count();
        prop_assert_eq!(run.figure("unfinished"), open as i64);
        prop_assert!(shallow || open == 0);
        let mut totals = run.clone();
        totals.rows = Rows::default();
        prop_assert_eq!(Run::kept(&ready, Keep::Totals), totals);
    }
}

fn poisson(load: f64, load_of: LoadOf, flows: i64, sizes: FileName) -> Poisson {
    let mut table = Table::default();
    table.set("load", Value::Float(load));
    table.set("flows", Value::Int(flows));
    let sizes = NameOrFile(sizes);
    Poisson { load_of, sizes, ..Poisson::read_table(&table).expect("a workload") }
}

/// Arrivals, pairs and sizes of the background are the same with queries and without.
#[test]
fn queries_leave_the_background_alone() {
    let lab = Lab::new(Topology::LeafSpine(leaf_spine(3, 4, 2, 1)), known("DCTCP"));
    let files = || -> Workload {
        Arrivals::Poisson(poisson(0.4, LoadOf::Servers, 300, "websearch".into())).into()
    };
    let asked = Queries {
        queries: count(50),
        rate: Frequency::new(1000.0).expect("above zero"),
        size: Bytes(200_000),
        ..defaults()
    };
    let beside = FabricCase { background: Some(files()), ..lab.case(some(asked.clone())) };
    assert_eq!(beside.count(lab.streams, &no_tables, &|_| {}), Ok(300 + 50 + 400));
    let beside = Run::of(&beside.ready(lab.streams, &no_tables).expect("a case"));
    let plain = Run::of(&lab.ready(files()));
    let queries = Run::of(&lab.ready(some(asked)));
    for column in ["job", "size_bytes", "arrived_ps", "src", "dst", "ideal_ps"] {
        assert_eq!(beside.rows.ints(column)[..300], *plain.rows.ints(column), "{column}");
    }
    for column in ["size_bytes", "arrived_ps", "src", "dst", "ideal_ps"] {
        assert_eq!(beside.rows.ints(column)[300..], *queries.rows.ints(column), "{column}");
    }
    assert_eq!(beside.names("part")[..300], ["background"; 300]);
    assert_eq!(beside.names("part")[300..], ["workload"; 450]);
    assert!(beside.rows.ints("query")[..300].iter().all(|query| *query == -1));
    assert_ne!(beside.rows.ints("finished_ps")[..300], *plain.rows.ints("finished_ps"));
}

/// Poisson queries come as often as they should, evenly from all clients to all servers: each count
/// within four standard deviations.
#[test]
fn clients_ask_as_often_as_they_should() {
    let lab = Lab::new(switch(5), tcp());
    for arrivals in [When::Poisson, When::Periodic] {
        let asked = Queries {
            queries: count(20_000),
            fan_in: FanIn(vec![2]),
            arrivals,
            jitter: Span::from_ms(20),
            ..defaults()
        };
        let graph = lab.topology.graph();
        let context = WorkloadContext {
            graph: &graph,
            packets: &lab.packets,
            tables: &no_tables,
            tell: &|_| {},
        };
        let drawn = some(asked).draw(&context, Streams::new(3, 0)).expect("queries");
        assert_eq!(drawn.graph.jobs().len(), 20_000);
        // Of each query two requests, each before its answer.
        let requests: Vec<Flow> = drawn.flows.iter().step_by(2).copied().collect();
        let seconds = requests.last().expect("queries").arrived.seconds();
        let (mean, spread) = match arrivals {
            When::Poisson => (400.0, 4.0 * 400.0 / 20_000f64.sqrt()),
            When::Periodic => (400.0, 0.2),
        };
        assert!((seconds - mean).abs() < spread, "{arrivals:?}: {seconds}");
        let queries = requests.iter().step_by(2);
        let clients = |client| queries.clone().filter(|query| query.from == client).count() as f64;
        let (each, spread) = match arrivals {
            When::Poisson => (4_000.0, 4.0 * (20_000f64 * 0.2 * 0.8).sqrt()),
            When::Periodic => (4_000.0, 2.0),
        };
        assert!((0..5).all(|client| (clients(client) - each).abs() <= spread));
        let asked = |server| requests.iter().filter(|request| request.to == server).count() as f64;
        let spread = 4.0 * (16_000f64 * 0.25).sqrt() + 4.0;
        assert!((0..5).all(|server| (asked(server) - 8_000.0).abs() < spread));
    }
}

/// What crosses the fabric fills its uplinks as it was said: data by the load, ACKs on top; the
/// counts of 6000 flows are within 5 % of what they should be.
#[test]
fn the_load_of_the_fabric_is_that_of_its_uplinks() {
    let spine = leaf_spine(4, 5, 2, 1);
    let spine = LeafSpine { uplink_rate: Rate::gbps(10), ..spine };
    let lab = Lab::new(Topology::LeafSpine(spine), known("DCTCP"));
    let graph = lab.topology.graph();
    let packets: Packets = defaults();
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &|_| {} };
    // 15 of the 19 others are in other racks; 20 links to hosts, 8 uplinks.
    let of_servers = 0.5 * 8.0 / 20.0 * 19.0 / 15.0;
    for (load, load_of) in [(0.5, LoadOf::Fabric), (of_servers, LoadOf::Servers)] {
        let sizes = Resource::text("ten.packets", "14600 0\n14600 1\n");
        let files = poisson(load, load_of, 6_000, sizes.into());
        let drawn = Workload::from(Arrivals::Poisson(files)).draw(&context, Streams::new(5, 0));
        let flows = drawn.expect("flows").flows;
        let (outcome, _) = watch(&lab, &defaults::<DropTail>(), &flows, |_| false);
        let network = graph.network();
        let leaves = (0..4).flat_map(|leaf| network.ports_of(leaf));
        let up: Vec<usize> =
            leaves.filter(|&port| network.links[port].to as usize >= network.hosts).collect();
        assert_eq!(up.len(), 8);
        let busy: f64 = up.iter().map(|&port| outcome.busy[port].seconds()).sum();
        let used = busy / 8.0 / outcome.ended.seconds();
        let expected = 0.5 * (1.0 + 40.0 / 1500.0);
        assert!((used / expected - 1.0).abs() < 0.05, "{load_of:?}: {used} {expected}");
    }
}

#[test]
fn a_load_of_the_fabric_wants_a_fabric() {
    let count = |topology: Topology, load, load_of| {
        let lab = Lab::new(topology, known("DCTCP"));
        let files = Arrivals::Poisson(poisson(load, load_of, 10, "websearch".into()));
        lab.case(files.into()).count(lab.streams, &no_tables, &|_| {})
    };
    let refused = |result: Result<usize, Refusal>| result.expect_err("no such load").path;
    assert_eq!(refused(count(switch(4), 0.5, LoadOf::Fabric)), ["workload", "load_of"]);
    // Four uplinks of 40 Gb/s above two hosts a rack: at half of them the hosts' links have more than they
    // carry, of which a caution tells.
    let spines = Topology::LeafSpine(leaf_spine(2, 2, 4, 1));
    for load in [0.05, 0.5] {
        assert_eq!(count(spines.clone(), load, LoadOf::Fabric), Ok(10));
    }
}

/// Each host has a separate delay, the same in all cases of a replication, and one that no other host is
/// in the way of still needs no more than the best possible time.
#[test]
fn hosts_are_differently_far_away() {
    let spread = Span::from_us(30);
    let spine = leaf_spine(2, 3, 1, 1);
    let lab =
        Lab::new(Topology::LeafSpine(LeafSpine { delay_spread: spread, ..spine }), known("DCTCP"));
    let delays = |seed| -> Vec<u64> {
        let graph = lab.topology.graph().drawn(Streams::new(seed, 0));
        graph.nics().map(|link| link.delay.ps()).collect()
    };
    assert_eq!(delays(1), delays(1));
    assert_ne!(delays(1), delays(2));
    let different: BTreeSet<u64> = delays(1).into_iter().collect();
    assert_eq!(different.len(), 6);
    assert!(different.iter().all(|delay| (200_000..=30_200_000).contains(delay)));
    let mean = (0..500).flat_map(delays).sum::<u64>() as f64 / 3000.0 - 200_000.0;
    assert!((mean / 15e6 - 1.0).abs() < 4.0 / (12.0f64 * 3000.0).sqrt() * 2.0, "{mean}");
    let run = lab.run(&[crate::common::flow(0, 5, FULL, 0)]);
    assert_eq!(run.rows.floats("slowdown"), [1.0]);
    let trip = 2 * (delays(1)[0] + delays(1)[5] + 400_000);
    assert!(run.fcts()[0] > trip && run.fcts()[0] < trip + 5_000_000);
}

/// Each host's link has a separate clock, the same in all cases of a replication: packets of one
/// size take differently long, and a flow alone still needs no more than the best possible time.
#[test]
fn clocks_are_off_by_millionths() {
    let spine = leaf_spine(2, 3, 1, 1);
    let lab = Lab::new(Topology::LeafSpine(LeafSpine { clock_ppm: 100, ..spine }), known("DCTCP"));
    let rates = |seed| -> Vec<i64> {
        let graph = lab.topology.graph().drawn(Streams::new(seed, 0));
        graph.nics().map(|link| link.rate.bits_per_second() as i64 - 10_000_000_000).collect()
    };
    assert_eq!(rates(1), rates(1));
    let drawn: BTreeSet<i64> = (0..500).flat_map(rates).collect();
    assert!(drawn.len() > 2900, "{} different", drawn.len());
    assert!((-1_000_000..=-990_000).contains(drawn.first().expect("some")));
    assert!((990_000..=1_000_000).contains(drawn.last().expect("some")));
    let run = lab.run(&[crate::common::flow(0, 5, FULL, 0)]);
    assert_eq!(run.rows.floats("slowdown"), [1.0]);
}

#[test]
fn the_ideal_scheduler_takes_no_queries() {
    let lab = Lab::new(switch(12), tcp());
    let case = FabricCase { scheme: Scheme::Ideal(defaults()), ..lab.case(some(defaults())) };
    let refusal = FabricCase::read_table(&case.write_table()).expect_err("answers follow");
    assert_eq!(refusal.path, ["workload", "kind"]);
}
