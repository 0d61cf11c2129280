//! Plans: every block covered once, against block-by-block enumerations; parity by hand.

use crate::common::{layout, paper_raid5, variant};
use proptest::prelude::*;
use sojourn_array::device::Op;
use sojourn_array::layout::{Access, AccessPlan, Approach, Layout};
use sojourn_core::Streams;
use sojourn_core::parameters::Value;
use sojourn_properties::cases;
use std::collections::BTreeSet;

fn plan(layout: &Layout, op: Op, blocks: u32, seed: u64) -> AccessPlan {
    let mut plan = AccessPlan::new(layout.disks());
    let way = Streams::new(seed, 0).stream("starts", 0).below(layout.ways(op));
    layout.lay(op, blocks, way, &mut plan);
    plan
}

/// What all accesses of a phase that do `op` have on each disk.
fn on_disks(accesses: &[Access], op: Op, disks: usize) -> Vec<u32> {
    let mut counts = vec![0; disks];
    for access in accesses.iter().filter(|access| access.op == op) {
        counts[usize::from(access.disk)] += access.blocks;
    }
    counts
}

/// Blocks on each disk when block `j` goes to the disks `of(j)`.
fn enumerated(disks: usize, blocks: u32, of: impl Fn(usize) -> Vec<usize>) -> Vec<u32> {
    let mut counts = vec![0; disks];
    (0..blocks as usize).flat_map(of).for_each(|disk| counts[disk] += 1);
    counts
}

/// Everything that a request without parity may come to, block by block.
fn possible(kind: &str, disks: usize, op: Op, blocks: u32) -> BTreeSet<Vec<u32>> {
    let half = blocks.div_ceil(2) as usize;
    let side = |first: usize, j: usize| if j < half { first } else { 1 - first };
    let mut all = BTreeSet::new();
    for start in 0..disks {
        for choice in 0..1 << (disks / 2).min(8) {
            let columns = disks / 2;
            let counts = match (kind, op) {
                ("single", _) => vec![blocks],
                ("raid0", _) => enumerated(disks, blocks, |j| vec![(start + j) % disks]),
                ("raid1" | "raid01", Op::Write) => enumerated(disks, blocks, |j| {
                    vec![(start + j) % columns, columns + (start + j) % columns]
                }),
                ("raid1" | "raid01", Op::Read) => enumerated(disks, blocks, |j| {
                    vec![side(choice & 1, j) * columns + (start + j) % columns]
                }),
                ("raid10", Op::Write) => enumerated(disks, blocks, |j| {
                    let pair = (start + j) % columns;
                    vec![2 * pair, 2 * pair + 1]
                }),
                ("raid10", Op::Read) => enumerated(disks, blocks, |j| {
                    // The pair has every `columns`-th block; this is its `turn`-th of `own`.
                    let (pair, turn) = ((start + j) % columns, j / columns);
                    let own = (blocks as usize - j % columns).div_ceil(columns);
                    let first = choice >> pair & 1;
                    vec![2 * pair + if turn < own.div_ceil(2) { first } else { 1 - first }]
                }),
                _ => unreachable!("{kind}"),
            };
            all.insert(counts);
        }
    }
    all
}

