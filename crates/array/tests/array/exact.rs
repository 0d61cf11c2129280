//! Simulation against what is known exactly.

use crate::common::{
    Chances, Records, file, half_width, layout, mean, paper_disk, report, rows, scenario, simulate,
    sojourns, table, text, variant,
};
use sojourn_array::ArrayCase;
use sojourn_array::Moments;
use sojourn_array::device::hdd::Platters;
use sojourn_array::device::{Op, ServiceTimes};
use sojourn_array::engine::{self, Join};
use sojourn_array::layout::Layout;
use sojourn_array::workload::Request;
use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_core::{Progress, Span, Streams, Time};

/// Requests of a synthetic workload that reads unless told otherwise.
fn workload(
    rate: &str,
    requests: i64,
    more: &[(&str, Value)],
    arrivals: &[(&str, Value)],
) -> Value {
    let poisson = [&[("kind", text("poisson")), ("rate", text(rate))], arrivals].concat();
    let mut settings = vec![
        ("kind", text("synthetic")),
        ("arrivals", table(&poisson)),
        ("requests", Value::Int(requests)),
    ];
    settings.extend(more.iter().cloned());
    table(&settings)
}

/// Pollaczek and Khinchine: the mean sojourn time of M/G/1 and of M^X/G/1, in milliseconds.
fn one_disk(rate: f64, service: (f64, f64), batch: (f64, f64)) -> f64 {
    let (first, second) = service;
    let load = rate * batch.0 * first;
    let own = first * (batch.1 - batch.0) / (2.0 * batch.0 * (1.0 - load));
    first + rate * batch.0 * second / (2.0 * (1.0 - load)) + own
}

/// Mean and second moment of reading one block.
const READ: (f64, f64) = (15.510, 18.77 + 15.510 * 15.510);

fn expect(rows: &[f64], known: f64, what: &str) {
    let (measured, within) = (mean(rows), half_width(rows));
    assert!((measured - known).abs() < within, "{what}: {measured} ± {within}, known {known}");
    assert!(within < known / 10.0, "{what}: ± {within} says nothing of {known}");
}

#[test]
fn one_disk_is_an_m_g_1_queue() {
    for (rate, known) in [(0.01, 17.05), (0.02, 19.27), (0.04, 29.18)] {
        assert!((one_disk(rate, READ, (1.0, 1.0)) - known).abs() < 0.02);
        let blocks = [("blocks", Value::Int(1))];
        let workload = workload(&format!("{rate}/ms"), 400_000, &blocks, &[]);
        let rows = rows(&[("layout", text("single")), ("workload", workload)], 11);
        expect(&sojourns(&rows), known, "M/G/1");
    }
}

#[test]
fn bulks_at_one_disk_are_an_m_x_g_1_queue() {
    let geometric = table(&[("kind", text("geometric")), ("mean", Value::Float(3.0))]);
    let known = one_disk(0.01, READ, (3.0, 15.0));
    let blocks = [("blocks", Value::Int(1))];
    for (rate, counts) in [("0.01/ms", "bulks"), ("0.03/ms", "requests")] {
        let arrivals = [("batch", geometric.clone()), ("rate_counts", text(counts))];
        let workload = workload(rate, 400_000, &blocks, &arrivals);
        let rows = rows(&[("layout", text("single")), ("workload", workload)], 12);
        expect(&sojourns(&rows), known, "M^X/G/1");
    }
}

/// From zero on, a geometric number of mean 3 has the second moment 3 + 2 * 9.
#[test]
fn bulks_may_be_empty() {
    let least = ("least", text("zero"));
    let geometric = table(&[("kind", text("geometric")), ("mean", Value::Float(3.0)), least]);
    let known = one_disk(0.01, READ, (3.0, 21.0));
    let workload =
        workload("0.01/ms", 400_000, &[("blocks", Value::Int(1))], &[("batch", geometric)]);
    let rows = rows(&[("layout", text("single")), ("workload", workload)], 13);
    expect(&sojourns(&rows), known, "M^X/G/1 from zero on");
}

