//! The seam between the engine and the devices: an access starts, and takes so long.

use super::{Chances, Op};
use crate::Moments;
use crate::layout::{Access, Approach};
use sojourn_core::{Span, Streams, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// The state in which an access of a later phase found its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Busy, or with an access of a later phase waiting.
    Busy,
    /// Idle.
    Idle,
    /// At the end of the access that the phase waited for.
    JustDone,
}

/// What waits for the end of an access beside its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Nothing.
    No,
    /// The next phase.
    Gate,
    /// The phase with this number, for as many as it needs of such accesses.
    AnyOf(u8),
}

/// An access at its device, queued or served.
#[derive(Clone, Copy, Debug)]
pub struct Task<S> {
    /// Its transfer time.
    pub transfer: Span,
    /// The slot of its request in the engine.
    pub slot: u32,
    /// The lower bits of its request's number.
    pub job: u32,
    /// Whether it reads or writes.
    pub op: Op,
    /// Where it is, seen from the earlier accesses of its request.
    pub approach: Approach,
    /// The state in which it found its device.
    pub found: Found,
    /// Whether its request waits for it.
    pub counts: bool,
    /// What waits for it beside the request.
    pub awaited: Awaited,
    /// What the device keeps of it until it starts.
    pub spot: S,
}

/// The circumstances in which an access starts.
#[derive(Clone, Copy, Debug)]
pub struct ServiceStart {
    /// The time.
    pub now: Time,
    /// Whether its server last served another access of its request.
    pub own: bool,
    /// The number of accesses that wait at the device.
    pub waiting: usize,
    /// The number of accesses that the device goes on to serve; counted only for devices that
    /// [depend on their load](ServiceModel::depends_on_load).
    pub others: usize,
    /// The time that the controller takes between phases.
    pub between_phases: Span,
}

impl ServiceStart {
    /// The start of an access that no later phase follows, at a device that serves in order.
    pub(crate) fn in_order(now: Time, others: usize) -> ServiceStart {
        ServiceStart { now, own: false, waiting: 0, others, between_phases: Span::ZERO }
    }
}

/// The service of an access that starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its whole time: positioning and transfer.
    pub takes: Span,
    /// What positioning took of it.
    pub cost: PositioningCost,
}

impl Service {
    /// A service without positioning.
    pub fn of(takes: Span) -> Service {
        Service { takes, cost: PositioningCost::None }
    }
}

/// What the positioning of an access took; runs count each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositioningCost {
    /// A full one: the place was anywhere.
    Full,
    /// Less than that: the place was near.
    Partial,
    /// None: the place was at hand, or the device needs none.
    None,
}

/// The parts of a device that accesses may wait for, at most.
pub(crate) const PARTS: usize = 4;

/// How the devices of an array, all alike, serve accesses.
///
/// An access has its transfer time from the arrival of its request on, and the rest of its service
/// time when it starts.
pub trait ServiceModel: Sized {
    /// What a device keeps of an access until it starts, such as its place.
    type Spot: Copy + Debug;
    /// What accesses leave behind on a device for the next ones, with its random streams.
    type State: Debug;
    /// A device that serves in order of arrival; [`Plain`] is one of any model.
    type InOrder: InOrder<Self>;

    /// The state of a device at the start.
    fn state(&self, streams: Streams, disk: u64) -> Self::State;

    /// Whether a request that comes back to a device takes the transfer time that it had there: true of
    /// platters, as a sector's track has a speed (paper section 3.3: transfer times are remembered).
    /// On other devices each access draws its own.
    const REMEMBERS: bool = false;

    /// The transfer time of an access, which is its least service time. `chance` is a share of 2^32
    /// that is drawn for each access, or once for each request and device that
    /// [remembers](ServiceModel::REMEMBERS).
    fn transfer(&self, chance: u32, access: &Access) -> Span;

    /// What is kept of an access until it starts.
    fn spot(&self, access: &Access) -> Self::Spot;

    /// An access starts. Leaves the state as it is at the end of the access.
    fn start(
        &self,
        state: &mut Self::State,
        task: &Task<Self::Spot>,
        start: ServiceStart,
    ) -> Service;

    /// An upper bound for the service time of an access of `blocks` blocks, in picoseconds.
    fn longest(&self, blocks: u32) -> f64;

    /// The number of accesses of a queue that a device serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// The number of arms of a device that work by themselves, each with a queue.
    fn arms(&self) -> usize {
        1
    }

