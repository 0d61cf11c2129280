//! Exponential services. A closed loop over simple queues; and the fork-join queue: single requests as a
//! Poisson process, each with an access to every one of `servers` disks. Mean sojourn times in units of the mean service;
//! `load` is the share of the time that each disk is busy, below 1.

/// The mean for two servers, exactly (Flatto and Hahn, *Two parallel queues created by arrivals
/// with two demands I*, SIAM J. Appl. Math. 44, 1984; in this form Nelson and Tantawi, *Approximate
/// analysis of fork/join synchronization in parallel queues*, IEEE Trans. Computers 37, 1988).
pub fn two_servers(load: f64) -> f64 {
    (12.0 - load) / 8.0 / (1.0 - load)
}

/// Nelson and Tantawi's scaling of [`two_servers`] to more servers: an approximation, good to about 5
/// % for the 2 to 32 servers that they give it for; none for others.
pub fn nelson_tantawi(servers: u32, load: f64) -> Option<f64> {
    let ratio = harmonic(servers) / harmonic(2);
    let mean = (ratio + 4.0 / 11.0 * (1.0 - ratio) * load) * two_servers(load);
    (2..=32).contains(&servers).then_some(mean)
}

/// Varma and Makowski's interpolation between light and heavy traffic (*Interpolation approximations
/// for symmetric fork-join queues*, Performance Evaluation 20, 1994): an approximation, exact for
/// two servers, within 3 % for eight.
pub fn varma_makowski(servers: u32, load: f64) -> f64 {
    let light = harmonic(servers);
    // Of the limit's double sum: the terms of one size of subset, alternating.
    let term = |i: u32| {
        let inner: f64 = (1..=i)
            .map(|m| choose(i, m) * factorial(m - 1) / f64::from(i).powi(m as i32 + 1))
            .sum();
        let sign = if i % 2 == 1 { 1.0 } else { -1.0 };
        choose(servers, i) * sign * inner
    };
    let heavy: f64 = (1..=servers).map(term).sum();
    (light + (heavy - light) * load) / (1.0 - load)
}

/// Bounds of the mean: queues that share their arrivals do no better than in the lower bound of Varki
/// and others, and no worse than independent queues (Baccelli, Makowski and Shwartz, *The fork-join
/// queue and related systems with synchronization constraints*, Adv. Appl. Prob. 21, 1989; the lower
/// one in the form of Varki and others).
pub fn bounds(servers: u32, load: f64) -> (f64, f64) {
    let waits: f64 = (1..=servers).map(f64::from).map(|j| load / (j * (j - load))).sum();
    (harmonic(servers) + waits, harmonic(servers) / (1.0 - load))
}

/// 1 + 1/2 + ... + 1/n.
fn harmonic(n: u32) -> f64 {
    (1..=n).map(|i| 1.0 / f64::from(i)).sum()
}

fn factorial(n: u32) -> f64 {
    (1..=n).map(f64::from).product()
}

fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

/// The mean response time of a closed loop over `disks` alike queues with one server each, where each
/// request goes to any of them and takes an exponential time of mean `service` there.
///
/// Source: Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 27,
/// 1980. An arrival sees the queues as they are in the mean with one request less.
pub fn mean_value_analysis(depth: u32, think: f64, disks: u32, service: f64) -> f64 {
    let disks = f64::from(disks);
    let (mut queue, mut response) = (0.0, service);
    for requests in 1..=depth {
        response = service * (1.0 + queue);
        let rate = f64::from(requests) / (response + think);
        // Requests at one disk, of which each has as many.
        queue = rate * response / disks;
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values, to the digits that they are known by.
    #[test]
    fn known_values() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 0.0006 * b, "{a}, known {b}");
        close(two_servers(0.5), 2.875);
        close(two_servers(0.8), 7.0);
        for (servers, load, nt, vm, low, high) in [
            (2, 0.5, 2.875, 2.875, 2.667, 3.0),
            (2, 0.8, 7.0, 7.0, 5.833, 7.5),
            (4, 0.3, 2.813, 2.831, 2.657, 2.976),
            (4, 0.5, 3.790, 3.829, 3.352, 4.167),
            (4, 0.8, 8.930, 9.066, 6.600, 10.417),
            (8, 0.5, 4.785, 4.809, 4.044, 5.436),
            (8, 0.8, 11.03, 11.08, 7.331, 13.59),
        ] {
            close(nelson_tantawi(servers, load).unwrap(), nt);
            close(varma_makowski(servers, load), vm);
            close(bounds(servers, load).0, low);
            close(bounds(servers, load).1, high);
        }
        assert_eq!(nelson_tantawi(33, 0.5), None);
    }

    #[test]
    fn nobody_waits_in_light_traffic() {
        for servers in [1, 2, 5] {
            let alone = harmonic(servers);
            assert!((varma_makowski(servers, 0.0) - alone).abs() < 1e-12);
            assert!((bounds(servers, 0.0).0 - alone).abs() < 1e-12);
            assert!((bounds(servers, 0.0).1 - alone).abs() < 1e-12);
        }
        assert!((varma_makowski(1, 0.5) - 2.0).abs() < 1e-12);
    }
}
