//! Solid-state drives: their data sheets, exact results, and a slow and obvious twin.

use crate::common::{half_width, mean, report, rows, sojourns, table, text};
use sojourn_core::parameters::Value;
use sojourn_core::{Report, Stream, Streams};
use std::collections::VecDeque;

fn total(report: &Report, name: &str) -> f64 {
    match report.totals.iter().find(|(own, _)| own == name) {
        Some((_, Value::Float(number))) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

fn closed(depth: i64) -> Value {
    table(&[("kind", text("closed")), ("depth", Value::Int(depth))])
}

fn poisson(rate: &str) -> Value {
    table(&[("kind", text("poisson")), ("rate", text(rate))])
}

/// One disk under requests of 4 KiB blocks.
fn run(disk: Value, arrivals: Value, blocks: i64, reads: f64, requests: i64) -> Report {
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", arrivals),
        ("requests", Value::Int(requests)),
        ("blocks", Value::Int(blocks)),
        ("reads", Value::Float(reads)),
    ]);
    let layout = text("single");
    let block = text("4KiB");
    report(&[("disk", disk), ("layout", layout), ("workload", workload), ("block", block)], 5)
}

/// The sojourn times of reads in milliseconds.
fn of_reads(report: &Report) -> Vec<f64> {
    let (codes, names) = report.rows.names("op");
    let times = sojourns(&report.rows).into_iter().zip(codes);
    times.filter(|(_, code)| names[usize::from(**code)] == "read").map(|(time, _)| time).collect()
}

/// The value below which a share of `values` lies.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(share * sorted.len() as f64) as usize]
}

/// Requests a second in a steady state: over the second half of the arrivals.
fn iops(report: &Report) -> f64 {
    let arrived = report.rows.ints("arrived_ps");
    let late = &arrived[arrived.len() / 2..];
    (late.len() - 1) as f64 * 1e12 / (late[late.len() - 1] - late[0]) as f64
}

/// What data sheets and reviews say: the load, and the latency [us] or the rate [1/s] that they promise.
enum Promise {
    /// The median of reads or writes, one at a time.
    Median(f64),
    /// The 99th percentile of these.
    P99(f64),
    /// Requests a second at a depth.
    Iops(i64, f64),
    /// Megabytes a second at a depth.
    Rate(i64, f64),
}

use Promise::{Iops, Median, P99, Rate};

/// By drive, the blocks of 4 KiB, the share of reads, and what is promised; it is kept within 2 %.
const PROMISES: &[(&str, i64, f64, Promise)] = &[
    ("S4500", 1, 1.0, Median(110.0)),
    ("S4500", 1, 0.0, Median(52.0)),
    ("S4500", 1, 1.0, Iops(32, 72e3)),
    ("S4500", 1, 0.0, Iops(32, 33e3)),
    ("S4500", 32, 1.0, Rate(32, 500.0)),
    ("PM9A3", 1, 1.0, Median(80.0)),
    ("PM9A3", 1, 0.0, Median(30.0)),
    ("PM9A3", 1, 1.0, Iops(512, 900e3)),
    ("PM9A3", 1, 0.0, Iops(512, 200e3)),
    ("PM9A3", 32, 1.0, Rate(64, 6500.0)),
    ("7300PRO", 1, 1.0, Median(115.0)),
    ("7300PRO", 1, 1.0, P99(185.0)),
    ("7300PRO", 1, 0.0, Median(25.0)),
    ("7300PRO", 1, 1.0, Iops(512, 520e3)),
    ("7300PRO", 1, 0.0, Iops(512, 75e3)),
    ("7300PRO", 32, 1.0, Rate(64, 3000.0)),
    ("D5-P5336", 1, 1.0, Median(102.0)),
    ("D5-P5336", 4, 1.0, Median(123.0)),
    ("D5-P5336", 16, 1.0, Median(208.0)),
    ("D5-P5336", 1, 1.0, Iops(512, 1_005e3)),
    ("D5-P5336", 4, 0.0, Iops(256, 38e3)),
    ("D5-P5336", 16, 1.0, Rate(256, 7000.0)),
];

