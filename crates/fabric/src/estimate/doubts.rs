//! For what an estimate's assumptions do not hold, where it is made all the same.

use super::Decomposition;
use crate::queue::Queue;
use crate::scheme::Scheme;

/// On so many flows a link has buckets of ten sizes, of the hundred flows each that are the default.
const FEW: usize = 1_000;

const LOSSES: &str = "packets are lost in drop-tail queues: one burst is lost once, and counted at \
                      each link of its path, with the time-outs that follow";
const ORDER: &str = "pFabric's queues put the flows of the whole fabric in one order: a flow that \
                     waits at one link waits at the next ones too";

impl Decomposition {
    /// What there is to say against it; nothing where there is nothing.
    pub(super) fn doubts(&self) -> Option<String> {
        let Scheme::Packets(scheme) = &self.ready.scheme else { unreachable!("it is estimable") };
        let of_queue = match scheme.queue {
            Queue::DropTail(_) => Some(LOSSES.to_owned()),
            Queue::PFabric(_) => Some(ORDER.to_owned()),
            _ => None,
        };
        let few = Some(self.flows_a_link()).filter(|&flows| flows < FEW).map(|flows| {
            format!(
                "few flows cross a link, {flows} in the middle: the delays of one are given to \
                 others of quite another size, from {FEW} on of ten sizes"
            )
        });
        let doubts: Vec<String> = of_queue.into_iter().chain(few).collect();
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }

    /// The median number of flows of the links that any crosses.
    pub(super) fn flows_a_link(&self) -> usize {
        let of = |link: u32| self.crossings.of(link).len();
        let mut flows: Vec<usize> = self.crossings.used().map(of).collect();
        flows.sort_unstable();
        flows.get(flows.len() / 2).copied().unwrap_or(0)
    }
}