/// A disk of the array, alone: draws in milliseconds.
struct Alone {
    drive: Platters,
    chances: Chances,
}

impl Alone {
    fn new(seed: u64) -> Alone {
        let stream = Streams::new(seed, 9).stream("alone", 0);
        Alone { drive: paper_disk(), chances: Chances::new(stream) }
    }

    fn position(&mut self, op: Op) -> f64 {
        self.drive.position(op, self.chances.next()).ps() as f64 / 1e9
    }

    fn rotate(&mut self) -> f64 {
        self.drive.rotate(self.chances.next()).ps() as f64 / 1e9
    }

    fn transfer(&mut self) -> f64 {
        self.drive.transfer(self.chances.next(), 1).ps() as f64 / 1e9
    }

    /// A write of so many blocks on four empty disks under RAID 5, scenario by scenario.
    fn raid5_write(&mut self, blocks: usize) -> f64 {
        const ROTATION: f64 = 8.33;
        let t: Vec<f64> = (0..4).map(|_| self.transfer()).collect();
        let full = (blocks / 3) as f64;
        // Full stripes first: when each disk is done with them.
        let mut done = [0.0; 4];
        if blocks >= 3 {
            for disk in 0..4 {
                done[disk] = self.position(Op::Write) + full * t[disk];
            }
        }
        let ahead = |alone: &mut Alone, disk: usize| match blocks >= 3 {
            true => done[disk] + t[disk],
            false => alone.position(Op::Read) + t[disk],
        };
        let last = match blocks % 3 {
            0 => 0.0,
            1 => {
                // Disk 0 and, as parity, disk 3; the slower of the two just misses its block.
                let (a, b) = (ahead(self, 0), ahead(self, 3));
                let (slow, quick) = if a > b { (0, 3) } else { (3, 0) };
                a.max(b) + (ROTATION + t[slow]).max(self.rotate() + t[quick])
            }
            _ => {
                // Disk 2 is read; 0, 1 and 3 are written, after their full stripes or back there.
                let read = ahead(self, 2);
                let mut ends = 0.0_f64;
                for disk in [0, 1, 3] {
                    let end = match done[disk] {
                        0.0 => read + self.position(Op::Write),
                        busy if busy > read => busy,
                        _ => read + self.rotate(),
                    };
                    ends = ends.max(end + t[disk]);
                }
                ends
            }
        };
        done.into_iter().fold(last, f64::max)
    }
}

/// In light traffic a request meets nobody, and its phases can be put together by hand.
#[test]
fn raid_5_writes_in_light_traffic_are_their_phases() {
    let mut alone = Alone::new(21);
    for blocks in 1..=8 {
        let by_hand: Vec<f64> = (0..200_000).map(|_| alone.raid5_write(blocks as usize)).collect();
        let more = [
            ("blocks", Value::Int(blocks)),
            ("reads", Value::Float(0.0)),
            ("places", text("anywhere")),
        ];
        let workload = workload("0.1/s", 50_000, &more, &[]);
        let layout = table(&[("kind", text("raid5")), ("write_start", text("first-disk"))]);
        let rows = rows(&[("layout", layout), ("workload", workload)], 22);
        let simulated = sojourns(&rows);
        let within = half_width(&simulated) + half_width(&by_hand);
        let (a, b) = (mean(&simulated), mean(&by_hand));
        // At 0.1 requests a second, one in four hundred meets another.
        assert!((a - b).abs() < within + 0.005 * b, "{blocks} blocks: {a}, by hand {b} ± {within}");
        assert!(within < 0.2, "{within}");
    }
}