#[test]
fn drives_keep_what_is_written_of_them() {
    for (drive, blocks, reads, promise) in PROMISES {
        let depth = match promise {
            Median(_) | P99(_) => 1,
            Iops(depth, _) | Rate(depth, _) => *depth,
        };
        let report = run(text(drive), closed(depth), *blocks, *reads, 20_000);
        let times = sojourns(&report.rows);
        let (promised, kept) = match promise {
            Median(us) => (*us, quantile(&times, 0.5) * 1e3),
            P99(us) => (*us, quantile(&times, 0.99) * 1e3),
            Iops(_, rate) => (*rate, iops(&report)),
            Rate(_, mb_per_s) => (*mb_per_s, iops(&report) * (blocks * 4096) as f64 / 1e6),
        };
        let off = kept / promised - 1.0;
        assert!(off.abs() < 0.02, "{drive}, {blocks} blocks, reads {reads}: {kept} for {promised}");
    }
}

/// One at a time without a pause is more than the drive programs; a light load is not.
#[test]
fn a_write_alone_is_in_the_cache_at_once() {
    let report = run(text("D5-P5336"), poisson("1000/s"), 4, 0.0, 20_000);
    let median = quantile(&sojourns(&report.rows), 0.5) * 1e3;
    assert!((median / 15.0 - 1.0).abs() < 0.01, "{median}");
}

/// Sequential writes are those that lead to no others: what is promised of them needs amplification 1.
#[test]
fn sequential_writes_are_as_fast_as_all_units_program() {
    for (drive, mb_per_s) in
        [("S4500", 490.0), ("PM9A3", 3500.0), ("7300PRO", 1550.0), ("D5-P5336", 3300.0)]
    {
        let disk = table(&[("kind", text(drive)), ("amplification", Value::Float(1.0))]);
        let report = run(disk, closed(32), 32, 0.0, 40_000);
        let rate = iops(&report) * (32.0 * 4096.0) / 1e6;
        assert!((rate / mb_per_s - 1.0).abs() < 0.02, "{drive}: {rate} for {mb_per_s}");
        assert!(total(&report, "busiest_disk_utilisation") > 0.99);
    }
}

/// A drive whose parts are all set.
fn drive(settings: &[(&str, Value)]) -> Value {
    let mut all = vec![
        ("kind", text("flash")),
        ("capacity", text("1TB")),
        ("overhead", text("10us")),
        ("command", text("0s")),
        ("interface", text("100GB/s")),
        ("read", text("50us")),
        ("program", text("400us")),
        ("units", Value::Int(1)),
        ("write_rate", text("40MB/s")),
    ];
    for (key, value) in settings {
        all.retain(|(own, _)| own != key);
        all.push((*key, value.clone()));
    }
    table(&all)
}

/// A unit that reads, and nothing else that takes time: M/D/1.
#[test]
fn a_unit_alone_is_a_queue_with_constant_service() {
    let report = run(drive(&[]), poisson("12000/s"), 1, 1.0, 400_000);
    let times = sojourns(&report.rows);
    // Services of 50 us; 10 us of overhead and 41 ns of interface keep no read waiting.
    let load: f64 = 12_000.0 * 50e-6;
    let known = 0.010_041 + 0.050 * (1.0 + load / (2.0 * (1.0 - load)));
    let (measured, within) = (mean(&times), half_width(&times));
    assert!((measured - known).abs() < within, "{measured} ± {within} for {known}");
    assert!(within < known / 40.0);
    let offered = total(&report, "offered_utilisation");
    assert!((offered - load).abs() < 1e-6, "{offered} for {load}");
    assert!((total(&report, "disk_utilisation") - load).abs() < 0.01);
}