/// Reads of stripes with parity, block by block: positions from `start` on, cyclically, without the
/// parities, which move on after each round.
fn parity_reads(disks: usize, parities: usize, blocks: u32) -> BTreeSet<Vec<u32>> {
    let mut all = BTreeSet::new();
    for start in 0..disks {
        for parity in 0..disks {
            let mut counts = vec![0; disks];
            let mut left = blocks;
            for position in 0.. {
                let (disk, shift) = ((start + position) % disks, position / disks);
                let held = (0..parities).any(|i| (parity + shift + i) % disks == disk);
                if left == 0 {
                    break;
                }
                if !held {
                    counts[disk] += 1;
                    left -= 1;
                }
            }
            all.insert(counts);
        }
    }
    all
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![Just(Op::Read), Just(Op::Write)]
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn without_parity_every_block_is_covered_once(
        kind in prop::sample::select(vec!["single", "raid0", "raid1", "raid01", "raid10"]),
        half in 1usize..5,
        blocks in 1u32..40,
        op in op(),
        seed in any::<u64>(),
    ) {
        let (layout, disks): (Layout, _) = match kind {
            "single" => (variant(kind, &[]), 1),
            "raid1" => (variant(kind, &[]), 2),
            _ => (layout(kind, 2 * half as i64), 2 * half),
        };
        let plan = plan(&layout, op, blocks, seed);
        prop_assert_eq!(layout.disks(), disks);
        prop_assert_eq!(plan.phases(), 1);
        prop_assert!(plan.accesses().iter().all(|a| a.op == op && a.counts && !a.gate));
        let counts = on_disks(plan.accesses(), op, disks);
        prop_assert!(possible(kind, disks, op, blocks).contains(&counts), "{:?}", plan);
    }

    #[test]
    fn reads_skip_the_parity(disks in 4usize..9, blocks in 1u32..60, seed in any::<u64>()) {
        for (kind, parities) in [("raid5", 1), ("raid6", 2)] {
            let plan = plan(&layout(kind, disks as i64), Op::Read, blocks, seed);
            let counts = on_disks(plan.accesses(), Op::Read, disks);
            prop_assert_eq!(plan.phases(), 1);
            prop_assert!(parity_reads(disks, parities, blocks).contains(&counts), "{:?}", plan);
        }
    }

    /// However a write is cut into phases: each stripe that it touches is written on as many disks
    /// as it has blocks there, and on those of the parity; what is read ahead and what is written
    /// together determine the parity.
    #[test]
    fn writes_keep_the_parity(
        disks in 4usize..9,
        blocks in 1u32..60,
        seed in any::<u64>(),
        start in prop::sample::select(vec!["first-disk", "after-parity"]),
    ) {
        for (kind, parities) in [("raid5", 1), ("raid6", 2)] {
            let settings = [
                ("disks", Value::Int(disks as i64)),
                ("write_start", Value::Text(start.to_owned())),
            ];
            let plan = plan(&variant(kind, &settings), Op::Write, blocks, seed);
            let data = disks - parities;
            let (full, over) = (blocks as usize / data, blocks as usize % data);
            let first = plan.phase(0);
            let stripes: Vec<u32> = on_disks(first, Op::Write, disks);
            prop_assert!(stripes.iter().all(|&blocks| blocks as usize == full));
            prop_assert_eq!(plan.phases(), 1 + usize::from(over > 0));
            if over == 0 {
                prop_assert!(first.iter().all(|access| !access.gate && access.counts));
                continue;
            }
            let second = on_disks(plan.phase(1), Op::Write, disks);
            prop_assert_eq!(second.iter().sum::<u32>() as usize, over + parities);
            prop_assert!(second.iter().all(|&blocks| blocks <= 1));
            let ahead = on_disks(first, Op::Read, disks);
            let gates = first.iter().filter(|access| access.gate);
            prop_assert_eq!(gates.count() as u32, ahead.iter().sum::<u32>());
            let same = (0..disks).all(|disk| ahead[disk] == second[disk]);
            let others = (0..disks).all(|disk| ahead[disk] + second[disk] == 1);
            // Old data and parity, or all the other blocks; and never the more of the two.
            let modify = over + parities <= data - over;
            prop_assert!(if modify { same } else { others }, "{:?}", plan);
        }
    }

    /// With a disk failed nothing goes there, and what is left determines every block asked for.
    #[test]
    fn a_failed_disk_is_left_out(
        kind in prop::sample::select(vec!["raid1", "raid01", "raid10", "raid5", "raid6"]),
        half in 2usize..5,
        failed in any::<prop::sample::Index>(),
        blocks in 1u32..40,
        op in op(),
        seed in any::<u64>(),
    ) {
        let disks = if kind == "raid1" { 2 } else { 2 * half };
        let failed = failed.index(disks);
        let mut settings = vec![("failed", Value::Int(failed as i64))];
        if kind != "raid1" {
            settings.push(("disks", Value::Int(disks as i64)));
        }
        let plan = plan(&variant(kind, &settings), op, blocks, seed);
        prop_assert!(plan.accesses().iter().all(|access| usize::from(access.disk) != failed));
        let total: u32 = plan.accesses().iter().map(|access| access.blocks).sum();
        match kind {
            "raid1" | "raid01" => prop_assert_eq!(total, blocks),
            "raid10" if op == Op::Read => prop_assert_eq!(total, blocks),
            "raid10" => prop_assert!((blocks..=2 * blocks).contains(&total)),
            _ if op == Op::Read => {
                // A lost block costs the rest of its stripe: whole stripes at most.
                let data = disks - if kind == "raid5" { 1 } else { 2 };
                let stripes = (blocks as usize).div_ceil(data) + 1;
                prop_assert!((blocks as usize).saturating_sub(stripes) <= total as usize);
                prop_assert!(total as usize <= stripes * data);
            }
            _ => prop_assert!(plan.phases() <= 2),
        }
    }
}

