//! The parameters of the queue at each disk that say how long a run has to be for a given precision.

use super::{Fork, FormulaInput, Law, Offered};
use crate::device::Op;
use sojourn_core::parameters::Value;

/// The queues of an array whose disks are alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// The share of the time that each server of a disk is busy.
    utilisation: f64,
    /// The index of dispersion of the arrivals at a disk.
    arrivals: f64,
    /// The squared coefficient of variation of services.
    services: f64,
    /// Their fourth moment over the fourth power of their mean.
    fourth: f64,
    /// The number of queues that hold different requests.
    number: f64,
}

impl Queue {
    /// The queues of a case; none where service times depend on each other or on what waits, or where
    /// disks or requests are not alike.
    pub(super) fn of(input: &FormulaInput<'_>) -> Option<Queue> {
        let Offered { rate, dispersion, blocks, reads } = input.offered?;
        let times = input.times?;
        if !input.in_order || blocks.varies() {
            return None;
        }
        // For each operation its accesses a request, and the moments of one.
        let mut parts = Vec::new();
        let mut disks = None;
        for (op, share) in [(Op::Read, reads), (Op::Write, 1.0 - reads)] {
            if share == 0.0 {
                continue;
            }
            let fork = Fork::of(input.layout, op, blocks.mean as u32).ok()?;
            let law = Law::new(times.equally_likely(op, fork.blocks));
            // In split-merge one access is served at a time: the longest.
            let (accesses, largest) = match input.split_merge {
                true => (1, fork.accesses),
                false => (fork.accesses, 1),
            };
            let on = if input.split_merge { 1 } else { fork.disks };
            if *disks.get_or_insert(on) != on {
                return None;
            }
            let moments = [1, 2, 4].map(|power| law.of_largest(largest, power));
            parts.push((share * f64::from(accesses), moments));
        }
        let disks = f64::from(disks?);
        let accesses: f64 = parts.iter().map(|(many, _)| many).sum();
        let start =
            |power: usize| parts.iter().map(|(many, m)| many / accesses * m[power]).sum::<f64>();
        let [mean, square, fourth] = [0, 1, 2].map(start);
        let there = accesses / disks;
        Some(Queue {
            utilisation: rate * there * mean / input.servers as f64,
            arrivals: 1.0 + there * (dispersion - 1.0),
            services: square / (mean * mean) - 1.0,
            fourth: fourth / mean.powi(4),
            number: 1.0 / there,
        })
    }

    /// The totals of a run that these are.
    pub(super) fn totals(&self) -> impl Iterator<Item = (String, Value)> + use<> {
        let numbers = [
            ("queue_utilisation", self.utilisation),
            ("queue_dispersion_of_arrivals", self.arrivals),
            ("queue_squared_cv_of_services", self.services),
            ("queue_fourth_moment_of_services", self.fourth),
            ("queues", self.number),
        ];
        numbers.into_iter().map(|(name, number)| (name.to_owned(), Value::Float(number)))
    }
}
