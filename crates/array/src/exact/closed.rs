//! Closed loops: mean value analysis.

use crate::Moments;

/// A closed loop as formulas see it.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// How many requests are under way or thought about.
    pub depth: u32,
    /// The time to think between them, in picoseconds.
    pub think: f64,
    /// How many blocks each request has.
    pub blocks: Moments,
    /// Share of requests that read.
    pub reads: f64,
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
