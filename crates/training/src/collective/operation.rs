//! What a collective does, whatever its algorithm.

use sojourn_core::choices;

choices! {
    /// What a collective does.
    pub enum Operation: "collective operation" {
        /// Every rank ends with the sum of all buffers.
        AllReduce = "all-reduce",
        /// Every rank ends with the parts of all ranks.
        AllGather = "all-gather",
        /// Every rank ends with its part of the sum of all buffers.
        ReduceScatter = "reduce-scatter",
        /// Every rank ends with the buffer of one rank.
        Broadcast = "broadcast",
        /// Every rank sends a different part to every rank.
        AllToAll = "all-to-all",
        /// Every rank sends its buffer to one rank.
        SendReceive = "send-receive",
    }
}

impl Operation {
    /// The bus bandwidth of an operation of `ranks` ranks divided by its size per time, as nccl-tests defines it
    /// (`doc/PERFORMANCE.md`). The size is the buffer of a rank; for all-gather, reduce-scatter and all-to-all
    /// it is all parts together.
    ///
    /// ```
    /// use sojourn_training::collective::Operation;
    ///
    /// assert_eq!(Operation::AllReduce.bus_factor(8), 1.75);
    /// assert_eq!(Operation::AllGather.bus_factor(8), 0.875);
    /// assert_eq!(Operation::Broadcast.bus_factor(8), 1.0);
    /// ```
    pub fn bus_factor(self, ranks: u32) -> f64 {
        let share = f64::from(ranks.saturating_sub(1)) / f64::from(ranks.max(1));
        match self {
            Operation::AllReduce => 2.0 * share,
            Operation::AllGather | Operation::ReduceScatter | Operation::AllToAll => share,
            Operation::Broadcast | Operation::SendReceive => 1.0,
        }
    }
}