/// Full-stripe reads of RAID 01: in between the slowest of four disks that are alone, and the
/// slowest of four queues that know nothing of each other.
#[test]
fn fork_join_lies_between_its_bounds() {
    let full_stripe = |rate: &str, seed| {
        let workload = workload(rate, 200_000, &[("blocks", Value::Int(4))], &[]);
        sojourns(&rows(&[("layout", text("raid01")), ("workload", workload)], seed))
    };
    let mut alone = Alone::new(31);
    let light: Vec<f64> = (0..100_000)
        .map(|_| (0..4).map(|_| alone.position(Op::Read) + alone.transfer()).fold(0.0, f64::max))
        .collect();
    for (rate, known) in [("0.01/ms", 21.85), ("0.04/ms", 0.0)] {
        let queues: Vec<Vec<f64>> = (41..45)
            .map(|seed| {
                let workload = workload(rate, 200_000, &[("blocks", Value::Int(1))], &[]);
                sojourns(&rows(&[("layout", text("single")), ("workload", workload)], seed))
            })
            .collect();
        let apart: Vec<f64> = (0..200_000)
            .map(|job| queues.iter().map(|queue| queue[job]).fold(0.0, f64::max))
            .collect();
        let joined = full_stripe(rate, 46);
        let within = half_width(&joined) + half_width(&apart);
        assert!(mean(&light) < mean(&joined) + within, "{rate}");
        assert!(mean(&joined) < mean(&apart) + within, "{rate}");
        // What another program of the same model gave.
        assert!(known == 0.0 || (mean(&joined) - known).abs() < 0.25, "{}", mean(&joined));
    }
}

/// At 0.06 requests a millisecond, against another program of the same model.
#[test]
fn rpo_is_read_in_two_ways() {
    for (counts, known) in [("all", 39.3), ("others", 45.9)] {
        let workload = workload("0.06/ms", 200_000, &[("blocks", Value::Int(4))], &[]);
        let rpo = table(&[("kind", text("rpo")), ("counts", text(counts))]);
        let parts = [("layout", text("raid01")), ("workload", workload), ("scheduling", rpo)];
        expect(&sojourns(&rows(&parts, 51)), known, counts);
    }
}

/// Bulks, blocks of all sizes, and enough of them for queues.
fn some_requests(op: Option<Op>, seed: u64) -> Vec<Request> {
    let mut stream = Streams::new(seed, 3).stream("test", 0);
    let mut arrived = Time::ZERO;
    let request = |_| {
        if stream.below(3) > 0 {
            arrived += Span::from_us(1 + stream.below(60_000));
        }
        let any = if stream.below(2) == 0 { Op::Read } else { Op::Write };
        Request { arrived, op: op.unwrap_or(any), blocks: 1 + stream.below(9) as u32, at: None }
    };
    (0..4000).map(request).collect()
}

#[test]
fn the_recursion_gives_what_the_event_loop_gives() {
    let layouts: [(Layout, Option<Op>); 7] = [
        (variant("single", &[]), None),
        (layout("raid0", 5), None),
        (variant("raid1", &[]), None),
        (layout("raid01", 4), None),
        (layout("raid10", 6), None),
        (layout("raid5", 5), Some(Op::Read)),
        (variant("raid5", &[("failed", Value::Int(1))]), Some(Op::Read)),
    ];
    for (layout, op) in layouts {
        for join in [Join::ForkJoin, Join::SplitMerge] {
            let requests = some_requests(op, 61);
            let mut scenario = scenario(layout.clone(), requests.len(), 62);
            scenario.join = join;
            scenario.overhead = Span::from_us(300);
            let (records, figures) = simulate(&scenario, &requests);
            let sink = Records::new(requests.len());
            let (sink, of_recursion) =
                engine::recursion(&scenario, requests.iter().copied(), sink, &Progress::default())
                    .unwrap();
            assert_eq!(records, sink.records, "{} {join:?}", layout.name());
            assert_eq!(figures, of_recursion, "{} {join:?}", layout.name());
        }
    }
}

