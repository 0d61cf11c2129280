//! Requests drawn at random.

use super::arrivals::{Arrivals, Process};
use super::counts::{Law, Size};
use super::{Kind, Numbers, Ready, Request, Stage};
use crate::analysis::Bulks;
use crate::disk::Op;
use sojourn_kernel::parameters::{Check, Refusal, Setting, Value};
use sojourn_kernel::{Span, Stream, Streams, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Requests to random places, drawn from laws. The array is empty at first; the first requests
    /// have no rows, those after them do, and all of these are completed.
    pub struct Synthetic: "synthetic" {
        /// How many requests have rows.
        pub requests: NonZeroU32 = NonZeroU32::new(100_000).expect("some"),
        /// How many requests come before them.
        pub warmup: u32 = 5_000,
        /// When they arrive.
        pub arrivals: Arrivals,
        /// How many blocks each has.
        pub blocks: Size,
        /// Share of them that read; the others write.
        pub reads: f64 = 1.0,
    }
}

impl Check for Synthetic {
    fn check(&self) -> Result<(), Refusal> {
        if !(0.0..=1.0).contains(&self.reads) {
            let given = Value::Float(self.reads);
            return Err(Refusal::value(&given, "a share from 0 to 1").under("reads"));
        }
        Ok(())
    }
}

/// Runs end long before time does.
const LONGEST: Span = Span::from_s(60 * 24 * 3600);

impl Kind for Synthetic {
    fn ready(&self, stage: &Stage<'_>) -> Result<Ready, Refusal> {
        let blocks = self.blocks.law(stage).map_err(|refusal| refusal.under("blocks"))?;
        let (warmup, requests) = (self.warmup, self.requests.get());
        let all = f64::from(warmup) + f64::from(requests);
        if Span::from_seconds(all / self.arrivals.requests_per_second()) > LONGEST {
            let given = self.requests.write().expect("a number");
            let expected = "requests that arrive within 60 days";
            return Err(Refusal::value(&given, expected).under("requests"));
        }
        Ok(Ready {
            numbers: Numbers { warmup, requests },
            ops: [self.reads > 0.0, self.reads < 1.0],
            source: Source { process: self.arrivals.process(), blocks, reads: self.reads },
        })
    }

    fn files(&mut self) -> Vec<&mut String> {
        self.blocks.file().into_iter().collect()
    }
}

/// The laws, ready to be drawn from.
#[derive(Clone, Debug)]
pub(super) struct Source {
    process: Process,
    blocks: Law,
    reads: f64,
}

/// Requests without end.
struct Requests {
    source: Source,
    now: Time,
    /// How many of the present bulk are still to come.
    left: u32,
    arrivals: Stream,
    requests: Stream,
}

impl Source {
    /// The process, where it is Poisson and all laws are known.
    pub(super) fn bulks(&self) -> Option<Bulks> {
        let Process::Poisson { gap, batch } = &self.process else { return None };
        let blocks = self.blocks.moments().filter(|_| self.blocks.is_positive())?;
        let rate = 1e-12 / gap.mean;
        Some(Bulks { rate, batch: batch.moments()?, blocks, reads: self.reads })
    }

    pub(super) fn requests(&self, streams: Streams) -> impl Iterator<Item = Request> + use<> {
        Requests {
            source: self.clone(),
            now: Time::ZERO,
            left: 0,
            arrivals: streams.stream("arrivals", 0),
            requests: streams.stream("requests", 0),
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        loop {
            while self.left == 0 {
                let (gap, batch) = self.source.process.next(&mut self.arrivals);
                self.now += gap;
                self.left = batch;
            }
            self.left -= 1;
            let reads = self.source.reads;
            let op = match reads >= 1.0 || reads > 0.0 && self.requests.uniform() < reads {
                true => Op::Read,
                false => Op::Write,
            };
            let blocks = self.source.blocks.draw(&mut self.requests);
            if blocks > 0 {
                return Some(Request { arrived: self.now, op, blocks });
            }
        }
    }
}
