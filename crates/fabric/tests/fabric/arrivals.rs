//! Arrivals in detail: gaps, permutations, sizes and flows from files.

use crate::common::*;
use proptest::prelude::*;
use sojourn_core::parameters::{Parameters, Refusal, Setting, Table, Value, defaults};
use sojourn_core::resource::{FileName, NameOrFile, Resource, no_tables};
use sojourn_core::{Bytes, Streams, Time};
use sojourn_fabric::topology::Topology;
use sojourn_fabric::workload::{
    Arrivals, Csv, CsvError, Permutation, Poisson, Workload, WorkloadContext, parse_flows,
};
use sojourn_fabric::{Flow, Packets};
use sojourn_properties::cases;

/// The flows of `workload` on `topology`, or why not.
fn draw(topology: &Topology, workload: &Workload, streams: Streams) -> Result<Vec<Flow>, Refusal> {
    let (graph, packets) = (topology.graph(), defaults::<Packets>());
    let context =
        WorkloadContext { graph: &graph, packets: &packets, tables: &no_tables, tell: &|_| {} };
    let flows = workload.draw(&context, streams)?.flows;
    assert_eq!(workload.count(&context, streams, 0), Ok(flows.len()));
    assert!(flows.is_sorted_by_key(|flow| flow.arrived));
    Ok(flows)
}

fn flows(topology: &Topology, workload: &Workload, seed: u64) -> Vec<Flow> {
    draw(topology, workload, Streams::new(seed, 0)).expect("they can be had")
}

fn poisson(flows: u32, load: f64) -> Poisson {
    let mut table = Table::default();
    table.set("flows", Value::Int(flows.into()));
    table.set("load", Value::Float(load));
    Poisson::read_table(&table).expect("a load")
}

/// Gaps are exponential: mean and variance within 99.9 % intervals, and no memory, which is to say
/// that neighbours do not correlate.
#[test]
fn gaps_are_those_of_a_poisson_process() {
    let flows = flows(&fat_tree(4), &Arrivals::Poisson(poisson(40_000, 0.5)).into(), 1);
    let times = std::iter::once(0.0).chain(flows.iter().map(|flow| flow.arrived.seconds()));
    let times: Vec<f64> = times.collect();
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    // The variance of the squared coefficient of variation is (9 - 1 - 4) / n.
    assert!((variance / mean.powi(2) - 1.0).abs() < 3.29 * (4.0 / n).sqrt());
    let lagged = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / n;
    assert!((lagged / variance).abs() < 3.29 / n.sqrt());
}

/// More flows begin with the same ones.
#[test]
fn a_longer_run_begins_with_the_shorter_one() {
    let drawn = |n| flows(&fat_tree(4), &Arrivals::Poisson(poisson(n, 0.2)).into(), 1);
    assert_eq!(drawn(600)[..500], drawn(500));
}

#[test]
fn another_seed_or_replication_is_another_run() {
    let run = |seed, replication| {
        let mut lab = Lab::new(fat_tree(4), known("MinTCP+pFabric"));
        lab.streams = Streams::new(seed, replication);
        let sizes = NameOrFile("homa-w3".into());
        Run::of(&lab.ready(Arrivals::Poisson(Poisson { sizes, ..poisson(100, 0.5) }).into()))
    };
    assert_eq!(run(1, 0), run(1, 0));
    assert_ne!(run(1, 0).fcts(), run(2, 0).fcts());
    assert_ne!(run(1, 0).fcts(), run(1, 1).fcts());
}

#[test]
fn sizes_can_come_from_a_file() {
    let from = |sizes: FileName| {
        let sizes = NameOrFile(sizes);
        let workload = Workload::from(Arrivals::Poisson(Poisson { sizes, ..poisson(50, 0.5) }));
        draw(&fat_tree(4), &workload, Streams::new(1, 0))
    };
    let text = |text| FileName::from(Resource::text("sizes.txt", text));
    let good = from(text("1000 0.5\n2000 1\n")).expect("a table");
    assert!(good.iter().all(|flow| flow.bytes <= 2000));
    let refused = |sizes| {
        let refusal = from(sizes).expect_err("no table");
        assert_eq!(refusal.path, ["sizes"]);
        refusal
    };
    assert_eq!(refused("other.txt".into()).expected, "a file that was handed in with the study");
    let bad = refused(text("1000 0.5\n2000 0.4\n"));
    assert!(bad.expected.contains("line 2"), "{bad:?}");
    assert!(refused("webserch".into()).names.contains(&"websearch".to_owned()));
}

