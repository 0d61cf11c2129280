//! Shares between classes: start-time fair queueing.

use super::Policy;
use sojourn_core::parameters;
use sojourn_core::parameters::{Check, Refusal};
use std::num::NonZeroU8;

parameters! {
    /// Classes that wait share the link by their weights, in bytes, and what one does not use goes
    /// to the others: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996), which goes by
    /// when packets begin and so need not know which packet a class would send. While two classes
    /// have packets waiting, what they have sent, each over its weight, differs by a packet of each
    /// over its weight at most. Unlike there, the virtual time does not jump when a port falls idle:
    /// the last packet of a class counts against it afterwards.
    pub struct Weighted: "weighted" {
        /// Weight of each class. If empty, all weights are equal.
        pub weights: Vec<NonZeroU8> = Vec::new(),
    }
}

impl Check for Weighted {}

impl Weighted {
    /// Refuses weights that are not one for each of so many classes.
    pub(super) fn check_count(&self, classes: usize) -> Result<(), Refusal> {
        if self.weights.is_empty() || self.weights.len() == classes {
            return Ok(());
        }
        let expected = format!("a list of weights, one for each of the {classes} queues inside");
        Err(Refusal::of(&self.weights, expected).under("weights").under("between"))
    }
}

/// Virtual times, in bytes at a weight of 1, times a number that makes all of them whole.
#[derive(Debug)]
pub(super) struct ByWeight {
    /// When the packet sent last began.
    now: u128,
    classes: Vec<Share>,
}

/// What is kept of one class.
#[derive(Clone, Copy, Debug)]
struct Share {
    /// When its next packet begins: where its last one ended, or when it came.
    begins: u128,
    /// What a byte takes.
    byte: u64,
}

impl Policy for ByWeight {
    type Params = Weighted;

    fn new(weighted: &Weighted, classes: usize) -> ByWeight {
        let weight = |class: usize| weighted.weights.get(class).map_or(1, |w| w.get().into());
        let whole = (0..classes).map(weight).fold(1, least_common_multiple);
        let share = |class| Share { begins: 0, byte: whole / weight(class) };
        ByWeight { now: 0, classes: (0..classes).map(share).collect() }
    }

    #[inline]
    fn joins(&mut self, class: usize) {
        let share = &mut self.classes[class];
        share.begins = share.begins.max(self.now);
    }

    #[inline]
    fn next(&self, waiting: u8) -> usize {
        let there = (0..self.classes.len()).filter(|class| waiting >> class & 1 == 1);
        let first = there.min_by_key(|&class| self.classes[class].begins);
        first.expect("a class in which a packet waits")
    }

    #[inline]
    fn sends(&mut self, class: usize, size: u16) {
        let share = &mut self.classes[class];
        self.now = share.begins;
        share.begins += u128::from(size) * u128::from(share.byte);
    }
}

/// At most 2^64, for eight numbers of eight bits.
fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}
