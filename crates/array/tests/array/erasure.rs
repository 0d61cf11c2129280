//! Erasure codes: plans against those of RAID 5 and 6, reads of k of n against order statistics.

use crate::common::{half_width, mean, report, sojourns, table, text, variant};
use proptest::prelude::*;
use sojourn_array::device::Op;
use sojourn_array::layout::{AccessPlan, Layout};
use sojourn_core::parameters::Value;
use sojourn_core::{Ahead, Report, Streams};
use sojourn_properties::cases;

fn disks(failed: &[u16]) -> Value {
    Value::List(failed.iter().map(|&disk| Value::Int(disk.into())).collect())
}

fn erasure(data: u16, parities: u16, failed: &[u16], more: &[(&str, Value)]) -> Layout {
    let counts = [("data", Value::Int(data.into())), ("parities", Value::Int(parities.into()))];
    variant("erasure", &[&counts, more, &[("failed", disks(failed))]].concat())
}

fn starts() -> Ahead {
    Ahead::new(Streams::new(1, 0).stream("starts", 0))
}

/// Disks that have failed: `failed` of `all`, from a seed.
fn drawn(all: u16, failed: u16, seed: u64) -> Vec<u16> {
    let mut stream = Streams::new(seed, 0).stream("failed", 0);
    let mut left: Vec<u16> = (0..all).collect();
    (0..failed).map(|_| left.swap_remove(stream.below(left.len() as u64) as usize)).collect()
}

fn phases(plan: &AccessPlan) -> Vec<Vec<String>> {
    (0..plan.phases())
        .map(|phase| plan.phase(phase).iter().map(|access| format!("{access:?}")).collect())
        .collect()
}