/// Reads that find a program under way wait for what is left of it: the mean of a renewal, and with
/// suspension never more than that.
#[test]
fn reads_wait_for_programs_under_way() {
    let workload = |reads: f64| (poisson("2000/s"), 4, reads, 400_000);
    let mean_of = |disk: Value, reads: f64| {
        let (arrivals, blocks, reads, requests) = workload(reads);
        let report = run(disk, arrivals, blocks, reads, requests);
        mean(&of_reads(&report))
    };
    // Reads, at 1000 a second: rho 0.05; programs at 1000 a second: 0.4 of the time, if it has it. Without
    // priority among reads, M/G/1 with a lower class that is not preempted: W0 = (sum of rates times
    // squares) / 2, over 1 - rho of reads.
    let residual = (1000.0 * 50e-6_f64.powi(2) + 1000.0 * 400e-6_f64.powi(2)) / 2.0;
    let known = (10e-6 + 50e-6 + residual / (1.0 - 0.05)) * 1e3;
    let own = mean_of(drive(&[("cache", text("4MiB"))]), 0.5);
    assert!((own / known - 1.0).abs() < 0.02, "{own} for {known}");
    // Suspended within 20 us: at most 20 us and what was waited before.
    let soon = mean_of(drive(&[("cache", text("4MiB")), ("suspend", text("20us"))]), 0.5);
    assert!(soon < known && soon < 0.08, "{soon}");
}

/// A burst that fits into the cache is written at once, a longer one at the rate of the programs.
#[test]
fn a_cache_takes_bursts_and_no_more() {
    let settings = [
        ("units", Value::Int(16)),
        ("write_rate", text("500MB/s")),
        ("cache", text("8MiB")),
        ("amplification", Value::Float(2.0)),
    ];
    let burst = |requests: i64| {
        let batch = table(&[
            ("kind", text("poisson")),
            ("rate", text("0.001/s")),
            ("batch", Value::Int(requests)),
        ]);
        let workload = table(&[
            ("kind", text("synthetic")),
            ("arrivals", batch),
            ("requests", Value::Int(requests)),
            ("warmup", Value::Int(0)),
            ("blocks", Value::Int(1)),
            ("reads", Value::Float(0.0)),
        ]);
        let (layout, block) = (text("single"), text("4KiB"));
        let disk = drive(&settings);
        let parts = [("disk", disk), ("layout", layout), ("workload", workload), ("block", block)];
        let times = sojourns(&rows(&parts, 1));
        times.into_iter().fold(0.0, f64::max)
    };
    // 2,000 writes are 8.2 MB: 10 us and 82 us of interface.
    assert!(burst(2_000) < 0.1, "{}", burst(2_000));
    // 20,000 are 82 MB, of which all but 8.4 MB are programmed twice first, at 500 MB/s: 294 ms.
    let (measured, known) = (burst(20_000), (81.92 - 8.388_608) * 2.0 / 500.0 * 1e3);
    assert!((measured / known - 1.0).abs() < 0.01, "{measured} for {known}");
}

/// Evenly spread from 0 on, below 1.
fn share(stream: &mut Stream) -> f64 {
    stream.below(1 << 53) as f64 / (1_u64 << 53) as f64
}

/// Programs that differ in length keep no other unit waiting: a write goes to one that has room.
#[test]
fn a_slow_program_holds_up_no_other_unit() {
    for p99 in ["400us", "1ms", "4ms"] {
        let settings = [
            ("units", Value::Int(64)),
            ("write_rate", text("500MB/s")),
            ("interface", text("3GB/s")),
            ("program_p99", text(p99)),
        ];
        let report = run(drive(&settings), closed(256), 1, 0.0, 40_000);
        let rate = iops(&report) * 4096.0 / 1e6;
        assert!((rate / 500.0 - 1.0).abs() < 0.03, "{p99}: {rate}");
    }
}

/// What a unit of the twin does.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    Read { until: f64, arrived: f64 },
    Program { until: f64 },
}