/// Everything that arrives is done, and not before it can be.
#[test]
fn all_requests_are_done_and_none_too_early() {
    for kind in ["raid0", "raid01", "raid10", "raid5", "raid6"] {
        for join in [Join::ForkJoin, Join::SplitMerge] {
            let requests = some_requests(None, 71);
            let mut scenario = scenario(layout(kind, 6), requests.len(), 72);
            scenario.join = join;
            scenario.parity = Span::from_us(500);
            let (records, figures) = simulate(&scenario, &requests);
            assert!(records.iter().all(|record| record.finished != Time::NEVER));
            let early = records.iter().find(|r| r.finished - r.request.arrived < r.ideal);
            assert_eq!(early, None, "{kind}");
            assert!(figures.busy.iter().all(|busy| Time::ZERO + *busy <= figures.ended));
            assert_eq!(figures.ended, records.iter().map(|r| r.finished).max().unwrap());
        }
    }
}

/// In split-merge the whole array is one server, whose service is the slowest of four disks.
#[test]
fn split_merge_is_an_m_g_1_queue_of_the_slowest_disk() {
    let mut alone = Alone::new(81);
    let services: Vec<f64> = (0..400_000)
        .map(|_| (0..4).map(|_| alone.position(Op::Read) + alone.transfer()).fold(0.0, f64::max))
        .collect();
    let squares: Vec<f64> = services.iter().map(|service| service * service).collect();
    let known = one_disk(0.02, (mean(&services), mean(&squares)), (1.0, 1.0));
    let workload = workload("0.02/ms", 200_000, &[("blocks", Value::Int(4))], &[]);
    let parts = [("layout", text("raid0")), ("workload", workload), ("join", text("split-merge"))];
    expect(&sojourns(&rows(&parts, 82)), known, "split-merge");
}

/// Reads and writes of sizes by chance, in bulks, behind a controller: what the run says is exact.
#[test]
fn what_is_exact_is_said_beside_the_simulation() {
    let geometric = |mean| table(&[("kind", text("geometric")), ("mean", Value::Float(mean))]);
    let more = [("blocks", geometric(2.5)), ("reads", Value::Float(0.4))];
    let workload = workload("0.005/ms", 400_000, &more, &[("batch", geometric(2.0))]);
    let controller = table(&[("overhead", text("700us"))]);
    let parts = [("layout", text("single")), ("workload", workload), ("controller", controller)];
    let report = report(&parts, 14);
    let exact = report.totals.iter().find(|(name, _)| name == "exact_mean_sojourn_ps");
    let Some((_, Value::Float(exact))) = exact else { panic!("{:?}", report.totals) };
    expect(&sojourns(&report.rows), exact / 1e9, "bulks of mixed requests");
}

#[test]
fn the_moments_of_a_service_are_those_of_the_data_sheet() {
    let drive = paper_disk();
    for (op, blocks, mean, variance) in [
        (Op::Read, 1.0, 15.510, 18.77),
        (Op::Write, 1.0, 16.130, 20.07),
        (Op::Read, 4.0, 21.648, 21.33),
    ] {
        let service = drive.moments(op, Moments::constant(blocks));
        assert!((service.mean / 1e9 - mean).abs() < 0.002, "{op:?}: {}", service.mean);
        let of_drive = (service.square - service.mean.powi(2)) / 1e18;
        assert!((of_drive - variance).abs() < 0.05, "{op:?}: {of_drive}");
    }
}

/// A figure of a run.
fn figure(report: &sojourn_core::Report, name: &str) -> Option<f64> {
    let found = report.totals.iter().find(|(other, _)| other == name);
    found.map(|(_, value)| match value {
        Value::Float(number) => *number / 1e9,
        other => panic!("{other}"),
    })
}

