//! Which flows arrive: loads come out, no host sends to itself, files are read or refused; and the
//! fabrics they run on have the shapes they are said to have.

use proptest::prelude::*;
use sojourn_core::parameters::{Parameters, Refusal, Setting, Table, Value, defaults};
use sojourn_core::resource::no_tables;
use sojourn_core::{Bytes, Rate, Span, Streams};
use sojourn_fabric::topology::{FatTree, LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::MinTcp;
use sojourn_fabric::workload::{
    Arrivals, Incast, LoadCounts, Pairs, Permutation, Poisson, Workload, WorkloadContext,
    parse_flows,
};
use sojourn_fabric::{FabricCase, Flow, Packets};
use std::num::NonZeroU32;

fn some(n: u32) -> NonZeroU32 {
    NonZeroU32::new(n).expect("above zero")
}

fn flows(workload: &Workload, topology: &Topology, seed: u64) -> Vec<Flow> {
    let (graph, packets) = (topology.graph(), defaults::<Packets>());
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &|_| {} };
    let streams = Streams::new(seed, 0);
    let flows = workload.draw(&context, streams).expect("flows").flows;
    assert_eq!(workload.count(&context, streams, 0).expect("a count"), flows.len());
    assert!(flows.is_sorted_by_key(|flow| flow.arrived));
    assert!(flows.iter().all(|flow| flow.from != flow.to && flow.bytes > 0));
    flows
}

fn poisson(load: f64, load_counts: LoadCounts, sizes: &str) -> Workload {
    let mut table = Table::default();
    table.set("load", Value::Float(load));
    table.set("flows", Value::Int(40_000));
    table.set("sizes", Value::Text(sizes.to_owned()));
    let poisson = Poisson::read_table(&table).expect("a workload");
    Arrivals::Poisson(Poisson { load_counts, ..poisson }).into()
}

fn fat_tree(k: u32) -> Topology {
    Topology::FatTree(FatTree { k, ..defaults() })
}

/// All flows of half a load to the last host: half of its link, from all others alike.
#[test]
fn flows_to_the_last_host_load_its_link() {
    let topology = Topology::SingleSwitch(SingleSwitch {
        hosts: 5,
        uplink: Some(Rate::gbps(40)),
        ..defaults()
    });
    let Arrivals::Poisson(any) = poisson(0.5, LoadCounts::Payload, "fb-webserver").arrivals else {
        unreachable!("a Poisson process")
    };
    let poisson = Poisson { pairs: Pairs::ToLast, ..any };
    let flows = flows(&Arrivals::Poisson(poisson).into(), &topology, 5);
    assert!(flows.iter().all(|flow| flow.to == 4));
    for from in 0..4 {
        let share = flows.iter().filter(|flow| flow.from == from).count() as f64 / 40_000.0;
        assert!((share - 0.25).abs() < 0.01, "{share}");
    }
    let bits = flows.iter().map(|flow| flow.bytes as f64 * 8.0).sum::<f64>();
    let load = bits / flows.last().expect("flows").arrived.seconds() / 40e9;
    assert!((load - 0.5).abs() < 0.05, "{load}");
}

/// Arriving bytes over what the hosts' links can carry, under either way of counting: within four
/// standard errors, which come from the sizes and the gaps that were drawn.
#[test]
fn the_load_is_what_it_is_said_to_be() {
    let packets: Packets = defaults();
    let loads = [(0.3, "websearch"), (0.8, "fb-hadoop"), (0.6, "fb-webserver"), (1.4, "websearch")];
    for (load, sizes) in loads {
        for counts in [LoadCounts::Wire, LoadCounts::Payload] {
            let topology = fat_tree(6);
            let flows = flows(&poisson(load, counts, sizes), &topology, 11);
            let capacity: f64 =
                topology.graph().nics().map(|link| link.rate.bits_per_second() as f64).sum();
            let bytes = |flow: &Flow| match counts {
                LoadCounts::Wire => packets.on_the_wire(flow.bytes) as f64,
                LoadCounts::Payload => flow.bytes as f64,
            };
            let n = flows.len() as f64;
            let mean = flows.iter().map(bytes).sum::<f64>() / n;
            let square = flows.iter().map(|flow| bytes(flow).powi(2)).sum::<f64>() / n;
            let seconds = flows.last().expect("flows").arrived.seconds();
            let measured = mean * n * 8.0 / seconds / capacity;
            let error = load * ((square / mean.powi(2)) / n).sqrt();
            assert!((measured - load).abs() < 4.0 * error, "{sizes}: {measured}, not {load}");
        }
    }
}

