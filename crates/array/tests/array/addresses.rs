//! Requests with addresses: where each block lies, against plain tables of where it should.

use crate::common::variant;
use proptest::prelude::*;
use sojourn_array::device::Op;
use sojourn_array::layout::{Access, AccessPlan, Layout};
use sojourn_core::parameters::Value;
use sojourn_core::{Ahead, Streams};
use sojourn_properties::cases;
use std::collections::{BTreeMap, BTreeSet};

fn lay(layout: &Layout, op: Op, first: u64, blocks: u32, unit: u32, seed: u64) -> AccessPlan {
    let mut plan = AccessPlan::new(layout.disks());
    let mut stream = Ahead::new(Streams::new(seed, 0).stream("starts", 0));
    layout.lay_at(op, first, blocks, unit, &mut stream, &mut plan);
    plan
}

/// How often each (disk, block) is there that accesses of `op` have.
fn covered<'a>(accesses: impl Iterator<Item = &'a Access>, op: Op) -> BTreeMap<(u64, u64), u32> {
    let mut covered = BTreeMap::new();
    for access in accesses.filter(|access| access.op == op) {
        for at in access.at..access.at + u64::from(access.blocks) {
            *covered.entry((access.disk.into(), at)).or_insert(0) += 1;
        }
    }
    covered
}

/// Where block `block` lies: on each of its copies.
fn copies(kind: &str, disks: u64, unit: u64, block: u64) -> Vec<(u64, u64)> {
    let (stripe, inside) = (block / unit, block % unit);
    let on = |columns: u64| (stripe % columns, stripe / columns * unit + inside);
    match kind {
        "single" => vec![(0, block)],
        "raid0" => vec![on(disks)],
        "raid1" => vec![(0, block), (1, block)],
        "raid01" => {
            let (column, at) = on(disks / 2);
            vec![(column, at), (disks / 2 + column, at)]
        }
        _ => {
            let (pair, at) = on(disks / 2);
            vec![(2 * pair, at), (2 * pair + 1, at)]
        }
    }
}

/// What a disk has in a row.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Cell {
    Data(u64),
    Parity,
}

/// Left-symmetric rows, written down one after the other.
fn rows(disks: u64, parities: u64, count: u64) -> Vec<Vec<Cell>> {
    let mut unit = 0;
    (0..count)
        .map(|row| {
            let mut cells = vec![Cell::Parity; disks as usize];
            // Parity moves one disk to the left each row; data goes on behind it, cyclically.
            let first = (disks - 1) - row % disks;
            for place in parities..disks {
                cells[((first + place) % disks) as usize] = Cell::Data(unit);
                unit += 1;
            }
            cells
        })
        .collect()
}