/// What a run says of itself beside what it simulates, over levels and loads.
#[test]
fn simulated_means_lie_between_what_is_known() {
    let cases = [
        ("raid01", 4, 1.0, "0.01/ms"),
        ("raid01", 4, 1.0, "0.05/ms"),
        ("raid01", 2, 0.0, "0.04/ms"),
        ("raid01", 2, 0.5, "0.03/ms"),
        ("raid0", 3, 1.0, "0.04/ms"),
        ("raid0", 8, 0.3, "0.02/ms"),
        ("raid10", 2, 1.0, "0.05/ms"),
        ("raid5", 3, 1.0, "0.04/ms"),
        ("raid5", 3, 0.0, "0.04/ms"),
    ];
    for (number, (layout, blocks, reads, rate)) in cases.into_iter().enumerate() {
        let places = if layout == "raid5" { "anywhere" } else { "uniform" };
        let more = [
            ("blocks", Value::Int(blocks)),
            ("reads", Value::Float(reads)),
            ("places", text(places)),
        ];
        let workload = workload(rate, 60_000, &more, &[]);
        let kind = table(&[("kind", text(layout)), ("disks", Value::Int(4))]);
        let report = report(&[("layout", kind), ("workload", workload)], 90 + number as u64);
        let rows = sojourns(&report.rows);
        let (mean, within) = (mean(&rows), half_width(&rows));
        let least = figure(&report, "least_mean_sojourn_ps").expect("a lower bound");
        let most = figure(&report, "most_mean_sojourn_ps").expect("an upper bound");
        let what = format!("{layout} {blocks} {reads} {rate}: {least} {mean} ± {within} {most}");
        assert!(least < mean + within && mean - within < most, "{what}");
        assert!(most < 2.0 * least, "{what}");
    }
}

/// One access to one of four disks; in bulks too, of which a disk gets some.
#[test]
fn single_accesses_to_an_array_are_m_x_g_1_queues() {
    let geometric = table(&[("kind", text("geometric")), ("mean", Value::Float(3.0))]);
    let settings = [("raid0", None), ("raid5", Some(&geometric)), ("raid10", Some(&geometric))];
    for (number, (layout, batch)) in settings.into_iter().enumerate() {
        let arrivals: Vec<_> = batch.map(|batch| ("batch", batch.clone())).into_iter().collect();
        let workload = workload("0.03/ms", 300_000, &[("blocks", Value::Int(1))], &arrivals);
        let kind = table(&[("kind", text(layout)), ("disks", Value::Int(4))]);
        let report = report(&[("layout", kind), ("workload", workload)], 100 + number as u64);
        let exact = figure(&report, "exact_mean_sojourn_ps").expect("a formula");
        expect(&sojourns(&report.rows), exact, layout);
    }
}

/// Mixed reads and writes of an array that is one server.
#[test]
fn split_merge_is_said_exactly() {
    let more = [("blocks", Value::Int(2)), ("reads", Value::Float(0.6))];
    let workload = workload("0.02/ms", 300_000, &more, &[]);
    let kind = table(&[("kind", text("raid01")), ("disks", Value::Int(4))]);
    let join = ("join", text("split-merge"));
    let report = report(&[("layout", kind), ("workload", workload), join], 110);
    let exact = figure(&report, "exact_mean_sojourn_ps").expect("a formula");
    expect(&sojourns(&report.rows), exact, "split-merge");
}

