//! What number a packet carries as its priority (pFabric section 2.2): lower goes first.

use crate::flow::Flow;
use sojourn_kernel::{Time, choices};

choices! {
    /// What a data packet's priority number says.
    pub enum Priority: "priority" {
        /// Bytes of the flow that are not yet acknowledged when the packet leaves: SRPT.
        Remaining = "remaining",
        /// Bytes of the whole flow: shortest job first.
        Size = "size",
        /// Time left until the flow's deadline when the packet leaves, in microseconds: EDF. A
        /// flow without a deadline comes last.
        Deadline = "deadline",
        /// All packets are equal.
        None = "none",
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

impl Priority {
    /// The number of a packet of `flow` that leaves `now` with `remaining` bytes unacknowledged.
    /// Numbers beyond 32 bits (4.29 GB, 71 minutes) all read as the largest.
    #[inline]
    pub(super) fn number(self, flow: &Flow, remaining: u64, now: Time) -> u32 {
        let number = match self {
            Priority::Remaining => remaining,
            Priority::Size => flow.bytes,
            Priority::Deadline if flow.deadline == Time::NEVER => u64::MAX,
            Priority::Deadline => flow.deadline.since(now).ps() / 1_000_000,
            Priority::None => 0,
        };
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}
