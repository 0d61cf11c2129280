//! One collective after the other, by all ranks.

use super::ranks::drawn;
use super::{Draw, Drawn, WorkloadContext};
use crate::packet::{LATEST_ARRIVAL, LONGEST_TIMER};
use crate::ranks::Server;
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Bytes, Rate, Span, Streams, parameters};
use sojourn_training::collective::{Collective, Port, RingAllReduce};
use sojourn_training::program::{Call, Execution, GraphBuilder, Groups, Op, Program, ProgramError};
use std::num::NonZeroU32;

parameters! {
    /// Collectives, one after the other: each rank computes, and then takes part in the next one. A rank is a host.
    /// Rows: `collective`, and `iteration`, one for all of them together.
    pub struct Collectives: "collective" {
        /// What the ranks do together, and how.
        pub collective: Collective = Collective::RingAllReduce(defaults::<RingAllReduce>()),
        /// The size of the buffer, as nccl-tests counts it: that of one rank, or of all ranks together for an
        /// all-gather, a reduce-scatter or an all-to-all. A small one measures latencies, a large one the network.
        pub size: Bytes = Bytes(100_000_000),
        /// How many ranks there are, on the first hosts; on all of them by default.
        pub ranks: Option<NonZeroU32> = None,
        /// How often they do it. The first one finds connections that have not begun.
        pub iterations: NonZeroU32 = NonZeroU32::new(10).expect("above zero"),
        /// How long a rank computes before each of them.
        pub compute: Span = Span::from_ms(10),
    }
}

impl Check for Collectives {
    fn check(&self) -> Result<(), Refusal> {
        if self.compute > LONGEST_TIMER {
            let expected = format!("at most {LONGEST_TIMER}");
            return Err(Refusal::of(&self.compute, expected).under("compute"));
        }
        if self.compute.saturating_mul(self.iterations.get().into()) > LATEST_ARRIVAL {
            let expected = format!("all iterations computed within {LATEST_ARRIVAL}");
            return Err(Refusal::of(&self.iterations, expected).under("iterations"));
        }
        Ok(())
    }
}

impl Draw for Collectives {
    fn number(&self) -> &'static str {
        "iterations"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let (hosts, ranks) = (context.graph.hosts(), self.ranks(context));
        if !(2..=hosts as u32).contains(&ranks) {
            let expected =
                format!("at least 2, and no more than the {hosts} hosts of the topology");
            return Err(Refusal::value(&Value::Int(ranks.into()), expected).under("ranks"));
        }
        if self.size.0 == 0 {
            return Err(Refusal::of(&self.size, "at least \"1B\"").under("size"));
        }
        context.check_size("size", self.size, 1)?;
        let fits = self.collective.check_for(ranks);
        fits.map_err(|why| {
            let expected = format!("an algorithm for {ranks} ranks: {why}");
            Refusal::of(&self.collective, expected).under("collective")
        })?;
        Ok(1 + self.iterations.get() as usize)
    }

    fn is_of_flows(&self) -> bool {
        false
    }

    fn has_ranks(&self) -> bool {
        true
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        self.count(context, streams)?;
        let ranks = self.ranks(context);
        let refused = |why: String| Refusal::of(&self.iterations, why).under("iterations");
        let program = self.program(ranks).map_err(|why| refused(why.to_string()))?;
        // Each rank is alone on its server, whose links are not used.
        let port = Port { rate: Rate::gbps(1), latency: Span::ZERO };
        let hosts = (0..ranks).map(|rank| rank as u16).collect();
        let drawn = drawn(program, hosts, Server { ranks: 1, port }, context);
        drawn.map_err(|why| refused(why.to_string()))
    }
}

impl Collectives {
    fn ranks(&self, context: &WorkloadContext<'_>) -> u32 {
        self.ranks.map_or(context.graph.hosts() as u32, NonZeroU32::get)
    }

    fn program(&self, ranks: u32) -> Result<Program, ProgramError> {
        let mut graph = GraphBuilder::new(0, ranks);
        let mut last = None;
        for tag in 0..self.iterations.get() {
            let compute = Op::Compute { stream: 0, span: self.compute };
            let computed = graph.add_after(compute, last.as_slice())?;
            last = Some(graph.add_after(Op::Collective { call: 0, tag }, &[computed])?);
        }
        let groups = Groups::strided(ranks, ranks, 1)?;
        let call = Call {
            groups: 0,
            collective: self.collective.clone(),
            bytes: self.size.0,
            execution: Execution::Messages,
            label: self.collective.operation().name().to_owned(),
        };
        let all = (0..ranks).collect();
        Program::new(ranks, vec![(graph.build()?, all)], vec![groups], vec![call])
    }
}