/// Common random numbers: another load has the same pairs and sizes, and stretches the gaps.
#[test]
fn another_load_only_stretches_time() {
    let topology = fat_tree(4);
    let slow = flows(&poisson(0.2, LoadCounts::Wire, "datamining"), &topology, 5);
    let fast = flows(&poisson(0.8, LoadCounts::Wire, "datamining"), &topology, 5);
    for (slow, fast) in slow.iter().zip(&fast) {
        assert_eq!((slow.from, slow.to, slow.bytes), (fast.from, fast.to, fast.bytes));
        let stretched = fast.arrived.seconds() * 4.0;
        assert!((slow.arrived.seconds() - stretched).abs() < 1e-6 * stretched.max(1e-3));
    }
}

/// All ordered pairs equally often: a chi-square statistic below its 99.9 % point (239 degrees of
/// freedom: about 312).
#[test]
fn all_pairs_are_equally_likely() {
    let flows = flows(&poisson(0.5, LoadCounts::Wire, "websearch"), &fat_tree(4), 3);
    let mut counts = vec![0f64; 256];
    for flow in &flows {
        counts[usize::from(flow.from) * 16 + usize::from(flow.to)] += 1.0;
    }
    let expected = flows.len() as f64 / 240.0;
    let off_diagonal = (0..256).filter(|pair| pair / 16 != pair % 16);
    let chi: f64 = off_diagonal.map(|pair| (counts[pair] - expected).powi(2) / expected).sum();
    assert!(chi < 312.0, "{chi}");
}

#[test]
fn a_permutation_is_one() {
    for seed in 0..50 {
        let permutation = Permutation { parallel: some(2), ..defaults() };
        let flows = flows(&Arrivals::Permutation(permutation).into(), &fat_tree(4), seed);
        for host in 0..16 {
            assert_eq!(flows.iter().filter(|flow| flow.from == host).count(), 2);
            assert_eq!(flows.iter().filter(|flow| flow.to == host).count(), 2);
        }
    }
}

#[test]
fn a_stride_goes_round_the_fabric() {
    let permutation = Permutation { stride: Some(some(13)), ..defaults() };
    let flows = flows(&Arrivals::Permutation(permutation).into(), &fat_tree(4), 1);
    let pairs: Vec<(u16, u16)> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert_eq!(pairs, (0..16).map(|host| (host, (host + 13) % 16)).collect::<Vec<_>>());
}

/// Hosts are numbered with 16 bits, and a fat-tree of 64 has as many as there are such numbers.
#[test]
fn as_many_hosts_as_there_are_numbers() {
    let arrivals = [
        Arrivals::Permutation(defaults()),
        Arrivals::Permutation(Permutation { stride: Some(some(32_768)), ..defaults() }),
    ];
    for arrivals in arrivals {
        let flows = flows(&arrivals.into(), &fat_tree(64), 1);
        let mut to: Vec<u16> = flows.iter().map(|flow| flow.to).collect();
        to.sort_unstable();
        assert!(to.into_iter().eq(0..=u16::MAX));
    }
}

#[test]
fn an_incast_has_one_receiver_a_round() {
    let incast = Incast { fan_in: some(7), rounds: some(40), ..defaults() };
    let flows = flows(&Arrivals::Incast(incast.clone()).into(), &fat_tree(4), 1);
    for (round, answers) in (0u64..).zip(flows.chunks(7)) {
        let mut senders: Vec<u16> = answers.iter().map(|flow| flow.from).collect();
        senders.sort_unstable();
        senders.dedup();
        assert_eq!(senders.len(), 7);
        assert!(answers.iter().all(|flow| flow.to == answers[0].to));
        assert!(answers.iter().all(|flow| flow.arrived.ps() == (incast.every * round).ps()));
    }
}

#[test]
fn a_list_of_flows_is_read_in_any_order() {
    let text =
        "# a comment\n\ndst, src ,arrival,size_bytes,deadline\n1,0,12us,1460,\n2,1,0.5us,99,3ms\n";
    let flows = parse_flows(text, 3, u64::MAX).expect("flows").flows;
    let seen: Vec<_> = flows
        .iter()
        .map(|f| (f.from, f.to, f.bytes, f.arrived.ps(), f.deadline.since(f.arrived)))
        .collect();
    assert_eq!(seen[0], (1, 2, 99, 500_000, Span::from_ms(3)));
    assert_eq!((seen[1].0, seen[1].1, seen[1].2, seen[1].3), (0, 1, 1460, 12_000_000));
    let seconds = parse_flows("src,dst,size_bytes,arrival_s\n0,1,5,0.25\n", 2, u64::MAX)
        .expect("flows")
        .flows;
    assert_eq!(seconds[0].arrived.ps(), 250_000_000_000);
}

