//! Scheduling: the order in which a disk serves what waits for it, and what it gains by looking
//! ahead. Each order is one file.
//!
//! An order chooses among accesses of first phases, or of later ones while there are any: these go
//! before all others, without interrupting (paper section 3.3).

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

use crate::device::Op;
use crate::device::hdd::{Arm, Geometry, Spot};
use sojourn_core::{Time, variants};

variants! {
    /// Order in which each disk serves accesses.
    pub enum Scheduling: "scheduling" => with_scheduling {
        Fcfs(Fcfs),
        Rpo(Rpo),
        Sstf(Sstf),
        Look(Look),
        Satf(Satf),
    }
}

/// The view that an order has of a disk: its geometry, its arm, the time.
#[derive(Clone, Copy, Debug)]
pub struct ArmView<'a> {
    /// Where sectors are.
    pub geometry: &'a Geometry,
    /// Where the arm is.
    pub arm: &'a Arm,
    /// The time.
    pub now: Time,
}

/// An order of service.
trait Order {
    /// Whether the order needs to know where arms are, or needs that this is not simulated; none if
    /// it does not matter.
    const NEEDS_ARMS: Option<bool>;

    /// The number of positionings that an access that starts chooses from while `waiting` others
    /// wait.
    fn choices(&self, _waiting: usize) -> usize {
        1
    }

    /// The index of the access that is served next, of those that wait in order of arrival.
    fn choose(&self, _disk: ArmView<'_>, _waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        0
    }
}

impl Scheduling {
    /// Whether accesses are served first come, first served.
    #[inline]
    pub fn is_in_order(&self) -> bool {
        matches!(self, Scheduling::Fcfs(_))
    }

    /// Whether the order can be used where arms are simulated (`arms_known`), or where they are not.
    pub fn fits(&self, arms_known: bool) -> bool {
        fn needs<O: Order>(_: &O) -> Option<bool> {
            O::NEEDS_ARMS
        }
        with_scheduling!(self, |order| needs(order)).is_none_or(|needed| needed == arms_known)
    }

    /// The number of positionings that an access that starts chooses from while `waiting` others
    /// wait.
    #[inline]
    pub fn choices(&self, waiting: usize) -> usize {
        with_scheduling!(self, |order| order.choices(waiting))
    }

    /// The index of the access that is served next, of those that wait in order of arrival.
    #[inline]
    pub fn choose(&self, view: ArmView<'_>, waiting: impl Iterator<Item = (Op, Spot)>) -> usize {
        with_scheduling!(self, |order| order.choose(view, waiting))
    }
}

/// The index of the first of the least keys.
fn least<K: Ord>(keys: impl Iterator<Item = K>) -> usize {
    keys.enumerate()
        .min_by(|a, b| a.1.cmp(&b.1))
        .expect("an order chooses among at least one access")
        .0
}
