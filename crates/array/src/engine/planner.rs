//! What requests draw when they arrive.

use super::Scene;
use crate::device::Heads;
use crate::device::Op;
use crate::layout::{Access, Layout, Plan};
use crate::workload::Request;
use sojourn_core::{Ahead, Span, Stream, Streams};

/// What the requests of one run draw when they arrive. It knows the last of them.
pub(super) struct Planner<'a, H: Heads> {
    heads: &'a H,
    plans: Plans<'a>,
    places: Vec<H::Places>,
    /// For what is not of a request.
    rebuild_places: Vec<H::Places>,
    /// How many blocks of the failed disks are rebuilt, and of how many; 0 of 0 without a rebuild.
    mended: (u64, u64),
    chances: Stream,
    /// The number of its plan.
    plan: usize,
    /// How long the transfers of its plan take, access by access.
    transfers: Vec<Span>,
    /// By disk, for plans that come back to it: the place there, and of which request.
    remembered: Vec<(u64, u32)>,
    /// By disk, for the least time: what the accesses of a phase take there so far.
    least: Vec<Span>,
    planned: u64,
}

impl<'a, H: Heads> Planner<'a, H> {
    pub(super) fn new(scene: &'a Scene<H>) -> Planner<'a, H> {
        let layout = &scene.layout;
        let disks = layout.disks();
        let mended = scene.rebuild.as_ref().map_or(layout, |rebuild| &rebuild.mend.mended);
        let places = |disk| scene.heads.places(scene.streams, disk);
        Planner {
            heads: &scene.heads,
            plans: Plans::new(layout, mended, scene.unit, scene.streams),
            mended: (0, scene.rebuild.as_ref().map_or(0, |rebuild| rebuild.blocks)),
            chances: scene.streams.stream("mended", 0),
            rebuild_places: (0..disks as u64)
                .map(|disk| scene.heads.places(scene.streams.branch(1), disk))
                .collect(),
            places: (0..disks as u64).map(places).collect(),
            plan: 0,
            transfers: Vec::new(),
            remembered: vec![(0, 0); disks],
            least: vec![Span::ZERO; disks],
            planned: 0,
        }
    }

    /// The plan of the last request.
    #[inline]
    pub(super) fn plan(&self) -> &Plan {
        self.plans.plan(self.plan)
    }

    /// Its accesses, and how long the transfer of each takes.
    #[inline(always)]
    pub(super) fn accesses(&self) -> impl Iterator<Item = (&Access, Span)> {
        self.plan().accesses().iter().zip(self.transfers.iter().copied())
    }

    /// Plans a request and draws its transfers; how long it takes at least, never zero: nobody else
    /// at the disks, and no positioning.
    #[inline]
    pub(super) fn next(&mut self, request: &Request) -> Span {
        self.plan = match self.mended {
            (0, _) => self.plans.of(request, false),
            _ => self.where_mended(request),
        };
        let plan = self.plans.plan(self.plan);
        self.transfers.clear();
        if plan.phases() > 1 {
            return self.draw_and_remember();
        }
        // No disk is there twice.
        let mut longest = Span::from_ps(1);
        self.transfers.extend(plan.accesses().iter().map(|access| {
            let place = self.heads.place(&mut self.places[usize::from(access.disk)]);
            let transfer = self.heads.transfer(place, access);
            longest = longest.max(transfer);
            transfer
        }));
        longest
    }

    /// Says how far the failed disks are rebuilt.
    pub(super) fn mended(&mut self, blocks: u64) {
        self.mended.0 = blocks;
    }

    /// How long the transfer of an access takes that is not of a request.
    pub(super) fn transfer(&mut self, access: &Access) -> Span {
        let place = self.heads.place(&mut self.rebuild_places[usize::from(access.disk)]);
        self.heads.transfer(place, access)
    }

    /// The number of the plan of a request while failed disks are rebuilt: that of the mended array
    /// if all of it lies where that is so. A request without an address lies there by chance.
    fn where_mended(&mut self, request: &Request) -> usize {
        let (blocks, all) = self.mended;
        if blocks == all {
            return self.plans.of(request, true);
        }
        if request.at.is_none() {
            let mended = self.chances.below(all) < blocks;
            return self.plans.of(request, mended);
        }
        let plan = self.plans.of(request, true);
        let inside = |access: &Access| access.at + u64::from(access.blocks) <= blocks;
        match self.plans.plan(plan).accesses().iter().all(inside) {
            true => plan,
            false => self.plans.of(request, false),
        }
    }

    /// For a plan that comes back to its disks: one place for each of them.
    fn draw_and_remember(&mut self) -> Span {
        self.planned += 1;
        let plan = self.plans.plan(self.plan);
        for access in plan.accesses() {
            let disk = usize::from(access.disk);
            if self.remembered[disk].0 != self.planned {
                self.remembered[disk] = (self.planned, self.heads.place(&mut self.places[disk]));
            }
            self.transfers.push(self.heads.transfer(self.remembered[disk].1, access));
        }
        // A phase begins when the gates of the one before are done; what has to be done before a
        // gate on its disk delays it, what comes after does not.
        let mut begins = Span::ZERO;
        let mut done = Span::ZERO;
        for phase in 0..plan.phases() {
            self.least.fill(Span::ZERO);
            let mut next = Span::ZERO;
            let range = plan.range(phase);
            for (access, &transfer) in plan.phase(phase).iter().zip(&self.transfers[range]) {
                let disk = usize::from(access.disk);
                let ends = self.least[disk] + transfer;
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

/// Plans are kept for requests of at most so many blocks,
const BLOCKS: u32 = 64;
/// of layouts where a request can lie in at most so many ways.
const WAYS: u64 = 64;

/// The plans of one run's requests.
pub(crate) struct Plans<'a> {
    /// The array as it is, and as it is where it is rebuilt.
    layouts: [&'a Layout; 2],
    /// Blocks in a stripe unit.
    unit: u32,
    /// Where requests without addresses start.
    starts: Ahead,
    /// In how many ways a read lies, and a write.
    ways: [u64; 2],
    /// Plans that come again, behind one that does not.
    laid: Vec<Plan>,
    /// Which of them is that of a number of blocks, an array, an operation and a way; 0 is none.
    index: Vec<u32>,
}

impl<'a> Plans<'a> {
    /// The plans of requests to an array, and where it is rebuilt those of requests to `mended`.
    pub(crate) fn new(
        layout: &'a Layout,
        mended: &'a Layout,
        unit: u32,
        streams: Streams,
    ) -> Plans<'a> {
        let starts = Ahead::new(streams.stream("starts", 0));
        let laid = vec![Plan::new(layout.disks())];
        let index = vec![0; 4 * BLOCKS as usize * WAYS as usize];
        let ways = [Op::Read, Op::Write].map(|op| layout.ways(op));
        Plans { layouts: [layout, mended], unit, starts, ways, laid, index }
    }

    /// The number of a request's plan: from its address on where it has one, else from a random
    /// place on; on the mended array, or on that which is. It is that plan until another comes.
    #[inline(always)]
    pub(crate) fn of(&mut self, request: &Request, mended: bool) -> usize {
        let Request { op, blocks, at, .. } = *request;
        let ways = self.ways[op as usize];
        if at.is_some() || ways > WAYS || blocks > BLOCKS {
            self.lay_once(request, mended);
            return 0;
        }
        let way = self.starts.below(ways);
        let kind = 2 * u64::from(mended) + op as u64;
        let entry = (4 * u64::from(blocks - 1) + kind) * WAYS + way;
        match self.index[entry as usize] {
            0 => self.lay_for_good(request, mended, way, entry as usize),
            plan => plan as usize,
        }
    }

    /// A plan by its number.
    #[inline]
    pub(crate) fn plan(&self, number: usize) -> &Plan {
        &self.laid[number]
    }

    fn lay_once(&mut self, request: &Request, mended: bool) {
        let Request { op, blocks, at, .. } = *request;
        let layout = self.layouts[usize::from(mended)];
        let plan = &mut self.laid[0];
        match at {
            Some(first) => {
                layout.lay_at(op, first, blocks, self.unit, &mut self.starts, plan);
            }
            None => layout.lay(op, blocks, self.starts.below(self.ways[op as usize]), plan),
        }
    }

    #[cold]
    fn lay_for_good(&mut self, request: &Request, mended: bool, way: u64, entry: usize) -> usize {
        let layout = self.layouts[usize::from(mended)];
        let mut plan = Plan::new(layout.disks());
        layout.lay(request.op, request.blocks, way, &mut plan);
        self.index[entry] = self.laid.len() as u32;
        self.laid.push(plan);
        self.laid.len() - 1
    }
}
