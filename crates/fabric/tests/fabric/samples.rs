//! Time series of switches' ports, against queues that are known at every moment.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_core::{Rate, Span};
use sojourn_fabric::topology::{SingleSwitch, Topology};

/// Two hosts send ten packets each to a third, from the start on. One takes 1.2 us on a wire, and a
/// wire is 1 us long.
fn two_into_one(sample: Option<Span>) -> Run {
    let rate = Rate::gbps(10);
    let topology = SingleSwitch { hosts: 3, rate, delay: Span::from_us(1), ..defaults() };
    let scheme = scheme(all_at_once(), drop_tail(1_000_000));
    let lab = Lab { sample, ..Lab::new(Topology::SingleSwitch(topology), scheme) };
    lab.run(&[flow(0, 2, 10 * FULL, 0), flow(1, 2, 10 * FULL, 0)])
}

/// The k-th pair has come 2.2 + 1.2 k us after the start, and from then on the port sends one
/// packet after the other. What happens at the moment of a look comes after it.
#[test]
fn what_waits_is_what_has_come_and_not_gone() {
    let run = two_into_one(Some(Span::from_us(3)));
    let series = &run.series;
    let (at, next) = (series.ints("at_ps"), series.ints("next"));
    let (waiting, busy) = (series.ints("waiting_bytes"), series.floats("busy"));
    let (mut before, mut seen) = (0, 0);
    for row in (0..at.len()).filter(|&row| next[row] == 2) {
        let now = at[row];
        let pairs = (now - 2_200_001).div_euclid(1_200_000) + 1;
        let (come, gone) = ((2 * pairs).clamp(0, 20), pairs.clamp(0, 20));
        assert_eq!(waiting[row], (come - gone) * 1500, "at {now} ps");
        let sending = |until: i64| until.clamp(2_200_000, 26_200_000) - 2_200_000;
        let share = (sending(now) - sending(before)) as f64 / (now - before) as f64;
        assert!((busy[row] - share).abs() < 1e-9, "at {now} ps: {} {share}", busy[row]);
        (before, seen) = (now, seen + 1);
    }
    assert!(seen >= 8, "{seen} looks");
    assert_eq!(series.ints("switch").iter().max(), Some(&0));
}

#[test]
fn who_looks_changes_nothing() {
    let (with, without) = (two_into_one(Some(Span::from_us(1))), two_into_one(None));
    assert_eq!(with.rows, without.rows);
    assert!(without.series.columns.is_empty());
}
