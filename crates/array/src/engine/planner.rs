//! The plans of requests, and the random draws that a request makes as it arrives.

use super::Scenario;
use crate::device::{Chances, Op, ServiceModel};
use crate::layout::{Access, AccessPlan, Layout};
use crate::workload::Request;
use sojourn_core::{Ahead, Span, Stream, Streams};

/// Plans the requests of one run as they arrive, and draws their transfer times. Holds the plan of
/// the last one, in which the disk of an access is the number of its queue: where disks have several arms,
/// each has one.
pub(super) struct Planner<'a, M: ServiceModel> {
    model: &'a M,
    plans: PlanCache<'a>,
    /// By queue, the chances of transfer times.
    places: Vec<Chances>,
    /// The places of the accesses of a rebuild.
    rebuild_places: Vec<Chances>,
    /// How many blocks of each failed disk are rebuilt, and of how many; 0 of 0 without a rebuild.
    rebuilt: (u64, u64),
    chances: Stream,
    /// The number of its plan.
    plan: usize,
    /// The transfer times of its plan, access by access.
    transfers: Vec<Span>,
    /// By queue, for plans that come back to it: the number of the request, and the last chance it drew.
    remembered: Vec<(u64, u32)>,
    /// By queue, for the least sojourn time: the sum of the transfer times of a phase so far.
    least: Vec<Span>,
    /// For the least sojourn time: the ends of the accesses of which a phase needs only some.
    ends: Vec<Span>,
    planned: u64,
}

/// The `number`-th least of some times, from 1 on; leaves them in any order.
pub(super) fn nth_least<T: Ord + Copy>(times: &mut [T], number: u32) -> T {
    *times.select_nth_unstable(number as usize - 1).1
}

