//! Collectives as step functions: which message a rank sends in a step, to whom, and after what.
//!
//! [`Collective::step`] is a pure function of the rank, the channel and the number of the step, so nothing is
//! stored for messages that have not begun. An engine keeps a [`Cursor`] for each rank and channel of a collective
//! that is under way. Ranks are numbered within their group.
//!
//! An algorithm is one file here and one line in the list of [`Collective`]. Its `time` is a closed form: the time
//! from the moment at which all ranks start to the last arrival, if every rank has a full-duplex [`Port`] that
//! serves messages first in, first out.
//!
//! A size is counted as nccl-tests counts it. For all-gather, reduce-scatter and all-to-all it is the parts of all ranks
//! together, otherwise the buffer of one rank.

mod all_to_all;
mod binomial_broadcast;
mod chain_broadcast;
mod cursor;
mod double_tree_all_reduce;
mod halving_doubling_all_reduce;
mod operation;
mod ring;
mod ring_all_gather;
mod ring_all_reduce;
mod ring_reduce_scatter;
mod send_receive;
mod step;
mod tree;

pub use all_to_all::{AllToAll, SkewedBy};
pub use binomial_broadcast::BinomialBroadcast;
pub use chain_broadcast::ChainBroadcast;
pub use cursor::Cursor;
pub use double_tree_all_reduce::DoubleTreeAllReduce;
pub use halving_doubling_all_reduce::HalvingDoublingAllReduce;
pub use operation::Operation;
pub use ring::Cuts;
pub use ring_all_gather::RingAllGather;
pub use ring_all_reduce::RingAllReduce;
pub use ring_reduce_scatter::RingReduceScatter;
pub use send_receive::SendReceive;
pub use step::{Message, Need, Part, Place, Port, Shape};
pub use tree::{Links, double_tree};

use sojourn_core::{Span, variants};

/// The number of lanes of a rank and channel: a tree reduces on lane 0 and broadcasts on lane 1.
pub const LANES: u32 = 2;

variants! {
    /// The algorithm of a collective.
    pub enum Collective: "collective" => with_collective {
        RingAllReduce(RingAllReduce),
        DoubleTreeAllReduce(DoubleTreeAllReduce),
        HalvingDoublingAllReduce(HalvingDoublingAllReduce),
        RingAllGather(RingAllGather),
        RingReduceScatter(RingReduceScatter),
        ChainBroadcast(ChainBroadcast),
        BinomialBroadcast(BinomialBroadcast),
        AllToAll(AllToAll),
        SendReceive(SendReceive),
    }
}

/// An algorithm, as the variants implement it. A shape has at least one rank, and [`Steps::check_for`] accepts it.
trait Steps {
    const OPERATION: Operation;

    /// The number of channels.
    fn channels(&self) -> u32 {
        1
    }

    /// The number of counters of arrivals that a rank needs on a channel.
    fn slots(&self, _: Shape) -> u32 {
        1
    }

    /// The number of steps of a lane. Lane 1 has none unless the algorithm says so.
    fn steps(&self, shape: Shape, at: Place) -> u64;

    /// The message of a step; none if the rank sends nothing in it.
    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message>;

    /// The number of messages that a rank receives on a channel, whatever the lane of `at`.
    fn arrivals(&self, shape: Shape, at: Place) -> u64;

    /// The closed form.
    fn time(&self, shape: Shape, port: &Port) -> Span;

    /// Refuses groups that the algorithm cannot divide.
    fn check_for(&self, _ranks: u32) -> Result<(), String> {
        Ok(())
    }

    /// Whether the algorithm uses lane 1.
    fn two_lanes(&self) -> bool {
        false
    }
}

impl Collective {
    /// What the algorithm computes.
    pub fn operation(&self) -> Operation {
        fn operation<S: Steps>(_: &S) -> Operation {
            S::OPERATION
        }
        with_collective!(self, |params| operation(params))
    }

    /// The usual algorithm of an operation, with its defaults.
    pub fn usual(operation: Operation) -> Collective {
        use sojourn_core::parameters::defaults;
        match operation {
            Operation::AllReduce => Collective::RingAllReduce(defaults()),
            Operation::AllGather => Collective::RingAllGather(defaults()),
            Operation::ReduceScatter => Collective::RingReduceScatter(defaults()),
            Operation::Broadcast => Collective::ChainBroadcast(defaults()),
            Operation::AllToAll => Collective::AllToAll(defaults()),
            Operation::SendReceive => Collective::SendReceive(defaults()),
        }
    }

    /// The number of channels.
    pub fn channels(&self) -> u32 {
        with_collective!(self, |params| params.channels())
    }

    /// The number of counters of arrivals that a rank needs on a channel.
    pub fn slots(&self, shape: Shape) -> u32 {
        with_collective!(self, |params| params.slots(shape)).max(1)
    }

    /// The number of steps of a rank on a channel and lane; zero in a group of one rank.
    pub fn steps(&self, shape: Shape, at: Place) -> u64 {
        if shape.ranks < 2 || at.lane > 0 && !with_collective!(self, |params| params.two_lanes()) {
            return 0;
        }
        with_collective!(self, |params| params.steps(shape, at))
    }

    /// The message of the step `index`, from 0; none if the rank sends nothing in it. Panics or returns nonsense
    /// if the rank has fewer [`steps`](Collective::steps).
    pub fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        with_collective!(self, |params| params.step(shape, at, index))
    }

    /// The number of messages that a rank receives on a channel, on both lanes together.
    pub fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        if shape.ranks < 2 {
            return 0;
        }
        with_collective!(self, |params| params.arrivals(shape, at))
    }

    /// The closed form: from the start of all ranks to the last arrival.
    pub fn time(&self, shape: Shape, port: &Port) -> Span {
        if shape.ranks < 2 {
            return Span::ZERO;
        }
        with_collective!(self, |params| params.time(shape, port))
    }

    /// Refuses groups that the algorithm cannot divide, and says why.
    pub fn check_for(&self, ranks: u32) -> Result<(), String> {
        if ranks == 0 {
            return Err("a group has no ranks".to_owned());
        }
        with_collective!(self, |params| params.check_for(ranks))
    }
}
