//! What number a packet carries as its priority (pFabric section 2.2): lower goes first.
//!
//! A priority is one file here: its parameters, and the number that it gives a packet.

mod basic;
mod deadline;
mod sent;

pub use basic::{Remaining, Size, Unprioritised};
pub use deadline::Deadline;
pub use sent::Sent;

use crate::flow::Flow;
use sojourn_core::{Rate, Time, choices, variants};

variants! {
    /// What a data packet's priority number says.
    pub enum Priority: "priority" => with_priority {
        Remaining(Remaining),
        Size(Size),
        Deadline(Deadline),
        Sent(Sent),
        None(Unprioritised),
    }
}

choices! {
    /// What an acknowledgement's priority number says.
    pub enum AckPriority: "priority of acknowledgements" {
        /// Before all data, as in the authors' code: ACKs carry no priority, which reads as 0.
        Highest = "highest",
        /// The number of the data packet that it acknowledges.
        Data = "data",
    }
}

/// What a sender knows when one of its data packets leaves.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// The flow that the packet belongs to.
    pub flow: &'a Flow,
    /// Bytes of the flow that are not known to have arrived.
    pub remaining: u64,
    /// Bytes of the flow that come before the packet.
    pub sent: u64,
    /// The time.
    pub now: Time,
    /// The speed of each host's link.
    pub nic: &'a [Rate],
}

/// Gives a packet its number.
trait Number {
    /// The number of the packet that leaves; lower goes first.
    fn number(&self, leaving: &Leaving<'_>) -> u64;
}

impl Priority {
    /// The number of the packet that leaves. Numbers beyond 32 bits (4.29 GB, 71 minutes) all read
    /// as the largest.
    #[inline]
    pub fn number(&self, leaving: &Leaving<'_>) -> u32 {
        let number = with_priority!(self, |priority| priority.number(leaving));
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}
