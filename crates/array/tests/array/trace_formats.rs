//! Each format of traces, by files counted by hand; how they are packed; and what is no such trace.

use crate::common::{bytes_of, file, text, variant};
use flate2::{Compression, write::GzEncoder};
use sojourn_array::device::Op;
use sojourn_array::workload::{Ready, Workload, WorkloadContext};
use sojourn_core::Streams;
use sojourn_core::parameters::{Refusal, Value};
use std::io::Write;

/// A workload on an array of 1 TiB in sectors, with a trace beside the study.
fn ready(kind: &str, trace: &[u8], settings: &[(&str, Value)]) -> Result<Ready, Refusal> {
    let mut settings = settings.to_vec();
    settings.push(("file", bytes_of(trace)));
    let workload: Workload = variant(kind, &settings);
    workload.ready(&WorkloadContext { block: 512, blocks: Some(1 << 31) })
}

/// (nanoseconds, whether it reads, first sector, sectors).
type Line = (u64, bool, u64, u32);

fn list(kind: &str, trace: &[u8], settings: &[(&str, Value)]) -> Vec<Line> {
    let found = ready(kind, trace, settings).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let mut requests = found.requests(Streams::new(1, 0)).unwrap();
    let line = |r: sojourn_array::workload::Request| {
        (r.arrived.ps() / 1000, r.op == Op::Read, r.at.unwrap(), r.blocks)
    };
    let list = (&mut requests).map(line).collect();
    requests.finish().unwrap();
    list
}

fn note(ready: &Ready, name: &str) -> Value {
    let found = ready.notes.iter().find(|(key, _)| key == name);
    found.unwrap_or_else(|| panic!("{:?}", ready.notes)).1.clone()
}

fn refused(kind: &str, trace: &str, settings: &[(&str, Value)]) -> String {
    let refusal = ready(kind, trace.as_bytes(), settings).expect_err("it is refused");
    format!("{}: {}", refusal.path.join("."), refusal.expected)
}

/// The same two requests in each format: a read of 4 KiB at sector 16, and 1.5 s later, or 2 s where times
/// are whole seconds, a write of 1 KiB at sector 8; with what the format calls the device.
const TWO: [(&str, &str, u64); 10] = [
    (
        "msr",
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
         128166372003061629,usr,0,Read,8192,4096,41286\n\
         128166372018061629,usr,0,Write,4096,1024,41286\n",
        1500,
    ),
    ("spc", "0,16,4096,R,0.026214\n0,8,1024,w,1.526214,extra\n", 1500),
    ("alibaba", "419,R,8192,4096,1577808144360767\n419,W,4096,1024,1577808145860767\n", 1500),
    ("tencent", "1538323200,16,8,0,1063\n1538323202,8,2,1,1063\n", 2000),
    (
        "systor17",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.0008,R,4,8192,4096\n\
         1456135201.513118000,0.0012,W,4,4096,1024\n",
        1500,
    ),
    ("mqsim", "4851300 1 16 8 1\n1504851300 1 8 2 0\n", 1500),
    ("disksim", "0.5 0 16 8 1\n1500.500000 0 8 2 2\n", 1500),
    (
        "cloudphysics",
        "version,time,op,size,lbn\n2,5633898,40,4096,16\n2,5633900,138,1024,8\n",
        2000,
    ),
    ("fio", "fio version 3 iolog\n5 f read 8192 4096\n1500005 f write 4096 1024\n", 1500),
    (
        "blkparse",
        "8,0 1 1 0.000000005 9 Q R 16 + 8 [a]\n8,0 1 2 1.500000005 9 Q WS 8 + 2 [a]\n",
        1500,
    ),
];

#[test]
fn the_same_requests_in_every_format() {
    for (kind, trace, later_ms) in TWO {
        let expected = [(0, true, 16, 8), (later_ms * 1_000_000, false, 8, 2)];
        assert_eq!(list(kind, trace.as_bytes(), &[]), expected, "{kind}");
    }
}

