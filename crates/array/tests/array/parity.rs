//! Small writes with parity on devices without a head, against exact values and against a simulation
//! that shares no code with the engine. Such devices draw a time for each access: a block that was read
//! ahead is written in a time of its own.

use crate::common::{mean, rows, sojourns, table, text};
use sojourn_core::parameters::Value;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// An array of devices of 1 ms on average with exponential times.
struct Array {
    kind: &'static str,
    disks: u64,
    /// Disk 0 has failed.
    degraded: bool,
    servers: usize,
    reads: f64,
    /// Requests a millisecond.
    rate: f64,
}

/// Requests of one block.
const REQUESTS: i64 = 500_000;

impl Array {
    /// Response times by the product, in milliseconds.
    fn product(&self, seed: u64) -> Vec<f64> {
        let mut settings = vec![("disks", Value::Int(self.disks as i64))];
        if self.degraded {
            settings.push(("failed", Value::Int(0)));
        }
        let kind = [("kind", text(self.kind))];
        let disk = [
            ("kind", text("exponential")),
            ("mean", text("1ms")),
            ("servers", Value::Int(self.servers as i64)),
        ];
        let rate = format!("{}/s", self.rate * 1e3);
        let arrivals = [("kind", text("poisson")), ("rate", text(&rate))];
        let workload = [
            ("kind", text("synthetic")),
            ("arrivals", table(&arrivals)),
            ("requests", Value::Int(REQUESTS)),
            ("blocks", Value::Int(1)),
            ("reads", Value::Float(self.reads)),
        ];
        let layout = [&kind[..], &settings].concat();
        let parts =
            [("disk", table(&disk)), ("layout", table(&layout)), ("workload", table(&workload))];
        sojourns(&rows(&parts, seed))
    }

    /// The disks of each phase of a request, drawn by `below`: parity lies anywhere.
    fn phases(&self, below: &mut impl FnMut(u64) -> u64, reads: bool) -> Vec<Vec<u64>> {
        let alive = |disk: &u64| !(self.degraded && *disk == 0);
        let checks = if self.kind == "raid6" { 2 } else { 1 };
        // Parity, which is anywhere; the block, on any other disk; the rest of the stripe.
        let start = below(self.disks);
        let stripe: Vec<u64> = (0..self.disks).map(|n| (start + n) % self.disks).collect();
        let (parity, data) = stripe.split_at(checks);
        let own = data[below(data.len() as u64) as usize];
        let others: Vec<u64> = data.iter().copied().filter(|&disk| disk != own).collect();
        let left: Vec<u64> = parity.iter().copied().filter(alive).collect();
        match (reads, alive(&own)) {
            (true, true) => vec![vec![own]],
            (true, false) => vec![[&others[..], &parity[..1]].concat()],
            (false, true) if left.is_empty() => vec![vec![own]],
            (false, true) => {
                let ahead = [&[own][..], &left].concat();
                vec![ahead.clone(), ahead]
            }
            (false, false) => vec![others, left],
        }
    }

    /// Response times by the slow simulation, in milliseconds.
    fn slow(&self, seed: u64) -> Vec<f64> {
        let mut state = seed;
        let mut uniform = move || {
            // SplitMix64 (Steele, Lea and Flood 2014).
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = state;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
        };
        let disks = self.disks as usize;
        let (mut normal, mut urgent) = (vec![VecDeque::new(); disks], vec![VecDeque::new(); disks]);
        let mut idle = vec![self.servers; disks];
        let mut jobs: Vec<(f64, Vec<Vec<u64>>, usize, usize)> = Vec::new();
        let mut times = vec![0.0; REQUESTS as usize];
        // Ends of accesses: time in picoseconds, disk, job.
        let mut ends: BinaryHeap<Reverse<(u64, usize, usize)>> = BinaryHeap::new();
        let mut arrives = 0.0;
        loop {
            let next_end = ends.peek().map(|Reverse(end)| end.0);
            let mut issue = Vec::new();
            let now;
            if jobs.len() < REQUESTS as usize && next_end.is_none_or(|at| arrives < at as f64) {
                now = arrives;
                let reads = uniform() < self.reads;
                let mut below = |n: u64| (uniform() * n as f64) as u64;
                let phases = self.phases(&mut below, reads);
                issue.extend(phases[0].iter().map(|&disk| (disk as usize, jobs.len(), false)));
                jobs.push((now, phases.clone(), 0, phases[0].len()));
                arrives += -(1.0 - uniform()).ln() / self.rate * 1e9;
            } else {
                let Some(Reverse((at, disk, job))) = ends.pop() else { break };
                now = at as f64;
                idle[disk] += 1;
                let (began, phases, phase, left) = &mut jobs[job];
                *left -= 1;
                if *left == 0 && *phase + 1 < phases.len() {
                    *phase += 1;
                    *left = phases[*phase].len();
                    issue.extend(phases[*phase].iter().map(|&disk| (disk as usize, job, true)));
                } else if *left == 0 {
                    times[job] = (now - *began) / 1e9;
                }
                issue.push((disk, usize::MAX, true));
            }
            for (disk, job, later) in issue {
                let job = match (job, later) {
                    // The server that is done takes what waits.
                    (usize::MAX, _) if idle[disk] == 0 => None,
                    (usize::MAX, _) => {
                        urgent[disk].pop_front().or_else(|| normal[disk].pop_front())
                    }
                    (job, true) if idle[disk] > 0 && urgent[disk].is_empty() => Some(job),
                    (job, false) if idle[disk] > 0 => Some(job),
                    (job, true) => {
                        urgent[disk].push_back(job);
                        None
                    }
                    (job, false) => {
                        normal[disk].push_back(job);
                        None
                    }
                };
                if let Some(job) = job {
                    idle[disk] -= 1;
                    let takes = -(1.0 - uniform()).ln() * 1e9;
                    ends.push(Reverse(((now + takes) as u64, disk, job)));
                }
            }
        }
        times
    }
}