    /// The arm that an access needs.
    fn arm(&self, _: &Access) -> usize {
        0
    }

    /// Whether accesses that are served together slow each other.
    fn depends_on_load(&self) -> bool {
        false
    }

    /// Whether [`choose`](ServiceModel::choose) always takes the first, and service times do not
    /// depend on what waits.
    fn in_order(&self) -> bool {
        true
    }

    /// The index of the access that is served next, of those that wait in order of arrival.
    fn choose(&self, _: &Self::State, _: &VecDeque<Task<Self::Spot>>, _: Time) -> usize {
        0
    }

    /// How long a device was busy until `_until`, whose servers were busy for `servers` on average: where an
    /// access also waits inside of the device, the time of the part that was busiest.
    fn busy(&self, _: &Self::State, servers: Span, _until: Time) -> Span {
        servers
    }

    /// For how long an access keeps each part of its device from others, in picoseconds: a part that is
    /// kept all the time has no more to give. None where that depends on other accesses.
    fn work(&self, op: Op, blocks: u32) -> Option<[f64; PARTS]> {
        let times = self.service_times().filter(|_| !self.depends_on_load())?;
        let mean = times.moments(op, Moments::constant(blocks.into())).mean;
        Some([mean / (self.servers() * self.arms()) as f64, 0.0, 0.0, 0.0])
    }

    /// The service times as formulas need them; none where a service depends on those before it.
    fn service_times(&self) -> Option<&dyn ServiceTimes> {
        None
    }
}

/// Service times that are independent of each other and of what waits.
pub trait ServiceTimes {
    /// Mean and mean square of the service time of an access, in picoseconds (squared); `blocks` are
    /// those of its size.
    fn moments(&self, op: Op, blocks: Moments) -> Moments;

    /// Service times of accesses of `blocks` blocks in picoseconds, all equally likely.
    fn equally_likely(&self, op: Op, blocks: u32) -> Vec<f64>;

    /// Whether the service times of accesses of one size are exponential.
    fn is_exponential(&self) -> bool {
        false
    }
}

/// A device that serves in order of arrival: accesses are brought to it as they start, so that it
/// draws transfer times itself.
pub trait InOrder<M: ServiceModel> {
    /// The device with number `disk`, at the start.
    fn new(model: &M, streams: Streams, disk: u64) -> Self;

    /// The transfer time and the service of an access that starts: what
    /// [`transfer`](ServiceModel::transfer) and [`start`](ServiceModel::start) give for one that no
    /// later phase follows. The device goes on to serve `others`.
    fn start(&mut self, model: &M, access: &Access, now: Time, others: usize) -> (Span, Service);

    /// How long it was busy, as [`busy`](ServiceModel::busy) says.
    fn busy(&self, _model: &M, servers: Span, _until: Time) -> Span {
        servers
    }
}

/// A device of any model: the chances of its transfers beside its state.
#[derive(Debug)]
pub struct Plain<M: ServiceModel> {
    places: Chances,
    state: M::State,
}

impl<M: ServiceModel> InOrder<M> for Plain<M> {
    fn new(model: &M, streams: Streams, disk: u64) -> Plain<M> {
        Plain { places: Chances::places(streams, disk), state: model.state(streams, disk) }
    }

    #[inline(always)]
    fn start(&mut self, model: &M, access: &Access, now: Time, others: usize) -> (Span, Service) {
        let transfer = model.transfer(self.places.next(), access);
        let task = Task::new(model, 0, 0, access, transfer);
        (transfer, model.start(&mut self.state, &task, ServiceStart::in_order(now, others)))
    }

    fn busy(&self, model: &M, servers: Span, until: Time) -> Span {
        model.busy(&self.state, servers, until)
    }
}

impl<S> Task<S> {
    /// An access of request number `job`, which is in `slot`, at its device.
    #[inline(always)]
    pub(crate) fn new<M: ServiceModel<Spot = S>>(
        model: &M,
        slot: u32,
        job: u64,
        access: &Access,
        transfer: Span,
    ) -> Task<S> {
        let Access { op, approach, gate, counts, .. } = *access;
        let spot = model.spot(access);
        let job = job as u32;
        let awaited = if gate { Awaited::Gate } else { Awaited::No };
        Task { transfer, slot, job, op, approach, found: Found::Busy, counts, awaited, spot }
    }
}
