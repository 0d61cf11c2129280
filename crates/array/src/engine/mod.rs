//! The engine: requests fork into accesses, accesses wait at disks, and join.
//!
//! [`simulate`] is an event loop. Of what happens at one instant, disks are done first, the lowest
//! first; then second phases begin, then requests arrive. Where nothing feeds back, [`recursion`]
//! gives the same rows without any events.
//!
//! Every draw has a stream of its own: `arrivals`, `batches`, `requests`, `addresses` and `starts`
//! (how a request lies on the array) one each, and for each disk `places` (taken when a request arrives,
//! in that order), `moves` and `rotations` (taken when an access starts). So two schemes face the
//! same requests.

mod disks;
mod events;
mod forward;
mod planner;
mod rebuild;

pub use events::sojourn_simulate as simulate;
pub use forward::{sojourn_simulate_parallel as parallel, sojourn_simulate_recursion as recursion};
pub(crate) use planner::PlanCache;
pub use rebuild::{Rebuild, Rebuilt};

use crate::device::Motion;
use crate::layout::Layout;
use crate::workload::Request;
use sojourn_core::{Span, Streams, Time, choices};

choices! {
    /// How the accesses of different requests mix.
    pub enum Join: "way to join" {
        /// A request's accesses queue at their disks as soon as it arrives (fork-join).
        ForkJoin = "fork-join",
        /// A request starts when the one before it is done (split-merge, the authors' earlier model
        /// of RAID 0).
        SplitMerge = "split-merge",
    }
}

/// What is simulated, beside the requests.
#[derive(Clone, Debug)]
pub struct Scenario<M> {
    /// How requests are spread.
    pub layout: Layout,
    /// Blocks in a stripe unit.
    pub unit: u32,
    /// The disks' heads, and the order in which each disk serves.
    pub model: M,
    /// How requests mix.
    pub join: Join,
    /// What the controller adds before each phase.
    pub overhead: Span,
    /// What it adds before each later phase, for parity.
    pub parity: Span,
    /// What is rebuilt meanwhile.
    pub rebuild: Option<Rebuild>,
    /// How many requests there are.
    pub requests: u64,
    /// Where random choices come from.
    pub streams: Streams,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessCounts {
    /// Accesses that took a seek and a rotation to position.
    pub seeks: u64,
    /// Accesses whose head was on the track or the cylinder: at most a rotation.
    pub rotations: u64,
    /// Accesses that needed no positioning.
    pub follow_ons: u64,
    /// For how long each disk was busy.
    pub busy: Vec<Span>,
    /// When the last request was done.
    pub ended: Time,
    /// Whether there was more to do after [`LATEST`](crate::workload::LATEST).
    pub late: bool,
    /// How far a rebuild came; its accesses are among those above.
    pub rebuilt: Rebuilt,
}

impl AccessCounts {
    /// How many accesses were served.
    pub fn accesses(&self) -> u64 {
        self.seeks + self.rotations + self.follow_ons
    }

    #[inline(always)]
    fn count(&mut self, motion: Motion) {
        match motion {
            Motion::Seek => self.seeks += 1,
            Motion::Rotation => self.rotations += 1,
            Motion::InPlace => self.follow_ons += 1,
        }
    }
}

/// Is told of every request, in order of arrival, and of its end.
pub trait Sink {
    /// Request number `job` arrives; it takes `ideal` at least.
    fn arrived(&mut self, job: u64, request: &Request, ideal: Span);

    /// Request number `job`, told of before, is done.
    fn finished(&mut self, job: u64, at: Time);
}

/// Keeps nothing: memory does not grow with the number of requests.
#[derive(Clone, Copy, Debug)]
pub struct Discard;

impl Sink for Discard {
    #[inline]
    fn arrived(&mut self, _: u64, _: &Request, _: Span) {}

    #[inline]
    fn finished(&mut self, _: u64, _: Time) {}
}