#[test]
fn where_nothing_is_known_it_says_why() {
    let said = |parts: &[(&str, Value)]| {
        let report = report(parts, 120);
        let words = report.totals.iter().find(|(name, _)| name == "analysis");
        let Some((_, Value::Text(words))) = words else { panic!("{:?}", report.totals) };
        assert_eq!(figure(&report, "least_mean_sojourn_ps"), None);
        words.clone()
    };
    let kind = |name| table(&[("kind", text(name)), ("disks", Value::Int(4))]);
    let of = |blocks: Value, reads, rate| {
        workload(rate, 100, &[("blocks", blocks), ("reads", Value::Float(reads))], &[])
    };
    let geometric = table(&[("kind", text("geometric")), ("mean", Value::Float(3.0))]);
    let one = || of(Value::Int(1), 0.0, "1/s");
    for (layout, workload, expected) in [
        ("raid5", one(), "no formula: writes come back to disks that they read"),
        ("raid0", of(geometric, 1.0, "1/s"), "no formula: requests differ in size"),
        ("raid0", of(Value::Int(5), 1.0, "1/s"), "no formula: a request's accesses differ in size"),
        ("raid0", of(Value::Int(4), 1.0, "1/ms"), "no steady state: more comes than is served"),
    ] {
        assert_eq!(said(&[("layout", kind(layout)), ("workload", workload)]), expected);
    }
    let rpo = ("scheduling", text("rpo"));
    assert_eq!(
        said(&[("layout", kind("raid0")), ("workload", one()), rpo]),
        "no formula: services depend on what waits"
    );
}

/// As exponential as a list of times can be, of mean 10 ms.
fn exponential_times() -> String {
    let quantile = |i: u32| -(1.0 - (f64::from(i) + 0.5) / 20_000.0).ln() * 1e10;
    let lines = (0..20_000).map(|i| format!("read,{}ps\n", quantile(i) as u64));
    format!("op,service\n{}", lines.collect::<String>())
}

/// Several servers behind one queue, against Erlang's formula: M/M/c of mean service 10 ms.
#[test]
fn a_disk_that_serves_several_at_once_is_an_m_m_c_queue() {
    let cases = [(1, "0.05/ms", 20.0), (2, "0.1/ms", 40.0 / 3.0), (3, "0.15/ms", 11.578_947)];
    for (servers, rate, known) in cases {
        let disk = table(&[
            ("kind", text("empirical")),
            ("file", file(&exponential_times())),
            ("servers", Value::Int(servers)),
        ]);
        let workload = workload(rate, 400_000, &[("blocks", Value::Int(1))], &[]);
        let parts = [("disk", disk), ("layout", text("single")), ("workload", workload)];
        let report = report(&parts, 130 + servers as u64);
        expect(&sojourns(&report.rows), known, "M/M/c");
    }
}

/// Erlang's formula for the mean sojourn time of M/M/c, where a service takes `service` on average.
fn erlang(rate: f64, service: f64, servers: u32) -> f64 {
    let (load, all) = (rate * service, f64::from(servers));
    let mut blocking = 1.0;
    for busy in 1..=servers {
        blocking = load * blocking / (f64::from(busy) + load * blocking);
    }
    let waits = blocking / (1.0 - load / all * (1.0 - blocking));
    service + waits * service / (all - load)
}

/// Exponential disks with several servers, event by event and by recursion: one is M/M/c, and so is
/// each of several that requests are spread over at random.
#[test]
fn exponential_disks_with_several_servers_are_m_m_c_queues() {
    for (servers, rate) in [(1, 0.06), (2, 0.16), (4, 0.34), (16, 1.4)] {
        let known = erlang(rate, 10.0, servers);
        for (layout, disks) in [("single", 1.0), ("raid0", 3.0)] {
            let servers = ("servers", Value::Int(servers.into()));
            let disk = table(&[("kind", text("exponential")), ("mean", text("10ms")), servers]);
            let of = match layout {
                "single" => text("single"),
                _ => table(&[("kind", text(layout)), ("disks", Value::Int(3))]),
            };
            let blocks = [("blocks", Value::Int(1))];
            let workload = workload(&format!("{}/ms", rate * disks), 300_000, &blocks, &[]);
            let of = [("disk", disk), ("layout", of), ("workload", workload)];
            let [quick, events] = ["quickest", "events"]
                .map(|engine| report(&[&of[..], &[("engine", text(engine))]].concat(), 160));
            assert_eq!(quick.rows, events.rows);
            expect(&sojourns(&quick.rows), known, layout);
        }
    }
}

