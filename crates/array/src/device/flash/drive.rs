//! A solid-state drive that is ready to be accessed.

use super::Flash;
use super::unit::Unit;
use crate::device::chances::Chances;
use crate::device::quantiles::Quantiles;
use crate::device::{Op, PARTS, Plain, Service, ServiceModel, ServiceStart, Task};
use crate::layout::Access;
use sojourn_core::{Rate, Span, Streams, Time};
use statrs::distribution::{ContinuousCDF, Normal};
use std::sync::Arc;

/// A solid-state drive, ready to be accessed.
#[derive(Clone, Debug)]
pub struct Ssd {
    overhead: Span,
    command: Span,
    interface: Rate,
    read: Arc<Quantiles>,
    unit_rate: Option<Rate>,
    program: Arc<Quantiles>,
    /// The mean times of a read and of a program.
    means: [Span; 2],
    suspend: Span,
    units: u32,
    page: u64,
    write_rate: Rate,
    amplification: f64,
    indirection: u64,
    /// How long a full cache takes to be programmed.
    emptied: Span,
    /// The most pages that wait for one unit: twice its part of that, so that it is what all units
    /// together program that holds writes back, unless reads keep a unit from it.
    backlog: u64,
    depth: usize,
    /// Bytes in a block.
    block: u64,
}

/// The parts inside of a drive, once it has been accessed.
#[derive(Debug)]
pub struct Inside {
    controller: Line,
    units: Box<[Unit]>,
    /// The unit that programs the next page, and the bytes of the page that is not full yet.
    next: u64,
    filled: f64,
    /// What was written, as it can be programmed at the rate of all units together.
    programs: Line,
    /// The time from which the cache has room.
    room: Time,
    draws: Draws,
}

/// A part of a drive that accesses pass one after another.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The end of the last one so far.
    ends: Time,
    busy: Span,
}

impl Line {
    /// The next access comes at `now` and takes so long; when it has passed.
    fn pass(&mut self, now: Time, takes: Span) -> Time {
        self.ends = now.max(self.ends) + takes;
        self.busy += takes;
        self.ends
    }

    /// How long it was busy until `until`.
    fn busy(&self, until: Time) -> Span {
        self.busy - self.ends.since(until).min(self.busy)
    }
}

/// The random streams of a drive: on which unit a read begins, how long reads and programs take.
#[derive(Debug)]
struct Draws {
    units: Chances,
    reads: Chances,
    programs: Chances,
}

/// A drive, with what it takes to look inside of it first.
#[derive(Debug)]
pub struct State {
    streams: Streams,
    disk: u64,
    inside: Option<Box<Inside>>,
}

/// A lognormal law: its quantiles and its mean.
pub(super) fn lognormal(median: Span, p99: Option<Span>) -> (Arc<Quantiles>, Span) {
    let normal = Normal::standard();
    let median = median.ps() as f64;
    let spread = p99.map_or(0.0, |p99| libm::log(p99.ps() as f64 / median));
    let sigma = spread / normal.inverse_cdf(0.99);
    // Shares as far from 0 and 1 as one access in a million.
    let quantile =
        |share: f64| median * libm::exp(sigma * normal.inverse_cdf(share.clamp(1e-6, 1.0 - 1e-6)));
    let quantiles = Quantiles::new(quantile);
    let mean = quantiles.mean();
    (Arc::new(quantiles), mean)
}

impl Ssd {
    /// A drive whose blocks have `block` bytes.
    pub(super) fn new(sheet: &Flash, block: u64) -> Ssd {
        let (read, read_mean) = lognormal(sheet.read, sheet.read_p99);
        let (program, program_mean) = lognormal(sheet.program, sheet.program_p99);
        // What is programmed for all that the cache holds.
        let cache = sheet.cache().0 as f64 * sheet.amplification;
        Ssd {
            overhead: sheet.overhead,
            command: sheet.command,
            interface: sheet.interface,
            read,
            unit_rate: sheet.unit_rate,
            program,
            means: [read_mean, program_mean],
            suspend: sheet.suspend.unwrap_or(Span::MAX),
            units: sheet.units.into(),
            page: sheet.page.0,
            write_rate: sheet.write_rate,
            amplification: sheet.amplification,
            indirection: sheet.indirection.0,
            emptied: sheet.write_rate.span(cache as u64),
            backlog: (2.0 * cache / sheet.all_units().0 as f64).ceil() as u64,
            depth: sheet.depth.into(),
            block,
        }
    }

    /// How long an access keeps the controller.
    #[inline]
    fn controls(&self, bytes: u64) -> Span {
        self.interface.span(bytes).max(self.command)
    }

    /// How long a unit takes to hand over `bytes`.
    #[inline]
    fn hands_over(&self, bytes: u64) -> Span {
        self.unit_rate.map_or(Span::ZERO, |rate| rate.span(bytes))
    }

    /// How many bytes are programmed for a write of `bytes`.
    #[inline]
    fn programmed(&self, bytes: u64) -> f64 {
        bytes.next_multiple_of(self.indirection) as f64 * self.amplification
    }

    /// The parts of a drive as it is new.
    #[cold]
    fn inside(&self, streams: Streams, disk: u64) -> Box<Inside> {
        let chances = |purpose| Chances::new(streams.stream(purpose, disk));
        Box::new(Inside {
            controller: Line::default(),
            units: vec![Unit::default(); self.units as usize].into(),
            next: 0,
            filled: 0.0,
            programs: Line::default(),
            room: Time::ZERO,
            draws: Draws {
                units: chances("units"),
                reads: chances("reads"),
                programs: chances("programs"),
            },
        })
    }

