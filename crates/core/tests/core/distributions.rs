//! The samplers have the moments they say they have, and draw the same values for ever.

use sojourn_core::{
    Constant, Distribution, Empirical, Exponential, Frequency, Gaps, Geometric, LogNormal, Reading,
    Span, Streams, Uniform,
};

const DRAWS: usize = 500_000;
/// Half the 99.9 % interval of a normal distribution, in standard deviations.
const NORMAL: f64 = 3.29;

/// The mean of `power` of the draws is its exact mean, as far as chance allows.
fn assert_moments(name: &str, distribution: &dyn Distribution) {
    let mut stream = Streams::new(1, 0).stream(name, 0);
    let draws: Vec<f64> = (0..DRAWS).map(|_| distribution.sample(&mut stream)).collect();
    let moments = [(1, distribution.mean()), (2, distribution.second_moment())];
    for (power, exact) in moments {
        let values = || draws.iter().map(|draw| draw.powi(power));
        let n = DRAWS as f64;
        let mean = values().sum::<f64>() / n;
        let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let half = NORMAL * (variance / n).sqrt();
        assert!(half <= 0.03 * exact, "{name}: moment {power}: +- {half} is too wide");
        assert!(
            (mean - exact).abs() <= half + 1e-12,
            "{name}: moment {power}: {mean}, not {exact}"
        );
    }
}

#[test]
fn moments_are_exact() {
    assert_moments("constant", &Constant(2.5));
    assert_moments("uniform", &Uniform { low: 1.0, high: 4.0 });
    assert_moments("exponential", &Exponential { mean: 3.0 });
    assert_moments("log-normal", &LogNormal { median: 2.0, spread: 0.5 });
    assert_moments("log-normal, constant", &LogNormal { median: 2.0, spread: 0.0 });
    assert_moments("geometric", &Geometric { mean: 3.0 });
    assert_moments("geometric, near 1", &Geometric { mean: 1.01 });
    assert_moments("geometric, always 1", &Geometric { mean: 1.0 });
    let rows = [(1.0, 0.2), (1.0, 0.3), (4.0, 0.3), (6.0, 0.9), (20.0, 1.0)];
    for reading in [Reading::Linear, Reading::Step] {
        let empirical = Empirical::new(&rows, reading).expect("good rows");
        assert_moments("empirical", &empirical);
    }
}

#[test]
fn geometric_draws_have_their_probabilities() {
    let geometric = Geometric { mean: 4.0 };
    let mut stream = Streams::new(1, 0).stream("geometric", 0);
    let mut counts = [0u32; 6];
    for _ in 0..DRAWS {
        let tries = geometric.sample(&mut stream);
        assert!(tries >= 1.0 && tries.fract() == 0.0);
        if let Some(count) = counts.get_mut(tries as usize) {
            *count += 1;
        }
    }
    for (tries, &count) in counts.iter().enumerate().skip(1) {
        let p = 0.25 * 0.75f64.powi(tries as i32 - 1);
        let n = DRAWS as f64;
        let half = NORMAL * (p * (1.0 - p) / n).sqrt();
        assert!((f64::from(count) / n - p).abs() <= half, "{count} times {tries}");
    }
}

/// Rows that people have published depend on these values, to the last bit.
#[test]
fn draws_are_golden() {
    let draw = |distribution: &dyn Distribution| {
        let mut stream = Streams::new(1, 0).stream("golden", 0);
        [distribution.sample(&mut stream), distribution.sample(&mut stream)]
    };
    assert_eq!(draw(&Exponential { mean: 1.0 }), [1.4428585498899968, 0.6402363272033335]);
    assert_eq!(draw(&Geometric { mean: 3.0 }), [4.0, 2.0]);
    assert_eq!(draw(&Uniform { low: 0.0, high: 3.0 }), [0.7087543678400455, 1.5815034756682826]);
}

#[test]
fn gaps_have_their_rate() {
    let rate = Frequency::new(1e6).expect("positive");
    let mut stream = Streams::new(1, 0).stream("arrivals", 0);
    assert_eq!(Gaps::Deterministic(rate).draw(&mut stream), Span::from_us(1));
    let total: Span = (0..DRAWS).map(|_| Gaps::Poisson(rate).draw(&mut stream)).sum();
    let mean = total.seconds() * 1e6 / DRAWS as f64;
    assert!((mean - 1.0).abs() <= NORMAL / (DRAWS as f64).sqrt(), "{mean}");
}

#[test]
fn many_exponential_draws_at_once_are_those_of_as_many_draws() {
    let law = Exponential { mean: 3e9 };
    let mut stream = Streams::new(8, 0).stream("many", 0);
    let mut many = stream.clone();
    let mut values = [0.0; 1000];
    law.sample_many(&mut many, &mut values);
    assert_eq!(values, std::array::from_fn(|_| law.sample(&mut stream)));
    assert_eq!(many.bits(), stream.bits());
}
