//! Arms and platters: times by hand, and a disk that is looked up track by track.

use crate::common::{Records, mean, paper_disk, scheduling, variant};
use sojourn_array::device::Op;
use sojourn_array::device::hdd::{Arms, MechanicalService, Spindles};
use sojourn_array::device::hdd::{DataSheet, Geometry, Rotation, St3500630Ns, Track, Zoned};
use sojourn_array::engine::{self, Join, Scenario};
use sojourn_array::workload::Request;
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Progress, Span, Streams, Time};

/// 100 cylinders, two heads, 100 sectors a track outside and fewer inside; a sector is a block.
fn small(inner: u32) -> Zoned {
    Zoned {
        name: None,
        cylinders: 100,
        rotation: Rotation(Span::from_ms(10)),
        read_track_seek: Span::from_ms(2),
        read_full_seek: Span::from_ms(5),
        write_track_seek: Span::from_ms(2),
        write_full_seek: Span::from_ms(6),
        outer_track: Track::Sectors(100),
        inner_track: Track::Sectors(inner),
        sector: Bytes(512),
        heads: 2,
        head_switch: Some(Span::from_ms(1)),
        actuators: 1,
    }
}

fn geometry(inner: u32) -> Geometry {
    Geometry::new(&small(inner), 512).unwrap()
}

/// One disk that serves `requests`, whose platter starts at angle 0.
fn serve(geometry: &Geometry, order: &str, requests: &[Request]) -> Vec<Time> {
    let scenario = Scenario {
        layout: variant("single", &[]),
        unit: 1,
        model: MechanicalService {
            geometry: geometry.clone(),
            drive: paper_disk(),
            arms: Arms::default(),
            scheduling: scheduling(order),
            spindles: Spindles::InStep,
        },
        join: Join::ForkJoin,
        overhead: Span::ZERO,
        parity: Span::ZERO,
        rebuild: None,
        requests: requests.len() as u64,
        streams: Streams::new(1, 0),
    };
    let records = Records::new(requests.len());
    let run = engine::simulate(&scenario, requests.iter().copied(), records, &Progress::default());
    let (sink, figures) = run.unwrap();
    if order == "fcfs" {
        let records = Records::new(requests.len());
        let again =
            engine::recursion(&scenario, requests.iter().copied(), records, &Progress::default());
        assert_eq!(
            (&sink.records, &figures),
            (&again.as_ref().unwrap().0.records, &again.as_ref().unwrap().1)
        );
    }
    sink.records.iter().map(|record| record.finished).collect()
}

fn read(us: u64, at: u64, blocks: u32) -> Request {
    Request { arrived: Time::from_ps(us * 1_000_000), op: Op::Read, blocks, at: Some(at) }
}

fn us(times: &[Time]) -> Vec<u64> {
    times.iter().map(|time| time.ps() / 1_000_000).collect()
}

#[test]
fn one_disk_by_hand() {
    let disk = geometry(100);
    // A sector takes 0.1 ms. A track begins 11 sectors after the one before it on its cylinder (the
    // switch of heads takes 10), and 21 after that on the cylinder before (the seek takes 20).
    for (requests, finished) in [
        // A track takes a rotation, from wherever it is begun.
        (vec![read(0, 0, 100)], vec![10_000]),
        (vec![read(0, 0, 30), read(0, 30, 70)], vec![3_000, 10_000]),
        // Two tracks, and three: over to the next cylinder.
        (vec![read(0, 0, 200)], vec![21_100]),
        (vec![read(0, 0, 300)], vec![33_200]),
        // Back to the sector that has just passed: the rest of the rotation.
        (vec![read(0, 0, 1), read(0, 0, 1)], vec![100, 10_100]),
        // Forwards on the track; a request that comes later finds the platter further on.
        (vec![read(0, 0, 1), read(0, 50, 1)], vec![100, 5_100]),
        (vec![read(5_050, 50, 1)], vec![15_100]),
        // Sector 0 of the other head begins at 1.1 ms; the switch is over by then.
        (vec![read(0, 100, 1)], vec![1_200]),
        // Not if it starts at 0.2 ms: a rotation later.
        (vec![read(0, 0, 2), read(0, 100, 1)], vec![200, 11_200]),
        // The last cylinder: 99 switches of heads and 99 seeks, 99 * 32 sectors, 68 of a circle. The
        // full stroke takes 5 ms.
        (vec![read(0, 99 * 200, 1)], vec![6_900]),
        // The seek back as well: 5 ms from 6.9 on are 11.9, and the sector begins at 20.
        (vec![read(0, 99 * 200, 1), read(0, 0, 1)], vec![6_900, 20_100]),
    ] {
        assert_eq!(us(&serve(&disk, "fcfs", &requests)), finished, "{requests:?}");
    }
}

