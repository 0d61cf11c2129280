//! Empirical distributions and size tables: what they promise on any table, what they refuse.

use proptest::prelude::*;
use sojourn_core::{Distribution, Empirical, Reading, SizeTable, Streams, Unit};
use sojourn_properties::cases;

fn readings() -> impl Strategy<Value = Reading> {
    prop::sample::select(vec![Reading::Linear, Reading::Step])
}

/// Rows of a table: values and probabilities that rise or stay, the last probability 1.
fn rows() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let step = prop_oneof![1 => Just(0.0), 3 => 0.01f64..3.0, 1 => 1.0f64..10_000.0];
    let weight = prop_oneof![1 => Just(0.0), 3 => 0.01f64..1.0];
    prop::collection::vec((step, weight), 1..12).prop_map(|steps| {
        let total: f64 = steps.iter().map(|step| step.1).sum();
        let (mut value, mut sum) = (0.5, 0.0);
        let mut rows: Vec<_> = steps
            .into_iter()
            .map(|(step, weight)| {
                value += step;
                sum += weight;
                (value, if total > 0.0 { f64::min(sum / total, 1.0) } else { 0.0 })
            })
            .collect();
        rows.last_mut().expect("a row").1 = 1.0;
        rows
    })
}

/// The first row that reaches `p`, looked up one by one, and the row before it.
fn quantile_oracle(rows: &[(f64, f64)], reading: Reading, p: f64) -> f64 {
    let index = rows.iter().position(|row| row.1 >= p).expect("the last is 1");
    let (value, top) = rows[index];
    match (reading, index) {
        (Reading::Step, _) | (_, 0) => value,
        (Reading::Linear, _) => {
            let (low, bottom) = rows[index - 1];
            low + (p - bottom) / (top - bottom) * (value - low)
        }
    }
}

/// The average of `f` over many probabilities spread evenly over (0, 1).
fn average(f: impl Fn(f64) -> f64) -> f64 {
    const STEPS: usize = 20_000;
    let middle = |i: usize| (i as f64 + 0.5) / STEPS as f64;
    (0..STEPS).map(|i| f(middle(i))).sum::<f64>() / STEPS as f64
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_quantile_is_the_oracle(
        rows in rows(), reading in readings(), ps in prop::collection::vec(1e-9f64..=1.0, 50)
    ) {
        let empirical = Empirical::new(&rows, reading).expect("good rows");
        for p in ps.into_iter().chain(rows.iter().map(|row| row.1).filter(|&p| p > 0.0)) {
            let oracle = quantile_oracle(&rows, reading, p);
            let quantile = empirical.quantile(p);
            prop_assert!(close(quantile, oracle, 1e-9), "{quantile}, not {oracle}, at {p}");
            prop_assert!(empirical.cdf(quantile) >= p - 1e-9);
            prop_assert!(quantile == rows[0].0 || empirical.cdf(quantile * (1.0 - 1e-6)) <= p);
        }
    }

    #[test]
    fn moments_and_shares_are_those_of_the_quantiles(rows in rows(), reading in readings()) {
        let empirical = Empirical::new(&rows, reading).expect("good rows");
        let max = empirical.max();
        let scale = max.max(1.0);
        let near = |a: f64, b: f64, scale: f64| (a - b).abs() <= 5e-4 * scale;
        let mean = average(|p| empirical.quantile(p));
        prop_assert!(near(mean, empirical.mean(), scale));
        prop_assert!(near(
            average(|p| empirical.quantile(p).ceil()), empirical.mean_of_ceiling(), scale
        ));
        prop_assert!(near(
            average(|p| empirical.quantile(p).powi(2)), empirical.second_moment(), scale * scale
        ));
        prop_assert!(near(
            average(|p| empirical.quantile(p).powi(4)), empirical.moment(4), scale.powi(4)
        ));
        prop_assert!(close(empirical.moment(1), empirical.mean(), 1e-9));
        prop_assert!(close(empirical.moment(2), empirical.second_moment(), 1e-9));
        for part in [0.0, 0.01, 0.3, 0.7, 1.0] {
            // Not on a row, where a point mass may lie and a rounding decides.
            let value = max * part + 1e-3;
            let below = |p| Some(empirical.quantile(p)).filter(|&q| q <= value).unwrap_or(0.0);
            prop_assert!(near(
                average(below), empirical.share(value) * empirical.mean(), scale
            ));
        }
        prop_assert!(close(empirical.share(max), 1.0, 1e-12));
        prop_assert!(close(empirical.cdf(max), 1.0, 1e-12));
        prop_assert_eq!(empirical.cdf(rows[0].0 - 0.1), 0.0);
    }

    #[test]
    fn drawn_sizes_are_whole_units_within_the_table(
        rows in rows(), reading in readings(), payload in 1u32..3000
    ) {
        let table = SizeTable::new(&rows, Unit::Packet(payload), reading).expect("good rows");
        let mut stream = Streams::new(1, 0).stream("sizes", 0);
        for _ in 0..200 {
            let size = table.draw(&mut stream);
            prop_assert!(size > 0 && size <= table.max());
            prop_assert_eq!(size % u64::from(payload), 0);
        }
        let largest = quantile_oracle(&rows, reading, 1.0).ceil() * f64::from(payload);
        prop_assert_eq!(table.max() as f64, largest);
    }
}

