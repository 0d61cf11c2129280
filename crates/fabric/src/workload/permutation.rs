//! Every host sends to one other host, and every host is sent to.

use super::{Draw, Drawn, WorkloadContext};
use crate::flow::Flow;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Stream, Streams, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// A permutation without fixed points, all flows at once: every host sends and is sent
    /// one flow. What a fabric of full bisection should carry at full speed.
    pub struct Permutation: "permutation" {
        /// Size of each flow.
        pub size: Bytes = Bytes(10_000_000),
        /// Number of simultaneous flows from each host to its partner.
        pub parallel: NonZeroU32 = NonZeroU32::MIN,
        /// Each host sends to the host this many further on, in a circle (a stride: Hedera, NSDI
        /// 2010). Without it each sends to a random host.
        pub stride: Option<NonZeroU32> = None,
    }
}

impl Check for Permutation {
    fn check(&self) -> Result<(), Refusal> {
        at_least_one_byte(self.size)
    }
}

/// Refuses empty flows.
pub(super) fn at_least_one_byte(size: Bytes) -> Result<(), Refusal> {
    if size.0 == 0 {
        return Err(Refusal::of(&size, "at least \"1B\"").under("size"));
    }
    Ok(())
}

impl Draw for Permutation {
    fn number(&self) -> &'static str {
        "parallel"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        context.check_size("size", self.size, 1)?;
        let hosts = context.graph.hosts();
        if let Some(stride) = self.stride.filter(|stride| stride.get() as usize >= hosts) {
            let expected = format!("fewer than the {hosts} hosts of the topology");
            return Err(Refusal::of(&stride, expected).under("stride"));
        }
        Ok(hosts * self.parallel.get() as usize)
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        let hosts = context.graph.hosts();
        let partners = match self.stride {
            Some(stride) => {
                (0..hosts).map(|host| ((host + stride.get() as usize) % hosts) as u16).collect()
            }
            None => partners(hosts, &mut streams.stream("pairs", 0)),
        };
        let flows = partners.into_iter().enumerate().flat_map(|(from, to)| {
            let flow = Flow::new(from as u16, to, self.size.0, Time::ZERO);
            std::iter::repeat_n(flow, self.parallel.get() as usize)
        });
        Ok(flows.collect::<Vec<_>>().into())
    }
}

/// For each host another one, all different: Sattolo's shuffle, one cycle through all hosts.
pub(super) fn partners(hosts: usize, stream: &mut Stream) -> Vec<u16> {
    let mut to: Vec<u16> = (0..hosts).map(|host| host as u16).collect();
    for last in (1..to.len()).rev() {
        to.swap(last, stream.below(last as u64) as usize);
    }
    to
}
