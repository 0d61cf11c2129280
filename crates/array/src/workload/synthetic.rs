//! Requests drawn at random, of one tenant.

use super::arrivals::{Arrivals, Closed, Process};
use super::counts::{Law, Size};
use super::places::{self, Addresses, Places};
use super::{Kind, Numbers, Part, Ready, Request, Source, WorkloadContext};
use crate::device::Op;
use crate::exact::{Bulks, Loop, Offered};
use sojourn_core::parameters::{Check, Refusal, Setting, Value, defaults};
use sojourn_core::{Span, Stream, Streams, Time, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Requests drawn from laws. The array is empty at first; the first requests have no rows, those
    /// after them do, and all of these are completed.
    pub struct Synthetic: "synthetic" {
        /// Number of requests with rows.
        pub requests: NonZeroU32 = NonZeroU32::new(100_000).expect("100,000 is not zero"),
        /// Number of requests before them, which have no rows.
        pub warmup: u32 = 5_000,
        /// When requests arrive.
        pub arrivals: Arrivals,
        /// Number of blocks per request.
        pub blocks: Size,
        /// Share of requests that read; the others write.
        pub reads: f64 [0.0..=1.0] = 1.0,
        /// Addresses of the requests.
        pub places: Places = Places::Uniform(defaults::<places::Uniform>()),
    }
}

impl Check for Synthetic {}

/// The longest time in which all requests may arrive on average, well below
/// [`LATEST`](super::LATEST).
const LONGEST: Span = Span::from_s(60 * 24 * 3600);

impl Kind for Synthetic {
    fn ready(&self, context: &WorkloadContext) -> Result<Ready, Refusal> {
        let blocks = self.blocks.law(context).map_err(|refusal| refusal.under("blocks"))?;
        let (warmup, requests) = (self.warmup, self.requests.get());
        let all = f64::from(warmup) + f64::from(requests);
        let rate = self.arrivals.requests_per_second();
        if rate.is_some_and(|rate| Span::from_seconds(all / rate) > LONGEST) {
            let expected = "requests that arrive within 60 days";
            return Err(Refusal::of(&self.requests, expected).under("requests"));
        }
        let Synthetic { arrivals, reads, places, .. } = self;
        let laws = Laws::new(arrivals, blocks, *reads, places, context)
            .map_err(|expected| Refusal::value(&self.blocks.write().expect("a size"), expected))
            .map_err(|refusal| refusal.under("blocks"))?;
        Ok(Ready {
            numbers: Numbers { warmup, requests },
            ops: laws.ops(),
            largest: laws.largest(),
            notes: depth_of([&laws].into_iter()),
            source: match self.arrivals.closed() {
                Some(_) => Source::Tenants([("".into(), laws)].into()),
                None => Source::Drawn(laws),
            },
        })
    }

    fn has_addresses(&self) -> bool {
        self.places.have_addresses()
    }

    fn is_uniform(&self) -> bool {
        self.places.are_uniform()
    }

    fn parts(&self) -> Vec<Part<'_>> {
        let Synthetic { arrivals, reads, places, .. } = self;
        vec![Part { place: None, arrivals, reads: *reads, places }]
    }
}

/// The laws, ready to be drawn from.
#[derive(Clone, Debug)]
pub(super) struct Laws {
    arrivals: Arrivals,
    blocks: Law,
    reads: f64,
    /// Where requests go, and the number of blocks of the array; none if they have no addresses.
    places: Option<(Places, u64)>,
}

/// The total that says how many requests are under way where closed loops pace them all.
pub(crate) const CLOSED_LOOP: &str = "closed_loop_depth";

/// [`CLOSED_LOOP`], of runs that have it.
pub(super) fn depth_of<'a>(laws: impl Iterator<Item = &'a Laws>) -> Vec<(String, Value)> {
    let depths = laws.map(|laws| laws.closed().map(|closed| i64::from(closed.depth)));
    let depth: Option<i64> = depths.sum();
    depth.map(|depth| (CLOSED_LOOP.to_owned(), Value::Int(depth))).into_iter().collect()
}

/// Requests without end.
pub(super) struct Requests {
    process: Process,
    blocks: Law,
    reads: f64,
    now: Time,
    /// The number of requests of the present bulk that have not come yet.
    left: u32,
    requests: Stream,
    addresses: Option<Addresses>,
}

