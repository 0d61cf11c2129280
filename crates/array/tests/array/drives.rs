//! The known drives, against what their makers and those who took them apart say of them.

use crate::common::{mean, report, sojourns, table, text, variant};
use sojourn_array::device::hdd::{DataSheet, Geometry};
use sojourn_array::device::{Device, Op};
use sojourn_core::parameters::Value;

/// Sectors that each drive has, and the share of them that a straight line from the outermost track
/// to the innermost holds.
const KNOWN: [(&str, u64, std::ops::Range<f64>); 6] = [
    // 500 GB; its heads are a guess that holds as much.
    ("ST3500630NS", 976_773_168, 1.0..1.05),
    // One zone, so no line: 1962 cylinders of 19 tracks of 72 sectors.
    ("HP97560", 2_684_016, 1.0..1.0001),
    ("Atlas10K", 17_938_986, 0.94..0.96),
    ("ST39102LW", 17_783_240, 0.98..1.0),
    // 24 and 20 TB.
    ("ExosX24", 46_875_000_000, 0.999..1.001),
    ("HS760", 39_062_500_000, 0.999..1.001),
];

#[test]
fn a_drive_holds_what_its_maker_says_but_for_the_straight_line() {
    for (name, sectors, share) in KNOWN {
        let disk: Device = variant(name, &[]);
        let held = disk.blocks(512).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"));
        let ratio = held as f64 / sectors as f64;
        assert!(share.contains(&ratio), "{name} holds {held} sectors, {ratio} of {sectors}");
    }
}

/// Requests a second of random reads of 4 KiB at a queue depth, in the order in which a drive serves its queue.
fn reads_per_second(drive: &str, depth: i64) -> f64 {
    let workload = table(&[
        ("kind", text("synthetic")),
        ("arrivals", table(&[("kind", text("closed")), ("depth", Value::Int(depth))])),
        ("requests", Value::Int(20_000)),
        ("blocks", Value::Int(1)),
    ]);
    let parts = [
        ("disk", text(drive)),
        ("layout", text("single")),
        ("block", text("4KiB")),
        ("positioning", text("mechanical")),
        ("scheduling", text("satf")),
        ("workload", workload),
    ];
    depth as f64 / mean(&sojourns(&report(&parts, 2).rows)) * 1e3
}

/// What data sheets promise of random reads, by drives whose seeks are of older ones: 168 a second at depth
/// 16 (Seagate's of the Exos X24), 212 at depth 32 (Western Digital's of the HC560 and HC580), 1.7 times that
/// with two actuators (the HS760).
#[test]
fn drives_of_today_read_as_often_as_their_makers_say() {
    for (drive, depth, promised) in
        [("ExosX24", 16, 168.0), ("ExosX24", 32, 212.0), ("HS760", 32, 1.7 * 212.0)]
    {
        let kept = reads_per_second(drive, depth);
        assert!((kept / promised - 1.0).abs() < 0.06, "{drive}, {depth}: {kept} for {promised}");
    }
}

/// A long read from the outermost track on is as fast as the makers say: 285 MB/s, and 291 of each arm.
#[test]
fn drives_of_today_read_as_fast_as_their_makers_say() {
    for (name, mb_per_s) in [("ExosX24", 285.0), ("HS760", 291.0)] {
        let sheet = match variant::<Device>(name, &[]) {
            Device::ExosX24(drive) => drive.sheet(),
            Device::Hs760(drive) => drive.sheet(),
            other => panic!("{other:?}"),
        };
        let geometry = Geometry::new(&sheet, 1 << 20).unwrap_or_else(|why| panic!("{why:?}"));
        let blocks = 4000;
        let rate = f64::from(blocks) * 1.048_576 / geometry.transfer(Op::Read, 0, blocks).seconds();
        assert!((rate / mb_per_s - 1.0).abs() < 0.01, "{name}: {rate} for {mb_per_s}");
    }
}
