//! Clusters of similar links, of which one is simulated for all.

use super::crossings::Crossings;
use crate::case::Ready;
use crate::topology::LinkSpec;

/// Quantiles at which sizes and gaps are compared.
const QUANTILES: usize = 100;

/// The features by which links are compared.
#[derive(Debug)]
struct Features {
    /// Whether it leaves a host, and whether it leads to one: only then links are compared at all,
    /// and where they are as fast and as long.
    ends: (bool, bool),
    spec: LinkSpec,
    /// Bytes on the wire of all its flows.
    bytes: f64,
    sizes: Vec<f64>,
    /// Times between arrivals, in seconds.
    gaps: Vec<f64>,
}

/// For each link the one that is simulated for it: itself, or the first earlier one whose load,
/// sizes and gaps are within `share` of those of the link. Greedy, in order of their numbers, as in the
/// paper.
pub(super) fn choose(ready: &Ready, crossings: &Crossings, share: Option<f64>) -> Vec<u32> {
    let mut simulated: Vec<u32> = (0..ready.network.links.len() as u32).collect();
    let Some(share) = share else { return simulated };
    let mut chosen: Vec<(u32, Features)> = Vec::new();
    for link in crossings.used() {
        let features = Features::of(ready, crossings, link);
        match chosen.iter().find(|(_, other)| other.are_like(&features, share)) {
            Some((other, _)) => simulated[link as usize] = *other,
            None => chosen.push((link, features)),
        }
    }
    simulated
}

impl Features {
    fn of(ready: &Ready, crossings: &Crossings, link: u32) -> Features {
        let hosts = ready.network.hosts as u32;
        let port = &ready.network.links[link as usize];
        let flows = crossings.of(link).iter().map(|&flow| &ready.jobs.flows[flow as usize]);
        let sizes = flows.clone().map(|flow| flow.bytes as f64).collect();
        let times: Vec<f64> = flows.clone().map(|flow| flow.arrived.seconds()).collect();
        Features {
            ends: (port.from < hosts, port.to < hosts),
            spec: port.spec,
            bytes: flows.map(|flow| ready.packets.on_the_wire(flow.bytes) as f64).sum(),
            sizes: quantiles(sizes),
            gaps: quantiles(times.windows(2).map(|pair| pair[1] - pair[0]).collect()),
        }
    }

    fn are_like(&self, other: &Features, share: f64) -> bool {
        (self.ends, self.spec) == (other.ends, other.spec)
            && (self.bytes - other.bytes).abs() <= share * self.bytes
            && off(&self.sizes, &other.sizes) <= share
            && off(&self.gaps, &other.gaps) <= share
    }
}

/// Values in order, at evenly spaced ranks; none where there are none.
fn quantiles(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    let number = values.len();
    let at = |rank: usize| values[(2 * rank + 1) * number / (2 * QUANTILES)];
    (0..if number == 0 { 0 } else { QUANTILES }).map(at).collect()
}

/// How far `others` are off, as a share of all of `values`.
fn off(values: &[f64], others: &[f64]) -> f64 {
    if values.len() != others.len() {
        return f64::INFINITY;
    }
    let all: f64 = values.iter().sum();
    let off: f64 = values.iter().zip(others).map(|(value, other)| (value - other).abs()).sum();
    if off == 0.0 { 0.0 } else { off / all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_as_far_apart_as_their_quantiles() {
        let one = quantiles((1..=1000).rev().map(f64::from).collect());
        assert_eq!((one.len(), one[0], one[99]), (QUANTILES, 6.0, 996.0));
        let other: Vec<f64> = one.iter().map(|value| value * 1.1).collect();
        assert!((off(&one, &other) - 0.1).abs() < 1e-12);
        assert_eq!(off(&one, &one), 0.0);
        assert_eq!(off(&[], &[]), 0.0);
        assert_eq!(off(&one, &[]), f64::INFINITY);
        assert_eq!(quantiles(vec![7.0]), vec![7.0; QUANTILES]);
    }
}