impl<'a, M: ServiceModel> Planner<'a, M> {
    pub(super) fn new(scenario: &'a Scenario<M>) -> Planner<'a, M> {
        let layout = &scenario.layout;
        let queues = layout.disks() * scenario.model.arms();
        let rebuilt = scenario.rebuild.as_ref().map_or(layout, |rebuild| &rebuild.source.rebuilt);
        let places = |streams: Streams| -> Vec<Chances> {
            (0..queues as u64).map(|queue| Chances::places(streams, queue)).collect()
        };
        Planner {
            model: &scenario.model,
            plans: PlanCache::new(layout, rebuilt, scenario.unit, scenario.streams),
            rebuilt: (0, scenario.rebuild.as_ref().map_or(0, |rebuild| rebuild.blocks)),
            chances: scenario.streams.stream("mended", 0),
            rebuild_places: places(scenario.streams.branch(1)),
            places: places(scenario.streams),
            plan: 0,
            transfers: Vec::new(),
            remembered: vec![(0, 0); queues],
            least: vec![Span::ZERO; queues],
            ends: Vec::new(),
            planned: 0,
        }
    }

    /// The plan of the last request.
    #[inline]
    pub(super) fn plan(&self) -> &AccessPlan {
        self.plans.plan(self.plan)
    }

    /// The accesses of the last request, each with its transfer time.
    #[inline(always)]
    pub(super) fn accesses(&self) -> impl Iterator<Item = (&Access, Span)> {
        self.plan().accesses().iter().zip(self.transfers.iter().copied())
    }

    /// Plans a request and draws its transfer times. Returns its least possible sojourn time, never
    /// zero: no other request at the disks, and no positioning.
    #[inline(always)]
    pub(super) fn next(&mut self, request: &Request) -> Span {
        self.plan = match self.rebuilt {
            (0, _) => self.plans.of(request, false),
            _ => self.where_rebuilt(request),
        };
        if self.model.arms() > 1 {
            self.send_to_arms();
        }
        let plan = self.plans.plan(self.plan);
        let accesses = plan.accesses();
        if self.transfers.len() != accesses.len() {
            self.transfers.resize(accesses.len(), Span::ZERO);
        }
        if !plan.is_simple() {
            return self.draw_phases();
        }
        // A simple plan has no disk twice.
        let mut longest = Span::from_ps(1);
        for (transfer, access) in self.transfers.iter_mut().zip(accesses) {
            let place = self.places[usize::from(access.disk)].next();
            *transfer = self.model.transfer(place, access);
            longest = longest.max(*transfer);
        }
        longest
    }

    /// Brings the accesses of the plan, which was laid for its request alone as that has an address, to
    /// the arms that they need.
    #[cold]
    fn send_to_arms(&mut self) {
        for access in self.plans.laid[self.plan].accesses_mut() {
            *access = on_its_arm(self.model, access);
        }
    }

    /// An access of a rebuild at the queue of the arm that it needs.
    pub(super) fn on_its_arm(&self, access: &Access) -> Access {
        on_its_arm(self.model, access)
    }

    /// Gives every request without an address this plan.
    #[cfg(test)]
    pub(super) fn always(&mut self, plan: &AccessPlan) {
        self.plans.ways = [1, 1];
        self.plans.laid.push(plan.clone());
        self.plans.index.fill(self.plans.laid.len() as u32 - 1);
    }

    /// Notes how many blocks of the failed disks are rebuilt.
    pub(super) fn rebuilt(&mut self, blocks: u64) {
        self.rebuilt.0 = blocks;
    }

    /// The transfer time of an access of a rebuild.
    pub(super) fn transfer(&mut self, access: &Access) -> Span {
        let place = self.rebuild_places[usize::from(access.disk)].next();
        self.model.transfer(place, access)
    }

    /// The number of a request's plan while failed disks are rebuilt: its plan on the whole array if
    /// all its accesses lie in what is rebuilt. A request without an address lies there with the
    /// probability that so much is rebuilt.
    fn where_rebuilt(&mut self, request: &Request) -> usize {
        let (blocks, all) = self.rebuilt;
        if blocks == all {
            return self.plans.of(request, true);
        }
        if request.at.is_none() {
            let rebuilt = self.chances.below(all) < blocks;
            return self.plans.of(request, rebuilt);
        }
        let plan = self.plans.of(request, true);
        let inside = |access: &Access| access.at + u64::from(access.blocks) <= blocks;
        match self.plans.plan(plan).accesses().iter().all(inside) {
            true => plan,
            false => self.plans.of(request, false),
        }
    }

    /// Draws the transfer times of a plan that may come back to its disks.
    #[inline(always)]
    fn draw_phases(&mut self) -> Span {
        self.planned += 1;
        let plan = self.plans.plan(self.plan);
        for (transfer, access) in self.transfers.iter_mut().zip(plan.accesses()) {
            let disk = usize::from(access.disk);
            let is_back = M::REMEMBERS && self.remembered[disk].0 == self.planned;
            if !is_back {
                self.remembered[disk] = (self.planned, self.places[disk].next());
            }
            *transfer = self.model.transfer(self.remembered[disk].1, access);
        }
        let in_turn = self.model.servers() == 1 && self.model.arms() == 1;
        let least = match plan.waits_for_all() && in_turn {
            true => least_in_turn(plan, &self.transfers, &mut self.least),
            false => least_side_by_side(plan, &self.transfers, &mut self.ends),
        };
        least.max(Span::from_ps(1))
    }
}

/// An access at the queue of the arm that it needs.
fn on_its_arm<M: ServiceModel>(model: &M, access: &Access) -> Access {
    let queue = usize::from(access.disk) * model.arms() + model.arm(access);
    Access { disk: queue as u16, ..*access }
}

/// The least time of a plan whose accesses take `transfers`. A phase begins when all accesses that it
/// waits for are done; what comes before one of these on its disk delays it, what comes after does not.
#[inline(always)]
fn least_in_turn(plan: &AccessPlan, transfers: &[Span], least: &mut [Span]) -> Span {
    let mut begins = Span::ZERO;
    let mut done = Span::ZERO;
    for phase in 0..plan.phases() {
        least.fill(Span::ZERO);
        let mut next = Span::ZERO;
        let range = plan.range(phase);
        for (access, &transfer) in plan.phase(phase).iter().zip(&transfers[range]) {
            let disk = usize::from(access.disk);
            let ends = least[disk] + transfer;
            least[disk] = ends;
            if access.gate {
                next = next.max(begins + ends);
            }
            if access.counts {
                done = done.max(begins + ends);
            }
        }
        begins = next;
    }
    done
}

/// This time where disks serve several accesses at once, and nothing delays any, or where some of the
/// accesses of a phase suffice.
#[cold]
fn least_side_by_side(plan: &AccessPlan, transfers: &[Span], some: &mut Vec<Span>) -> Span {
    let mut begins = Span::ZERO;
    let mut done = Span::ZERO;
    for phase in 0..plan.phases() {
        let needs = plan.needs(phase);
        let mut next = Span::ZERO;
        some.clear();
        let range = plan.range(phase);
        for (access, &transfer) in plan.phase(phase).iter().zip(&transfers[range]) {
            let ends = begins + transfer;
            if needs.is_some() && plan.leads_on(phase, access) {
                some.push(ends);
                continue;
            }
            if access.gate {
                next = next.max(ends);
            }
            if access.counts {
                done = done.max(ends);
            }
        }
        if let Some(needs) = needs {
            let first = nth_least(some, needs);
            next = next.max(first);
            done = done.max(first);
        }
        begins = next;
    }
    done
}

/// The most blocks of a request whose plan is kept,
const BLOCKS: u32 = 64;
/// and the most ways in which a request may lie on the array then.
const WAYS: u64 = 64;

/// The plans of one run's requests, each laid once where there are few.
pub(crate) struct PlanCache<'a> {
    /// The array with its failed disks, and the array where these are rebuilt.
    layouts: [&'a Layout; 2],
    /// Blocks in a stripe unit.
    unit: u32,
    /// The random stream of where requests without addresses start.
    starts: Ahead,
    /// The number of ways in which a read can lie, and a write.
    ways: [u64; 2],
    /// Plans that are kept, behind the one that is not.
    laid: Vec<AccessPlan>,
    /// The index into `laid` by number of blocks, array, operation and way; 0 is none.
    index: Vec<u32>,
}

impl<'a> PlanCache<'a> {
    /// The plans of requests to `layout`, and to `rebuilt`, the array whose failed disks are rebuilt.
    pub(crate) fn new(
        layout: &'a Layout,
        rebuilt: &'a Layout,
        unit: u32,
        streams: Streams,
    ) -> PlanCache<'a> {
        let starts = Ahead::new(streams.stream("starts", 0));
        let laid = vec![AccessPlan::new(layout.disks())];
        let index = vec![0; 4 * BLOCKS as usize * WAYS as usize];
        let ways = [Op::Read, Op::Write].map(|op| layout.ways(op));
        PlanCache { layouts: [layout, rebuilt], unit, starts, ways, laid, index }
    }

