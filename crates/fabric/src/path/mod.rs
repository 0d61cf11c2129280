//! Which of several shortest paths a packet takes.
//!
//! A way to choose is one file here with a `Choose`; the routing of a switch is compiled once for
//! each, so a call costs nothing more than its work.

mod ecmp;
mod spray;

pub(crate) use ecmp::{Ecmp, hashed, salt, salt_of};
pub(crate) use spray::{Spray, first_turn};

use crate::packet::Packet;
use sojourn_core::choices;

choices! {
    /// How a switch chooses among several next hops.
    pub enum Balance: "balance" {
        /// Packet by packet in turn, starting at random: each input of a switch keeps its own
        /// turn (pFabric section 3, packet spraying).
        Spray = "spray",
        /// By a hash of the flow, another one in each replication: all packets of a flow that go one
        /// way take one path.
        Ecmp = "ecmp",
    }
}

/// Runs `body` with `choose` as the [`Choose`] of a `Balance`: the one place where a name becomes a
/// type.
macro_rules! with_balance {
    ($balance:expr, |$choose:ident| $body:expr) => {
        match $balance {
            $crate::path::Balance::Spray => {
                let $choose = $crate::path::Spray;
                $body
            }
            $crate::path::Balance::Ecmp => {
                let $choose = $crate::path::Ecmp;
                $body
            }
        }
    };
}
pub(crate) use with_balance;

/// A way to choose a next hop.
pub(crate) trait Choose: Copy {
    /// Which of `ways` next hops a packet takes; 0 when there is no choice.
    fn choose(self, input: Input<'_>, packet: &Packet, ways: u32) -> u32;
}

/// The input of a switch by which a packet comes.
pub(crate) struct Input<'a> {
    /// The next hop whose turn it is at this input; moves on when it is used.
    pub(crate) turn: &'a mut u8,
    /// Start value of the switch's hashes, see [`salt_of`].
    pub(crate) salt: u64,
}