/// What is told of them: 5 KiB in all, in the pages of 4 KiB from byte 4096 to 12288.
#[test]
fn what_was_read_is_added_up() {
    for (kind, trace, later_ms) in TWO {
        let found = ready(kind, trace.as_bytes(), &[]).unwrap();
        for (name, count) in [
            ("trace_requests", 2),
            ("trace_reads", 1),
            ("trace_bytes", 5120),
            ("trace_bytes_in_blocks", 5120),
            ("trace_smallest_bytes", 1024),
            ("trace_largest_bytes", 4096),
            ("trace_working_set_bytes", 8192),
            ("trace_length_ps", later_ms as i64 * 1_000_000_000),
            ("trace_arrivals_together", 0),
        ] {
            assert_eq!(note(&found, name), Value::Int(count), "{kind}: {name}");
        }
        assert_eq!(note(&found, "trace"), text("taken as it is"), "{kind}");
    }
}

/// A trace that is named another format's is told apart by its first line.
#[test]
fn another_format_is_named() {
    for (kind, trace, _) in TWO {
        let other = if kind == "msr" { "spc" } else { "msr" };
        let said = refused(other, trace, &[]);
        assert!(said.contains(&format!("kind = {kind:?}")), "{kind}: {said}");
        if kind != "blkparse" {
            let said = refused("blkparse", trace, &[]);
            assert!(said.contains(&format!("kind = {kind:?}")), "{said}");
        }
    }
}