#[test]
fn the_two_readings_of_one_table() {
    let rows = [(2.0, 0.0), (4.0, 0.5), (8.0, 1.0)];
    let linear = Empirical::new(&rows, Reading::Linear).expect("good rows");
    let step = Empirical::new(&rows, Reading::Step).expect("good rows");
    assert_eq!([linear.mean(), step.mean()], [4.5, 6.0]);
    assert_eq!([linear.quantile(0.25), step.quantile(0.25)], [3.0, 4.0]);
    assert_eq!([linear.cdf(3.0), step.cdf(3.0)], [0.25, 0.0]);
    // Rounded up, the whole numbers 3 and 4 share the first half, and 5 to 8 the second.
    assert_eq!([linear.mean_of_ceiling(), step.mean_of_ceiling()], [5.0, 6.0]);
    let table = SizeTable::new(&rows, Unit::Packet(100), Reading::Linear).expect("good rows");
    assert_eq!(table.mean(), 500.0);
    assert_eq!([0.1, 0.3, 0.51, 1.0].map(|p| table.quantile(p)), [300, 400, 500, 800]);
}

#[test]
fn what_is_not_a_distribution_is_refused_at_its_row() {
    let refused = |rows: &[(f64, f64)]| {
        let bad = SizeTable::new(rows, Unit::Byte, Reading::Linear).expect_err("bad rows");
        (bad.index, bad.expected)
    };
    let not_one = "a last row whose probability is 1";
    assert_eq!(refused(&[]), (0, not_one));
    assert_eq!(refused(&[(1.0, 0.0), (2.0, 0.9)]), (1, not_one));
    let size = "a value of zero or more";
    assert_eq!(refused(&[(-1.0, 0.0), (2.0, 1.0)]), (0, size));
    assert_eq!(refused(&[(1.0, 0.0), (f64::NAN, 1.0)]), (1, size));
    assert_eq!(refused(&[(1.0, 0.0), (f64::INFINITY, 1.0)]), (1, size));
    let probability = "a probability from 0 to 1";
    assert_eq!(refused(&[(1.0, -0.1), (2.0, 1.0)]), (0, probability));
    assert_eq!(refused(&[(1.0, 0.0), (2.0, f64::NAN)]), (1, probability));
    assert_eq!(refused(&[(1.0, 0.0), (2.0, 100.0)]), (1, probability));
    let falls = "a value not below that of the row before";
    assert_eq!(refused(&[(1.0, 0.0), (3.0, 0.5), (2.0, 1.0)]), (2, falls));
    let falls = "a probability not below that of the row before";
    assert_eq!(refused(&[(1.0, 0.5), (2.0, 0.4), (3.0, 1.0)]), (1, falls));
    let nothing = "a size above zero where the probability is";
    assert_eq!(refused(&[(0.0, 0.0), (0.0, 0.1), (3.0, 1.0)]), (1, nothing));
    let large = "a size of at most 2^53 bytes";
    assert_eq!(refused(&[(0.0, 0.0), (1e16, 1.0)]), (1, large));
}
