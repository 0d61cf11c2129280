//! The engine: requests fork into accesses, accesses wait at disks, and join.
//!
//! [`simulate`] is an event loop. Of the events of one instant, ends of accesses come first, the
//! lowest disk first; then later phases begin, then requests arrive. Where nothing feeds back,
//! [`recursion`] gives these rows without any events.
//!
//! Every kind of draw has a separate random stream: `arrivals`, `batches`, `requests`, `addresses`
//! and `starts` (how a request lies on the array) one each, and for each disk `places` (drawn from
//! when a request arrives, in that order) and those of its device (drawn from when an access
//! starts). So requests do not depend on layout or scheduling, but for addresses, which depend on
//! what the array holds.

mod disks;
mod events;
mod forward;
mod idle;
mod planner;
mod rebuild;
#[cfg(test)]
mod reference;

pub use events::sojourn_simulate as simulate;
pub use events::sojourn_simulate_clients as simulate_clients;
pub use forward::{sojourn_simulate_parallel as parallel, sojourn_simulate_recursion as recursion};
pub(crate) use planner::PlanCache;
pub use rebuild::{Rebuild, RebuildOrder, Rebuilt};

use crate::device::PositioningCost;
use crate::layout::Layout;
use crate::workload::Request;
use sojourn_core::{Span, Streams, Time, choices};

choices! {
    /// Whether the accesses of different requests may overlap.
    pub enum Join: "way to join" {
        /// A request's accesses queue at their disks as soon as it arrives (fork-join).
        ForkJoin = "fork-join",
        /// A request starts when the one before it is done (split-merge, the authors' earlier model
        /// of RAID 0).
        SplitMerge = "split-merge",
    }
}

/// A simulation, beside its requests.
#[derive(Clone, Debug)]
pub struct Scenario<M> {
    /// How requests are spread over disks.
    pub layout: Layout,
    /// Blocks in a stripe unit.
    pub unit: u32,
    /// How disks serve accesses, and in which order.
    pub model: M,
    /// Whether the accesses of different requests may overlap.
    pub join: Join,
    /// The time that the controller adds before each phase.
    pub overhead: Span,
    /// The time that it adds before each later phase, for parity.
    pub parity: Span,
    /// The rebuild that goes on meanwhile.
    pub rebuild: Option<Rebuild>,
    /// The number of requests.
    pub requests: u64,
    /// The random streams of the replication.
    pub streams: Streams,
}

/// Totals of a run: accesses by what their positioning took, busy times, ends.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessCounts {
    /// Accesses with a full positioning.
    pub full_positionings: u64,
    /// Accesses with less than that.
    pub partial_positionings: u64,
    /// Accesses without any.
    pub no_positionings: u64,
    /// Accesses that were dropped, as their requests no longer needed them.
    pub dropped: u64,
    /// The time that each disk was busy.
    pub busy: Vec<Span>,
    /// The end of the last request.
    pub ended: Time,
    /// Whether anything was left to do after [`LATEST`](crate::workload::LATEST).
    pub late: bool,
    /// The progress of the rebuild; its accesses are among those above.
    pub rebuilt: Rebuilt,
}

impl AccessCounts {
    /// The number of accesses that were served.
    pub fn accesses(&self) -> u64 {
        self.full_positionings + self.partial_positionings + self.no_positionings
    }

    /// Adds the accesses of other counts.
    fn add(&mut self, others: &AccessCounts) {
        self.full_positionings += others.full_positionings;
        self.partial_positionings += others.partial_positionings;
        self.no_positionings += others.no_positionings;
    }

    #[inline(always)]
    fn count(&mut self, cost: PositioningCost) {
        match cost {
            PositioningCost::Full => self.full_positionings += 1,
            PositioningCost::Partial => self.partial_positionings += 1,
            PositioningCost::None => self.no_positionings += 1,
        }
    }
}

/// Receives every request, in order of arrival, and its end.
pub trait Sink {
    /// Request number `job` arrives; its least possible sojourn time is `ideal`.
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span);

    /// Request number `job`, which has arrived, is done.
    fn finished(&mut self, job: u64, at: Time);
}

/// A sink that keeps nothing: memory does not grow with the number of requests.
#[derive(Clone, Copy, Debug)]
pub struct Discard;

impl Sink for Discard {
    #[inline]
    fn arrived(&mut self, _: u64, _: &Request, _: Span) {}

    #[inline]
    fn finished(&mut self, _: u64, _: Time) {}
}
