//! What the engine asks of the devices of an array: how long an access takes that starts now.

use super::Op;
use crate::layout::{Access, Approach};
use sojourn_core::{Span, Streams, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// The state in which an access of a later phase found its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Busy, or with an access of a later phase waiting.
    Busy,
    /// Idle.
    Idle,
    /// At the end of the access that the phase waited for.
    JustDone,
}

/// An access at its disk, queued or served.
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
    /// The state in which it found its disk.
    pub found: Found,
    /// Whether the next phase waits for it.
    pub gate: bool,
    /// Whether its request ends only after it.
    pub counts: bool,
    /// Its place on the disk.
    pub spot: S,
}

/// The circumstances in which an access starts.
#[derive(Clone, Copy, Debug)]
pub struct ServiceStart {
    /// The time.
    pub now: Time,
    /// Whether its disk last served another access of its request.
    pub own: bool,
    /// The number of other accesses that wait at the disk.
    pub waiting: usize,
    /// The time that the controller takes between phases.
    pub between_phases: Span,
}

/// What the positioning of an access took; runs count each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositioningCost {
    /// A full one, of a head a seek and a rotation.
    Full,
    /// Less than that: the place was near, of a head on its track or its cylinder.
    Partial,
    /// None: the place was at hand.
    None,
}

/// How the disks of an array, all alike, serve accesses: the seam between the engine and the devices.
pub trait ServiceModel {
    /// The place of an access on its disk.
    type Spot: Copy + Debug;
    /// The random stream of a disk's places, drawn from as requests arrive.
    type Places: Debug;
    /// The state of a disk between two accesses.
    type State: Debug;
    /// The state of a disk that serves first come, first served: its places and what an access leaves
    /// behind.
    type FcfsDisk: Debug;

    /// The random stream of a disk's places, drawn from as requests arrive.
    fn places(&self, streams: Streams, disk: u64) -> Self::Places;

    /// The state of a disk at the start.
    fn state(&self, streams: Streams, disk: u64) -> Self::State;

    /// Draws a place: what a request finds again when it comes back to this disk.
    fn place(&self, places: &mut Self::Places) -> u32;

    /// The transfer time of an access.
    fn transfer(&self, place: u32, access: &Access) -> Span;

    /// The place of an access.
    fn spot(&self, access: &Access) -> Self::Spot;

    /// The index of the access that is served next, of those that wait in order of arrival.
    fn choose(&self, state: &Self::State, waiting: &VecDeque<Task<Self::Spot>>, now: Time)
    -> usize;

    /// The number of accesses that a disk serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// The service time of an access that takes `alone` by itself, when its disk serves `others` as
    /// it begins.
    fn slowed(&self, alone: Span, _others: impl FnOnce() -> usize) -> Span {
        alone
    }

    /// Whether [`choose`](ServiceModel::choose) always takes the first, and positioning times do not
    /// depend on what waits.
    fn in_order(&self) -> bool;

    /// The positioning time of an access that starts, and what it took; leaves the state as it is at
    /// the end of the access.
    fn position(
        &self,
        state: &mut Self::State,
        task: &Task<Self::Spot>,
        start: ServiceStart,
    ) -> (Span, PositioningCost);

    /// The state of a disk that serves first come, first served, at the start.
    fn fcfs_disk(&self, streams: Streams, disk: u64) -> Self::FcfsDisk;

    /// The positioning and transfer times of an access that starts on such a disk, and what
    /// positioning took: the results of [`place`](ServiceModel::place),
    /// [`transfer`](ServiceModel::transfer) and [`position`](ServiceModel::position) for an access
    /// that no later phase follows.
    fn serve(
        &self,
        disk: &mut Self::FcfsDisk,
        access: &Access,
        now: Time,
    ) -> (Span, Span, PositioningCost);
}
