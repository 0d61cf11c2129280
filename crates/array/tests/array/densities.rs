//! The zoned disk's continuous laws against its 60 801 cylinders, one by one.

use crate::common::{Chances, mean, paper_disk};
use sojourn_array::Moments;
use sojourn_array::device::{Op, ServiceTimes};
use sojourn_core::{Stream, Streams};

const CYLINDERS: usize = 60_801;
const DRAWS: usize = 400_000;
const ROTATION: f64 = 8.33;
const OUTER: f64 = 0.005_976;
const INNER: f64 = 0.012_064;

/// Sectors up to and with each cylinder when sectors a track fall in a straight line.
fn sectors() -> Vec<f64> {
    let (most, least) = (ROTATION / OUTER, ROTATION / INNER);
    let mut sum = 0.0;
    (0..CYLINDERS)
        .map(|cylinder| {
            sum += most - (most - least) * cylinder as f64 / (CYLINDERS - 1) as f64;
            sum
        })
        .collect()
}

/// A random sector's cylinder.
fn cylinder(sectors: &[f64], stream: &mut Stream) -> usize {
    let sector = stream.uniform() * sectors[CYLINDERS - 1];
    sectors.partition_point(|&upto| upto <= sector)
}

fn seek(op: Op, distance: usize) -> f64 {
    if distance == 0 {
        return 0.0;
    }
    let (track, full): (f64, f64) = if op == Op::Read { (0.8, 17.0) } else { (1.0, 18.0) };
    let b = (full - track) / (((CYLINDERS - 1) as f64).sqrt() - 1.0);
    track - b + b * (distance as f64).sqrt()
}

fn moments(values: &[f64]) -> (f64, f64) {
    let middle = mean(values);
    (middle, mean(&values.iter().map(|value| (value - middle).powi(2)).collect::<Vec<_>>()).sqrt())
}

/// The largest distance between two empirical distribution functions.
fn distance(a: &mut [f64], b: &mut [f64]) -> f64 {
    a.sort_unstable_by(f64::total_cmp);
    b.sort_unstable_by(f64::total_cmp);
    let (mut i, mut j, mut most) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        if a[i] <= b[j] {
            i += 1
        } else {
            j += 1
        }
        most = most.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    most
}

/// Two samples of this size from one law differ by more once in a thousand times (Smirnov).
const SAME_LAW: f64 = 1.95;

fn chances(seed: u64) -> Chances {
    Chances::new(Streams::new(seed, 0).stream("test", 0))
}

/// A seek between two random sectors and the rotation behind it: mean and deviation, and the whole
/// law.
#[test]
fn positionings_are_those_between_two_random_sectors() {
    let (drive, sectors) = (paper_disk(), sectors());
    let mut drawn_by = chances(5);
    let mut stream = Streams::new(5, 1).stream("test", 0);
    for op in [Op::Read, Op::Write] {
        let mut drawn: Vec<f64> =
            (0..DRAWS).map(|_| drive.position(op, drawn_by.next()).ps() as f64 / 1e9).collect();
        let mut discrete: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let [from, to] = [0, 1].map(|_| cylinder(&sectors, &mut stream));
                seek(op, from.abs_diff(to)) + ROTATION * stream.uniform()
            })
            .collect();
        let (middle, deviation) = moments(&drawn);
        let (seek, of_seek) = if op == Op::Read { (9.299, 3.580) } else { (9.919, 3.757) };
        let known: (f64, f64) = (seek + 4.165, (of_seek * of_seek + 5.782_f64).sqrt());
        assert!((middle - known.0).abs() < 0.02, "{op:?}: mean positioning {middle}");
        assert!((deviation - known.1).abs() < 0.02, "{op:?}: deviation {deviation}");
        let apart = distance(&mut drawn, &mut discrete);
        assert!(apart < SAME_LAW * (2.0 / DRAWS as f64).sqrt(), "{op:?}: {apart}");
    }
}

/// Tables stand for the laws: over all chances alike they have the moments of the formulas.
#[test]
fn tables_have_the_moments_of_the_laws() {
    let drive = paper_disk();
    for (op, blocks) in [(Op::Read, 1), (Op::Write, 1), (Op::Read, 7)] {
        let (mut sums, mut count) = ([0.0; 4], 0.0);
        for chance in (999..u32::MAX).step_by(1999) {
            let at = [drive.position(op, chance), drive.transfer(chance, blocks)];
            let [position, transfer] = at.map(|span| span.ps() as f64);
            let values = [position, position * position, transfer, transfer * transfer];
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
            count += 1.0;
        }
        let [a, aa, b, bb] = sums.map(|sum| sum / count);
        let service = drive.moments(op, Moments::constant(blocks.into()));
        assert!(((a + b) / service.mean - 1.0).abs() < 5e-5, "{op:?}: {}", (a + b) / service.mean);
        let square = aa + 2.0 * a * b + bb;
        assert!(
            (square / service.square - 1.0).abs() < 5e-5,
            "{op:?}: {}",
            square / service.square
        );
    }
}

#[test]
fn transfers_are_those_of_random_sectors() {
    let (drive, sectors) = (paper_disk(), sectors());
    let mut drawn_by = chances(6);
    let mut stream = Streams::new(6, 1).stream("test", 0);
    let mut drawn: Vec<f64> =
        (0..DRAWS).map(|_| drive.transfer(drawn_by.next(), 1).ps() as f64 / 1e9).collect();
    let mut discrete: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let cylinder = cylinder(&sectors, &mut stream) as f64 / (CYLINDERS - 1) as f64;
            let (most, least) = (ROTATION / OUTER, ROTATION / INNER);
            256.0 * ROTATION / (most - (most - least) * cylinder)
        })
        .collect();
    let (middle, deviation) = moments(&drawn);
    assert!((middle - 2.046).abs() < 0.003, "{middle}");
    assert!((deviation - 0.413).abs() < 0.003, "{deviation}");
    assert!(drawn.iter().all(|&ms| (1.5298..=3.0884).contains(&ms)));
    let apart = distance(&mut drawn, &mut discrete);
    assert!(apart < SAME_LAW * (2.0 / DRAWS as f64).sqrt(), "{apart}");
}

#[test]
fn a_block_takes_as_long_as_the_data_sheet_says() {
    let drive = paper_disk();
    let mut chances = chances(7);
    for (op, known) in [(Op::Read, 15.51), (Op::Write, 16.13)] {
        let services: Vec<f64> = (0..DRAWS)
            .map(|_| {
                let transfer = drive.transfer(chances.next(), 1);
                (drive.position(op, chances.next()) + transfer).ps() as f64 / 1e9
            })
            .collect();
        let (middle, deviation) = moments(&services);
        assert!((middle - known).abs() < 0.02, "{op:?}: {middle}");
        if op == Op::Read {
            // 3.580² of the seek, 8.33² / 12 of the rotation, 0.413² of the transfer.
            assert!((deviation.powi(2) - 18.77).abs() < 0.15, "{deviation}");
        }
    }
    let rotations: Vec<f64> =
        (0..DRAWS).map(|_| drive.rotate(chances.next()).ps() as f64 / 1e9).collect();
    let (middle, deviation) = moments(&rotations);
    assert!((middle - 4.165).abs() < 0.01 && (deviation.powi(2) - 5.782).abs() < 0.02);
    assert_eq!(drive.rotation().ps(), 8_330_000_000);
}
