//! How heads get to the places of accesses.

use super::Op;
use crate::layout::{Access, Approach};
use sojourn_core::{Span, Streams, Time};
use std::collections::VecDeque;
use std::fmt::Debug;

/// How a later phase's access found its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Serving somebody, or with a later phase's access waiting.
    Busy,
    /// Idle.
    Idle,
    /// Just done with the access that the phase waited for.
    JustDone,
}

/// An access at its disk.
#[derive(Clone, Copy, Debug)]
pub struct Task<S> {
    /// How long its transfer takes.
    pub transfer: Span,
    /// The slot of its request.
    pub slot: u32,
    /// The lower bits of its request's number.
    pub job: u32,
    /// Whether it reads or writes.
    pub op: Op,
    /// How its layout says that the head gets there.
    pub approach: Approach,
    /// How it found its disk.
    pub found: Found,
    /// Whether the next phase waits for it.
    pub gate: bool,
    /// Whether its request is not done before it.
    pub counts: bool,
    /// Where it is.
    pub spot: S,
}

/// What an access meets when it starts.
#[derive(Clone, Copy, Debug)]
pub struct ServiceStart {
    /// The time.
    pub now: Time,
    /// Whether its disk last served another access of its request.
    pub own: bool,
    /// How many others wait.
    pub waiting: usize,
    /// How long the controller takes between phases.
    pub between_phases: Span,
}

/// What a head did to get to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// A seek, then a rotation.
    Seek,
    /// A rotation at most: it was on the track, or on the cylinder.
    Rotation,
    /// Nothing: it was there.
    InPlace,
}

/// The heads of an array's disks, all alike.
pub trait ServiceModel {
    /// Where an access is on its disk.
    type Spot: Copy + Debug;
    /// What is drawn for a disk as requests arrive.
    type Places: Debug;
    /// A disk's head.
    type State: Debug;
    /// Both, of a disk that serves first come, first served.
    type FcfsDisk: Debug;

    /// What is drawn for a disk as requests arrive.
    fn places(&self, streams: Streams, disk: u64) -> Self::Places;

    /// A disk's head at the start.
    fn state(&self, streams: Streams, disk: u64) -> Self::State;

    /// Draws what stays the same whenever a request comes back to its place on this disk.
    fn place(&self, places: &mut Self::Places) -> u32;

    /// How long the transfer of an access takes.
    fn transfer(&self, place: u32, access: &Access) -> Span;

    /// Where an access is.
    fn spot(&self, access: &Access) -> Self::Spot;

    /// Which of those that wait, in their order of arrival, is served next.
    fn choose(&self, head: &Self::State, waiting: &VecDeque<Task<Self::Spot>>, now: Time) -> usize;

    /// How many accesses a disk serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// How long an access takes that takes so long alone, beside others that its disk serves.
    fn slowed(&self, alone: Span, _others: impl FnOnce() -> usize) -> Span {
        alone
    }

    /// Whether it is always the first, and its positioning knows nothing of those that wait.
    fn in_order(&self) -> bool;

    /// How long the head takes to an access that starts, and how; it is left where the access ends.
    fn position(
        &self,
        head: &mut Self::State,
        task: &Task<Self::Spot>,
        start: ServiceStart,
    ) -> (Span, Motion);

    /// A disk that serves first come, first served, at the start.
    fn fcfs_disk(&self, streams: Streams, disk: u64) -> Self::FcfsDisk;

    /// How long the positioning and the transfer of an access take that starts on such a disk, and
    /// how its head got there: what [`place`](ServiceModel::place), [`transfer`](ServiceModel::transfer) and
    /// [`position`](ServiceModel::position) say of one that no later phase follows.
    fn serve(&self, line: &mut Self::FcfsDisk, access: &Access, now: Time) -> (Span, Span, Motion);
}