#[test]
fn orders_by_hand() {
    // All four wait while the first is served: at cylinder 50 from 4.2 ms or so on.
    let at = |cylinder: u64, sector: u64| cylinder * 200 + sector;
    let waiting = [at(90, 0), at(52, 0), at(10, 0), at(47, 0)];
    let order_of = |order: &str| {
        let mut requests = vec![read(0, at(50, 0), 1)];
        requests.extend(waiting.iter().map(|&at| read(1, at, 1)));
        let finished = serve(&geometry(100), order, &requests);
        let mut order: Vec<usize> = (0..4).collect();
        order.sort_by_key(|&i| finished[i + 1]);
        order
    };
    assert_eq!(order_of("fcfs"), [0, 1, 2, 3]);
    // 52 is 2 away; from there 47, then 10 and 90 are 37 and 43 away.
    assert_eq!(order_of("sstf"), [1, 3, 2, 0]);
    // The arm came from cylinder 0: up to 52 and 90, then down to 47 and 10.
    assert_eq!(order_of("look"), [1, 0, 3, 2]);
}

/// The disk as a list of tracks: (first sector, sectors, cylinder, head, slot of its first sector).
fn tracks(sheet: &Zoned, outer: f64, inner: f64) -> Vec<(u64, u64, u32, u32, u64)> {
    let mut tracks: Vec<(u64, u64, u32, u32, u64)> = Vec::new();
    let mut first = 0;
    for cylinder in 0..sheet.cylinders {
        let share = f64::from(cylinder) / f64::from(sheet.cylinders - 1);
        let sectors = (outer - (outer - inner) * share).round() as u64;
        for head in 0..u32::from(sheet.heads) {
            let slot = match tracks.last() {
                Some(&(_, before, .., slot)) if before == sectors => {
                    let passes = if head > 0 { 1.0 } else { 2.0 } / 10.0 * sectors as f64;
                    (slot + passes.floor() as u64 + 1) % sectors
                }
                _ => 0,
            };
            tracks.push((first, sectors, cylinder, head, slot));
            first += sectors;
        }
    }
    tracks
}

/// The engine's disk against one that is looked up in that list, with a queue that is searched.
#[test]
#[expect(clippy::too_many_lines, reason = "a second disk from beginning to end")]
fn a_disk_looked_up_track_by_track_is_the_same() {
    let sheet = small(60);
    let tracks = tracks(&sheet, 100.0, 60.0);
    let find = |sector: u64| tracks.iter().rev().find(|track| track.0 <= sector).unwrap();
    let begin = |sector: u64| {
        let track = find(sector);
        ((sector - track.0 + track.4) % track.1) * 10_000_000_000 / track.1
    };
    let seek = |op: Op, distance: u32| {
        let full: f64 = if op == Op::Read { 5.0 } else { 6.0 };
        let b = (full - 2.0) / (99f64.sqrt() - 1.0);
        ((2.0 - b + b * f64::from(distance).sqrt()) * 1e9).round() as u64
    };
    // (moves, waits) from a sector's track to a sector.
    let approach = |from: u64, to: u64, op: Op, now: u64| {
        let (a, b) = (find(from), find(to));
        let moves = match (a.2.abs_diff(b.2), a.3 == b.3) {
            (0, true) => 0,
            (0, false) => 1_000_000_000,
            (distance, _) => seek(op, distance),
        };
        (moves, (begin(to) + 10_000_000_000 - (now + moves) % 10_000_000_000) % 10_000_000_000)
    };
    for order in ["fcfs", "sstf", "look", "satf"] {
        let mut stream = Streams::new(3, 0).stream("test", 0);
        let all = tracks.last().map(|track| track.0 + track.1).unwrap();
        let mut arrived = Time::ZERO;
        let requests: Vec<Request> = (0..3000)
            .map(|_| {
                arrived += Span::from_us(stream.below(23_000));
                let op = if stream.below(2) == 0 { Op::Read } else { Op::Write };
                // On one track, so that the transfer is plain.
                let track = tracks[stream.below(tracks.len() as u64) as usize];
                let sector = stream.below(track.1);
                let blocks = 1 + stream.below((track.1 - sector).min(9)) as u32;
                assert!(track.0 + sector + u64::from(blocks) <= all);
                Request { arrived, op, blocks, at: Some(track.0 + sector) }
            })
            .collect();
        let engine = serve(&geometry(60), order, &requests);
        let (mut now, mut at, mut outwards) = (0, 0, false);
        let mut waiting: Vec<usize> = Vec::new();
        let mut finished = vec![0; requests.len()];
        let (mut coming, mut most) = (0, 0);
        while coming < requests.len() || !waiting.is_empty() {
            if waiting.is_empty() {
                now = now.max(requests[coming].arrived.ps());
            }
            // An access ends before another comes at the same time.
            while coming < requests.len()
                && (requests[coming].arrived.ps() < now || waiting.is_empty())
            {
                waiting.push(coming);
                coming += 1;
            }
            most = most.max(waiting.len());
            let to = |i: usize| requests[i].at.unwrap();
            let cylinder = find(at).2;
            let chosen = (0..waiting.len())
                .min_by_key(|&place| {
                    let i = waiting[place];
                    let there = find(to(i)).2;
                    let distance = u64::from(there.abs_diff(cylinder));
                    let behind = if outwards { there > cylinder } else { there < cylinder };
                    let (moves, waits) = approach(at, to(i), requests[i].op, now);
                    match order {
                        "fcfs" => (0, place as u64),
                        "sstf" => (0, distance),
                        "look" => (u64::from(behind), distance),
                        _ => (0, moves + waits),
                    }
                })
                .unwrap();
            let i = waiting.remove(chosen);
            let (moves, waits) = approach(at, to(i), requests[i].op, now);
            let track = find(to(i));
            let slot = (to(i) - track.0 + track.4) % track.1;
            let angle = |slot: u64| slot * 10_000_000_000 / track.1;
            let end = slot + u64::from(requests[i].blocks);
            now += moves + waits + angle(end) - angle(slot);
            finished[i] = now;
            if track.2 != cylinder {
                outwards = track.2 < cylinder;
            }
            at = to(i);
        }
        let first = (0..requests.len()).find(|&i| finished[i].abs_diff(engine[i].ps()) > 5000);
        assert_eq!(first, None, "{order}");
        assert!(most > 5, "{order}: {most} at most waited");
    }
}