proptest! {
    #![proptest_config(cases(600))]

    /// With one parity it is RAID 5, with two RAID 6.
    #[test]
    fn one_and_two_parities_are_raid_5_and_6(
        data in 2u16..8,
        parities in 1u16..3,
        failed in 0u16..3,
        blocks in 1u32..60,
        first in 0u64..1000,
        unit in 1u32..5,
        reads in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let op = if reads { Op::Read } else { Op::Write };
        let all = data + parities;
        let failed = drawn(all, failed.min(parities), seed);
        let raid = ("disks", Value::Int(all.into()));
        let other: Layout = match (parities, failed.first()) {
            (1, None) => variant("raid5", &[raid]),
            (1, Some(&disk)) => variant("raid5", &[raid, ("failed", Value::Int(disk.into()))]),
            _ => variant("raid6", &[raid, ("failed", disks(&failed))]),
        };
        let code = erasure(data, parities, &failed, &[]);
        let (mut plan, mut expected) = (AccessPlan::new(all.into()), AccessPlan::new(all.into()));
        prop_assert_eq!(code.ways(op), other.ways(op));
        let way = seed % code.ways(op);
        code.lay(op, blocks, way, &mut plan);
        other.lay(op, blocks, way, &mut expected);
        prop_assert_eq!(phases(&plan), phases(&expected));
        code.lay_at(op, first, blocks, unit, &mut starts(), &mut plan);
        other.lay_at(op, first, blocks, unit, &mut starts(), &mut expected);
        prop_assert_eq!(phases(&plan), phases(&expected));
        prop_assert!(plan.waits_for_all());
    }

    /// A block is read where it lies, or computed from as many others as a stripe has data.
    #[test]
    fn a_lost_block_is_read_from_k_others(
        data in 1u16..8,
        parities in 1u16..6,
        failed in 0u16..6,
        seed in any::<u64>(),
    ) {
        let all = data + parities;
        let failed = drawn(all, failed.min(parities), seed);
        let code = erasure(data, parities, &failed, &[]);
        let mut plan = AccessPlan::new(all.into());
        let mut lost = 0;
        for first in 0..u64::from(data) * u64::from(all) {
            code.lay_at(Op::Read, first, 1, 1, &mut starts(), &mut plan);
            let accesses = plan.accesses();
            let mut on: Vec<u16> = accesses.iter().map(|access| access.disk).collect();
            on.sort_unstable();
            on.dedup();
            prop_assert_eq!(on.len(), accesses.len());
            prop_assert!(on.iter().all(|disk| !failed.contains(disk)));
            let row = first / u64::from(data);
            prop_assert!(accesses.iter().all(|access| (access.at, access.blocks) == (row, 1)));
            prop_assert!([1, usize::from(data)].contains(&on.len()));
            if data > 1 {
                lost += usize::from(on.len() > 1);
            }
        }
        // Rows go round all disks, so that each holds as many blocks as any other.
        let expected = if data > 1 { usize::from(data) * failed.len() } else { 0 };
        prop_assert_eq!(lost, expected);
    }

    /// Whole stripes are written to all disks that are left; less reads ahead, and then writes every
    /// parity that is left.
    #[test]
    fn writes_keep_all_parities(
        data in 2u16..8,
        parities in 1u16..6,
        failed in 0u16..6,
        stripes in 1u32..4,
        seed in any::<u64>(),
    ) {
        let all = data + parities;
        let failed = drawn(all, failed.min(parities), seed);
        let code = erasure(data, parities, &failed, &[]);
        let left = usize::from(all) - failed.len();
        let mut plan = AccessPlan::new(all.into());
        let way = seed % code.ways(Op::Write);
        code.lay(Op::Write, stripes * u32::from(data), way, &mut plan);
        prop_assert_eq!((plan.phases(), plan.accesses().len()), (1, left));
        prop_assert!(plan.accesses().iter().all(|access| access.blocks == stripes));
        code.lay(Op::Write, 1, way, &mut plan);
        if plan.phases() == 2 {
            let (ahead, writes) = (plan.phase(0), plan.phase(1));
            prop_assert!(ahead.iter().all(|access| access.op == Op::Read && access.gate));
            prop_assert!(writes.iter().all(|access| access.op == Op::Write && access.blocks == 1));
            prop_assert!(writes.len() <= 1 + usize::from(parities));
            prop_assert!(writes.len() + failed.len() > usize::from(parities));
        } else {
            // No parity is left, or the block itself is all that is.
            prop_assert!(plan.accesses().len() <= 1);
        }
    }

    /// A read from all goes to `data` + `extra` disks, to the same place on each, and needs `data`.
    #[test]
    fn a_read_from_all_needs_k(
        data in 1u16..8,
        parities in 1u16..6,
        failed in 0u16..6,
        extra in 0u16..6,
        blocks in 1u32..60,
        first in 0u64..1000,
        unit in 1u32..5,
        seed in any::<u64>(),
    ) {
        let all = data + parities;
        let failed = drawn(all, failed.min(parities), seed);
        let extra = extra.min(parities - failed.len() as u16);
        let more = [("read", text("all")), ("extra", Value::Int(extra.into()))];
        let code = erasure(data, parities, &failed, &more);
        let mut plan = AccessPlan::new(all.into());
        let needs = if extra == 0 { None } else { Some(u32::from(data)) };
        code.lay(Op::Read, blocks, seed % code.ways(Op::Read), &mut plan);
        prop_assert_eq!(plan.needs(0), needs);
        let each = blocks.div_ceil(data.into());
        prop_assert!(plan.accesses().iter().all(|access| access.blocks == each));
        code.lay_at(Op::Read, first, blocks, unit, &mut starts(), &mut plan);
        prop_assert_eq!(plan.needs(0), needs);
        prop_assert_eq!(plan.accesses().len(), usize::from(data + extra));
        // From the first place of a block to the last, on every disk.
        let place = |block: u64| {
            let row = u64::from(data) * u64::from(unit);
            block / row * u64::from(unit) + block % u64::from(unit)
        };
        let places: Vec<u64> = (first..first + u64::from(blocks)).map(place).collect();
        let (from, to) = (places.iter().min().unwrap(), places.iter().max().unwrap());
        for access in plan.accesses() {
            prop_assert!(!failed.contains(&access.disk));
            prop_assert_eq!((access.at, u64::from(access.blocks)), (*from, to - from + 1));
        }
    }
}

