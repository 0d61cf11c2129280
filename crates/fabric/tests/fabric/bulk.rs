//! Flows that never end, and what is measured of them.

use crate::common::{FULL, Lab, Run, drop_tail, gbps, known, leaf_spine, new_reno, scheme};
use sojourn_core::parameters::{Parameters, Setting, Table, Value, defaults};
use sojourn_core::resource::no_tables;
use sojourn_core::{Bytes, Span, Time};
use sojourn_fabric::queue::{Ecn, QueueKind};
use sojourn_fabric::topology::{SingleSwitch, Topology};
use sojourn_fabric::transport::{NewReno, TcpOptions, TransportKind};
use sojourn_fabric::workload::{Arrivals, Bulk, Pattern, Poisson, Workload};
use sojourn_fabric::{FabricCase, Flow, Scheme};
use std::num::NonZeroU32;

/// `senders` hosts at 10 Gb/s behind a link of 40 Gb/s to one more.
fn uplink(senders: u32) -> Topology {
    let switch = SingleSwitch { hosts: senders + 1, uplink: Some(gbps(40)), ..defaults() };
    Topology::SingleSwitch(switch)
}

fn bulk(pattern: Pattern, parallel: u32) -> Bulk {
    Bulk {
        pattern,
        parallel: NonZeroU32::new(parallel).expect("some"),
        start_spread: Span::from_us(500),
        warm_up: Span::from_ms(5),
        window: Span::from_ms(20),
    }
}

fn run(lab: &Lab, bulk: Bulk) -> Run {
    Run::of(&lab.ready(Arrivals::Bulk(bulk).into()))
}

/// NewReno over drop-tail ports that can hold everything.
fn deep() -> sojourn_fabric::PacketScheme {
    scheme(TransportKind::NewReno(new_reno(10)), drop_tail(256_000_000))
}

/// A busy link carries full packets, one after the other: so much payload in the window, give or
/// take the packets that lie across its ends.
#[test]
fn bulk_flows_share_the_whole_link() {
    let lab = Lab::new(uplink(8), deep());
    let run = run(&lab, bulk(Pattern::ToLast, 3));
    assert_eq!(run.names("kind"), ["bulk"; 24]);
    assert_eq!((run.drops(), run.figure("unfinished")), (0, 0));
    assert_eq!(run.figure("simulated_ps"), 25_000_000_000);
    let sum: f64 = run.rows.floats("goodput_bps").iter().sum();
    let payload = 40e9 * FULL as f64 / 1500.0;
    let packet = FULL as f64 * 8.0 / 20e-3;
    assert!((sum - payload).abs() < 2.0 * packet, "{sum} {payload}");
}

/// Each pair has a link to itself, and fills it.
#[test]
fn pairs_do_not_meet_on_one_switch() {
    let switch = SingleSwitch { hosts: 7, ..defaults() };
    let lab = Lab::new(Topology::SingleSwitch(switch), deep());
    let halves = run(&lab, bulk(Pattern::Halves, 1));
    let payload = 10e9 * FULL as f64 / 1500.0;
    let packet = FULL as f64 * 8.0 / 20e-3;
    for goodput in halves.rows.floats("goodput_bps") {
        assert!((goodput - payload).abs() < 2.0 * packet, "{goodput} {payload}");
    }
    let pairs = |run: &Run| -> Vec<(i64, i64)> {
        let mut pairs: Vec<(i64, i64)> = run
            .rows
            .ints("src")
            .iter()
            .copied()
            .zip(run.rows.ints("dst").iter().copied())
            .collect();
        pairs.sort_unstable();
        pairs
    };
    assert_eq!(pairs(&halves), [(0, 3), (1, 4), (2, 5)]);
    let permuted = pairs(&run(&lab, bulk(Pattern::Permutation, 1)));
    let (mut from, mut to): (Vec<i64>, Vec<i64>) = permuted.iter().copied().unzip();
    from.sort_unstable();
    to.sort_unstable();
    assert_eq!((&from, &to), (&(0..7).collect(), &(0..7).collect()));
    assert!(permuted.iter().all(|(src, dst)| src != dst));
}