impl Laws {
    /// The laws of a tenant, or what was expected of its sizes.
    pub(super) fn new(
        arrivals: &Arrivals,
        blocks: Law,
        reads: f64,
        places: &Places,
        context: &WorkloadContext,
    ) -> Result<Laws, String> {
        let (arrivals, largest) = (arrivals.clone(), u64::from(blocks.largest()));
        match context.blocks {
            Some(capacity) if capacity < largest => {
                Err(format!("requests of at most {capacity} blocks, as many as the array has"))
            }
            capacity => {
                let places = capacity.map(|capacity| (places.clone(), capacity));
                Ok(Laws { arrivals, blocks, reads, places })
            }
        }
    }

    /// Whether any requests read, whether any write.
    pub(super) fn ops(&self) -> [bool; 2] {
        [self.reads > 0.0, self.reads < 1.0]
    }

    /// The number of blocks of the largest request.
    pub(super) fn largest(&self) -> u32 {
        self.blocks.largest()
    }

    /// The closed loop that paces its requests, if one does.
    pub(super) fn closed(&self) -> Option<&Closed> {
        self.arrivals.closed()
    }

    /// The process, where it is Poisson and all laws are known.
    pub(super) fn bulks(&self) -> Option<Bulks> {
        let (rate, batch) = self.arrivals.bulks()?;
        let blocks = self.blocks.moments().filter(|_| self.blocks.is_positive())?;
        let memoryless = batch.is_memoryless();
        Some(Bulks { rate, batch: batch.moments()?, memoryless, blocks, reads: self.reads })
    }

    /// The closed loop as formulas need it.
    pub(super) fn as_loop(&self) -> Option<Loop> {
        let Closed { depth, think } = self.closed()?;
        let blocks = self.blocks.moments().filter(|_| self.blocks.is_positive())?;
        Some(Loop { depth: *depth, think: think.ps() as f64, blocks, reads: self.reads })
    }

    /// The process, where its variability is known.
    pub(super) fn offered(&self) -> Option<Offered> {
        Some(Offered {
            rate: self.arrivals.requests_per_second()? / 1e12,
            dispersion: self.arrivals.dispersion()?,
            blocks: self.blocks.moments().filter(|_| self.blocks.is_positive())?,
            reads: self.reads,
        })
    }

    /// The requests of one run, of tenant number `number`.
    pub(super) fn requests(&self, streams: Streams, number: u64) -> Requests {
        let addresses = |(places, capacity): &(Places, u64)| {
            places.addresses(*capacity, streams.stream("addresses", number))
        };
        Requests {
            process: self.arrivals.process(streams, number),
            blocks: self.blocks.clone(),
            reads: self.reads,
            now: Time::ZERO,
            left: 0,
            requests: streams.stream("requests", number),
            addresses: self.places.as_ref().map(addresses),
        }
    }
}

impl Requests {
    /// Draws as many as `into` has capacity for.
    pub(super) fn draw_many(&mut self, into: &mut Vec<Request>) {
        let count = into.capacity() - into.len();
        // Of single requests that are all alike only the gaps are drawn.
        if let (Some(gaps), Law::Constant(blocks), None) =
            (self.process.gaps(), &self.blocks, &self.addresses)
            && (self.reads == 0.0 || self.reads == 1.0)
        {
            let op = if self.reads == 1.0 { Op::Read } else { Op::Write };
            let mut now = self.now;
            into.extend((0..count).map(|_| {
                now += gaps.next();
                Request { arrived: now, op, blocks: *blocks, at: None }
            }));
            self.now = now;
        } else {
            into.extend((0..count).map(|_| self.draw()));
        }
    }

    /// Draws the next one. Under a closed loop it arrives when the loop lets it.
    pub(super) fn draw(&mut self) -> Request {
        loop {
            while self.left == 0 {
                let (gap, batch) = self.process.next();
                self.now += gap;
                self.left = batch;
            }
            self.left -= 1;
            let op = match self.reads >= 1.0
                || self.reads > 0.0 && self.requests.uniform() < self.reads
            {
                true => Op::Read,
                false => Op::Write,
            };
            let blocks = self.blocks.draw(&mut self.requests);
            if blocks > 0 {
                let at = self.addresses.as_mut().map(|addresses| addresses.next(blocks));
                return Request { arrived: self.now, op, blocks, at };
            }
        }
    }
}