    /// A read of `bytes`, whose first page takes `first` to be read, comes to the units at `now`;
    /// when it ends.
    fn read(&self, inside: &mut Inside, now: Time, bytes: u64, first: Span) -> Time {
        let Inside { units, draws: Draws { units: places, reads, programs }, .. } = inside;
        let count = u64::from(self.units);
        let pages = bytes.div_ceil(self.page);
        let begin = (u64::from(places.next()) * count) >> u32::BITS;
        let mut ended = now;
        let mut takes = first;
        for turn in 0..pages.min(count) {
            // A read that goes round all units reads several pages on each, all alike.
            let here = (pages - turn).div_ceil(count);
            let hands_over = self.hands_over(bytes.min(self.page));
            let unit = &mut units[((begin + turn) % count) as usize];
            let program = || self.program.at(programs.next());
            ended = ended.max(unit.read(now, (takes + hands_over) * here, self.suspend, program));
            takes = self.read.at(reads.next());
        }
        ended
    }

    /// A write of `bytes` comes to the cache at `now`; when it is there.
    fn write(&self, inside: &mut Inside, now: Time, bytes: u64) -> Time {
        let Inside { units, next, filled, programs, room, draws, .. } = inside;
        let to_program = self.programmed(bytes);
        let programmed = programs.pass(now, self.write_rate.span(to_program as u64));
        *room = (*room).max(Time::from_ps(programmed.ps().saturating_sub(self.emptied.ps())));
        *filled += to_program;
        let (count, page) = (u64::from(self.units), self.page as f64);
        let pages = (*filled / page) as u64;
        *filled -= pages as f64 * page;
        let mut program = || self.program.at(draws.programs.next());
        for turn in 0..pages.min(count) {
            let here = (pages - turn).div_ceil(count);
            // The next one, unless it has all that it may have and another one has not.
            let others = (0..count).map(|other| ((*next + other) % count) as usize);
            let free =
                others.clone().find(|&unit| units[unit].left(now, &mut program) < self.backlog);
            let chosen = free.unwrap_or(*next as usize);
            units[chosen].program(now, here, &mut program);
            *room = (*room).max(units[chosen].has_room(self.backlog, self.means[1]));
            *next = (chosen as u64 + 1) % count;
        }
        now.max(*room)
    }
}

impl ServiceModel for Ssd {
    /// Its blocks.
    type Spot = u32;
    type State = State;
    type InOrder = Plain<Ssd>;

    fn state(&self, streams: Streams, disk: u64) -> State {
        State { streams, disk, inside: None }
    }

    /// The time of an access that meets no other one.
    #[inline]
    fn transfer(&self, chance: u32, access: &Access) -> Span {
        let bytes = u64::from(access.blocks) * self.block;
        let controlled = self.overhead + self.controls(bytes);
        match access.op {
            Op::Read => controlled + self.read.at(chance) + self.hands_over(bytes.min(self.page)),
            Op::Write => controlled,
        }
    }

    #[inline]
    fn spot(&self, access: &Access) -> u32 {
        access.blocks
    }

    #[inline]
    fn start(&self, state: &mut State, task: &Task<u32>, start: ServiceStart) -> Service {
        let State { streams, disk, inside } = state;
        let inside = inside.get_or_insert_with(|| self.inside(*streams, *disk));
        let bytes = u64::from(task.spot) * self.block;
        let controls = self.controls(bytes);
        let controlled = inside.controller.pass(start.now, controls);
        let ended = match task.op {
            Op::Read => {
                let beside = self.overhead + controls + self.hands_over(bytes.min(self.page));
                self.read(inside, controlled, bytes, task.transfer - beside)
            }
            Op::Write => self.write(inside, controlled, bytes),
        };
        Service::of(ended - start.now + self.overhead)
    }

    fn longest(&self, blocks: u32) -> f64 {
        let bytes = u64::from(blocks) * self.block;
        let rounds = (bytes.div_ceil(self.page) as f64 / f64::from(self.units)).ceil();
        let page = self.read.longest() + self.hands_over(self.page).ps() as f64;
        let reads = page * rounds + self.program.longest();
        let writes = self.write_rate.span(self.programmed(bytes) as u64).ps() as f64;
        (self.overhead + self.controls(bytes)).ps() as f64 + reads.max(writes)
    }

    fn servers(&self) -> usize {
        self.depth
    }

    fn busy(&self, state: &State, slots: Span, until: Time) -> Span {
        let Some(inside) = &state.inside else { return Span::ZERO };
        let units = inside.units.iter().fold(Span::ZERO, |sum, unit| sum + unit.busy(until));
        let lines = inside.controller.busy(until).max(inside.programs.busy(until));
        // All that it takes in at once may be under way though no part is busy.
        lines.max(units / u64::from(self.units)).max(slots)
    }

    fn work(&self, op: Op, blocks: u32) -> Option<[f64; PARTS]> {
        let bytes = u64::from(blocks) * self.block;
        let (programs, pages) = match op {
            Op::Read => (Span::ZERO, bytes.div_ceil(self.page) as f64),
            Op::Write => {
                let bytes = self.programmed(bytes);
                (self.write_rate.span(bytes as u64), bytes / self.page as f64)
            }
        };
        let page = match op {
            Op::Read => self.means[0] + self.hands_over(bytes.min(self.page)),
            Op::Write => self.means[1],
        };
        let units = pages * page.ps() as f64 / f64::from(self.units);
        let controls = self.controls(bytes);
        let alone = self.overhead + controls + if op == Op::Read { page } else { Span::ZERO };
        let slots = alone.ps() as f64 / self.depth as f64;
        Some([controls.ps() as f64, programs.ps() as f64, units, slots])
    }
}