/// Reads of whole stripes of exponential disks of mean 10 ms, as many a second as `rate` says.
fn reads(data: u16, parities: u16, extra: u16, rate: &str, engine: &str) -> Report {
    reads_with("go-on", data, parities, extra, rate, engine)
}

/// The same, where late accesses go on or are dropped.
fn reads_with(
    late: &str,
    data: u16,
    parities: u16,
    extra: u16,
    rate: &str,
    engine: &str,
) -> Report {
    let disk = table(&[("kind", text("exponential")), ("mean", text("10ms"))]);
    let layout = table(&[
        ("kind", text("erasure")),
        ("data", Value::Int(data.into())),
        ("parities", Value::Int(parities.into())),
        ("read", text("all")),
        ("extra", Value::Int(extra.into())),
        ("late", text(late)),
    ]);
    let arrivals = table(&[("kind", text("poisson")), ("rate", text(rate))]);
    let workload = table(&[
        ("kind", text("synthetic")),
        ("places", text("anywhere")),
        ("arrivals", arrivals),
        ("blocks", Value::Int(data.into())),
        ("requests", Value::Int(60_000)),
    ]);
    let parts =
        [("disk", disk), ("layout", layout), ("workload", workload), ("engine", text(engine))];
    report(&parts, u64::from(17 * data + extra))
}

/// Alone, the k-th of n exponential times: the sum of 1 / (i mu) from i = n - k + 1 to n.
#[test]
fn the_first_k_of_n_reads_are_order_statistics() {
    for (data, extra) in [(1, 0), (1, 3), (2, 1), (4, 0), (4, 2), (6, 3)] {
        let all = data + extra;
        let known: f64 = (extra + 1..=all).map(|i| 10.0 / f64::from(i)).sum();
        let variance: f64 = (extra + 1..=all).map(|i| (10.0 / f64::from(i)).powi(2)).sum();
        let run = reads(data, 3, extra, "0.1/s", "quickest");
        let times = sojourns(&run.rows);
        let within = 4.0 * (variance / times.len() as f64).sqrt();
        assert!(
            (mean(&times) - known).abs() < within,
            "{data} + {extra}: {} {known}",
            mean(&times)
        );
        // What nothing waits for has the least time of the same draws.
        let slowdowns = run.rows.floats("slowdown");
        assert!(slowdowns.iter().filter(|slowdown| **slowdown > 1.0).count() < times.len() / 50);
    }
}

/// Under load too the recursion gives the rows of the event loop, and what a request does not wait
/// for is work: every disk is as busy as if all were waited for.
#[test]
fn what_is_not_waited_for_is_work() {
    let share = |report: &Report| {
        let found = report.totals.iter().find(|(name, _)| name == "disk_utilisation");
        match found.unwrap().1 {
            Value::Float(share) => share,
            ref other => panic!("{other}"),
        }
    };
    for (data, extra) in [(2, 1), (3, 3), (5, 1)] {
        let [quick, events] =
            ["quickest", "events"].map(|engine| reads(data, 3, extra, "0.06/ms", engine));
        assert_eq!(quick.rows, events.rows, "{data} + {extra}");
        assert_eq!(share(&quick), share(&events));
        // 0.06 requests a millisecond bring each of data + 3 disks 10 ms of work with a probability.
        let offered = 0.6 * f64::from(data + extra) / f64::from(data + 3);
        assert!((share(&quick) / offered - 1.0).abs() < 0.02, "{}: {offered}", share(&quick));
    }
}

