//! One case of an array study: its parameters, what is refused of them, and what formulas say of it.

use crate::device::hdd::Positioning;
use crate::device::hdd::scheduling::{Fcfs, Scheduling};
use crate::device::{self, Device, DeviceContext, ServiceModel, WithDevice};
use crate::engine::{self, Join, RebuildOrder};
use crate::exact::{Distribution, FormulaInput, Known, Load};
use crate::layout::Layout;
use crate::workload::{self, MAX_BLOCKS, Workload};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Bytes, Span, choices, nested, parameters};
use std::borrow::Cow;
use std::num::NonZeroU32;

parameters! {
    /// A disk array: requests over disks, access by access.
    pub struct ArrayCase: "array" {
        /// The disks, which are all alike.
        pub disk: Device,
        /// How requests are spread over the disks.
        pub layout: Layout,
        /// Requests that arrive.
        pub workload: Workload,
        /// How heads reach the places of accesses. By default mechanically if a trace names the
        /// places, and otherwise independently of them.
        pub positioning: Option<Positioning> = None,
        /// Order in which each disk serves accesses.
        pub scheduling: Scheduling = Scheduling::Fcfs(defaults::<Fcfs>()),
        /// Whether the accesses of different requests may overlap.
        pub join: Join = Join::ForkJoin,
        /// Bytes in a block, the unit of request sizes. By default it is 128 KiB, and for a trace the
        /// largest power of two from 512 B to 128 KiB that divides all its offsets and sizes; `stripe`
        /// and `rebuild.chunk` then still count 128 KiB. The requests of a trace are rounded out to a
        /// larger one.
        pub block: Option<Bytes> = None,
        /// Blocks in a stripe unit, which is the part of a stripe on one disk. With more than one,
        /// requests have addresses.
        pub stripe: NonZeroU32 = NonZeroU32::MIN,
        /// Time that the controller adds.
        pub controller: Controller = defaults(),
        /// Rebuild of failed disks while the array serves. By default there is no rebuild.
        pub rebuild: Option<Rebuild> = None,
        /// Method of computation. The rows are the same with each.
        pub engine: Engine = Engine::Quickest,
    }
}

choices! {
    /// How a case is computed.
    pub enum Engine: "engine" {
        /// Disk by disk where no end of an access leads to another, else event by event.
        Quickest = "quickest",
        /// Event by event.
        Events = "events",
    }
}

parameters! {
    /// Constant time of the controller for each phase. The paper's model has none.
    pub struct Controller: "controller" {
        /// Time before each phase.
        pub overhead: Span = Span::ZERO,
        /// Additional time before a later phase, to compute parity.
        pub parity: Span = Span::ZERO,
    }
}
nested!(Controller);

parameters! {
    /// Spares take the places of failed disks, and what these held is read from the others and
    /// written, from the first block to the last, chunk by chunk. Its accesses are served where no
    /// access of a request waits. Where it is done, requests meet a whole array; one without an
    /// address is there with the probability that so much is done. With independent positioning
    /// each of its accesses takes a seek and a rotation.
    pub struct Rebuild: "rebuild" {
        /// Blocks that are read at a time, and then written.
        pub chunk: NonZeroU32 = NonZeroU32::new(8).expect("8 is not zero"),
        /// Pause between two chunks. A longer pause disturbs requests less, but the rebuild takes
        /// longer.
        pub gap: Span = Span::ZERO,
        /// Whether the rebuild reads while it writes.
        pub order: RebuildOrder = RebuildOrder::Overlapping,
        /// Amount of each failed disk that is rebuilt. By default all of it.
        pub size: Option<Bytes> = None,
    }
}
nested!(Rebuild);

/// The block of a study that sets none.
const USUAL_BLOCK: Bytes = Bytes(128 << 10);
/// The largest block: 1 GiB.
const LARGEST_BLOCK: Bytes = Bytes(1 << 30);
/// The most requests that a case has rows of: those of more do not fit into memory.
const MAX_REQUESTS: u32 = 100_000_000;
/// The most blocks of a stripe unit.
const LARGEST_STRIPE: u32 = 1 << 20;

