//! Workloads: which requests arrive when.

mod arrivals;
mod counts;
mod places;
mod synthetic;
mod tenants;
mod trace;

pub use arrivals::{Arrivals, Closed, Mmpp, Poisson, RateCounts};
pub use counts::{Batch, BatchLaw, Geometric, Least, Size, SizeLaw, Table};
pub use places::{Anywhere, Hot, Near, Places, Sequential, Uniform};
pub(crate) use synthetic::CLOSED_LOOP;
pub use synthetic::Synthetic;
pub use tenants::{Clients, Tenant, Tenants};
pub use trace::{
    Alibaba, Beyond, Blkparse, Cloudphysics, Disksim, Fio, Mqsim, Msr, Spc, Systor17, Tencent,
};

use crate::device::Op;
use crate::exact::{Bulks, Loop, Offered};
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, Streams, Time, variants};
use std::fmt;
use std::sync::Arc;

variants! {
    /// Requests that arrive.
    pub enum Workload: "workload" => with_workload {
        Synthetic(Synthetic),
        Tenants(Tenants),
        Fio(Fio),
        Blkparse(Blkparse),
        Msr(Msr),
        Spc(Spc),
        Alibaba(Alibaba),
        Tencent(Tencent),
        Systor17(Systor17),
        Cloudphysics(Cloudphysics),
        Mqsim(Mqsim),
        Disksim(Disksim),
    }
}

/// A request to the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The time of its arrival.
    pub arrived: Time,
    /// Its operation.
    pub op: Op,
    /// The number of its blocks, at least one.
    pub blocks: u32,
    /// Its first block, if it has an address.
    pub at: Option<u64>,
}

/// How many requests a replication has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// How many come first and have no rows.
    pub warmup: u32,
    /// How many have rows.
    pub requests: u32,
}

/// What preparing a workload needs: the other settings that it depends on.
pub struct WorkloadContext {
    /// Bytes in a block of the array.
    pub block: u64,
    /// Blocks of the array, if requests have addresses.
    pub blocks: Option<u64>,
}

/// The most blocks that a request has.
pub const MAX_BLOCKS: u32 = 65_536;

/// A kind of workload.
trait Kind {
    /// Checks everything, and prepares the workload; draws nothing.
    fn ready(&self, context: &WorkloadContext) -> Result<Ready, Refusal>;

    /// The block of a study that sets none, in bytes: the usual one, or a smaller one that the requests
    /// are whole numbers of.
    fn block(&self, usual: u64) -> Result<u64, Refusal> {
        Ok(usual)
    }

    /// Whether requests have addresses whatever the disks are.
    fn has_addresses(&self) -> bool;

    /// Whether each block is as likely as any other to be a request's first.
    fn is_uniform(&self) -> bool {
        false
    }

    /// What each tenant does, where requests are drawn: how it is called in messages, and its parts.
    fn parts(&self) -> Vec<Part<'_>> {
        Vec::new()
    }
}

/// What a tenant of a workload does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// The place of the tenant in the list of them, where there is a list.
    place: Option<usize>,
    pub(crate) arrivals: &'a Arrivals,
    pub(crate) reads: f64,
    pub(crate) places: &'a Places,
}

impl Part<'_> {
    /// A refusal of one of its settings, under the key that leads to it.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Refusal {
        let refusal = match self.place {
            Some(place) => refusal.among(place).under("tenant"),
            None => refusal,
        };
        refusal.under("workload")
    }
}

/// A workload, checked and ready to be drawn.
#[derive(Clone, Debug)]
pub struct Ready {
    /// How many requests there are.
    pub numbers: Numbers,
    /// Whether any reads, whether any writes.
    pub ops: [bool; 2],
    /// How many blocks a request has at most.
    pub largest: u32,
    source: Source,
    /// Totals by name that every run of it reports.
    pub notes: Vec<(String, Value)>,
}

/// Where requests come from.
#[derive(Clone, Debug)]
enum Source {
    /// Requests drawn from distributions.
    Drawn(synthetic::Laws),
    /// Requests of tenants, which may wait for others of the same tenant: names and laws.
    Tenants(Arc<[(Box<str>, synthetic::Laws)]>),
    /// Requests of a trace.
    Replayed(Arc<dyn Replayed>),
}

/// A trace that was checked.
trait Replayed: fmt::Debug {
    /// Reads the trace again, for its requests.
    fn again(&self) -> Result<Box<dyn Batches>, Refusal>;
}

/// Requests that are read, many at a time.
trait Batches {
    /// Reads as many as `into` has capacity for, as long as there are any.
    fn fill(&mut self, into: &mut Vec<Request>);

    /// Refuses, when all are taken, a trace that has changed since it was checked.
    fn finish(&mut self) -> Result<(), Refusal>;
}

impl Ready {
    /// The arrivals, where they are a Poisson process of known laws.
    pub fn bulks(&self) -> Option<Bulks> {
        match &self.source {
            Source::Drawn(laws) => laws.bulks(),
            Source::Tenants(_) | Source::Replayed(_) => None,
        }
    }

    /// The arrivals, where their rate and variability are known.
    pub fn offered(&self) -> Option<Offered> {
        match &self.source {
            Source::Drawn(laws) => laws.offered(),
            Source::Tenants(_) | Source::Replayed(_) => None,
        }
    }

