//! Ranks that execute programs: collectives against their closed forms, iterations, and any number of threads.

use crate::common::*;
use sojourn_core::parameters::{Setting, Table, Value, defaults};
use sojourn_core::{Bytes, Execution, Span};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::flow::Completion;
use sojourn_fabric::topology::{LeafSpine, SingleSwitch, Topology};
use sojourn_fabric::transport::TransportKind;
use sojourn_fabric::workload::{Arrivals, Collectives};
use sojourn_fabric::{Hosts, Packets};
use sojourn_training::collective::Collective;
use sojourn_training::model::{Family, Iteration, Model, Placement, Transformer};

/// Hosts around one switch at 400 Gb/s, with links of 500 ns.
fn switch(hosts: u32, scheme: &str) -> Lab {
    let (rate, delay) = (gbps(400), Span::from_ns(500));
    let topology = Topology::SingleSwitch(SingleSwitch { hosts, rate, delay, ..defaults() });
    lab(topology, scheme)
}

/// As many leaves as a server has cards, with `servers` hosts each.
fn rails(leaves: u32, servers: u32, scheme: &str) -> Lab {
    let rate = gbps(400);
    let spine = LeafSpine {
        rate,
        uplink_rate: rate,
        delay: Span::from_ns(500),
        ..leaf_spine(leaves, servers, servers, 1)
    };
    lab(Topology::LeafSpine(spine), scheme)
}