/// The rows say what the window saw, not the run: the bytes are the goodput over the window, there
/// is no end, no ideal, and nothing that happened before.
#[test]
fn rows_of_bulk_flows_are_about_the_window() {
    let shallow = scheme(TransportKind::NewReno(new_reno(10)), drop_tail(60_000));
    let lab = Lab::new(uplink(8), shallow);
    let whole =
        Bulk { warm_up: Span::from_ms(1), window: Span::from_ms(24), ..bulk(Pattern::ToLast, 3) };
    let (late, whole) = (run(&lab, bulk(Pattern::ToLast, 3)), run(&lab, whole));
    for name in ["finished_ps", "sojourn_ps", "ideal_ps"] {
        assert_eq!(late.rows.ints(name), [-1; 24], "{name}");
    }
    assert!(late.rows.floats("slowdown").iter().all(|value| value.is_nan()));
    assert_eq!(late.rows.ints("arrived_ps"), whole.rows.ints("arrived_ps"));
    assert!(late.rows.ints("arrived_ps").iter().all(|at| (0..=500_000_000).contains(at)));
    for (bytes, goodput) in late.rows.ints("size_bytes").iter().zip(late.rows.floats("goodput_bps"))
    {
        assert_eq!(*goodput, *bytes as f64 * 8.0 / 20e-3);
    }
    assert!(0 < late.sum("retransmits") && late.sum("retransmits") < whole.sum("retransmits"));
    for (late, whole) in late.rows.ints("size_bytes").iter().zip(whole.rows.ints("size_bytes")) {
        assert!(late <= whole);
    }
}

/// Eight hosts with flows of every transport, with SACK and without where it can do without, into a
/// buffer that loses packets.
fn lossy() -> impl Iterator<Item = (String, sojourn_fabric::PacketScheme)> {
    let with = |name: &'static str, sack: Option<bool>| {
        let mut table = Table::default();
        table.set("kind", Value::Text(name.to_owned()));
        if let Some(sack) = sack {
            table.set("sack", Value::Bool(sack));
        }
        let transport = TransportKind::read(&Value::Table(table)).expect("a transport");
        let queue = match name {
            "ndp" => QueueKind::Trim(defaults()),
            "dctcp" => QueueKind::Ecn(Ecn { buffer: Bytes(60_000), ..defaults() }),
            _ => drop_tail(60_000),
        };
        (format!("{name}, sack {sack:?}"), scheme(transport, queue))
    };
    ["new-reno", "dctcp", "cubic", "swift", "min-tcp", "line-rate"]
        .into_iter()
        .flat_map(move |name| [Some(false), Some(true)].map(|sack| with(name, sack)))
        .chain([with("ndp", None)])
}

/// No receiver gets more than its link carries, whatever was lost and repaired; what senders know of it is
/// less, or was there before the window.
#[test]
fn goodput_is_what_receivers_got() {
    for (name, scheme) in lossy() {
        let lab = Lab::new(uplink(8), scheme);
        for ms in [1, 5, 20] {
            let bulk = Bulk { window: Span::from_ms(ms), ..bulk(Pattern::ToLast, 3) };
            let run = run(&lab, bulk);
            let share = run.share("received_share_of_link");
            assert!((0.3..=1.0).contains(&share), "{name}, {ms} ms: {share}");
            let sum: f64 = run.rows.floats("goodput_bps").iter().sum();
            let most = 40e9 * FULL as f64 / 1500.0 + FULL as f64 * 8.0 / (ms as f64 / 1e3);
            assert!(sum <= most, "{name}, {ms} ms: {sum}");
            assert_eq!(run.rows.ints("received_bytes"), run.rows.ints("size_bytes"));
        }
    }
}