/// Where nothing feeds back, the event loop with several servers gives the rows of the recursion.
#[test]
fn several_servers_give_the_same_rows_event_by_event() {
    let run = |layout: &str, servers: i64, slowdown: f64, how: &str| {
        let disk = table(&[
            ("kind", text("empirical")),
            ("file", file(&exponential_times())),
            ("servers", Value::Int(servers)),
            ("slowdown", Value::Float(slowdown)),
        ]);
        let workload = workload("0.5/ms", 20_000, &[("blocks", Value::Int(3))], &[]);
        let parts = [
            ("disk", disk),
            ("layout", text(layout)),
            ("workload", workload),
            ("engine", text(how)),
        ];
        rows(&parts, 140)
    };
    let cases = [("raid0", 3, 0.0), ("raid10", 2, 0.0), ("raid5", 4, 0.0), ("raid0", 3, 0.3)];
    for (layout, servers, slowdown) in cases {
        let [quick, events] = ["quickest", "events"].map(|how| run(layout, servers, slowdown, how));
        assert_eq!(quick, events, "{layout} {servers} {slowdown}");
    }
}

/// Accesses that are served together slow each other, from when they begin.
#[test]
fn accesses_slow_each_other() {
    let run = |how: &str| {
        let disk = table(&[
            ("kind", text("empirical")),
            ("file", file("op,service\nread,1ms\n")),
            ("servers", Value::Int(2)),
            ("slowdown", Value::Float(0.5)),
        ]);
        let trace = file(
            "0,host,0,Read,0,512,0\n2000,host,0,Read,0,512,0\n5000,host,0,Read,0,512,0\n\
             17000,host,0,Read,0,512,0\n",
        );
        let workload = table(&[("kind", text("msr")), ("file", trace), ("tick", text("100ns"))]);
        let parts = [
            ("disk", disk),
            ("layout", text("single")),
            ("workload", workload),
            ("engine", text(how)),
        ];
        sojourns(&rows(&parts, 1))
    };
    // The first is alone. The second has it beside itself, 1.5 ms from 0.2 ms on. The third waits
    // until 1 ms and has the second beside itself. The fourth comes when the second ends: of the
    // two then, the third is left, until 2.5 ms.
    let expected = [1.0, 1.5, 2.0, 1.5];
    for how in ["quickest", "events"] {
        assert_eq!(run(how), expected, "{how}");
    }
}

/// Writes with parity on disks that serve several at once: two phases of a millisecond each while
/// there are servers enough, and less waiting the more there are.
#[test]
fn parity_on_disks_that_serve_several_at_once() {
    let mean_of = |servers: i64, rate: &str, service: &str| {
        let disk = table(&[
            ("kind", text("empirical")),
            ("file", file(service)),
            ("servers", Value::Int(servers)),
        ]);
        let more = [("blocks", Value::Int(1)), ("reads", Value::Float(0.0))];
        let workload = workload(rate, 20_000, &more, &[]);
        let parts = [("disk", disk), ("layout", text("raid5")), ("workload", workload)];
        let report = report(&parts, 150);
        let utilisation = figure(&report, "disk_utilisation").map(|share| share * 1e9);
        (mean(&sojourns(&report.rows)), utilisation.expect("a share"))
    };
    let constant = "op,service\nread,1ms\nwrite,1ms\n";
    assert_eq!(mean_of(32, "1/s", constant).0, 2.0);
    // Four accesses of 10 ms for each write, over 4 disks: each is busy for a tenth of a second in
    // every second at 10/s, whatever it serves at once; its servers share that.
    let times = exponential_times().replace("read", "write") + &exponential_times()[11..];
    let several: Vec<_> = [1, 2, 8].map(|servers| mean_of(servers, "40/s", &times)).into();
    assert!(several.is_sorted_by(|a, b| a.0 > b.0), "{several:?}");
    for (servers, (_, utilisation)) in [1.0, 2.0, 8.0].into_iter().zip(several) {
        assert!((utilisation * servers / 0.4 - 1.0).abs() < 0.03, "{servers}: {utilisation}");
    }
}