/// The longest time that the controller can be set to wait.
const LONGEST_DELAY: Span = Span::from_s(1);

impl Check for ArrayCase {
    fn check(&self) -> Result<(), Refusal> {
        if !(1..=LARGEST_BLOCK.0).contains(&self.block().0) {
            return Err(Refusal::of(&self.block, "a size from \"1B\" to \"1GiB\"").under("block"));
        }
        if self.stripe.get() > LARGEST_STRIPE {
            let expected = format!("a whole number from 1 to {LARGEST_STRIPE}");
            return Err(Refusal::of(&self.stripe, expected).under("stripe"));
        }
        let positioning = self.positioning();
        let mechanical = positioning.is_mechanical();
        if self.disk.is_hard_disk() && !self.scheduling.fits(mechanical) {
            let given = Value::Text(self.scheduling.name().to_owned());
            let here = positioning.name();
            let there = if mechanical { "independent" } else { "mechanical" };
            let expected =
                format!("an order for positioning = {here:?}; this one is for {there:?}");
            return Err(Refusal::value(&given, expected).under("scheduling"));
        }
        if self.rebuild.is_some() && self.layout.rebuild_source().is_none() {
            let given = Value::Text(self.layout.name().to_owned());
            let expected = "a layout with a disk that has failed and can be rebuilt";
            return Err(Refusal::value(&given, expected).under("layout"));
        }
        self.check_effects()
    }
}

impl Check for Rebuild {
    fn check(&self) -> Result<(), Refusal> {
        if self.gap > LONGEST_DELAY {
            return Err(Refusal::of(&self.gap, format!("at most {LONGEST_DELAY}")).under("gap"));
        }
        if self.chunk.get() > MAX_BLOCKS {
            let expected = format!("a whole number from 1 to {MAX_BLOCKS}");
            return Err(Refusal::of(&self.chunk, expected).under("chunk"));
        }
        Ok(())
    }
}

impl Check for Controller {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in [("overhead", self.overhead), ("parity", self.parity)] {
            if span > LONGEST_DELAY {
                return Err(Refusal::of(&span, format!("at most {LONGEST_DELAY}")).under(key));
            }
        }
        Ok(())
    }
}

impl Rebuild {
    /// How many blocks of `block` bytes are rebuilt of a disk that holds `of_disk`.
    pub(crate) fn blocks(&self, block: u64, of_disk: u64) -> Result<u64, Refusal> {
        let blocks = self.size.map_or(of_disk, |size| size.0.div_ceil(block));
        if (1..=of_disk).contains(&blocks) {
            return Ok(blocks);
        }
        let expected = format!("a size above zero and of at most {}", Bytes(of_disk * block));
        Err(Refusal::of(&self.size, expected).under("size"))
    }
}