/// The averages of each length are parts of the whole: those that follow each other make it up, and the
/// longest is the goodput that the rows have.
#[test]
fn averages_add_up() {
    let shallow = scheme(TransportKind::NewReno(new_reno(10)), drop_tail(60_000));
    let lab = Lab::new(uplink(8), shallow);
    let run = run(&lab, bulk(Pattern::ToLast, 3));
    let of = |name| run.averages.ints(name);
    let all: Vec<_> = (0..of("job").len())
        .map(|row| {
            (of("over_ps")[row], of("start_ps")[row], of("job")[row], of("received_bytes")[row])
        })
        .collect();
    assert!(all.is_sorted());
    let window = 20_000_000_000;
    let whole: Vec<i64> =
        all.iter().filter(|average| average.0 == window).map(|average| average.3).collect();
    assert_eq!(whole, run.rows.ints("received_bytes"));
    for ms in [1, 2, 5, 10] {
        let over = ms * 1_000_000_000;
        let mut sums = vec![0; 24];
        for (_, start, job, bytes) in all.iter().filter(|average| average.0 == over) {
            if (start - 5_000_000_000) % over == 0 {
                sums[*job as usize] += bytes;
            }
        }
        assert_eq!(sums, whole, "{ms} ms");
    }
}

/// Of flows that are not done by the end the rows say how much has come; the sender knows of no more.
#[test]
fn unfinished_flows_say_how_much_has_come() {
    for (name, scheme) in lossy() {
        let mut lab = Lab::new(uplink(8), scheme);
        lab.drain = Span::from_ms(4);
        let flows: Vec<Flow> =
            (0..8).map(|from| Flow::new(from, 8, 1_000_000_000 + 1, Time::ZERO)).collect();
        let run = lab.run(&flows);
        let (received, known) =
            (run.rows.ints("received_bytes"), run.rows.ints("acknowledged_bytes"));
        assert_eq!(run.figure("unfinished"), 8);
        for (received, known) in received.iter().zip(known) {
            assert!(0 < *known && known <= received && *received < 1_000_000_001, "{name}");
        }
        // Four milliseconds of the uplink.
        assert!(received.iter().sum::<i64>() <= 20_000_000, "{name}");
        lab.drain = Span::from_ms(900);
        let short: Vec<Flow> = flows.iter().map(|flow| Flow { bytes: 1_461, ..*flow }).collect();
        assert_eq!(lab.run(&short).figure("unfinished"), 0, "{name}");
    }
}

/// A run says how many time-outs there were and the longest of them; back-off doubles it.
#[test]
fn the_longest_time_out_is_told() {
    let options = TcpOptions { sack: false, min_rto: Span::from_ms(2), ..defaults() };
    let reno = NewReno { options, ..new_reno(10) };
    let lab = Lab::new(uplink(8), scheme(TransportKind::NewReno(reno), drop_tail(3_000)));
    let run = run(&lab, Bulk { window: Span::from_ms(50), ..bulk(Pattern::ToLast, 5) });
    assert!(run.figure("timeouts") >= run.sum("timeouts") && run.sum("timeouts") > 0);
    let longest = run.figure("longest_timeout_ps");
    assert!((4_000_000_000..=55_000_000_000).contains(&longest), "{longest}");
    let deep = Lab::new(uplink(8), deep());
    let none = self::run(&deep, bulk(Pattern::ToLast, 1));
    assert_eq!((none.figure("timeouts"), none.figure("longest_timeout_ps")), (0, 0));
}