/// Every host sends and every host is sent to, none by itself; Sattolo's shuffle gives each of
/// the (n - 1)! cycles, for four hosts six, as often.
#[test]
fn a_permutation_has_no_fixed_points() {
    let workload =
        Arrivals::Permutation(Permutation { size: Bytes(1000), parallel: count(2), ..defaults() })
            .into();
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..1200 {
        let flows = flows(&single_switch(4), &workload, seed);
        assert_eq!(flows.len(), 8);
        let to: Vec<u16> = flows.iter().step_by(2).map(|flow| flow.to).collect();
        for (from, pair) in flows.chunks(2).enumerate() {
            assert_eq!(pair[0], pair[1]);
            assert_eq!(usize::from(pair[0].from), from);
            assert_ne!(pair[0].from, pair[0].to);
            assert_eq!((pair[0].bytes, pair[0].arrived), (1000, Time::ZERO));
        }
        let mut sorted = to.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
        *seen.entry(to).or_insert(0u32) += 1;
    }
    assert_eq!(seen.len(), 6);
    // 200 each, deviation 12.9.
    assert!(seen.values().all(|times| times.abs_diff(200) < 50), "{seen:?}");
}

/// The flows of a list, none of which waits for another.
fn listed_flows(text: &str, hosts: usize) -> Result<Vec<Flow>, CsvError> {
    let drawn = parse_flows(text, hosts, u64::MAX)?;
    assert!(drawn.graph.is_empty());
    Ok(drawn.flows)
}

#[test]
fn a_file_lists_flows_in_any_order_of_columns_and_lines() {
    let text = "\u{feff}# three flows\r\n\n dst , src,arrival,size_bytes,deadline\r\n\
                1,0, 12.5us ,1460,\n  # and\n3,2,0ps,1,10ms\n0,3,12.5us,1000000000000,1ps";
    let deadline = |at: u64, after: u64| Time::from_ps(at + after);
    let expected = [
        Flow { deadline: deadline(0, 10_000_000_000), ..flow(2, 3, 1, 0) },
        flow(0, 1, 1460, 12_500_000),
        Flow { deadline: deadline(12_500_000, 1), ..flow(3, 0, 1_000_000_000_000, 12_500_000) },
    ];
    assert_eq!(listed_flows(text, 4).as_deref(), Ok(&expected[..]));
    let seconds = "src,dst,size_bytes,arrival_s\n0,1,7,0.25\n1,0,8,1e-6\n";
    let expected = [flow(1, 0, 8, 1_000_000), flow(0, 1, 7, 250_000_000_000)];
    assert_eq!(listed_flows(seconds, 2).as_deref(), Ok(&expected[..]));
    // What a test writes is what it reads.
    let many: Vec<Flow> =
        (0..50).map(|i| flow(i % 9, 9, 1 + u64::from(i), 7 * u64::from(i))).collect();
    assert_eq!(listed_flows(&csv(&many), 10), Ok(many));
}

proptest! {
    #![proptest_config(cases(3000))]

    /// Texts that are nearly lists of flows, and any others: read, in order and within bounds, or
    /// refused with a line that is there.
    #[test]
    fn no_text_makes_the_parser_panic(
        hosts in prop_oneof![Just(2usize), 3usize..70_000],
        text in prop_oneof![
            "(\u{feff})?src,dst,size_bytes,arrival(_s)?(,deadline)?\n\
             ([0-9]{1,5},[0-9]{1,5},[0-9]{1,14},[0-9]{0,6}(\\.[0-9]{1,13})?(ps|us|s|h|e[0-9]{1,3})?\
             (,([0-9]{1,20}(us|s))?)?\n){0,5}",
            "(src|dst|size_bytes|arrival|deadline|,|\n|#| |[0-9]|us){0,40}",
            "\\PC{0,100}",
            "[\\s\\S]{0,100}",
        ]
    ) {
        match listed_flows(&text, hosts) {
            Ok(flows) => {
                prop_assert!(!flows.is_empty());
                prop_assert!(flows.is_sorted_by_key(|flow| flow.arrived));
                for flow in &flows {
                    prop_assert!(flow.bytes >= 1 && flow.from != flow.to);
                    prop_assert!(usize::from(flow.from.max(flow.to)) < hosts);
                    prop_assert!(flow.deadline > flow.arrived);
                }
                // Written again and read again, they are the same.
                prop_assert_eq!(listed_flows(&csv(&flows), hosts), Ok(flows));
            }
            Err(error) => {
                prop_assert!((1..=text.lines().count().max(1)).contains(&error.line));
                prop_assert!(!error.what.is_empty());
            }
        }
    }
}

/// The file's own name and what is wrong with it reach the study's message.
#[test]
fn a_missing_or_bad_file_is_refused_by_its_key() {
    let lab = Lab::new(single_switch(2), known("DCTCP"));
    let refused = |workload: Workload| {
        lab.case(workload).ready(lab.streams, &no_tables).expect_err("no such case")
    };
    let missing = refused(Arrivals::Csv(Csv { file: "flows.csv".into() }).into());
    assert_eq!(missing.path, ["workload", "file"]);
    assert_eq!(missing.given, Some(Value::Text("flows.csv".to_owned())));
    assert_eq!(missing.expected, "a file that was handed in with the study");
    let bad = refused(listed("src,dst,size_bytes,arrival\n0,2,1,0ps\n"));
    assert_eq!(bad.path, ["workload", "file"]);
    let expected = "a list of flows, but in its line 2: dst \"2\", expected a host from 0 to 1";
    assert_eq!(bad.expected, expected);
    assert!(Workload::read(&Value::Text("csv".to_owned())).is_err());
}