    /// The number of a request's plan: from its address on where it has one, else from a random place
    /// on; on the array whose failed disks are `rebuilt`, or as it is. Valid until the next call.
    #[inline(always)]
    pub(crate) fn of(&mut self, request: &Request, rebuilt: bool) -> usize {
        let Request { op, blocks, at, .. } = *request;
        let ways = self.ways[op as usize];
        if at.is_some() || ways > WAYS || blocks > BLOCKS {
            self.lay_once(request, rebuilt);
            return 0;
        }
        let way = self.starts.below(ways);
        let kind = 2 * u64::from(rebuilt) + op as u64;
        let entry = (4 * u64::from(blocks - 1) + kind) * WAYS + way;
        match self.index[entry as usize] {
            0 => self.lay_for_good(request, rebuilt, way, entry as usize),
            plan => plan as usize,
        }
    }

    /// A plan by its number.
    #[inline]
    pub(crate) fn plan(&self, number: usize) -> &AccessPlan {
        &self.laid[number]
    }

    fn lay_once(&mut self, request: &Request, rebuilt: bool) {
        let Request { op, blocks, at, .. } = *request;
        let layout = self.layouts[usize::from(rebuilt)];
        let plan = &mut self.laid[0];
        match at {
            Some(first) => {
                layout.lay_at(op, first, blocks, self.unit, &mut self.starts, plan);
            }
            None => layout.lay(op, blocks, self.starts.below(self.ways[op as usize]), plan),
        }
    }

    #[cold]
    fn lay_for_good(&mut self, request: &Request, rebuilt: bool, way: u64, entry: usize) -> usize {
        let layout = self.layouts[usize::from(rebuilt)];
        let mut plan = AccessPlan::new(layout.disks());
        layout.lay(request.op, request.blocks, way, &mut plan);
        self.index[entry] = self.laid.len() as u32;
        self.laid.push(plan);
        self.laid.len() - 1
    }
}
