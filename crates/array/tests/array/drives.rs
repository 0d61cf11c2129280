//! The known drives, against what their makers and those who took them apart say of them.

use crate::common::variant;
use sojourn_array::device::Device;

/// Sectors that each drive has, and the share of them that a straight line from the outermost track
/// to the innermost holds.
const KNOWN: [(&str, u64, std::ops::Range<f64>); 4] = [
    // 500 GB; its heads are a guess that holds as much.
    ("ST3500630NS", 976_773_168, 1.0..1.05),
    // One zone, so no line: 1962 cylinders of 19 tracks of 72 sectors.
    ("HP97560", 2_684_016, 1.0..1.0001),
    ("Atlas10K", 17_938_986, 0.94..0.96),
    ("ST39102LW", 17_783_240, 0.98..1.0),
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