/// Reads at `all` queues of services with a mean of 10 ms, each done with the first `needs`; its others that wait are dropped.
/// Event by event, looking through everything each time.
fn dropping_twin(all: usize, needs: usize, per_ms: f64, requests: usize) -> Vec<f64> {
    let mut stream = Streams::new(4, 0).stream("twin", 0);
    let mut exponential = |mean: f64| -> f64 {
        let share = (stream.below(1 << 53) as f64 + 0.5) / (1_u64 << 53) as f64;
        -mean * share.ln()
    };
    let mut queues: Vec<Vec<usize>> = vec![Vec::new(); all];
    let mut ends = vec![f64::INFINITY; all];
    let (mut arrived, mut served) = (Vec::new(), Vec::new());
    let mut times = vec![f64::NAN; requests];
    let mut next = 0.0;
    let mut left = requests;
    while left > 0 {
        let first = (0..all).min_by(|&a, &b| ends[a].total_cmp(&ends[b])).unwrap();
        if next < ends[first] {
            let job = arrived.len();
            arrived.push(next);
            served.push(0);
            for queue in 0..all {
                queues[queue].push(job);
                if queues[queue].len() == 1 {
                    ends[queue] = next + exponential(10.0);
                }
            }
            next += exponential(1.0 / per_ms);
            continue;
        }
        let now = ends[first];
        let job = queues[first].remove(0);
        served[job] += 1;
        if served[job] == needs {
            if job < requests {
                times[job] = now - arrived[job];
                left -= 1;
            }
            for queue in &mut queues {
                // The first one of a queue is being served.
                if let Some(place) = queue.iter().skip(1).position(|&other| other == job) {
                    queue.remove(place + 1);
                }
            }
        }
        ends[first] = match queues[first].is_empty() {
            true => f64::INFINITY,
            false => now + exponential(10.0),
        };
    }
    times
}

/// What is dropped is no work: reads are quicker than where all goes on, and as quick as a slow simulation has
/// them that shares no code.
#[test]
fn what_is_dropped_keeps_nobody_waiting() {
    for (data, extra, rate, per_ms) in [(1, 2, "0.1/ms", 0.1), (2, 2, "0.08/ms", 0.08)] {
        let of = |late| sojourns(&reads_with(late, data, extra, extra, rate, "quickest").rows);
        let (dropped, all_go_on) = (of("dropped"), of("go-on"));
        let all = usize::from(data + extra);
        let twin = dropping_twin(all, data.into(), per_ms, 60_000);
        let within = half_width(&dropped) + half_width(&twin);
        let (own, known) = (mean(&dropped), mean(&twin));
        assert!((own - known).abs() < within, "{data} + {extra}: {own} for {known} ± {within}");
        assert!(within < known / 6.0, "± {within}");
        assert!(own < mean(&all_go_on) * 0.8, "{own}, {}", mean(&all_go_on));
    }
}

/// Disks ask more than the data outlives, or say how many disks to read from where none are.
#[test]
fn what_an_erasure_code_cannot_do_is_refused() {
    use sojourn_core::parameters::{Setting, Table};
    for (settings, key, expected) in [
        (vec![("failed", disks(&[0, 1, 2]))], "failed", "at most 2 disks"),
        (vec![("failed", disks(&[6]))], "failed", "disks from 0 to 5"),
        (vec![("extra", Value::Int(1))], "extra", "nothing for read"),
        (
            vec![("read", text("all")), ("failed", disks(&[1])), ("extra", Value::Int(2))],
            "extra",
            "from 0 to 1",
        ),
        (vec![("data", Value::Int(1024))], "parities", "at most 1024 disks"),
        (vec![("late", text("dropped"))], "late", "go-on for read = \"data\""),
        (
            vec![("late", text("dropped")), ("read", text("all")), ("extra", Value::Int(0))],
            "late",
            "no more disks than they need",
        ),
    ] {
        let mut layout = Table::default();
        layout.set("kind", text("erasure"));
        settings.into_iter().for_each(|(key, value)| layout.set(key, value));
        let refusal = Layout::read(&Value::Table(layout)).unwrap_err();
        assert_eq!(refusal.path, [key]);
        assert!(refusal.expected.contains(expected), "{}", refusal.expected);
    }
}