#[test]
fn a_bad_list_of_flows_says_where_and_why() {
    let head = "src,dst,size_bytes,arrival\n";
    let cases = [
        ("", 1, "nothing there"),
        ("src,dst,size_bytes\n", 1, "no column \"arrival\""),
        ("src,dst,size_bytes,arrival,Deadline\n", 1, "(did you mean deadline?)"),
        ("src,dst,size_bytes,arrival,clas\n", 1, "(did you mean class?)"),
        ("SRC,dst,size_bytes,arrival\n", 1, "(did you mean src?)"),
        ("src,dst,size,start_time\n", 1, "rename \"size\" to size_bytes if it is in bytes"),
        ("src,dst,size_bytes,start_time\n", 1, "rename \"start_time\" to arrival_s if it is in"),
        ("src,dst,size_bytes,arrival_ns\n0,1,5,-1\n", 2, "expected nanoseconds such as 0.25"),
        ("src,dst,size_bytes,arrival,src\n", 1, "column \"src\" stands there twice"),
        ("src,dst,size_bytes,arrival,arrival_s\n", 1, "both arrival and arrival_s"),
        (head, 1, "no flows"),
        (&format!("{head}0,1,5\n"), 2, "3 cells, expected 4"),
        (&format!("{head}0,1,5,1us\n0,4,5,1us\n"), 3, "dst \"4\", expected a host from 0 to 3"),
        (&format!("{head}-1,1,5,1us\n"), 2, "src \"-1\""),
        (&format!("{head}2,2,5,1us\n"), 2, "from host 2 to itself"),
        (&format!("{head}0,1,0,1us\n"), 2, "size_bytes \"0\""),
        (&format!("{head}0,1,5,12\n"), 2, "arrival \"12\", expected a time such as 12us"),
        (&format!("{head}0,1,5,11h\n"), 2, "at most 36000s"),
        ("src,dst,size_bytes,arrival_s\n0,1,5,NaN\n", 2, "arrival_s \"NaN\""),
        ("src,dst,size_bytes,arrival,deadline\n0,1,5,1us,soon\n", 2, "deadline \"soon\""),
    ];
    for (text, line, what) in cases {
        let error = parse_flows(text, 4, u64::MAX).expect_err(text);
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.what.contains(what), "{text:?}: {error}");
    }
}

#[test]
fn times_are_numbers_of_any_unit() {
    for (column, cell, ps) in [
        ("arrival_s", "0.25", 250_000_000_000),
        ("arrival_ms", "0.25", 250_000_000),
        ("arrival_us", "2.5", 2_500_000),
        ("arrival_ns", "2000000", 2_000_000_000),
        ("arrival_ns", "36000000000000", 36_000_000_000_000_000),
        ("arrival_ns", "1e3", 1_000_000),
        ("arrival_ps", "7", 7),
    ] {
        let text = format!("src,dst,size_bytes,{column}\n0,1,5,{cell}\n");
        let flows = parse_flows(&text, 2, u64::MAX).expect(&text).flows;
        assert_eq!(flows[0].arrived.ps(), ps, "{text}");
    }
}

proptest! {
    /// Whatever stands there: flows between the hosts, or an error that names a line of the text.
    #[test]
    fn no_text_breaks_the_reader(
        lines in prop::collection::vec(
            prop_oneof![
                Just("src,dst,size_bytes,arrival".to_owned()),
                "[0-9]{1,3},[0-9]{1,3},[0-9]{1,14},[0-9]{1,6}(us|ms|s|h|)",
                "[0-9,.a-z#\" -]{0,20}",
                Just("2".to_owned()),
                "[0-9]{1,2} [0-9]{1,2} 3 [0-9]{1,3} [0-9]{1,9} [0-9.]{1,4}",
                Just("Connections 2".to_owned()),
                "[0-9]{1,2}->[0-9]{1,2}( (id|start|size|prio|trigger) [0-9.]{1,5}){0,3}",
                any::<String>(),
            ],
            0..6,
        ),
    ) {
        let text = lines.join("\n");
        match parse_flows(&text, 12, u64::MAX) {
            Ok(drawn) => {
                let flows = drawn.flows;
                prop_assert!(!flows.is_empty());
                prop_assert!(flows.iter().all(|f| f.from < 12 && f.to < 12 && f.from != f.to));
            }
            Err(error) => prop_assert!((1..=text.lines().count().max(1)).contains(&error.line)),
        }
    }
}

