//! Fabrics estimated from their links, beside the packet engine.

use crate::common::*;
use proptest::prelude::*;
use sojourn_core::parameters::defaults;
use sojourn_core::resource::no_tables;
use sojourn_core::{Execution, Span, Time};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::estimate::{Access, Draws, Settings};
use sojourn_fabric::flow::alone_fct;
use sojourn_fabric::topology::{Clos, Topology};
use sojourn_fabric::workload::{Pairs, Poisson};
use sojourn_fabric::{Balance, Decomposition, Flow, LinkTimes, PacketScheme, Report};
use sojourn_properties::cases;

fn hashed(name: &str) -> PacketScheme {
    PacketScheme { balance: Balance::Ecmp, ..known(name) }
}

fn decomposed(lab: &Lab, flows: &[Flow], settings: &Settings) -> Decomposition {
    let case = lab.case(listed(&csv(flows)));
    case.check_estimable(lab.streams, &no_tables).expect("it can be estimated");
    Decomposition::new(&case, settings, lab.streams, &no_tables).expect("it can run")
}

fn times(decomposed: &Decomposition) -> Vec<LinkTimes> {
    let time = |link| decomposed.simulate(link, &Progress::default()).expect("not cancelled");
    decomposed.links().into_iter().map(time).collect()
}

fn estimated(lab: &Lab, flows: &[Flow], settings: &Settings) -> Report {
    let decomposed = decomposed(lab, flows, settings);
    decomposed.combine(&times(&decomposed)).expect("all links are there")
}

/// Flows between random hosts; a few at a time are under way.
fn busy(hosts: u16, number: u64, seed: u64) -> Vec<Flow> {
    let mut stream = sojourn_core::Streams::new(seed, 0).stream("flows", 0);
    let mut at = Time::ZERO;
    let flow = |_| {
        let from = stream.below(hosts.into()) as u16;
        let to = (from + 1 + stream.below(u64::from(hosts) - 1) as u16) % hosts;
        at += Span::from_ns(stream.below(4_000));
        Flow::new(from, to, 1 + stream.below(60_000), at)
    };
    (0..number).map(flow).collect()
}

/// Where all flows go through one link, from hosts that send nothing else, a fabric is that link and
/// the senders' own: what is simulated for the link is the fabric, and gives its very times.
#[test]
fn senders_behind_one_link_take_what_they_take_in_the_whole_fabric() {
    for name in ["TCP+DropTail", "DCTCP", "MinTCP+pFabric"] {
        let lab = Lab::new(single_switch(9), hashed(name));
        let mut flows = busy(8, 200, 5);
        flows.iter_mut().for_each(|flow| flow.to = 8);
        let run = lab.run(&flows);
        let whole = run.fcts();
        assert!(run.drops() + run.sum("retransmits") > 0 || name != "MinTCP+pFabric");
        let settings = Settings { access: Access::EveryLink, ..defaults() };
        let decomposed = decomposed(&lab, &flows, &settings);
        let last = *decomposed.path(0).last().unwrap();
        let alone = decomposed.simulate(last, &Progress::default()).unwrap();
        let network = lab.topology.graph().network();
        let taken = |(flow, delay): (&Flow, &i64)| {
            let (from, to) = (flow.from.into(), flow.to.into());
            let (out, back) = (network.path(from, to), network.path(to, from));
            let best = alone_fct(&lab.packets, flow.bytes, &out, &back);
            best.ps().saturating_add_signed(*delay)
        };
        let taken: Vec<u64> = flows.iter().zip(&alone.delays).map(taken).collect();
        assert_eq!(taken, whole, "{name}");
    }
}