/// What would have no effect is refused, naming what it would have none beside.
#[test]
fn what_has_no_effect_is_refused() {
    let disk = || table(&[("kind", text("exponential")), ("mean", text("1ms"))]);
    let raid5 = |key: &'static str, value: &'static str| {
        table(&[("kind", text("raid5")), (key, text(value))])
    };
    let anywhere =
        || workload("1/s", 10, &[("blocks", Value::Int(1)), ("places", text("anywhere"))], &[]);
    let mechanical = ("positioning", text("mechanical"));
    type Said<'a> = (Vec<(&'a str, Value)>, &'a str, &'a str);
    let cases: [Said; 7] = [
        (vec![("layout", raid5("write_start", "first-disk"))], "layout.write_start", "address"),
        (
            vec![("layout", raid5("pre_read", "seek")), mechanical.clone()],
            "layout.pre_read",
            "mechanical",
        ),
        (
            vec![("layout", raid5("rewrite", "rotation")), ("disk", disk())],
            "layout.rewrite",
            "exponential",
        ),
        (vec![("scheduling", text("rpo")), ("disk", disk())], "scheduling", "exponential"),
        (vec![("controller", table(&[("parity", text("1ms"))]))], "controller.parity", "raid0"),
        (vec![("workload", anywhere()), mechanical], "workload.places", "mechanical"),
        (
            vec![("workload", anywhere()), ("stripe", Value::Int(4))],
            "workload.places",
            "stripe = 4",
        ),
    ];
    for (parts, path, beside) in cases {
        let mut settings = Table::default();
        settings.set("disk", text("ST3500630NS"));
        settings.set("layout", text("raid0"));
        settings.set("workload", workload("1/s", 10, &[("blocks", Value::Int(1))], &[]));
        for (part, value) in parts {
            settings.set(part, value);
        }
        let refusal = format!("{:?}", ArrayCase::read_table(&settings).unwrap_err());
        let keys: Vec<&str> = path.split('.').collect();
        assert!(
            keys.iter().all(|key| refusal.contains(key)) && refusal.contains(beside),
            "{path}: {refusal}"
        );
    }
}

/// The fork-join queue of textbooks: exact for two servers, and for more between bounds, with an
/// approximation that is good to 3 %.
#[test]
fn exponential_disks_are_the_fork_join_queue_of_textbooks() {
    for (disks, rate) in [(2, "0.05/ms"), (2, "0.08/ms"), (4, "0.05/ms"), (8, "0.05/ms")] {
        let disk = table(&[("kind", text("exponential")), ("mean", text("10ms"))]);
        let workload = workload(rate, 300_000, &[("blocks", Value::Int(disks))], &[]);
        let layout = table(&[("kind", text("raid0")), ("disks", Value::Int(disks))]);
        let parts = [("disk", disk), ("layout", layout), ("workload", workload)];
        let report = report(&parts, 140 + disks as u64);
        let rows = sojourns(&report.rows);
        if disks == 2 {
            let exact = figure(&report, "exact_mean_sojourn_ps").expect("a formula");
            expect(&rows, exact, "two servers");
            continue;
        }
        let of = |name| figure(&report, name).expect("a formula");
        let mean = mean(&rows);
        let (least, most) = (of("least_mean_sojourn_ps"), of("most_mean_sojourn_ps"));
        assert!(least < mean && mean < most, "{disks}: {least} {mean} {most}");
        assert!((mean / of("about_mean_sojourn_ps") - 1.0).abs() < 0.03, "{disks}: {mean}");
        assert!((mean / of("scaled_mean_sojourn_ps") - 1.0).abs() < 0.05, "{disks}: {mean}");
    }
}
