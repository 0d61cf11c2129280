//! Links that fail, with any transport, and routes that learn of it.

use crate::common::*;
use sojourn_core::parameters::{Check, defaults};
use sojourn_core::{Bytes, Execution, Span, Streams};
use sojourn_fabric::engine::Progress;
use sojourn_fabric::flow::Completion;
use sojourn_fabric::topology::{FatTree, Topology};
use sojourn_fabric::{Failure, Flow, Hosts, Packets};

/// 16 hosts at 100 Gb/s, links of 1 us.
fn lab(scheme: &str) -> Lab {
    let tree = FatTree { k: 4, rate: gbps(100), delay: Span::from_us(1) };
    let packets = Packets { payload: Bytes(4086), header: Bytes(64), ack: Bytes(64) };
    let hosts = Hosts { overhead: 0.0, ..defaults() };
    Lab { packets, hosts, ..Lab::new(Topology::FatTree(tree), known(scheme)) }
}

/// A tree of 16 hosts and flows between all pairs of some, with links that fail in every way.
fn failing(scheme: &str, seed: u64) -> (Lab, Vec<Flow>) {
    let mut stream = Streams::new(seed, 0).stream("test", 0);
    let kinds = ["random = 3", "switch = \"1.2\"", "link = \"2.0 > 1.0\"", "link = \"0.0 - 1.1\""];
    let fates = ["capacity = 0.25", "capacity = 0", "loss = 0.2", "capacity = 0.5, loss = 0.05"];
    let times = ["", "from = \"20us\"", "until = \"80us\"", "from = \"10us\", until = \"40us\""];
    let known = ["", "known_after = \"0s\"", "known_after = \"25us\""];
    let mut any = |list: &[&'static str]| list[stream.below(list.len() as u64) as usize];
    let mut fails = || failure(&[any(&kinds), any(&fates), any(&times), any(&known)].join(", "));
    let failure = vec![fails(), fails()];
    let flows = (0..40).map(|n| {
        let from = stream.below(16) as u16;
        let to = (from + 1 + stream.below(15) as u16) % 16;
        flow(from, to, 1 + stream.below(300_000), n * 2_000_000)
    });
    let flows = flows.collect();
    (
        Lab { failure, drain: Span::from_ms(50), streams: Streams::new(seed, 1), ..lab(scheme) },
        flows,
    )
}

/// No packet vanishes where links fail, and rows are the same on one, two and three threads.
#[test]
fn failures_lose_what_they_count_on_any_number_of_threads() {
    let schemes = ["UET NSCC", "UET RCCC", "UET NSCC+RCCC", "NDP", "DCTCP", "MinTCP+pFabric"];
    let mut lost = 0;
    for (seed, scheme) in (0..).zip(schemes.into_iter().cycle().take(24)) {
        let (lab, flows) = failing(scheme, seed);
        let ready = lab.ready(listed(&csv(&flows)));
        let run = |threads| {
            let progress = Progress::default();
            let execution = Execution { threads, ..Execution::new(&progress) };
            let report = ready.run(execution).expect("not cancelled");
            // As text: what an unfinished flow has no number for is equal to nothing.
            format!("{:?} {:?}", report.rows, report.totals)
        };
        let one = run(1);
        let counts = Run::of(&ready);
        let gone = counts.drops() + counts.figure("packets_lost_on_links");
        let there = counts.figure("packets_delivered") + counts.figure("packets_in_network");
        assert_eq!(counts.figure("packets_injected"), gone + there, "{scheme}, {seed}");
        lost += counts.figure("packets_lost_on_links");
        for threads in [2, 3] {
            assert_eq!(one, run(threads), "{scheme}, {seed}, {threads} threads");
        }
    }
    assert!(lost > 1_000, "{lost}");
}

/// One flow over links at a quarter of their speed takes four times as long on each of them; its ideal time is
/// that of the whole fabric. Before they fail, and after, nothing has changed.
#[test]
fn a_degraded_link_is_slower_while_it_fails() {
    let bytes = 40_860;
    let alone = |failures: Vec<Failure>, at_us: u64| {
        let lab = Lab { failure: failures, ..lab("UET NSCC") };
        let run = lab.run(&[flow(0, 1, bytes, at_us * 1_000_000)]);
        (run.fcts()[0] as f64 / 1e6, run.rows.ints("ideal_ps")[0])
    };
    let down = || {
        vec![failure(
            "link = \"0.0 > host 1\", capacity = 0.25, from = \"100us\", until = \"200us\"",
        )]
    };
    let (whole, ideal) = alone(vec![], 0);
    assert_eq!(alone(down(), 0), (whole, ideal));
    assert_eq!(alone(down(), 300), (whole, ideal));
    let (slow, same) = alone(down(), 120);
    // Ten packets of 4150 bytes take 332 ns each, and now 1328.
    assert_eq!(same, ideal);
    assert!((slow - whole - 10.0 * 0.996).abs() < 0.001, "{slow} {whole}");
}

#[test]
fn failures_that_cannot_be_are_refused() {
    let refusal = |settings: &str| {
        let lab = Lab { failure: vec![failure(settings)], ..lab("UET NSCC") };
        lab.case(listed(&csv(&[flow(0, 1, 1, 0)]))).check().unwrap_err().expected
    };
    for (settings, expected) in [
        ("link = \"3.0 > 1.0\", capacity = 0", "a tier from 0 to 2"),
        ("link = \"2.4 > 1.0\", capacity = 0", "a place below 4 in tier 2"),
        ("link = \"2.0 > 0.0\", capacity = 0", "two nodes with a link between them"),
        ("link = \"0.0 > host 16\", capacity = 0", "at most 15 for a host"),
        ("random = 100, loss = 0.5", "at most 32, the cables between switches"),
        ("random = 1, capacity = 0.000000000001", "within 60s"),
    ] {
        let refused = refusal(settings);
        assert!(refused.contains(expected), "{settings}: {refused}");
    }
}

/// Each host sends 400 KB to the one eight further, through the core.
fn across() -> Vec<Flow> {
    (0..16).map(|from| flow(from, (from + 8) % 16, 400_000, 0)).collect()
}

const SCHEMES: [&str; 4] = ["UET NSCC", "NDP", "DCTCP", "Linux CUBIC"];

/// Routes that know at once lead around a cable, and nothing is lost on it: one direction down takes the
/// other with it.
#[test]
fn routes_that_know_at_once_lose_nothing() {
    for scheme in SCHEMES {
        for links in ["2.0 > 1.0", "1.0 > 2.0", "0.0 - 1.0"] {
            let settings = format!("link = \"{links}\", capacity = 0, known_after = \"0s\"");
            let lab = Lab { failure: vec![failure(&settings)], ..lab(scheme) };
            let run = lab.run(&across());
            assert_eq!(run.figure("packets_lost_on_links"), 0, "{scheme}, {links}");
            assert!(run.fcts().iter().all(|&ps| ps > 32_000_000), "{scheme}, {links}");
        }
    }
}

/// Until they know, packets are lost on the link, and no more from then on.
#[test]
fn routes_lose_until_they_know() {
    let lost = |known_us: u64, bytes: u64| {
        let settings = format!("switch = \"2.0\", capacity = 0, known_after = \"{known_us}us\"");
        let lab = Lab { failure: vec![failure(&settings)], ..lab("UET NSCC") };
        let flows: Vec<Flow> = across().into_iter().map(|flow| Flow { bytes, ..flow }).collect();
        lab.run(&flows).figure("packets_lost_on_links")
    };
    let (soon, late) = (lost(5, 400_000), lost(15, 400_000));
    assert!(0 < soon && soon < late, "{soon} {late}");
    // Whatever is sent later is not lost.
    assert_eq!(lost(5, 4_000_000), soon);
}

/// A host whose link is down for good: flows to it and from it end unfinished when routes know, and so does
/// one that waits for such a flow; all others finish, and the run is over then. Where the link comes back
/// they all finish.
#[test]
fn flows_without_a_route_end_with_a_reason() {
    let text = "id,after,src,dst,size_bytes,arrival\n\
                a,,0,1,400000,0s\nb,,1,0,400000,0s\nc,,2,3,400000,0s\nd,,2,1,400000,90us\n\
                e,b,0,5,400000,0s\nf,e,5,6,400000,0s\n";
    for scheme in SCHEMES {
        let run = |until: &str| {
            let settings = format!(
                "link = \"host 1 - 0.0\", capacity = 0, from = \"10us\", known_after = \"20us\"{until}"
            );
            let lab =
                Lab { failure: vec![failure(&settings)], drain: Span::from_s(5), ..lab(scheme) };
            Run::of(&lab.ready(listed(text)))
        };
        let cut = run("");
        let since: Vec<i64> =
            cut.rows.ints("without_route_ps").iter().map(|ps| ps / 1_000_000).collect();
        let of = |src, dst| {
            let ends = cut.rows.ints("src").iter().zip(cut.rows.ints("dst"));
            since[ends.into_iter().position(|(&s, &d)| (s, d) == (src, dst)).expect("a flow")]
        };
        assert_eq!([of(0, 1), of(1, 0), of(2, 1), of(0, 5), of(5, 6)], [30, 30, 90, 30, 30]);
        assert_eq!((cut.figure("unfinished"), since.len()), (5, 6), "{scheme}");
        assert!(cut.figure("simulated_ps") < 500_000_000, "{scheme}");
        let expected = "5 of 6 flows ended unfinished without a route, the first at 30us";
        assert_eq!(cut.words("without_route"), expected, "{scheme}");
        assert_eq!(run(", until = \"60us\"").figure("unfinished"), 0, "{scheme}");
    }
}

/// A link that still carries something ends no flow, whatever routes know of it; and a flow that arrived before
/// its ACK was lost has finished.
#[test]
fn flows_that_arrive_have_a_route() {
    let text = "id,src,dst,size_bytes,arrival\na,0,1,400000,0s\nb,0,1,4000,15us\nc,2,3,4000,90us\n";
    for scheme in SCHEMES {
        let run = |fate: &str| {
            let settings = format!("{fate}, from = \"10us\", known_after = \"20us\"");
            let (failure, drain) = (vec![failure(&settings)], Span::from_s(5));
            let lab = Lab { failure, drain, completion: Completion::Receiver, ..lab(scheme) };
            Run::of(&lab.ready(listed(text)))
        };
        for fate in ["capacity = 0.5", "loss = 0.01"] {
            let run = run(&format!("link = \"host 1 - 0.0\", {fate}"));
            assert_eq!(run.figure("unfinished"), 0, "{scheme}, {fate}");
        }
        let deaf = run("link = \"host 1 > 0.0\", capacity = 0");
        let open = deaf.figure("unfinished");
        let since = deaf.rows.ints("without_route_ps").iter().filter(|&&ps| ps >= 0).count();
        assert_eq!((open, since), (1, 1), "{scheme}");
        let expected = "1 of 3 flows ended unfinished without a route, the first at 30us";
        assert_eq!(deaf.words("without_route"), expected, "{scheme}");
    }
}