/// Also through the whole estimate: senders that have sent all before they send again wait behind
/// the one link alone, and each flow with its own delay there has the engine's very time.
#[test]
fn own_delays_at_one_link_give_the_times_of_the_whole_fabric() {
    for name in ["TCP+DropTail", "DCTCP"] {
        let lab = Lab::new(single_switch(9), hashed(name));
        // A little apart, so that they do not meet where the link is nearly infinitely fast.
        let at = |place: u64| {
            let (sender, round) = (place % 8, place / 8);
            flow(sender as u16, 8, 14_600, round * 1_000_000_000 + sender * 2_000)
        };
        let flows: Vec<Flow> = (0..80).map(at).collect();
        let run = lab.run(&flows);
        let report = estimated(&lab, &flows, &Settings { draws: Draws::Own, ..defaults() });
        assert_eq!(report.rows.ints("finished_ps"), run.rows.ints("finished_ps"));
        assert!(run.rows.ints("sojourn_ps") != run.rows.ints("ideal_ps"));
        // Of one size, and all 80 in one bucket: each flow has the delay of one of them.
        let sampled = estimated(&lab, &flows, &defaults());
        let mut times = run.fcts();
        times.sort_unstable();
        for &sojourn in sampled.rows.ints("sojourn_ps") {
            assert!(times.binary_search(&(sojourn as u64)).is_ok());
        }
    }
}

/// The delay at the sender's own link is counted once: there it is all of what two flows of one host
/// to one other suffer, and nothing is left for the link behind it, which is as fast.
#[test]
fn what_waits_at_its_own_host_waits_once() {
    let lab = Lab::new(single_switch(2), hashed("TCP+DropTail"));
    let flows = [flow(0, 1, 14_600, 0), flow(0, 1, 14_600, 0)];
    let whole = lab.run(&flows).fcts();
    let once = decomposed(&lab, &flows, &defaults());
    let found = times(&once);
    let at = |link: u32| &found.iter().find(|times| times.link == link).unwrap().delays;
    let path = once.path(0);
    assert_eq!(path, once.path(1));
    let ideal = lab.run(&flows[..1]).fcts()[0];
    let waited: Vec<i64> = whole.iter().map(|&fct| (fct - ideal) as i64).collect();
    assert_eq!((at(path[0]), at(path[1])), (&waited, &vec![0, 0]));
    let settings = Settings { access: Access::EveryLink, ..defaults() };
    let every = decomposed(&lab, &flows, &settings);
    let found = times(&every);
    assert!(found.iter().all(|times| times.delays == waited));
}

/// A flow that is alone takes as long as the engine says, but for some nanoseconds a window on the
/// links that are nearly infinitely fast.
#[test]
fn a_flow_alone_takes_its_time() {
    let clos = Clos { pods: 2, racks: 2, hosts: 2, ..defaults() };
    for (topology, name) in [
        (fat_tree(4), "DCTCP"),
        (Topology::LeafSpine(leaf_spine(2, 3, 2, 1)), "TCP+DropTail"),
        (Topology::Clos(clos), "MinTCP+pFabric"),
    ] {
        let lab = Lab::new(topology, hashed(name));
        for bytes in [1, 1_460, 100_000] {
            let flows = [flow(0, 5, bytes, 7)];
            let whole = lab.run(&flows).fcts()[0];
            let report = estimated(&lab, &flows, &defaults());
            let here = report.rows.ints("sojourn_ps")[0] as u64;
            assert!(here.abs_diff(whole) <= whole / 1000, "{name}, {bytes} B: {here} for {whole}");
        }
    }
}

#[test]
fn links_of_a_decomposition_are_simulated_once_each_and_no_other_is_taken() {
    let lab = Lab::new(Topology::LeafSpine(leaf_spine(2, 4, 2, 1)), hashed("DCTCP"));
    let decomposed = decomposed(&lab, &busy(8, 50, 1), &defaults());
    let mut found = times(&decomposed);
    let report = decomposed.combine(&found).unwrap();
    found.reverse();
    assert_eq!(decomposed.combine(&found).unwrap().rows, report.rows);
    let mut short = found.clone();
    short[0].delays.pop();
    let lacking = found[1..].to_vec();
    let twice = [&found[..], &found[..1]].concat();
    for wrong in [short, lacking, twice] {
        assert!(decomposed.combine(&wrong).is_err());
    }
}

