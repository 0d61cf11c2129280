//! The mean sojourn in M/G/1 under shortest remaining processing time (Schrage and Miller 1966).

/// By numeric integration, for sizes on 0 to `largest` with the given density and distribution
/// function. With load(x) that of the jobs no larger than x, a job of size x waits
/// `arrivals * integral of t (1 - F(t)) / (1 - load(x))^2`, and once begun stays for the integral of
/// `1 / (1 - load(t))`, both from 0 to x.
pub(crate) fn mean_sojourn(
    arrivals: f64,
    largest: f64,
    density: impl Fn(f64) -> f64,
    distribution: impl Fn(f64) -> f64,
) -> f64 {
    const STEPS: usize = 100_000;
    let step = largest / STEPS as f64;
    let [mut load, mut ahead, mut stay, mut mean] = [0.0; 4];
    // The midpoint rule: each integral up to the middle of a step is the one up to its start and
    // half the step more.
    for i in 0..STEPS {
        let x = (i as f64 + 0.5) * step;
        let load_here = arrivals * x * density(x) * step;
        let ahead_here = arrivals * x * (1.0 - distribution(x)) * step;
        let idle = 1.0 - (load + load_here / 2.0);
        let stay_here = step / idle;
        let wait = (ahead + ahead_here / 2.0) / (idle * idle);
        mean += (wait + stay + stay_here / 2.0) * density(x) * step;
        load += load_here;
        ahead += ahead_here;
        stay += stay_here;
    }
    mean
}

#[test]
fn without_load_a_job_stays_as_long_as_its_service_takes() {
    let mean = mean_sojourn(1e-9, 60.0, |x| (-x).exp(), |x| 1.0 - (-x).exp());
    assert!((mean - 1.0).abs() < 1e-6, "{mean}");
}