/// What the paper's disk gives in a long transfer is the media rate less the switches.
#[test]
fn a_long_transfer_is_as_fast_as_the_data_sheet_says() {
    let sheet = defaults::<St3500630Ns>().sheet();
    let disk = Geometry::new(&sheet, 128 << 10).unwrap();
    assert!((500e9..525e9).contains(&(disk.blocks() as f64 * 131_072.0)), "{}", disk.blocks());
    let (rotation, heads) = (8.33e-3, 16.0);
    for (at, sectors) in [(0, 1394.0), (disk.blocks() - 8000, 690.0)] {
        // Switch and seek, each rounded up to whole sectors.
        let pass =
            |ms: f64| ((ms * 1e-3 * sectors / rotation) as u64 + 1) as f64 * rotation / sectors;
        let cylinder = heads * rotation + 15.0 * pass(0.8) + pass(1.0);
        let known = heads * sectors * 512.0 / cylinder;
        let took = disk.transfer(Op::Read, at, 8000).seconds();
        let rate = 8000.0 * 131_072.0 / took;
        assert!((rate / known - 1.0).abs() < 0.01, "{rate} from block {at} on, known {known}");
    }
    // 78 MB/s outside; the media alone would give 85.7.
    let outside = 8000.0 * 131_072.0 / disk.transfer(Op::Read, 0, 8000).seconds() / 1e6;
    assert!((77.0..79.0).contains(&outside), "{outside} MB/s");
}

/// Far apart in time and at random addresses, arms pay what the independent law says.
#[test]
fn random_addresses_cost_what_independent_positioning_does() {
    let disk = Geometry::new(&defaults::<St3500630Ns>().sheet(), 128 << 10).unwrap();
    let mut stream = Streams::new(9, 0).stream("test", 0);
    let drive = paper_disk();
    for op in [Op::Read, Op::Write] {
        let mut arm = disk.arm(Span::ZERO);
        let mut law: Vec<f64> = Vec::new();
        let mut costs: Vec<f64> = Vec::new();
        for i in 0..100_000 {
            let spot = disk.spot(stream.below(disk.blocks()), 1);
            let now = Time::from_ps(i * 1_234_567_890_123 + stream.below(8_330_000_000));
            let (moves, waits) = disk.approach(&arm, op, &spot, now);
            disk.leave(&mut arm, &spot);
            costs.push((moves + waits).ps() as f64 / 1e9);
            law.push(drive.position(op, stream.bits() as u32).ps() as f64 / 1e9);
        }
        assert!((mean(&costs) - mean(&law)).abs() < 0.06, "{} {}", mean(&costs), mean(&law));
        let square = |values: &[f64]| mean(&values.iter().map(|v| v * v).collect::<Vec<_>>());
        assert!((square(&costs) / square(&law) - 1.0).abs() < 0.01);
    }
}

/// Under load each order spends less on positioning than the one before it does.
#[test]
fn better_orders_position_less() {
    let disk = Geometry::new(&defaults::<St3500630Ns>().sheet(), 128 << 10).unwrap();
    let mut stream = Streams::new(11, 0).stream("test", 0);
    let mut arrived = Time::ZERO;
    let requests: Vec<Request> = (0..20_000)
        .map(|_| {
            arrived += Span::from_seconds(-stream.uniform().ln() * 16e-3);
            let op = if stream.below(3) == 0 { Op::Write } else { Op::Read };
            Request { arrived, op, blocks: 1, at: Some(stream.below(disk.blocks())) }
        })
        .collect();
    let sojourn = |order: &str| {
        let finished = serve(&disk, order, &requests);
        let times: Vec<f64> =
            finished.iter().zip(&requests).map(|(f, r)| (*f - r.arrived).seconds() * 1e3).collect();
        mean(&times)
    };
    let [fcfs, look, sstf, satf] = ["fcfs", "look", "sstf", "satf"].map(sojourn);
    assert!(satf < sstf && sstf < fcfs && look < fcfs, "{fcfs} {look} {sstf} {satf}");
    assert!(satf < 0.6 * fcfs, "{satf} {fcfs}");
}
