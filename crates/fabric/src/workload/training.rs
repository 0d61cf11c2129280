//! Data-parallel training: workers that compute, and exchange what they found around a ring.

use super::{Draw, Drawn, JobKind, MessageId, WorkloadContext};
use crate::flow::Flow;
use crate::packet::{LATEST_ARRIVAL, LONGEST_TIMER};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Bytes, Span, Streams, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Iterations of data-parallel training: each worker computes, and then all of them add up
    /// their gradients by an all-reduce around a ring (P. Patarasuk and X. Yuan, "Bandwidth optimal
    /// all-reduce algorithms for clusters of workstations", 2009). Of n workers each has the
    /// gradients in n chunks; in each of 2 (n - 1) steps it sends one to the next host, as soon as
    /// the chunk of the step before has come from the host before. A worker whose last chunk has
    /// come computes for the next iteration. Rows: `job`, one an all-reduce, and `flow`, one a
    /// chunk.
    pub struct Training: "training" {
        /// Number of iterations.
        pub iterations: NonZeroU32 = NonZeroU32::new(10).expect("above zero"),
        /// Number of hosts that work, which are the first ones; by default all hosts.
        pub workers: Option<NonZeroU32> = None,
        /// Total size of the gradients of a worker.
        pub size: Bytes = Bytes(100_000_000),
        /// Time that a worker computes in each iteration before it sends its first chunk.
        pub compute: Span = Span::from_ms(10),
        /// Time to add up a received chunk before the sum is sent on, in the first half of the
        /// steps.
        pub reduce: Span = Span::ZERO,
    }
}

impl Check for Training {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("compute", self.compute), ("reduce", self.reduce)] {
            if span > LONGEST_TIMER {
                return Err(Refusal::of(&span, format!("at most {LONGEST_TIMER}")).under(key));
            }
        }
        Ok(())
    }
}

impl Draw for Training {
    fn number(&self) -> &'static str {
        "iterations"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let (hosts, workers) = (context.graph.hosts(), self.workers(context));
        if !(2..=hosts as u64).contains(&workers) {
            let expected =
                format!("at least 2, and no more than the {hosts} hosts of the topology");
            return Err(Refusal::value(&Value::Int(workers as i64), expected).under("workers"));
        }
        if self.size.0 < workers {
            let expected = format!("at least \"{}\", a byte a chunk", Bytes(workers));
            return Err(Refusal::of(&self.size, expected).under("size"));
        }
        context.check_size("size", Bytes(self.size.0.div_ceil(workers)), 1)?;
        let iterations = u64::from(self.iterations.get());
        let adding = self.reduce.saturating_mul(workers - 1);
        if self.compute.saturating_add(adding).saturating_mul(iterations) > LATEST_ARRIVAL {
            let expected = format!("all iterations computed within {LATEST_ARRIVAL}");
            return Err(Refusal::of(&self.iterations, expected).under("iterations"));
        }
        Ok(iterations.saturating_mul(1 + workers * steps(workers)) as usize)
    }

    fn is_of_flows(&self) -> bool {
        false
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        self.count(context, streams)?;
        let workers = self.workers(context);
        let mut drawn = Drawn::default();
        let mut soonest = Time::ZERO;
        for _ in 0..self.iterations.get() {
            let job = drawn.graph.add_job(JobKind::Messages);
            for step in 0..steps(workers) {
                let delay = match step {
                    0 => self.compute,
                    step if step < workers => self.reduce,
                    _ => Span::ZERO,
                };
                soonest += delay;
                let before = (drawn.flows.len() as u64).checked_sub(workers);
                for worker in 0..workers {
                    let from_before = (worker + workers - 1) % workers;
                    let parent = before.map(|first| MessageId::at((first + from_before) as usize));
                    let chunk = (worker + steps(workers) * workers - step) % workers;
                    let bytes = self.size.0 / workers + u64::from(chunk < self.size.0 % workers);
                    let next = (worker + 1) % workers;
                    let flow = Flow::new(worker as u16, next as u16, bytes, soonest);
                    drawn.message(flow, parent.as_slice(), delay, Some(job));
                }
            }
        }
        Ok(drawn)
    }
}

impl Training {
    fn workers(&self, context: &WorkloadContext<'_>) -> u64 {
        self.workers.map_or(context.graph.hosts() as u64, |workers| workers.get().into())
    }
}

/// Steps of an all-reduce.
fn steps(workers: u64) -> u64 {
    2 * (workers - 1)
}