/// Mean, 95th and 99th percentile.
fn three(mut times: Vec<f64>) -> [f64; 3] {
    let mean = mean(&times);
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[(share * times.len() as f64) as usize];
    [mean, at(0.95), at(0.99)]
}

/// Each of two phases takes the longer of two exponential times of mean 1: mean 1.5, variance 1.25.
#[test]
fn a_small_write_alone_draws_twice() {
    let array =
        Array { kind: "raid5", disks: 4, degraded: false, servers: 1, reads: 0.0, rate: 0.0005 };
    let times = array.product(7);
    let mean = mean(&times);
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / times.len() as f64;
    assert!((mean - 3.0).abs() < 0.02, "{mean}");
    assert!((variance - 2.5).abs() < 0.05, "{variance}");
    let [_, _, p99] = three(times);
    assert!((p99 - quantile_of_two_phases(0.99)).abs() < 0.08, "{p99}");
    assert!((quantile_of_two_phases(0.99) - 7.93).abs() < 0.01);
}

/// The quantile of the sum of two independent times, each the longer of two exponential ones of mean 1.
fn quantile_of_two_phases(share: f64) -> f64 {
    // The density of one is 2 exp(-t) - 2 exp(-2t), and their sum's tail by partial fractions is
    // exp(-t)(4t - 8 + ...): summed numerically here, so that no algebra can be wrong.
    let step = 1e-3;
    let within = |end: f64| (1.0 - (-end).exp()).powi(2);
    let density = |at: f64| 2.0 * (-at).exp() - 2.0 * (-2.0 * at).exp();
    let of_sum = |end: f64| {
        let places = (0..(end / step) as usize).map(|n| (n as f64 + 0.5) * step);
        places.map(|at| density(at) * within(end - at) * step).sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 50.0);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if of_sum(middle) < share { low = middle } else { high = middle }
    }
    low
}

/// Loaded to 0.6, whole and degraded, one server a device and several.
#[test]
fn loaded_arrays_with_parity_are_as_a_slow_simulation_has_them() {
    let array = |kind, disks, servers, reads, degraded, accesses: f64| {
        let disks_left = (disks - u64::from(degraded)) as f64;
        let rate = 0.6 * disks_left * servers as f64 / accesses;
        Array { kind, disks, degraded, servers, reads, rate }
    };
    let cases = [
        array("raid5", 4, 1, 0.5, false, 2.5),
        array("raid5", 4, 4, 0.5, false, 2.5),
        array("raid6", 8, 2, 0.7, false, 2.5),
        array("raid5", 8, 1, 0.6, true, 2.65),
    ];
    for (seed, case) in (1..).zip(cases) {
        let (product, slow) = (three(case.product(seed)), three(case.slow(seed)));
        let what = (case.kind, case.disks, case.servers, case.degraded);
        println!("{what:?}: {product:.3?}, slowly {slow:.3?}");
        for ((own, other), within) in product.into_iter().zip(slow).zip([0.02, 0.025, 0.03]) {
            assert!((own / other - 1.0).abs() < within, "{what:?}: {product:?}, {slow:?}");
        }
    }
}