/// (disks, blocks): full stripes, blocks read ahead, blocks written in the second phase, and
/// whether that is read-modify-write. From the text of section 3.3, case by case.
const RAID5_WRITES: [(i64, u32, u32, usize, usize, bool); 22] = [
    // n - 1 = 2: one block is not below 2/2, so reconstruct: read the other, write it and parity.
    (3, 1, 0, 1, 2, false),
    (3, 2, 1, 0, 0, false),
    (3, 3, 1, 1, 2, false),
    (3, 4, 2, 0, 0, false),
    // n - 1 = 3: one block is below 3/2, two are not.
    (4, 1, 0, 2, 2, true),
    (4, 2, 0, 1, 3, false),
    (4, 3, 1, 0, 0, false),
    (4, 4, 1, 2, 2, true),
    (4, 5, 1, 1, 3, false),
    (4, 6, 2, 0, 0, false),
    (4, 7, 2, 2, 2, true),
    (4, 10, 3, 2, 2, true),
    // n - 1 = 4: one block is below 4/2, two and three are not.
    (5, 1, 0, 2, 2, true),
    (5, 2, 0, 2, 3, false),
    (5, 3, 0, 1, 4, false),
    (5, 4, 1, 0, 0, false),
    (5, 5, 1, 2, 2, true),
    // n - 1 = 5: one and two blocks are below 5/2.
    (6, 1, 0, 2, 2, true),
    (6, 2, 0, 3, 3, true),
    (6, 3, 0, 2, 4, false),
    (6, 4, 0, 1, 5, false),
    (6, 5, 1, 0, 0, false),
];

#[test]
fn small_writes_of_raid_5_are_those_of_the_text() {
    for (disks, blocks, full, ahead, second, modify) in RAID5_WRITES {
        for seed in 0..20 {
            let plan = plan(&layout("raid5", disks), Op::Write, blocks, seed);
            let first = plan.phase(0);
            let stripes = first.iter().filter(|access| access.op == Op::Write);
            assert!(stripes.clone().all(|access| access.blocks == full && !access.gate));
            assert_eq!(stripes.count(), if full > 0 { disks as usize } else { 0 });
            let reads = first.iter().filter(|access| access.op == Op::Read);
            assert!(reads.clone().all(|access| access.blocks == 1 && access.gate));
            let way = if full > 0 { Approach::FollowOn } else { Approach::Random };
            assert!(reads.clone().all(|access| access.approach == way));
            assert_eq!(reads.count(), ahead, "{disks} disks, {blocks} blocks");
            if ahead == 0 {
                assert_eq!(plan.phases(), 1);
                continue;
            }
            assert_eq!(plan.phase(1).len(), second, "{disks} disks, {blocks} blocks");
            let way = if modify { Approach::Rewrite } else { Approach::Reconstruct };
            assert!(
                plan.phase(1).iter().all(|access| access.approach == way && access.blocks == 1)
            );
        }
    }
}

/// "We assume requests are aligned to start striping from the first disk in the array."
#[test]
fn writes_start_at_the_first_disk_that_is_not_parity() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let plan = plan(&paper_raid5(4), Op::Write, 1, seed);
        seen.insert(plan.phase(1).iter().map(|access| access.disk).collect::<Vec<_>>());
    }
    let expected = [vec![0, 1], vec![0, 2], vec![0, 3], vec![1, 0]];
    assert_eq!(seen, BTreeSet::from(expected));
}