    /// The tenants of one replication, where requests may wait for others to be done.
    pub fn clients(&self, streams: Streams) -> Option<Clients> {
        match &self.source {
            Source::Tenants(tenants) => Some(Clients::new(tenants, streams)),
            Source::Drawn(_) | Source::Replayed(_) => None,
        }
    }

    /// Whether requests may wait for others to be done.
    pub fn has_clients(&self) -> bool {
        matches!(self.source, Source::Tenants(_))
    }

    /// The names of the tenants, where there are several.
    pub fn tenants(&self) -> Vec<&str> {
        match &self.source {
            Source::Tenants(tenants) if tenants.len() > 1 => {
                tenants.iter().map(|(name, _)| &**name).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The closed loop that paces all requests, as formulas need it: depth, time to think in
    /// picoseconds, blocks of each request and share of reads; none of open arrivals.
    pub fn closed(&self) -> Option<Loop> {
        match &self.source {
            Source::Tenants(tenants) => match &**tenants {
                [(_, laws)] => laws.as_loop(),
                _ => None,
            },
            Source::Drawn(_) | Source::Replayed(_) => None,
        }
    }

    /// The requests of one replication, by time of arrival; at least as many as will be asked for,
    /// if no file changes meanwhile.
    pub fn requests(&self, streams: Streams) -> Result<Requests, Refusal> {
        let generator = match &self.source {
            Source::Drawn(laws) => Generator::Drawn(Box::new(laws.requests(streams, 0))),
            Source::Tenants(_) => {
                let given = Value::Text("closed".to_owned());
                let expected =
                    "arrivals whose times are known ahead, such as poisson, of one tenant";
                return Err(Refusal::value(&given, expected).under("arrivals"));
            }
            Source::Replayed(trace) => Generator::Replayed(trace.again()?),
        };
        let ahead = Vec::with_capacity(MANY);
        Ok(Requests { generator, ahead, next: 0, late: false, lacking: false })
    }
}

/// The number of requests that are made at a time.
const MANY: usize = 64;

/// Requests, by time of arrival.
pub struct Requests {
    generator: Generator,
    /// The requests that are made, and the index of the next one.
    ahead: Vec<Request>,
    next: usize,
    /// Whether the next ones would arrive after [`LATEST`], and whether one of them was taken.
    late: bool,
    lacking: bool,
}

/// Runs end long before time does, of which rows have 106 days: what has not happened by then is not
/// simulated. Gaps between the requests that are made at a time, and accesses of some hours, leave
/// its range from here on no more than `LONGEST_GAP` and
/// `LONGEST_ACCESS` allow.
pub const LATEST: Time = Time::from_ps(Span::from_s(90 * 24 * 3600).ps());

/// The longest mean time between arrivals; no gap that is drawn is 37 times as long.
const LONGEST_GAP: Span = Span::from_s(1800);

enum Generator {
    Drawn(Box<synthetic::Requests>),
    Replayed(Box<dyn Batches>),
}

impl Requests {
    #[inline(never)]
    fn refill(&mut self) {
        self.ahead.clear();
        self.next = 0;
        if self.late {
            self.lacking = true;
            return;
        }
        match &mut self.generator {
            Generator::Drawn(drawn) => drawn.draw_many(&mut self.ahead),
            Generator::Replayed(trace) => trace.fill(&mut self.ahead),
        }
        if self.ahead.last().is_some_and(|last| last.arrived > LATEST) {
            self.late = true;
            self.ahead.retain(|request| request.arrived <= LATEST);
            self.lacking = self.ahead.is_empty();
        }
    }

    /// Refuses, when all are taken, a trace that has changed since it was checked, and requests that
    /// would arrive too late.
    pub fn finish(mut self) -> Result<(), Refusal> {
        match &mut self.generator {
            Generator::Drawn(_) if self.lacking => {
                let given = Value::Text("those that were drawn".to_owned());
                Err(Refusal::value(&given, "requests that arrive within 90 days").under("requests"))
            }
            Generator::Drawn(_) => Ok(()),
            Generator::Replayed(trace) => trace.finish(),
        }
    }
}

impl Iterator for Requests {
    type Item = Request;

    #[inline(always)]
    fn next(&mut self) -> Option<Request> {
        if self.next == self.ahead.len() {
            self.refill();
        }
        let request = self.ahead.get(self.next).copied();
        self.next += 1;
        request
    }
}

impl Workload {
    /// Checks everything, and prepares the workload; draws nothing.
    pub fn ready(&self, context: &WorkloadContext) -> Result<Ready, Refusal> {
        with_workload!(self, |params| params.ready(context))
    }

    /// The block of a study that sets none, in bytes: the usual one, or a smaller one that the requests
    /// are whole numbers of.
    pub fn block(&self, usual: u64) -> Result<u64, Refusal> {
        with_workload!(self, |params| params.block(usual))
    }

    /// Whether requests have addresses whatever the disks are.
    pub fn has_addresses(&self) -> bool {
        with_workload!(self, |params| params.has_addresses())
    }

    /// Whether each block is as likely as any other to be a request's first.
    pub fn is_uniform(&self) -> bool {
        with_workload!(self, |params| params.is_uniform())
    }

    /// Whether requests are those of a trace.
    pub(crate) fn is_replayed(&self) -> bool {
        self.parts().is_empty()
    }

    /// What each tenant does, where requests are drawn.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        with_workload!(self, |params| params.parts())
    }
}