/// A drive in steps of time, one page a request: units that look at their queues when they have nothing to do.
fn twin(stream: &mut Stream, rate: f64, reads: f64, units: usize, requests: usize) -> Vec<f64> {
    let mut queues: Vec<(VecDeque<f64>, usize, Doing)> =
        vec![(VecDeque::new(), 0, Doing::Nothing); units];
    let (mut now, mut next_unit, mut times) = (0.0, 0, Vec::new());
    let mut next = 0.0;
    while times.len() < requests {
        let ends = queues.iter().map(|(_, _, doing)| match doing {
            Doing::Nothing => f64::INFINITY,
            Doing::Read { until, .. } | Doing::Program { until } => *until,
        });
        let first = ends.fold(f64::INFINITY, f64::min);
        now = f64::min(first, next);
        if now == next {
            if share(stream) < reads {
                let unit = stream.below(units as u64) as usize;
                queues[unit].0.push_back(now);
            } else {
                queues[next_unit].1 += 1;
                next_unit = (next_unit + 1) % units;
            }
            next = now - (1.0 - share(stream)).ln() / rate;
        }
        for (waiting, pages, doing) in &mut queues {
            match *doing {
                Doing::Read { until, arrived } if until == now => {
                    times.push(now - arrived);
                    *doing = Doing::Nothing;
                }
                Doing::Program { until } if until == now => *doing = Doing::Nothing,
                _ => {}
            }
            if *doing == Doing::Nothing {
                if let Some(arrived) = waiting.pop_front() {
                    *doing = Doing::Read { until: now + 50.0, arrived };
                } else if *pages > 0 {
                    *pages -= 1;
                    *doing = Doing::Program { until: now + 400.0 };
                }
            }
        }
    }
    assert!(now > 0.0);
    times
}

#[test]
fn a_slow_twin_of_eight_units_finds_the_same() {
    // Per microsecond: 0.03 requests, 40 % of them writes of a page: units are busy for 0.11 + 0.6.
    let mut stream = Streams::new(9, 0).stream("twin", 0);
    let twin = twin(&mut stream, 0.03, 0.6, 8, 200_000);
    let settings = [
        ("units", Value::Int(8)),
        ("write_rate", text("320MB/s")),
        ("cache", text("16MiB")),
        ("overhead", text("0s")),
    ];
    let report = run(drive(&settings), poisson("30000/s"), 4, 0.6, 330_000);
    let own: Vec<f64> = of_reads(&report).iter().map(|ms| ms * 1e3).collect();
    for (what, a, b) in [
        ("mean", mean(&own), mean(&twin)),
        ("p50", quantile(&own, 0.5), quantile(&twin, 0.5)),
        ("p95", quantile(&own, 0.95), quantile(&twin, 0.95)),
        ("p99", quantile(&own, 0.99), quantile(&twin, 0.99)),
    ] {
        assert!((a / b - 1.0).abs() < 0.02, "{what}: {a} for {b}");
    }
}

/// Both engines give the same rows, whatever the drive holds at once.
#[test]
fn rows_of_both_engines_are_equal() {
    for disk in ["S4500", "PM9A3", "7300PRO", "D5-P5336"] {
        let of = |engine: &str| {
            let workload = table(&[
                ("kind", text("synthetic")),
                ("arrivals", poisson("60000/s")),
                ("requests", Value::Int(20_000)),
                ("blocks", Value::Int(3)),
                ("reads", Value::Float(0.7)),
            ]);
            let failed = ("failed", Value::Int(1));
            let layout = table(&[("kind", text("raid10")), ("disks", Value::Int(4)), failed]);
            let parts = [
                ("disk", text(disk)),
                ("layout", layout),
                ("workload", workload),
                ("block", text("4KiB")),
                ("engine", text(engine)),
            ];
            rows(&parts, 3)
        };
        let (quickest, events) = (of("quickest"), of("events"));
        assert_eq!(quickest.ints("sojourn_ps"), events.ints("sojourn_ps"), "{disk}");
    }
}