/// Alike to the last byte: with any share at all, half of the links stand for the other half.
#[test]
fn links_that_are_alike_are_simulated_once() {
    let lab = Lab::new(single_switch(8), hashed("DCTCP"));
    let pairs = |place: u64| {
        let at = place / 2 * 50_000_000;
        let bytes = 1_000 + place / 2 * 700;
        if place.is_multiple_of(2) { flow(0, 1, bytes, at) } else { flow(2, 3, bytes, at) }
    };
    let flows: Vec<Flow> = (0..40).map(pairs).collect();
    let links =
        |cluster| decomposed(&lab, &flows, &Settings { cluster, ..defaults() }).links().len();
    assert_eq!([links(None), links(Some(0.0)), links(Some(1.0))], [4, 2, 2]);
    let all = estimated(&lab, &flows, &defaults());
    let some = estimated(&lab, &flows, &Settings { cluster: Some(0.0), ..defaults() });
    assert_eq!(all.rows, some.rows);
}

proptest! {
    #![proptest_config(cases(12))]

    /// Every flow has a row, is no quicker than alone, and crosses its own path of links; each
    /// link's flows are those whose paths have it.
    #[test]
    fn no_flow_is_lost(
        seed in 0..1000u64,
        number in 1..300u64,
        (racks, hosts, spines) in (1..4u32, 2..5u32, 1..4u32),
        name in prop::sample::select(vec!["TCP+DropTail", "DCTCP", "MinTCP+pFabric", "PIAS"]),
        cluster in prop::sample::select(vec![None, Some(0.3)]),
        access in prop::sample::select(vec![Access::Once, Access::EveryLink]),
    ) {
        let lab = Lab::new(Topology::LeafSpine(leaf_spine(racks, hosts, spines, 1)), hashed(name));
        let flows = busy((racks * hosts) as u16, number, seed);
        let settings = Settings { cluster, access, ..defaults() };
        let decomposed = decomposed(&lab, &flows, &settings);
        let report = decomposed.combine(&times(&decomposed)).unwrap();
        prop_assert_eq!(report.rows.ints("arrived_ps").len(), flows.len());
        let pairs = report.rows.ints("sojourn_ps").iter().zip(report.rows.ints("ideal_ps"));
        for (&sojourn, &ideal) in pairs {
            prop_assert!(sojourn >= ideal);
        }
        let links = 2 * racks * (hosts + spines);
        let mut crossed = vec![Vec::new(); links as usize];
        for (place, flow) in (0..).zip(&flows) {
            let path = decomposed.path(place);
            prop_assert_eq!(path[0], u32::from(flow.from));
            let same_rack = u32::from(flow.from) / hosts == u32::from(flow.to) / hosts;
            prop_assert_eq!(path.len(), if same_rack { 2 } else { 4 });
            path.iter().for_each(|&link| crossed[link as usize].push(*flow));
        }
        for (link, flows) in (0..links).zip(&crossed) {
            prop_assert_eq!(&decomposed.flows(link).collect::<Vec<_>>(), flows);
        }
    }
}

/// One case and one seed give one estimate, and the flows are those of the packet engine.
#[test]
fn an_estimate_is_of_the_flows_that_are_simulated() {
    let lab = Lab::new(Topology::LeafSpine(leaf_spine(2, 4, 2, 1)), hashed("DCTCP"));
    let poisson = Poisson { flows: count(300), load: 0.5, pairs: Pairs::Any, ..all_sizes() };
    let workload = sojourn_fabric::workload::Arrivals::Poisson(poisson).into();
    let case = lab.case(workload);
    let estimate = || {
        let decomposed = Decomposition::new(&case, &defaults(), lab.streams, &no_tables).unwrap();
        decomposed.combine(&times(&decomposed)).unwrap()
    };
    let ready = case.ready(lab.streams, &no_tables).unwrap();
    let whole = ready.run(Execution::new(&Progress::default())).unwrap();
    let report = estimate();
    for column in ["size_bytes", "arrived_ps", "ideal_ps", "src", "dst"] {
        assert_eq!(report.rows.ints(column), whole.rows.ints(column), "{column}");
    }
    assert_eq!(report.rows, estimate().rows);
    assert!(report.rows.columns.iter().all(|(name, _)| *name != "retransmits"));
    assert!(report.rows.columns.iter().any(|(name, _)| *name == "method"));
}

fn all_sizes() -> Poisson {
    let mut table = sojourn_core::parameters::Table::default();
    table.set("load", value("0.5"));
    sojourn_core::parameters::Parameters::read_table(&table).unwrap()
}