/// The most that waited at a port: all of a buffer that overran, and what samples have seen.
#[test]
fn the_fullest_buffer_is_told() {
    for (name, scheme) in lossy() {
        let mut lab = Lab::new(uplink(8), scheme);
        let plain = run(&lab, bulk(Pattern::ToLast, 3));
        let peak = plain.figure("port_memory_peak_bytes");
        lab.sample = Some(Span::from_us(1));
        let sampled = run(&lab, bulk(Pattern::ToLast, 3));
        assert_eq!(sampled.figure("port_memory_peak_bytes"), peak, "{name}");
        let seen = sampled.series.ints("waiting_bytes").iter().max().copied().unwrap_or(0);
        assert!(name.starts_with("ndp") || seen <= peak, "{name}: {seen} {peak}");
        assert!(plain.drops() == 0 || (58_500..=60_000).contains(&peak), "{name}: {peak}");
    }
}

/// Beside others they go on until the last of them is done, and are measured all the same; the
/// others do not move them, nor they the others' arrivals.
#[test]
fn bulk_flows_can_be_a_background() {
    let lab = Lab::new(Topology::LeafSpine(leaf_spine(2, 4, 1, 1)), known("DCTCP"));
    let mut table = Table::default();
    for (key, value) in [("flows", Value::Int(200)), ("load", Value::Float(0.2))] {
        table.set(key, value);
    }
    let poisson = || -> Workload {
        Arrivals::Poisson(Poisson::read_table(&table).expect("a workload")).into()
    };
    let behind = || -> Workload { Arrivals::Bulk(bulk(Pattern::Halves, 1)).into() };
    let both = FabricCase { background: Some(behind()), ..lab.case(poisson()) };
    assert_eq!(both.count(lab.streams, &no_tables, &|_| {}), Ok(204));
    let both = Run::of(&both.ready(lab.streams, &no_tables).expect("a case"));
    let alone = run(&lab, bulk(Pattern::Halves, 1));
    let plain = Run::of(&lab.ready(poisson()));
    for (kind, part, other) in [("flow", "workload", &plain), ("bulk", "background", &alone)] {
        let rows: Vec<usize> = (0..204).filter(|&row| both.names("kind")[row] == kind).collect();
        assert!(rows.iter().all(|&row| both.names("part")[row] == part));
        for column in ["arrived_ps", "src", "dst"] {
            let column_of: Vec<i64> = rows.iter().map(|&row| both.rows.ints(column)[row]).collect();
            assert_eq!(column_of, other.rows.ints(column));
        }
    }
    assert_eq!(both.figure("unfinished"), 0);
    let open = both.rows.ints("finished_ps").iter().filter(|at| **at == -1).count();
    assert_eq!(open, 4);
}

/// Two parts of one kind draw apart, and the first of them as if it were alone.
#[test]
fn two_workloads_of_a_kind_have_streams_of_their_own() {
    let lab = Lab::new(uplink(8), known("DCTCP"));
    let bulk = || -> Workload { Arrivals::Bulk(bulk(Pattern::ToLast, 1)).into() };
    let twice = FabricCase { background: Some(bulk()), ..lab.case(bulk()) };
    let twice = Run::of(&twice.ready(lab.streams, &|_| unreachable!()).expect("a case"));
    let alone = Run::of(&lab.ready(bulk()));
    let starts = |part: &str| -> Vec<i64> {
        let parts = twice.names("part");
        let rows = (0..16).filter(|&row| parts[row] == part);
        rows.map(|row| twice.rows.ints("arrived_ps")[row]).collect()
    };
    assert_eq!(starts("workload"), alone.rows.ints("arrived_ps"));
    assert_ne!(starts("background"), starts("workload"));
}

#[test]
fn the_ideal_scheduler_takes_no_bulk_flows() {
    let lab = Lab::new(uplink(8), known("DCTCP"));
    let case = FabricCase {
        scheme: Scheme::Ideal(defaults()),
        ..lab.case(Arrivals::Bulk(bulk(Pattern::ToLast, 1)).into())
    };
    let refusal = FabricCase::read_table(&case.write_table()).expect_err("no end");
    assert_eq!(refusal.path, ["workload", "kind"]);
}