fn lab(topology: Topology, scheme: &str) -> Lab {
    let packets = Packets { payload: Bytes(4096), header: Bytes(64), ack: Bytes(64) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    let mut scheme = known(scheme);
    // Windows of no less than a bandwidth-delay product.
    match &mut scheme.transport {
        TransportKind::Ndp(ndp) => ndp.initial_window = count(64),
        TransportKind::Dctcp(dctcp) => dctcp.window.initial_window = count(64),
        _ => {}
    }
    Lab { packets, hosts, completion: Completion::Receiver, ..Lab::new(topology, scheme) }
}

/// Keys and numbers.
type Settings<'a> = &'a [(&'a str, i64)];

/// An algorithm with these settings, as a study has them.
fn algorithm(kind: &str, settings: Settings) -> Collective {
    let mut table = Table::default();
    table.set("kind", Value::Text(kind.to_owned()));
    settings.iter().for_each(|&(key, number)| table.set(key, Value::Int(number)));
    Collective::read(&Value::Table(table)).expect("an algorithm")
}

/// Sojourn time and ideal of the last collective of a run.
fn last(run: &Run) -> (f64, f64) {
    let (kinds, took) = (run.names("kind"), run.rows.ints("sojourn_ps"));
    let place = kinds.iter().rposition(|kind| kind == "collective").expect("a collective");
    assert!(took[place] > 0, "it ended");
    (took[place] as f64, run.rows.ints("ideal_ps")[place] as f64)
}

/// What a collective of 32 MB takes on a switch with 8 hosts, as a multiple of its closed form.
fn slowdown(scheme: &str, collective: Collective, ranks: u32) -> f64 {
    let collectives = Collectives {
        collective,
        ranks: Some(count(ranks)),
        size: Bytes(32_000_000),
        iterations: count(1),
        compute: Span::from_us(10),
    };
    let run = Run::of(&switch(8, scheme).ready(Arrivals::Collective(collectives).into()));
    let (took, ideal) = last(&run);
    took / ideal
}

/// With one window and one order for each connection an algorithm takes the time of its closed form, and what the
/// acknowledgements take on the links that it shares with them: at most 1.6 % where each packet has one, and 3.1 %
/// where a PULL comes with it.
#[test]
fn collectives_take_the_time_of_their_closed_forms() {
    let algorithms: [(&str, Settings, u32); 9] = [
        ("ring-all-reduce", &[("pieces", 1)], 8),
        ("ring-all-reduce", &[("pieces", 8), ("channels", 2)], 8),
        ("ring-all-gather", &[], 5),
        ("ring-reduce-scatter", &[], 6),
        ("halving-doubling-all-reduce", &[], 8),
        ("chain-broadcast", &[], 8),
        ("binomial-broadcast", &[], 8),
        ("all-to-all", &[], 8),
        ("send-receive", &[], 2),
    ];
    for (kind, settings, ranks) in algorithms {
        // DCTCP marks where two ranks send to one, and a host of NDP sends all its first windows at once.
        let most = match kind {
            "all-to-all" => [Some(1.01), Some(1.04), None],
            "binomial-broadcast" => [Some(1.01), None, Some(1.02)],
            "chain-broadcast" => [Some(1.01), Some(1.05), Some(1.02)],
            _ => [Some(1.01), Some(1.04), Some(1.02)],
        };
        for (scheme, most) in ["UET NSCC", "NDP", "DCTCP"].into_iter().zip(most) {
            let took = slowdown(scheme, algorithm(kind, settings), ranks);
            let most = most.unwrap_or(f64::INFINITY);
            assert!((1.0..=most).contains(&took), "{scheme}, {kind} {settings:?}: {took}");
        }
    }
    // Its closed form is an estimate, 0.82 to 1.08 of what it takes.
    let tree = slowdown("UET NSCC", algorithm("double-tree-all-reduce", &[]), 8);
    assert!((0.82..=1.08).contains(&tree), "{tree}");
}

/// A small transformer.
fn transformer(experts: u32) -> Transformer {
    Transformer {
        layers: 4,
        width: 512,
        heads: 8,
        kv_heads: None,
        ffn: 2048,
        vocabulary: 2048,
        family: Family::Gpt,
        experts,
        top_k: experts.min(2),
    }
}

/// An iteration of it: 2 stages of 2 replicas, each divided over 2 ranks.
fn iteration() -> Iteration {
    Iteration {
        model: Model::Transformer(transformer(1)),
        tensor: 2,
        pipeline: 2,
        data: 2,
        server: 2,
        batch: 8,
        sequence: 128,
        placement: Placement::Rails,
        ..defaults()
    }
}

/// The steps of the critical path follow each other from the begin of the iteration to its end, and their times are
/// those that the iteration's row has.
fn assert_that_the_path_has_no_gaps(run: &Run) {
    let of = |column: &str| run.rows.ints(column);
    let kinds = run.names("kind");
    let whole = kinds.iter().position(|kind| kind == "iteration").expect("an iteration");
    let steps: Vec<usize> = (0..kinds.len()).filter(|&row| kinds[row] == "step").collect();
    let ends = steps.iter().map(|&step| of("finished_ps")[step]);
    let begins = steps.iter().map(|&step| of("arrived_ps")[step]);
    assert!([0].into_iter().chain(ends).eq(begins.chain([of("finished_ps")[whole]])), "{steps:?}");
    let (operations, places) = (run.names("operation"), run.names("algorithm"));
    let mut spent = [0; 3];
    for &step in &steps {
        let place = match (operations[step].as_str(), places[step].as_str()) {
            ("computing", _) => 0,
            (_, "on the server") => 1,
            _ => 2,
        };
        spent[place] += of("sojourn_ps")[step];
    }
    let said = ["path_computing_ps", "path_on_server_ps", "path_network_ps"];
    assert_eq!(spent, said.map(|column| of(column)[whole]));
    assert!(spent[2] > 0, "something crosses the network");
}

/// Ranks of all sides hear of each other at the same times on any number of threads, whatever is on a server and
/// whatever crosses the network.
#[test]
fn iterations_are_the_same_on_any_number_of_threads() {
    let divided = Iteration { zero: 3, sequence_parallel: true, server: 1, ..iteration() };
    let experts = Iteration {
        model: Model::Transformer(transformer(4)),
        pipeline: 1,
        data: 4,
        expert: 4,
        server: 4,
        tensor: 2,
        ..iteration()
    };
    for (scheme, iteration) in [
        ("UET NSCC", iteration()),
        ("UET RCCC", iteration()),
        ("NDP", divided.clone()),
        ("DCTCP", divided),
        ("UET NSCC", experts),
    ] {
        let lab = rails(4, 4, scheme);
        let ready = lab.ready(Arrivals::Training(iteration).into());
        let run = |threads| {
            let progress = Progress::default();
            let execution = Execution { threads, ..Execution::new(&progress) };
            let report = ready.run(execution).expect("not cancelled");
            format!("{:?} {:?}", report.rows, report.totals)
        };
        let one = run(1);
        let all = Run::of(&ready);
        assert!(all.rows.ints("finished_ps").iter().all(|&at| at > 0), "{scheme}: {one}");
        assert_that_the_path_has_no_gaps(&all);
        for threads in [2, 3] {
            assert!(run(threads) == one, "{scheme}, {threads} threads");
        }
    }
}

/// Without replicas nothing leaves a server, and an iteration takes what its ranks compute.
#[test]
fn an_iteration_on_one_server_is_computing_alone() {
    let iteration = Iteration { pipeline: 1, data: 1, ..iteration() };
    let run = Run::of(&rails(2, 2, "UET NSCC").ready(Arrivals::Training(iteration).into()));
    let of = |column: &str| run.rows.ints(column).to_vec();
    let kinds = run.names("kind");
    assert!(kinds[0] == "iteration" && kinds[1..].iter().all(|kind| kind == "step"), "{kinds:?}");
    assert_eq!((of("exposed_ps")[0], run.figure("packets_injected")), (0, 0));
    assert_eq!(of("sojourn_ps")[0], of("computed_ps")[0] + of("on_server_ps")[0]);
}

/// A connection of a host with Linux begins small again after a long pause, and another one does not.
#[test]
fn windows_shrink_in_a_pause() {
    let times = |restarts: bool| {
        let mut lab = switch(2, "Linux CUBIC");
        match &mut lab.scheme.transport {
            TransportKind::Cubic(cubic) => cubic.options.linux.restart_after_idle = restarts,
            other => panic!("{other:?}"),
        }
        let collectives = Collectives {
            collective: algorithm("send-receive", &[]),
            ranks: None,
            size: Bytes(4_000_000),
            iterations: count(2),
            compute: Span::from_s(2),
        };
        let run = Run::of(&lab.ready(Arrivals::Collective(collectives).into()));
        let kinds = run.names("kind");
        let took = run.rows.ints("sojourn_ps").iter().zip(kinds);
        let took = took.filter(|(_, kind)| kind == "collective").map(|(&took, _)| took);
        took.collect::<Vec<i64>>()
    };
    let (with, without) = (times(true), times(false));
    assert_eq!(with[0], without[0], "nothing was sent before");
    assert!(without[1] < with[1] && with[1] <= with[0], "{with:?} {without:?}");
}

/// Ranks that wait for what a dead link has lost do not keep a run going for hours.
#[test]
fn an_iteration_over_a_dead_link_ends_unfinished() {
    let failure = failure("link = \"0.0 - host 0\", capacity = 0.0");
    let drain = Span::from_ms(10);
    let lab = Lab { failure: vec![failure], drain, ..rails(2, 2, "UET NSCC") };
    let iteration = Iteration { pipeline: 1, data: 2, ..iteration() };
    let run = Run::of(&lab.ready(Arrivals::Training(iteration).into()));
    let (kinds, ends) = (run.names("kind"), run.rows.ints("finished_ps"));
    let whole = kinds.iter().position(|kind| kind == "iteration").expect("an iteration");
    assert_eq!((ends[whole], kinds.iter().any(|kind| kind == "step")), (-1, false));
    assert!(run.figure("simulated_ps") < 100_000_000_000, "{}", run.figure("simulated_ps"));
}

/// Each message that crosses the network has a row where it is asked for, the same on any number of threads, and takes
/// at least what its bytes take.
#[test]
fn messages_have_rows_where_they_are_asked_for() {
    let lab = Lab { message_rows: true, ..rails(4, 4, "UET NSCC") };
    let ready = lab.ready(Arrivals::Training(iteration()).into());
    let run = Run::of(&ready);
    let kinds = run.names("kind");
    let of = |column: &str| run.rows.ints(column);
    let messages: Vec<usize> =
        (0..kinds.len()).filter(|&row| kinds[row] == "rank-message").collect();
    // 2 stages of 2 ranks send activations there and back for 4 micro-batches of 2 replicas, and rings of 2 reduce.
    assert!(messages.len() >= 2 * 2 * 4 * 2, "{}", messages.len());
    let sizes: i64 = messages.iter().map(|&row| of("size_bytes")[row]).sum();
    let whole = kinds.iter().position(|kind| kind == "iteration").expect("an iteration");
    assert_eq!(sizes, of("size_bytes")[whole]);
    for &row in &messages {
        let least = 1_000_000 + of("size_bytes")[row] * 20;
        assert!(of("sojourn_ps")[row] > least && of("src")[row] != of("dst")[row], "{row}");
    }
    for threads in [2, 3] {
        let progress = Progress::default();
        let execution = Execution { threads, ..Execution::new(&progress) };
        let report = ready.run(execution).expect("not cancelled");
        assert!(format!("{:?}", report.rows) == format!("{:?}", run.rows), "{threads} threads");
    }
}
