//! The engine: requests fork into accesses, accesses wait at disks, and join.
//!
//! [`simulate`] is an event loop. Of what happens at one instant, disks are done first, the lowest
//! first; then second phases begin, then requests arrive. Where nothing feeds back, [`recursion`]
//! gives the same rows without any events.
//!
//! Every draw has a stream of its own: `arrivals`, `requests` and `starts` (where a request starts
//! on the array) one each, and for each disk `places` (taken when a request arrives, in that order),
//! `moves` and `rotations` (taken when an access starts). So two schemes face the same requests.

mod draws;
mod events;
mod recursion;
mod sink;
mod station;
mod timers;

pub use events::sojourn_simulate as simulate;
pub use recursion::sojourn_simulate_recursion as recursion;
pub use sink::{Nothing, Record, Records, Sink};

use crate::disk::{Drive, Op};
use crate::layout::{Layout, Plan};
use crate::scheduling::Scheduling;
use draws::Places;
use sojourn_kernel::{Span, Stream, Streams, Time, choices};

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
pub struct Scene<D> {
    /// How requests are spread.
    pub layout: Layout,
    /// The disks, all alike.
    pub drive: D,
    /// The order in which each serves.
    pub scheduling: Scheduling,
    /// How requests mix.
    pub join: Join,
    /// What the controller adds before each phase.
    pub overhead: Span,
    /// What it adds before each later phase, for parity.
    pub parity: Span,
    /// How many requests there are.
    pub requests: u64,
    /// Where random choices come from.
    pub streams: Streams,
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Accesses served.
    pub accesses: u64,
    /// Accesses that took a seek and a rotation to position.
    pub seeks: u64,
    /// Accesses whose head was on the track: at most a rotation.
    pub rotations: u64,
    /// Accesses that needed no positioning.
    pub follow_ons: u64,
    /// For how long each disk was busy.
    pub busy: Vec<Span>,
    /// When the last request was done.
    pub ended: Time,
}

/// What the requests of one run draw when they arrive.
struct Planner<'a, D> {
    layout: &'a Layout,
    drive: &'a D,
    starts: Stream,
    places: Vec<Places>,
    plan: Plan,
    /// By disk, for plans that come back to it: the place there, and of which request.
    remembered: Vec<(u64, f64)>,
    /// By disk, for the least time: what the accesses of a phase take there so far.
    least: Vec<Span>,
    planned: u64,
}

impl<'a, D: Drive> Planner<'a, D> {
    fn new(scene: &'a Scene<D>) -> Planner<'a, D> {
        let disks = scene.layout.disks();
        Planner {
            layout: &scene.layout,
            drive: &scene.drive,
            starts: scene.streams.stream("starts", 0),
            places: (0..disks as u64)
                .map(|disk| Places::new(scene.streams.stream("places", disk)))
                .collect(),
            plan: Plan::default(),
            remembered: vec![(0, 0.0); disks],
            least: vec![Span::ZERO; disks],
            planned: 0,
        }
    }

    /// Plans a request and draws its transfers; how long it takes at least, never zero: nobody else
    /// at the disks, and no positioning.
    #[inline]
    fn plan(&mut self, op: Op, blocks: u32) -> Span {
        self.layout.plan(op, blocks, &mut self.starts, &mut self.plan);
        self.planned += 1;
        match self.plan.phases() {
            1 => self.draw_once(),
            _ => self.draw_and_remember(),
        }
    }

    /// For a plan of one phase, in which no disk is there twice.
    #[inline]
    fn draw_once(&mut self) -> Span {
        let mut longest = Span::from_ps(1);
        for access in self.plan.accesses_mut() {
            let place = self.places[usize::from(access.disk)].next(self.drive);
            access.transfer = self.drive.transfer(place, access.op, access.blocks);
            longest = longest.max(access.transfer);
        }
        longest
    }

    /// For a plan that comes back to its disks: one place for each of them.
    fn draw_and_remember(&mut self) -> Span {
        for access in self.plan.accesses_mut() {
            let disk = usize::from(access.disk);
            if self.remembered[disk].0 != self.planned {
                self.remembered[disk] = (self.planned, self.places[disk].next(self.drive));
            }
            let place = self.remembered[disk].1;
            access.transfer = self.drive.transfer(place, access.op, access.blocks);
        }
        // A phase begins when the gates of the one before are done; what has to be done before a
        // gate on its disk delays it, what comes after does not.
        let mut begins = Span::ZERO;
        let mut done = Span::ZERO;
        for phase in 0..self.plan.phases() {
            self.least.fill(Span::ZERO);
            let mut next = Span::ZERO;
            for access in self.plan.phase(phase) {
                let disk = usize::from(access.disk);
                let ends = self.least[disk] + access.transfer;
                self.least[disk] = ends;
                if access.gate {
                    next = next.max(begins + ends);
                }
                if access.counts {
                    done = done.max(begins + ends);
                }
            }
            begins = next;
        }
        done.max(Span::from_ps(1))
    }
}
