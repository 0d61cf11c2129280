//! In which order a disk serves what waits for it, and what it gains by looking ahead. Each order is
//! one file.
//!
//! An order chooses among first phases, or among later ones while there are any: these go before all
//! else, without interrupting (paper section 3.3).

mod fcfs;
mod look;
mod rpo;
mod satf;
mod sstf;

pub use fcfs::Fcfs;
pub use look::Look;
pub use rpo::{Counts, Rpo};
pub use satf::Satf;
pub use sstf::Sstf;

use crate::device::{Arm, Geometry, Op, Spot};
use sojourn_core::{Time, variants};

variants! {
    /// In which order each disk serves.
    pub enum Scheduling: "scheduling" => with_scheduling {
        Fcfs(Fcfs),
        Rpo(Rpo),
        Sstf(Sstf),
        Look(Look),
        Satf(Satf),
    }
}

/// A disk whose arm is somewhere, at a time.
#[derive(Clone, Copy, Debug)]
pub struct ArmView<'a> {
    /// Where sectors are.
    pub geometry: &'a Geometry,
    /// Where the arm is.
    pub arm: &'a Arm,
    /// The time.
    pub now: Time,
}

/// An order.
trait Order {
    /// Whether it needs to know where arms are, or needs that nobody does; nothing if it is one.
    const NEEDS_ARMS: Option<bool>;

    /// How many positionings an access that starts chooses from while `waiting` others wait.
    fn choices(&self, _waiting: usize) -> usize {
        1
    }

    /// Which of those that wait, in their order of arrival, is served next.
    fn choose(&self, _disk: ArmView<'_>, _waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        0
    }
}

impl Scheduling {
    /// Whether it can be had where arms are known, or where they are not.
    pub fn fits(&self, arms_known: bool) -> bool {
        fn needs<O: Order>(_: &O) -> Option<bool> {
            O::NEEDS_ARMS
        }
        with_scheduling!(self, |order| needs(order)).is_none_or(|needed| needed == arms_known)
    }

    /// How many positionings an access that starts chooses from while `waiting` others wait.
    #[inline]
    pub fn choices(&self, waiting: usize) -> usize {
        with_scheduling!(self, |order| order.choices(waiting))
    }

    /// Which of those that wait, in their order of arrival, is served next.
    #[inline]
    pub fn choose(&self, view: ArmView<'_>, waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        with_scheduling!(self, |order| order.choose(view, waiting))
    }
}

/// The first of the least.
fn least<K: Ord>(keys: impl Iterator<Item = K>) -> usize {
    keys.enumerate().min_by(|a, b| a.1.cmp(&b.1)).expect("somebody waits").0
}
