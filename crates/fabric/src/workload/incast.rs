//! Many hosts answer one at the same moment.

use super::permutation::at_least_one_byte;
use super::{Draw, Drawn, WorkloadContext};
use crate::flow::Flow;
use crate::packet::LATEST_ARRIVAL;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, Streams, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Rounds of synchronised answers: in each round, one host chosen at random is sent a flow by
    /// each of `fan_in` others, also chosen at random, all at once.
    pub struct Incast: "incast" {
        /// Number of hosts that answer at once.
        pub fan_in: NonZeroU32 = NonZeroU32::new(8).expect("above zero"),
        /// Size of each answer.
        pub size: Bytes = Bytes(64_000),
        /// Number of rounds.
        pub rounds: NonZeroU32 = NonZeroU32::new(100).expect("above zero"),
        /// Time from one round to the next.
        pub every: Span = Span::from_ms(1),
    }
}

impl Check for Incast {
    fn check(&self) -> Result<(), Refusal> {
        at_least_one_byte(self.size)
    }
}

impl Draw for Incast {
    fn number(&self) -> &'static str {
        "rounds"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let (hosts, fan_in) = (context.graph.hosts(), self.fan_in.get() as usize);
        if fan_in >= hosts {
            let expected = format!("fewer than the {hosts} hosts of the topology");
            return Err(Refusal::of(&self.fan_in, expected).under("fan_in"));
        }
        context.check_size("size", self.size, 1)?;
        let last = self.every.saturating_mul(self.rounds.get().into());
        if last > LATEST_ARRIVAL {
            let expected = format!("all rounds within {LATEST_ARRIVAL}");
            return Err(Refusal::of(&self.every, expected).under("every"));
        }
        Ok(fan_in * self.rounds.get() as usize)
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        let count = self.count(context, streams)?;
        let (hosts, fan_in) = (context.graph.hosts(), self.fan_in.get() as usize);
        let mut stream = streams.stream("pairs", 0);
        let mut order: Vec<u16> = (0..hosts).map(|host| host as u16).collect();
        let mut flows = Vec::with_capacity(count);
        for round in 0..self.rounds.get() {
            let arrived = Time::ZERO + self.every * round.into();
            for place in 0..=fan_in {
                let other = place + stream.below((hosts - place) as u64) as usize;
                order.swap(place, other);
            }
            let answers = order[1..=fan_in]
                .iter()
                .map(|&from| Flow::new(from, order[0], self.size.0, arrived));
            flows.extend(answers);
        }
        Ok(flows.into())
    }
}
