//! Simulated means against exact formulas. Thirty independent replications at a fixed seed give a
//! 99 % interval that has to hold the exact value and to be narrow enough to exclude a wrong one.
//!
//! Times are in units of a microsecond: a mean service of 1 is a million picoseconds.

#[path = "../common/mod.rs"]
mod common;
mod simulate;
mod srpt;

use simulate::{Class, Queue, assert_means, fork_join_mean_sojourn};
use sojourn_kernel::Frequency;
use sojourn_queueing::{
    Batches, Constant, Distribution, Empirical, Erlang, Exponential, Gaps, Hyperexponential, Order,
    Reading, Uniform,
};

/// So many arrivals a microsecond.
fn per_unit(rate: f64) -> Frequency {
    Frequency::new(rate * 1e6).expect("a positive rate")
}

/// A queue with Poisson arrivals, one server, first come first served.
fn m_g_1(arrivals: f64, service: &dyn Distribution) -> Queue<'_> {
    Queue {
        gaps: Gaps::Poisson(per_unit(arrivals)),
        batches: Batches::Single,
        classes: vec![Class { share: 1.0, service }],
        servers: 1,
        order: Order::Arrival,
    }
}

/// Pollaczek and Khinchine: the mean sojourn in M/G/1.
fn pollaczek_khinchine(arrivals: f64, service: &dyn Distribution) -> f64 {
    let load = arrivals * service.mean();
    service.mean() + arrivals * service.second_moment() / (2.0 * (1.0 - load))
}

#[test]
fn m_m_1() {
    let service = Exponential { mean: 1.0 };
    let queue = m_g_1(0.7, &service);
    queue.assert_means("M/M/1", &[1.0 / (1.0 - 0.7)], 0.015);
}

#[test]
fn m_d_1() {
    let service = Constant(1.0);
    let queue = m_g_1(0.8, &service);
    let exact = 1.0 + 0.8 / (2.0 * (1.0 - 0.8));
    queue.assert_means("M/D/1", &[exact], 0.015);
}

#[test]
fn m_g_1_by_pollaczek_and_khinchine() {
    fn check(name: &str, arrivals: f64, service: impl Distribution) {
        let queue = m_g_1(arrivals, &service);
        let exact = pollaczek_khinchine(arrivals, &service);
        queue.assert_means(name, &[exact], 0.02);
    }
    check("M/E3/1", 0.7, Erlang { phases: 3, mean: 1.0 });
    check("M/U/1", 0.7, Uniform { low: 0.5, high: 1.5 });
    let means = [0.5, 2.5];
    check("M/H2/1", 0.6, Hyperexponential { first: 0.75, means });
    let rows = [(0.0, 0.0), (0.5, 0.5), (0.5, 0.6), (1.5, 0.9), (4.0, 1.0)];
    for reading in [Reading::Linear, Reading::Step] {
        let service = Empirical::new(&rows, reading).expect("good rows");
        check(&format!("M/{reading:?}/1"), 0.6, service);
    }
}

#[test]
fn m_m_c_by_erlang() {
    let (arrivals, servers) = (2.25, 3);
    let service = Exponential { mean: 1.0 };
    let queue = Queue { servers, ..m_g_1(arrivals, &service) };
    // Erlang's C from his B by recursion; the mean wait is C / (c mu - lambda).
    let offered = arrivals * service.mean;
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (n as f64 + offered * b));
    let load = offered / servers as f64;
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    let exact = service.mean + waits / (servers as f64 / service.mean - arrivals);
    queue.assert_means("M/M/3", &[exact], 0.01);
}

#[test]
fn d_m_1() {
    let service = Exponential { mean: 1.0 };
    let gaps = Gaps::Deterministic(per_unit(0.8));
    let queue = Queue { gaps, ..m_g_1(0.8, &service) };
    // G/M/1: an arrival finds the server busy with probability s = A*(mu - mu s), the transform
    // of the gaps.
    let busy = (0..1000).fold(0.5f64, |s, _| ((s - 1.0) / 0.8).exp());
    queue.assert_means("D/M/1", &[1.0 / (1.0 - busy)], 0.015);
}

#[test]
fn geometric_bulk_arrivals() {
    let service = Exponential { mean: 1.0 };
    let batches = Batches::Geometric(3.0);
    let queue = Queue { batches, ..m_g_1(0.2, &service) };
    // M^X/M/1: L = load (1 + E[X^2] / E[X]) / (2 (1 - load)), which for geometric batches is
    // load m / (1 - load); Little does the rest.
    let load = 0.2 * 3.0;
    let exact = 3.0 / (1.0 - load);
    queue.assert_means("M^X/M/1", &[exact], 0.015);
}

#[test]
fn non_preemptive_priority_by_cobham() {
    let urgent = Exponential { mean: 0.5 };
    let normal = Constant(1.0);
    let bulk = Uniform { low: 0.0, high: 4.0 };
    let arrivals = 0.7;
    let classes = vec![
        Class { share: 0.3, service: &urgent },
        Class { share: 0.5, service: &normal },
        Class { share: 0.2, service: &bulk },
    ];
    let services = classes.iter().map(|class| class.service);
    let moments: Vec<_> = services.map(|s| (s.mean(), s.second_moment())).collect();
    let rates: Vec<f64> = classes.iter().map(|class| class.share * arrivals).collect();
    let residual: f64 =
        rates.iter().zip(&moments).map(|(rate, (_, second))| rate * second / 2.0).sum();
    let queue = Queue { classes, order: Order::Class, ..m_g_1(arrivals, &normal) };
    // The load of the classes above, and of those and this one.
    let mut above = 0.0;
    let exact: Vec<f64> = rates
        .iter()
        .zip(&moments)
        .map(|(rate, (mean, _))| {
            let down_to = above + rate * mean;
            let wait = residual / ((1.0 - above) * (1.0 - down_to));
            above = down_to;
            mean + wait
        })
        .collect();
    queue.assert_means("priority", &exact, 0.02);
}

#[test]
fn shortest_remaining_by_schrage_and_miller() {
    let arrivals = 0.8;
    let exponential = Exponential { mean: 1.0 };
    let queue = Queue { order: Order::ShortestRemaining, ..m_g_1(arrivals, &exponential) };
    let exact = srpt::mean_sojourn(arrivals, 60.0, |x| (-x).exp(), |x| 1.0 - (-x).exp());
    queue.assert_means("M/M/1/SRPT", &[exact], 0.01);

    let uniform = Uniform { low: 0.0, high: 2.0 };
    let queue = Queue { order: Order::ShortestRemaining, ..m_g_1(arrivals, &uniform) };
    let exact = srpt::mean_sojourn(arrivals, 2.0, |_| 0.5, |x| x / 2.0);
    queue.assert_means("M/U/1/SRPT", &[exact], 0.015);
}

#[test]
fn two_server_fork_join_by_flatto_and_hahn() {
    for arrivals in [0.3, 0.7] {
        let exact = (12.0 - arrivals) / 8.0 / (1.0 - arrivals);
        assert_means("fork-join", &[exact], 0.015, |streams| {
            vec![fork_join_mean_sojourn(per_unit(arrivals), 2, streams)]
        });
    }
}