#[test]
fn what_is_no_trace_is_told_how_to_convert() {
    let fiu = "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n";
    assert!(refused("msr", fiu, &[]).contains("an FIU trace; for kind = \"fio\" convert it: awk"));
    assert!(refused("spc", "{\"op\": 1}\n", &[]).contains("it looks like JSON"));
    assert!(refused("spc", "a b c\n", &[]).contains("microseconds, device, read or write"));
    let tar: Vec<u8> = [&b"a.csv"[..], &[0; 252], b"ustar", &[0; 250]].concat();
    for (start, said) in [
        (&b"\x07tae\0\0\0\0"[..], "`blkparse -i`"),
        (&tar, "`tar -xf`"),
        (b"PAR1....", "export it as CSV"),
        (b"BZh91", "`bunzip2`"),
    ] {
        let refusal = ready("msr", start, &[]).err().unwrap();
        assert!(refusal.expected.contains(said), "{}", refusal.expected);
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut into = GzEncoder::new(Vec::new(), Compression::default());
    into.write_all(text.as_bytes()).unwrap();
    into.finish().unwrap()
}

#[test]
fn packed_traces_are_read_as_they_are() {
    let (kind, trace, _) = TWO[0];
    let (head, rest) = trace.split_at(90);
    let expected = list(kind, trace.as_bytes(), &[]);
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    for packed in [gzip(trace), zstd(trace)] {
        assert_eq!(list(kind, &packed, &[]), expected);
        let short = ready(kind, &packed[..packed.len() - 9], &[]).expect_err("it is cut short");
        assert!(short.expected.starts_with("a file to read: "), "{}", short.expected);
    }
    // Of several members, as gzip and zstd files that were appended to each other are.
    for packed in [[gzip(head), gzip(rest)].concat(), [zstd(head), zstd(rest)].concat()] {
        assert_eq!(list(kind, &packed, &[]), expected);
    }
}

/// A hundred megabytes of one line in a hundred kilobytes of gzip: refused at the line's bound.
#[test]
fn a_line_without_end_is_refused_packed_or_not() {
    let refusal = ready("msr", &gzip(&"1".repeat(100_000_000)), &[]).err().unwrap();
    assert!(refusal.expected.contains("lines of at most 65536 bytes"), "{}", refusal.expected);
}

#[test]
fn times_of_another_unit_are_refused_and_the_unit_named() {
    for (kind, trace, unit) in [
        ("msr", "1577808000001442,usr,0,Read,0,4096,412\n", "1us"),
        ("msr", "1577808000,usr,0,Read,0,4096,412\n", "1s"),
        ("alibaba", "0,R,0,4096,1577808144\n", "1s"),
        ("alibaba", "0,R,0,4096,1577808144360767000\n", "1ns"),
        ("tencent", "1538323200000,16,8,0,1063\n", "1ms"),
        ("systor17", "1456135200013,0.0008,R,4,8192,4096\n", "1ms"),
        ("spc", "0,16,4096,R,1456135200013000000\n", "1ns"),
    ] {
        let said = refused(kind, trace, &[]);
        assert!(said.contains(&format!("tick = {unit:?} makes it")), "{kind}: {said}");
        assert_eq!(list(kind, trace.as_bytes(), &[("tick", text(unit))]).len(), 1);
    }
}

#[test]
fn sizes_in_sectors_are_refused() {
    let trace = "128166372003061629,usr,0,Read,0,8,1\n128166372003061630,usr,0,Read,8,16,1\n";
    let said = refused("msr", trace, &[]);
    assert!(said.contains("none of 8 to 16 is a whole number of sectors"), "{said}");
    // One odd size is no other unit.
    let odd = trace.replace(",16,", ",4096,");
    assert_eq!(list("msr", odd.as_bytes(), &[]).len(), 2);
}

#[test]
fn disks_of_several_hosts_are_several_devices() {
    let trace =
        "128166372003061629,hm,0,Read,0,4096,1\n128166372003061630,prn,0,Read,4096,4096,1\n";
    let said = "is of another host; device = \"hm_0\" or \"prn_0\" chooses one";
    assert!(refused("msr", trace, &[]).contains(said));
    assert!(refused("msr", trace, &[("device", text("0"))]).contains(said));
    let found = ready("msr", trace.as_bytes(), &[("device", text("prn_0"))]).unwrap();
    assert_eq!(note(&found, "trace_lines_of_other_devices"), Value::Int(1));
    assert_eq!(list("msr", trace.as_bytes(), &[("device", text("hm_0"))]), [(0, true, 0, 8)]);
    let one = trace.replace("prn,0", "hm,1");
    assert_eq!(list("msr", one.as_bytes(), &[("device", text("1"))]), [(0, true, 8, 8)]);
    assert!(refused("msr", &one, &[("device", text("2"))]).contains("such as \"hm_0\""));
}

#[test]
fn what_is_left_out_is_counted() {
    let trace = "fio version 3 iolog\n0 f read 0 4096\n1 f trim 0 4096\n2 f trim 0 8192\n\
        3 f sync 0 0\n4 f write 0 0\n5 f read 1099511627776 512\n6 f write 0 512\n7 f write 0 512\n";
    let settings = [("beyond", text("drop")), ("requests", Value::Int(3))];
    let found = ready("fio", trace.as_bytes(), &settings).unwrap();
    let said = "2 discards left out, 1 other action left out, 1 request without a length left \
                out, 1 request beyond the array left out, 1 later request not replayed";
    assert_eq!(note(&found, "trace"), text(said));
    assert_eq!(note(&found, "trace_requests"), Value::Int(2));
    let more = [("beyond", text("drop")), ("requests", Value::Int(5))];
    assert_eq!(refused("fio", trace, &more), "requests: at most the 4 requests that the trace has");
}

#[test]
fn events_that_are_there_are_named() {
    let trace = "8,0 7 5 675.7 661 D W 95839968 + 80 [a]\n8,0 7 6 675.8 661 D R 95839968 + 8 [a]\n\
        8,0 7 7 675.9 0 C R 95839968 + 8 [0]\n";
    let said = refused("blkparse", trace, &[]);
    assert!(said.contains("no event Q, but 1 of C, 2 of D; action = \"D\" takes these"), "{said}");
}

/// The largest power of two from 512 B to the usual block that divides offsets and sizes.
#[test]
fn a_trace_has_a_block_of_its_own() {
    for (first, bytes, block) in [
        (0, 4096, 4096),
        (8192, 65536, 8192),
        (1536, 4096, 512),
        (100, 4096, 512),
        (0, 131_072, 131_072),
        (0, 1 << 20, 131_072),
        (512, 1 << 30, 32768),
    ] {
        let trace = format!("fio version 3 iolog\n0 f read {first} {bytes}\n");
        let workload: Workload = variant("fio", &[("file", file(&trace))]);
        assert_eq!(workload.block(128 << 10).unwrap(), block, "{first} {bytes}");
    }
}