impl ArrayCase {
    /// How heads get to the places of accesses.
    pub(crate) fn positioning(&self) -> Cow<'_, Positioning> {
        let replayed = || self.workload.is_replayed() && self.disk.is_hard_disk();
        match &self.positioning {
            Some(positioning) => Cow::Borrowed(positioning),
            None if replayed() => Cow::Owned(Positioning::Mechanical(defaults())),
            None => Cow::Owned(Positioning::Independent(defaults())),
        }
    }

    /// Bytes in a block.
    pub(crate) fn block(&self) -> Bytes {
        self.block.unwrap_or(USUAL_BLOCK)
    }

    /// Sets the block that a study leaves open. A trace's own block may be smaller than the usual one: then
    /// numbers of blocks in the study grow, so that they are as many bytes as before.
    pub(crate) fn settle_block(&mut self) -> Result<(), Refusal> {
        if self.block.is_some() {
            return Ok(());
        }
        let block = self.workload.block(USUAL_BLOCK.0);
        let block = Bytes(block.map_err(|refusal| refusal.under("workload"))?);
        self.block = Some(block);
        let factor = u32::try_from(USUAL_BLOCK.0 / block.0).unwrap_or(1).max(1);
        if factor == 1 {
            return Ok(());
        }
        if let Some((key, time)) = self.disk.block_time().filter(|(_, time)| *time > Span::ZERO) {
            let expected = format!("block to be set too: those of the trace are of {block}");
            return Err(Refusal::of(&time, expected).under(key).under("disk"));
        }
        let factor = NonZeroU32::new(factor).expect("the factor is two or more here");
        if !self.is_one_copy() {
            self.stripe = self.stripe.saturating_mul(factor);
        }
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.chunk = rebuild.chunk.saturating_mul(factor);
        }
        self.check()
    }

    /// The number of requests that have rows in each replication. Reads and checks every file that
    /// the case names, and draws nothing: a case that this accepts can be
    /// [`run`](ArrayCase::run).
    pub fn count(&self) -> Result<usize, Refusal> {
        match self.workload()?.numbers.requests {
            requests if requests > MAX_REQUESTS => {
                let expected = format!("at most {MAX_REQUESTS} requests in a case");
                let refusal = Refusal::value(&Value::Int(requests.into()), expected);
                Err(refusal.under("requests").under("workload"))
            }
            requests => Ok(requests as usize),
        }
    }

    /// The rebuild that the case asks for, if it does.
    pub(crate) fn rebuild_plan(&self) -> Result<Option<engine::Rebuild>, Refusal> {
        let Some((params, source)) = self.rebuild.as_ref().zip(self.layout.rebuild_source()) else {
            return Ok(None);
        };
        let block = self.block().0;
        let of_disk = self.disk.blocks(block).map_err(|refusal| refusal.under("disk"))?;
        let blocks = params.blocks(block, of_disk).map_err(|refusal| refusal.under("rebuild"))?;
        let chunk = params.chunk.get();
        Ok(Some(engine::Rebuild { source, blocks, chunk, gap: params.gap, order: params.order }))
    }

    /// Whether each place on a disk is as likely as any other, and addresses say no more than that.
    pub(crate) fn has_even_places(&self) -> bool {
        self.workload.is_uniform() && !self.positioning().is_mechanical() && self.stripe.get() == 1
    }

    /// Whether requests with addresses lie like those without, but for the edges of the array: each
    /// block is as likely the first as any other, and no parity lies between two blocks.
    fn is_as_anywhere(&self, workload: &workload::Ready) -> bool {
        self.has_even_places() && (workload.largest == 1 || !self.layout.has_parity())
    }

    /// Whether requests have addresses.
    fn has_addresses(&self) -> bool {
        let placed = self.positioning().is_mechanical() || self.disk.arms() > 1;
        placed || self.stripe.get() > 1 || self.workload.has_addresses()
    }

    /// Makes the device ready to be accessed, and goes on with it.
    pub(crate) fn device<T, W>(&self, then: W) -> Result<T, Refusal>
    where
        W: WithDevice<Output = Result<T, Refusal>>,
    {
        let (positioning, scheduling) = (&*self.positioning(), &self.scheduling);
        let context = DeviceContext { block: self.block().0, positioning, scheduling };
        self.disk.ready(&context, then).map_err(|refusal| refusal.under("disk"))?
    }

    /// The workload of devices of a model, ready to be drawn from; refuses accesses that take too long.
    pub(crate) fn workload_for<M: ServiceModel>(
        &self,
        model: &M,
    ) -> Result<workload::Ready, Refusal> {
        let block = self.block().0;
        let under_disk = |refusal: Refusal| refusal.under("disk");
        let blocks = match self.has_addresses() {
            true => {
                let of_disk = self.disk.blocks(block).map_err(under_disk)?;
                if of_disk < self.disk.arms() as u64 {
                    let expected = match self.disk.arms() {
                        1 => "a block that is no larger than a disk",
                        _ => "a block that is no larger than what an arm of a disk reaches",
                    };
                    return Err(Refusal::of(&self.block(), expected).under("block"));
                }
                if of_disk < self.stripe.get().into() {
                    let expected = format!("at most {of_disk} blocks, as many as a disk has");
                    return Err(Refusal::of(&self.stripe, expected).under("stripe"));
                }
                Some(self.layout.blocks(of_disk, self.stripe.get()))
            }
            false => None,
        };
        let chunk = self.rebuild_plan()?.map_or(0, |rebuild| rebuild.chunk);
        let workload = self.workload.ready(&workload::WorkloadContext { block, blocks });
        let workload = workload.map_err(|refusal| refusal.under("workload"))?;
        let largest = workload.largest.max(chunk).max(1);
        let longest = device::LONGEST_ACCESS;
        if model.longest(largest) <= longest.ps() as f64 {
            return Ok(workload);
        }
        let expected = format!("accesses of {largest} blocks that take at most {longest}");
        Err(match self.disk.block_time() {
            Some((key, time)) => under_disk(Refusal::of(&time, expected).under(key)),
            None => Refusal::of(&self.block, expected).under("block"),
        })
    }

    /// The workload, ready to be drawn from.
    pub(crate) fn workload(&self) -> Result<workload::Ready, Refusal> {
        self.device(PrepareWorkload { case: self })
    }

    /// What formulas say of the case, without a simulation.
    pub fn known(&self) -> Result<Known, Refusal> {
        self.device(Analyse { case: self })
    }

    /// The distribution of sojourn times by formulas, or two that it lies between; none where no
    /// formula applies.
    pub fn distribution(&self) -> Result<Option<Distribution>, Refusal> {
        Ok(self.known()?.distribution())
    }

    /// What formulas say of devices of a model.
    pub(crate) fn analysis<M: ServiceModel>(&self, model: &M, workload: &workload::Ready) -> Known {
        if self.rebuild.is_some() {
            return Known::nothing("no formula: disks are rebuilt");
        }
        let mechanical = self.positioning().is_mechanical();
        if !mechanical && self.has_addresses() && !self.is_as_anywhere(workload) {
            return Known::nothing("no formula: requests have addresses");
        }
        if model.depends_on_load() {
            return Known::nothing("no formula: accesses that are served together slow each other");
        }
        let load = self.offered_load(model, workload);
        if model.arms() > 1 {
            return Known::nothing("no formula: disks have several arms").with_load(load);
        }
        let known = Known::of(&FormulaInput {
            layout: &self.layout,
            bulks: workload.bulks(),
            closed: workload.closed(),
            offered: workload.offered(),
            in_order: model.in_order(),
            servers: model.servers(),
            split_merge: self.join == Join::SplitMerge,
            overhead: self.controller.overhead.ps() as f64,
            times: model.service_times(),
        });
        known.with_load(load)
    }

    /// The load of the disks, where it can be computed.
    fn offered_load<M: ServiceModel>(&self, model: &M, workload: &workload::Ready) -> Option<Load> {
        let offered = workload.offered().filter(|_| self.join == Join::ForkJoin)?;
        // On platters a write that comes back to what it read takes less than any other.
        Load::of(&self.layout, !M::REMEMBERS, &offered, |op, blocks| model.work(op, blocks))
    }
}

/// Prepares the workload of a case.
struct PrepareWorkload<'a> {
    case: &'a ArrayCase,
}

impl WithDevice for PrepareWorkload<'_> {
    type Output = Result<workload::Ready, Refusal>;

    fn with<M: ServiceModel>(self, model: M) -> Self::Output {
        self.case.workload_for(&model)
    }
}

/// Says what formulas say of a case.
struct Analyse<'a> {
    case: &'a ArrayCase,
}

impl WithDevice for Analyse<'_> {
    type Output = Result<Known, Refusal>;

    fn with<M: ServiceModel>(self, model: M) -> Self::Output {
        let workload = self.case.workload_for(&model)?;
        Ok(self.case.analysis(&model, &workload))
    }
}