/// Hosts, switches, and links on the shortest path between every pair.
#[test]
fn fabrics_have_their_shapes() {
    let leaf_spine = LeafSpine { racks: 3, hosts: 4, spines: 2, uplinks: 3, ..defaults() };
    let shapes = [
        (fat_tree(2), 2, 5, vec![6]),
        (fat_tree(4), 16, 20, vec![2, 4, 6]),
        (fat_tree(6), 54, 45, vec![2, 4, 6]),
        (Topology::LeafSpine(leaf_spine), 12, 5, vec![2, 4]),
        (Topology::SingleSwitch(SingleSwitch { hosts: 9, ..defaults() }), 9, 1, vec![2]),
    ];
    for (topology, hosts, switches, lengths) in shapes {
        let network = topology.graph().network();
        assert_eq!((network.hosts, network.switches), (hosts, switches));
        let mut seen = Vec::new();
        for from in 0..hosts {
            for to in (0..hosts).filter(|&to| to != from) {
                let length = network.path(from, to).len();
                assert_eq!(length, network.path(to, from).len());
                assert_eq!(length == 2, network.rack_of(from) == network.rack_of(to));
                seen.push(length);
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, lengths);
    }
}

/// Every switch of a fat-tree has k ports, and every switch on the way up k/2 ways; in a leaf-spine
/// all parallel uplinks are ways.
#[test]
fn all_shortest_paths_are_used() {
    let network = fat_tree(6).graph().network();
    assert!((0..45).all(|switch| network.ports_of(switch).len() == 6));
    let far = 53;
    assert_eq!(network.next(0, far).len(), 3, "an edge, up");
    assert_eq!(network.next(18, far).len(), 3, "an aggregation, up");
    assert_eq!(network.next(36, far).len(), 1, "a core, down");
    assert_eq!(network.next(0, 0).len(), 1, "an edge, to its host");
    let leaf_spine = LeafSpine { racks: 2, hosts: 2, spines: 3, uplinks: 4, ..defaults() };
    let network = Topology::LeafSpine(leaf_spine).graph().network();
    assert_eq!(network.next(0, 3).len(), 12);
    assert_eq!(network.next(2, 3).len(), 4, "a spine, by all cables to the leaf");
}

#[test]
fn eight_thousand_hosts_fit() {
    let network = fat_tree(32).graph().network();
    assert_eq!((network.hosts, network.switches, network.links.len()), (8192, 1280, 49_152));
    assert_eq!(network.path(0, 8191).len(), 6);
}

fn refused<P: Parameters>(key: &str, value: Value) -> Refusal {
    let mut table = Table::default();
    table.set(key, value);
    P::read_table(&table).err().unwrap_or_else(|| panic!("{} takes {key}", P::NAME))
}

#[test]
fn impossible_fabrics_are_refused() {
    for k in [0, 1, 5, 66] {
        assert_eq!(refused::<FatTree>("k", Value::Int(k)).path, ["k"]);
    }
    for (key, value) in [("racks", 0), ("hosts", 1_300), ("spines", 0), ("racks", 1_300)] {
        assert_eq!(refused::<LeafSpine>(key, Value::Int(value)).path, [key]);
    }
    assert_eq!(refused::<SingleSwitch>("hosts", Value::Int(1)).path, ["hosts"]);
    assert_eq!(refused::<Permutation>("size", Value::Text("0B".to_owned())).path, ["size"]);
    assert_eq!(Rate::read(&Value::Int(10)).expect_err("no unit").given, Some(Value::Int(10)));
    assert_eq!(Bytes::read(&Value::Text("1.5B".to_owned())).expect_err("half").path.len(), 0);
}

/// Nothing may last longer than arrival keys can tell.
#[test]
fn endless_runs_are_refused() {
    let text = |text: &str| Value::Text(text.to_owned());
    for rto in ["0s", "61min"] {
        assert_eq!(refused::<MinTcp>("rto", text(rto)).path, ["rto"]);
    }
    let case = |key: &str, value: Value| {
        let mut workload = Table::default();
        workload.set("kind", text("poisson"));
        workload.set("load", Value::Float(0.5));
        let mut table = Table::default();
        table.set("topology", text("fat-tree"));
        table.set("workload", Value::Table(workload));
        table.set("scheme", text("DCTCP"));
        table.set(key, value);
        FabricCase::read_table(&table)
    };
    let crawling = |rate: &str| {
        let mut topology = Table::default();
        topology.set("kind", text("single-switch"));
        topology.set("rate", text(rate));
        case("topology", Value::Table(topology))
    };
    assert_eq!(case("drain", text("9h")).expect_err("too long").path, ["drain"]);
    let refusal = crawling("100bps").expect_err("two minutes a packet");
    assert_eq!(refusal.path, ["topology", "rate"]);
    let slow = crawling("500Kbps").expect("it can be simulated");
    let counted = slow.count(Streams::new(1, 0), &no_tables, &|_| {});
    let refusal = counted.expect_err("a day of arrivals");
    assert_eq!(refusal.path, ["workload", "load"]);
}