#[test]
fn raid_5_rows_are_those_of_the_picture() {
    use Cell::{Data as D, Parity as P};
    let known = [
        [D(0), D(1), D(2), P],
        [D(4), D(5), P, D(3)],
        [D(8), P, D(6), D(7)],
        [P, D(9), D(10), D(11)],
    ];
    assert_eq!(rows(4, 1, 4), known);
    let raid5: Layout = variant("raid5", &[("disks", Value::Int(4))]);
    for (row, cells) in known.iter().enumerate() {
        for (disk, cell) in cells.iter().enumerate() {
            if let D(unit) = cell {
                let plan = lay(&raid5, Op::Read, *unit, 1, 1, 0);
                let access = plan.accesses()[0];
                assert_eq!((usize::from(access.disk), access.at), (disk, row as u64), "{unit}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_block_is_at_its_place_once(
        kind in prop::sample::select(vec!["single", "raid0", "raid1", "raid01", "raid10"]),
        half in 1u64..5,
        first in 0u64..500,
        blocks in 1u32..60,
        unit in 1u32..7,
        writes in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (disks, settings) = match kind {
            "single" => (1, vec![]),
            "raid1" => (2, vec![]),
            _ => (2 * half, vec![("disks", Value::Int(2 * half as i64))]),
        };
        let layout: Layout = variant(kind, &settings);
        let op = if writes { Op::Write } else { Op::Read };
        let plan = lay(&layout, op, first, blocks, unit, seed);
        let mut there = covered(plan.accesses().iter(), op);
        for block in first..first + u64::from(blocks) {
            let places = copies(kind, disks, unit.into(), block);
            let found: Vec<_> = places.iter().filter(|place| there.remove(place).is_some()).collect();
            prop_assert_eq!(found.len(), if writes { places.len() } else { 1 }, "{:?}", plan);
        }
        prop_assert!(there.is_empty(), "too much: {:?}", plan);
        let disks: BTreeSet<u16> = plan.accesses().iter().map(|access| access.disk).collect();
        prop_assert_eq!(disks.len(), plan.accesses().len(), "a disk is there twice: {:?}", plan);
    }

    /// Reads: all that is asked for and left is read once, and beside it only parity between, and
    /// for what is lost enough of its row to compute it.
    #[test]
    fn stripes_are_read(
        disks in 4u64..8,
        six in any::<bool>(),
        failed in prop::collection::btree_set(0u64..8, 0..3),
        first in 0u64..300,
        blocks in 1u32..80,
        unit in 1u32..6,
    ) {
        let Some((layout, parities, failed)) = parity_layout(disks, six, &failed) else {
            return Ok(());
        };
        let plan = lay(&layout, Op::Read, first, blocks, unit, 0);
        let there = covered(plan.accesses().iter(), Op::Read);
        prop_assert!(there.values().all(|&times| times == 1));
        prop_assert!(there.keys().all(|(disk, _)| !failed.contains(disk)));
        let table = rows(disks, parities, 400);
        for block in first..first + u64::from(blocks) {
            let (wanted, inside) = (block / u64::from(unit), block % u64::from(unit));
            let row = wanted / (disks - parities);
            let cells = &table[row as usize];
            let disk = cells.iter().position(|cell| *cell == Cell::Data(wanted)).unwrap() as u64;
            let at = row * u64::from(unit) + inside;
            let known = (0..disks).filter(|&disk| there.contains_key(&(disk, at))).count() as u64;
            match failed.contains(&disk) {
                false => prop_assert!(there.contains_key(&(disk, at)), "{block} {plan:?}"),
                true => prop_assert!(known >= disks - parities, "{block} {plan:?}"),
            }
        }
    }

    /// Writes: what is asked for and left is written once, with all that is left of its parity; and
    /// what is read first and what is written determine the parity.
    #[test]
    fn stripes_are_written(
        disks in 4u64..8,
        six in any::<bool>(),
        failed in prop::collection::btree_set(0u64..8, 0..3),
        first in 0u64..300,
        blocks in 1u32..80,
        unit in 1u32..6,
    ) {
        let Some((layout, parities, failed)) = parity_layout(disks, six, &failed) else {
            return Ok(());
        };
        let plan = lay(&layout, Op::Write, first, blocks, unit, 0);
        prop_assert!(plan.phases() <= 2);
        let written = covered(plan.accesses().iter(), Op::Write);
        let read = covered(plan.accesses().iter(), Op::Read);
        let ahead = plan.phase(0).iter().filter(|access| access.op == Op::Read);
        prop_assert!(ahead.clone().all(|access| access.gate));
        prop_assert_eq!(plan.phases() == 2, ahead.count() > 0);
        prop_assert!(written.keys().chain(read.keys()).all(|(disk, _)| !failed.contains(disk)));
        let table = rows(disks, parities, 400);
        // What is written: row, block of a unit, disks.
        let mut asked: BTreeMap<(u64, u64), BTreeSet<u64>> = BTreeMap::new();
        for block in first..first + u64::from(blocks) {
            let (wanted, inside) = (block / u64::from(unit), block % u64::from(unit));
            let row = wanted / (disks - parities);
            let cells = &table[row as usize];
            let disk = cells.iter().position(|cell| *cell == Cell::Data(wanted)).unwrap() as u64;
            asked.entry((row, inside)).or_default().insert(disk);
            let times = written.get(&(disk, row * u64::from(unit) + inside)).copied().unwrap_or(0);
            prop_assert_eq!(times, u32::from(!failed.contains(&disk)), "{} {:?}", block, plan);
        }
        for ((row, inside), targets) in asked {
            let at = row * u64::from(unit) + inside;
            let is_parity = |disk: &u64| table[row as usize][*disk as usize] == Cell::Parity;
            let left: Vec<u64> = (0..disks).filter(|disk| !failed.contains(disk)).collect();
            let checks: Vec<u64> = left.iter().copied().filter(is_parity).collect();
            let knows = |disk: &u64| read.contains_key(&(*disk, at));
            prop_assert!(checks.iter().all(|&disk| written.contains_key(&(disk, at))), "{plan:?}");
            if checks.is_empty() {
                continue;
            }
            let modify = targets.iter().chain(&checks).all(knows);
            let mut others = (0..disks).filter(|disk| !is_parity(disk) && !targets.contains(disk));
            let reconstruct = others.all(|disk| knows(&disk));
            let all = left.iter().filter(|disk| knows(disk)).count() as u64 >= disks - parities;
            prop_assert!(modify || reconstruct || all, "row {row} block {inside} {plan:?}");
        }
    }
}

/// RAID 5 or 6 with those of the failed disks that it can lose; nothing if there are too many.
fn parity_layout(
    disks: u64,
    six: bool,
    failed: &BTreeSet<u64>,
) -> Option<(Layout, u64, BTreeSet<u64>)> {
    let (kind, parities) = if six { ("raid6", 2) } else { ("raid5", 1) };
    let failed: BTreeSet<u64> = failed.iter().copied().filter(|disk| *disk < disks).collect();
    if failed.len() as u64 > parities {
        return None;
    }
    let mut settings = vec![("disks", Value::Int(disks as i64))];
    match (six, failed.first()) {
        (true, _) => {
            let list = failed.iter().map(|&disk| Value::Int(disk as i64)).collect();
            settings.push(("failed", Value::List(list)));
        }
        (false, Some(&disk)) => settings.push(("failed", Value::Int(disk as i64))),
        (false, None) => {}
    }
    Some((variant(kind, &settings), parities, failed))
}
