//! Traces, and other requests that are not drawn one by one from a Poisson process.

use crate::common::{bytes_of, file, mean, octets, table, text, variant};
use sojourn_array::ArrayCase;
use sojourn_array::device::Op;
use sojourn_array::workload::{Ready, Request, Workload, WorkloadContext};
use sojourn_core::parameters::{Parameters, Refusal, Table, Value};
use sojourn_core::resource::Octets;
use sojourn_core::{Execution, Progress, Streams};
use std::io::{BufRead, Cursor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const BLOCKS: u64 = 1000;

/// A workload on an array of 1000 blocks of 4 KiB, with a trace beside the study.
fn ready(kind: &str, trace: &str, settings: &[(&str, Value)]) -> Result<Ready, Refusal> {
    ready_on(BLOCKS, kind, file(trace), settings)
}

fn ready_on(
    blocks: u64,
    kind: &str,
    trace: Value,
    settings: &[(&str, Value)],
) -> Result<Ready, Refusal> {
    let mut settings = settings.to_vec();
    if kind != "synthetic" {
        settings.push(("file", trace));
    }
    // Their times start at zero, which a FILETIME does not.
    if kind == "msr" {
        settings.push(("tick", text("100ns")));
    }
    let workload: Workload = variant(kind, &settings);
    workload.ready(&WorkloadContext { block: 4096, blocks: Some(blocks) })
}

/// (microseconds, whether it reads, first block, blocks).
type Line = (u64, bool, u64, u32);

/// The requests of a trace that is read again.
fn list(ready: &Ready) -> Vec<Line> {
    let mut requests = ready.requests(Streams::new(1, 0)).unwrap();
    let line = |r: Request| (r.arrived.ps() / 1_000_000, r.op == Op::Read, r.at.unwrap(), r.blocks);
    let list: Vec<Line> = (&mut requests).map(line).collect();
    requests.finish().unwrap();
    assert_eq!(list.len(), (ready.numbers.warmup + ready.numbers.requests) as usize);
    list
}

fn note(ready: &Ready, name: &str) -> Value {
    let found = ready.notes.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{:?}", ready.notes)).1.clone()
}

#[test]
fn fio_logs_of_both_versions() {
    let three = "fio version 3 iolog\n0 /dev/sda add\n2 /dev/sda open\n\
        1000 /dev/sda read 0 4096\n1500 /dev/sda write 6144 8192\n1600 /dev/sda sync 0 0\n\
        1700 /dev/sda read 4096 0\n1400 /dev/sda read 40960 1\n9000 /dev/sda close\n";
    let known = [(0, true, 0, 1), (400, true, 10, 1), (500, false, 1, 3)];
    let found = ready("fio", three, &[]).unwrap();
    assert_eq!(list(&found), known);
    for (name, count) in [
        ("trace_lines", 9),
        ("trace_other_actions", 1),
        ("trace_discards", 0),
        ("trace_requests_without_length", 1),
        ("trace_requests_out_of_order", 1),
        ("trace_furthest_out_of_order", 1),
        ("trace_lines_of_other_devices", 0),
        ("trace_length_ps", 500_000_000),
    ] {
        assert_eq!(note(&found, name), Value::Int(count), "{name}");
    }
    let said = "1 other action left out, 1 request without a length left out, \
                1 request out of order sorted by time, \
                12.289KB rounded out to 20.48KB by blocks of 4KiB";
    assert_eq!(note(&found, "trace"), text(said));
    let two = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf wait 400 0\nf read 40960 1\n\
        f wait 100 0\nf write 6144 8192\nf close\n";
    assert_eq!(list(&ready("fio", two, &[]).unwrap()), known);
    // In milliseconds, twice as fast, the first two requests.
    let settings =
        [("tick", text("1ms")), ("speed", Value::Float(2.0)), ("requests", Value::Int(2))];
    let found = ready("fio", three, &settings).unwrap();
    assert_eq!(list(&found), [(0, true, 0, 1), (200_000, true, 10, 1)]);
}

#[test]
fn events_of_blkparse() {
    let trace = "  8,0    3        1     0.000000000   697  Q   R 16 + 8 [cat]\n\
        8,0    3        2     0.000001    697  D   R 16 + 8 [cat]\n\
        8,16   3        3     0.5         697  Q   W 0 + 8 [cat]\n\
        8,0    0        4     1.000000250 0    Q   WS 8 + 16 [jbd2]\n\
        8,0    0        5     2.0         0    Q   FWS [jbd2]\n\
        8,0    0        6     3.0         0    Q   DS 8 + 16 [fstrim]\n\
        CPU3 (8,0):\n Reads Queued:           1,        4KiB\n";
    let found = ready("blkparse", trace, &[("device", text("8,0"))]).unwrap();
    assert_eq!(list(&found), [(0, true, 2, 1), (1_000_000, false, 1, 2)]);
    assert_eq!(note(&found, "trace_length_ps"), Value::Int(1_000_000_250_000));
    assert_eq!(note(&found, "trace_lines_of_other_devices"), Value::Int(1));
    assert_eq!(note(&found, "trace_discards"), Value::Int(1));
    assert_eq!(note(&found, "trace_other_actions"), Value::Int(0));
    assert_eq!(note(&found, "trace_requests_without_length"), Value::Int(1));
    let issued = [("device", text("8,0")), ("action", text("D"))];
    assert_eq!(list(&ready("blkparse", trace, &issued).unwrap()), [(0, true, 2, 1)]);
    assert!(ready("blkparse", trace, &[]).is_err(), "two devices, and none is chosen");
    let letters = "8,0 0 4 1.000000002\u{e9}\u{e9} 0 Q R 8 + 16 [cat]\n";
    assert!(ready("blkparse", letters, &[]).is_err());
}

#[test]
fn the_ticks_of_windows_and_the_end_of_the_array() {
    let trace = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
        128166372003061629,usr,0,Read,7014609920,24576,41286\n\
        128166372013061629,usr,0,Write,4096,512,1000\n";
    assert!(ready("msr", trace, &[]).is_err(), "beyond the array");
    // 7014609920 bytes are 1712551.25 blocks: from 551 of the array's thousand on.
    let wrapped = ready("msr", trace, &[("beyond", text("wrap"))]).unwrap();
    assert_eq!(list(&wrapped), [(0, true, 551, 7), (1_000_000, false, 1, 1)]);
    assert_eq!(note(&wrapped, "trace_requests_beyond_array"), Value::Int(1));
    let said =
        "1 request beyond the array wrapped, 25.088KB rounded out to 32.768KB by blocks of 4KiB";
    assert_eq!(note(&wrapped, "trace"), text(said));
    let dropped = ready("msr", trace, &[("beyond", text("drop"))]).unwrap();
    assert_eq!(list(&dropped).len(), 1);
    // One that would go over the end is moved back before it.
    let last = "1,h,0,Read,4091904,8192,1\n";
    let wrapped = ready("msr", last, &[("beyond", text("wrap"))]).unwrap();
    assert_eq!(list(&wrapped), [(0, true, 998, 2)]);
    let kept = ready("msr", trace, &[("beyond", text("wrap")), ("warmup", Value::Int(1))]).unwrap();
    assert_eq!((kept.numbers.warmup, kept.numbers.requests), (1, 1));
}

/// What was expected of the file instead.
fn refused(result: Result<impl Sized, Refusal>) -> String {
    result.err().expect("it is refused").expected
}

#[test]
fn what_is_no_trace_is_refused_by_its_line() {
    let long = format!("1,h,0,Read,0,4096,1\n{}\n", "x".repeat(1 << 16));
    for (trace, said) in [
        (
            "1,h,0,Read,0,4096,1\n2,h,0,Raed,0,4096,1\n",
            "but its line 2 is \"2,h,0,Raed,0,4096,1\",",
        ),
        (&long, "lines of at most 65536 bytes, but its line 2 is longer"),
        ("1,h,0,Read,18446744073709551615,1,1\n", "not an address that a device can have"),
        ("1,h,0,Read,0,500000000,1\n", "at most 1000 blocks, but that of its line 1 has 500000000"),
    ] {
        let found = refused(ready("msr", trace, &[]));
        assert!(found.contains(said), "{found}");
    }
    let letters = bytes_of(b"1,h,0,Read,0,4096,1\n\xff\n");
    let found = refused(ready_on(9, "msr", letters, &[]));
    assert_eq!(found, "UTF-8 text, but its line 2 is none");
}

/// Requests that come late are put where they belong as if all had been sorted; one that comes later
/// than can be held back is refused.
#[test]
fn late_requests_are_put_where_they_belong() {
    let trace = |times: &mut dyn Iterator<Item = u64>| -> String {
        times.zip(0..).map(|(at, i)| format!("{at},h,0,Read,{},512,1\n", i % 1000 * 4096)).collect()
    };
    let mut stream = Streams::new(7, 0).stream("times", 0);
    let mut now = 0;
    let late: Vec<u64> = (0..5000)
        .map(|_| {
            now += stream.below(30);
            10_000 + now - stream.below(5000).min(now)
        })
        .collect();
    let text = trace(&mut late.iter().copied());
    let found = ready("msr", &text, &[]).unwrap();
    let mut sorted: Vec<(u64, usize)> = late.iter().copied().zip(0..).collect();
    sorted.sort_by_key(|(at, _)| *at);
    let zero = sorted[0].0;
    let expected: Vec<Line> =
        sorted.iter().map(|&(at, i)| ((at - zero) / 10, true, i as u64 % 1000, 1)).collect();
    assert_eq!(list(&found), expected);
    let inversions = |i: usize| late[..i].iter().filter(|&&at| at > late[i]).count();
    let furthest = (0..late.len()).map(inversions).max().unwrap();
    assert_eq!(note(&found, "trace_furthest_out_of_order"), Value::Int(furthest as i64));

    let most = 1 << 16;
    let text = trace(&mut (1..=most).chain([0]));
    let found = ready("msr", &text, &[]).unwrap();
    assert_eq!(note(&found, "trace_furthest_out_of_order"), Value::Int(most as i64));
    assert_eq!(list(&found).len() as u64, most + 1);
    let found = refused(ready("msr", &trace(&mut (1..=most + 1).chain([0])), &[]));
    assert!(found.contains("its line 65538 comes later than that: it has to be sorted"), "{found}");
}

/// What a trace holds each time that it is read, and how often it was.
#[derive(Debug)]
struct Changing(Vec<String>, AtomicUsize);

impl Octets for Changing {
    fn reader(&self) -> Box<dyn BufRead> {
        Box::new(Cursor::new(self.0[self.1.fetch_add(1, Relaxed)].clone()))
    }
}

fn changing(texts: Vec<String>) -> Value {
    octets(Arc::new(Changing(texts, AtomicUsize::new(0))))
}

/// A trace that is another when it is replayed than when it was checked gives no rows.
#[test]
fn a_trace_that_changes_is_refused() {
    let line = |i: u64| format!("{i},h,0,Read,{},4096,1\n", i * 4096);
    let trace: String = (0..200).map(line).collect();
    let changed = |to: &str| {
        let texts = changing(vec![trace.clone(), to.to_owned()]);
        let found = ready_on(BLOCKS, "msr", texts, &[]).unwrap();
        let mut requests = found.requests(Streams::new(1, 0)).unwrap();
        (&mut requests).for_each(drop);
        requests.finish().map_err(|refusal| refusal.expected)
    };
    assert_eq!(changed(&trace), Ok(()));
    let expected = "a trace that stays as it is while it is replayed, but it has changed";
    for other in [
        format!("{trace}{}", line(200)),
        trace.replace("\n150,", "\n151,"),
        trace.replace(",0,Read,409600,", ",0,Write,409600,"),
        (0..199).map(line).collect(),
        String::new(),
    ] {
        assert_eq!(changed(&other).unwrap_err(), expected);
    }
    let broken = changed(&trace.replace("150,h", "1x0,h")).unwrap_err();
    assert!(broken.starts_with(&format!("{expected} (expected a trace, but its line 151")));
    // What comes behind the requests that are asked for does not matter.
    let settings = [("requests", Value::Int(100))];
    let texts = changing(vec![trace.clone(), format!("{trace}nothing\n")]);
    let found = ready_on(BLOCKS, "msr", texts, &settings).unwrap();
    assert_eq!(list(&found).len(), 100);
}

/// The same where a case is run: no rows, and the file is named.
#[test]
fn a_run_of_a_trace_that_changes_has_no_rows() {
    let trace = |last: u64| format!("0,h,0,Read,0,4096,1\n{last},h,0,Write,4096,4096,1\n");
    let run = |change: bool| {
        let texts = (1..9).map(|nth| trace(if change { nth } else { 1 })).collect();
        let workload =
            table(&[("kind", text("msr")), ("file", changing(texts)), ("tick", text("100ns"))]);
        let mut case = Table::default();
        for (part, value) in
            [("disk", text("HP97560")), ("layout", text("single")), ("workload", workload)]
        {
            case.set(part, value);
        }
        let case = ArrayCase::read_table(&case).unwrap();
        case.run(Streams::new(1, 0), Execution::new(&Progress::default()))
    };
    assert_eq!(run(false).unwrap().unwrap().rows.ints("arrived_ps"), [0, 100_000]);
    let refusal = run(true).err().unwrap();
    assert_eq!(refusal.path, ["workload", "file"]);
}

fn synthetic(room: u64, places: Value, count: u32) -> Vec<(u64, u32)> {
    let arrivals = table(&[("kind", text("poisson")), ("rate", text("1/s"))]);
    let sizes = table(&[("kind", text("geometric")), ("mean", Value::Float(2.0))]);
    let settings = [("arrivals", arrivals), ("blocks", sizes), ("places", places)];
    let found = ready_on(room, "synthetic", file(""), &settings).unwrap();
    let requests = found.requests(Streams::new(3, 0)).unwrap().take(count as usize);
    requests.map(|request| (request.at.unwrap(), request.blocks)).collect()
}

#[test]
fn streams_go_on_where_they_were() {
    let run = ("run", Value::Float(50.0));
    for streams in [1, 3] {
        let settings =
            [("kind", text("sequential")), ("streams", Value::Int(streams)), run.clone()];
        let requests = synthetic(1 << 40, table(&settings), 100_000);
        // The ends of all streams: a request that goes on from one of them takes its place.
        let mut ends = Vec::new();
        let mut jumps = 0;
        for (at, blocks) in requests {
            let end = at + u64::from(blocks);
            match ends.iter_mut().find(|end| **end == at) {
                Some(own) => *own = end,
                None => {
                    jumps += 1;
                    ends.push(end);
                }
            }
        }
        assert!((1_900..2_100).contains(&jumps), "{streams}: {jumps}");
    }
}

#[test]
fn a_hot_part_gets_its_share() {
    let settings = [("kind", text("hot")), ("start", Value::Float(0.5))];
    let requests = synthetic(BLOCKS, table(&settings), 100_000);
    let hot = requests.iter().filter(|(at, _)| (500..700).contains(at)).count();
    // Eight in ten, and a fifth of the others.
    assert!((83_000..85_000).contains(&hot), "{hot}");
}

#[test]
fn neighbours_are_near() {
    let settings = [("kind", text("near")), ("distance", Value::Float(0.01))];
    let requests = synthetic(BLOCKS, table(&settings), 100_000);
    let ways: Vec<f64> =
        requests.windows(2).map(|pair| pair[0].0.abs_diff(pair[1].0) as f64).collect();
    // Exponential of mean 10, in whole blocks: half a block less.
    assert!((mean(&ways) - 9.5).abs() < 0.2, "{}", mean(&ways));
    let middle = mean(&requests.iter().map(|(at, _)| *at as f64).collect::<Vec<_>>());
    assert!((250.0..750.0).contains(&middle), "{middle}");
}

/// Of a Markov-modulated Poisson process: the mean rate, and how much more than a Poisson process's
/// the counts of long windows vary (Heffes and Lucantoni, 1986).
#[test]
fn bursts_have_their_moments() {
    let arrivals = table(&[
        ("kind", text("mmpp")),
        ("quiet_rate", text("1/s")),
        ("burst_rate", text("20/s")),
        ("quiet_time", text("4s")),
        ("burst_time", text("1s")),
    ]);
    let settings = [("arrivals", arrivals), ("blocks", Value::Int(1))];
    let found = ready("synthetic", "", &settings).unwrap();
    let (window, windows) = (200.0, 5000);
    let mut counts = vec![0.0; windows];
    for request in found.requests(Streams::new(5, 0)).unwrap() {
        match counts.get_mut((request.arrived.seconds() / window) as usize) {
            Some(count) => *count += 1.0,
            None => break,
        }
    }
    let rate = mean(&counts) / window;
    assert!((rate - (4.0 + 20.0) / 5.0).abs() < 0.1, "{rate}");
    let middle = mean(&counts);
    let variance = mean(&counts.iter().map(|count| (count - middle).powi(2)).collect::<Vec<_>>());
    // 1 + 2 (l1 - l2)² s1 s2 / ((s1 + s2)² (l1 s2 + l2 s1)) with the rates of leaving s1, s2.
    let (s1, s2) = (0.25, 1.0);
    let index = 1.0 + 2.0 * 19.0_f64.powi(2) * s1 * s2 / ((s1 + s2).powi(2) * (s2 + 20.0 * s1));
    assert!((variance / middle / index - 1.0).abs() < 0.08, "{} {index}", variance / middle);
}

/// A stream of reads one behind the other: a disk with arms serves them without seeks, by default. Where no
/// place is looked at, the run says so.
#[test]
fn places_of_a_trace_are_looked_at_where_a_disk_can() {
    let lines = (0..400).map(|n| format!("{},h,0,Read,{},65536,0\n", n * 300_000, n * 65_536));
    let trace: String = lines.collect();
    let run = |disk: Value, more: &[(&str, Value)]| {
        let workload = [("kind", text("msr")), ("file", file(&trace)), ("tick", text("100ns"))];
        let parts = [("disk", disk), ("layout", text("single")), ("workload", table(&workload))];
        let parts = [&parts[..], more].concat();
        let report = crate::common::report(&parts, 1);
        let unseen = report.totals.iter().any(|(name, _)| name == "places_unseen");
        (mean(&crate::common::sojourns(&report.rows)), unseen)
    };
    let (by_arms, unseen) = run(text("ST3500630NS"), &[]);
    assert!(by_arms < 7.0 && !unseen, "{by_arms}");
    let independent = [("positioning", text("independent"))];
    let (by_chance, unseen) = run(text("ST3500630NS"), &independent);
    assert!(by_chance > 12.0 && unseen, "{by_chance}");
    let exponential = table(&[("kind", text("exponential")), ("mean", text("1ms"))]);
    assert!(run(exponential, &[]).1);
}
