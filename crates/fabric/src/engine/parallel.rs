//! One scenario on several threads, as long as they have processors.

use super::apart::OwnBuffers;
use super::boundary::{Crossing, Said, Side};
use super::fabric::{Fabric, Links};
use super::judge::{Judge, Losses, processor_ns};
use super::layout::Layout;
use super::partition::Partition;
use super::switches::Switches;
use super::together::SharedMemory;
use super::{Cancelled, Engine, Outcome, Progress, Scenario, lines, sojourn_simulate};
use crate::queue::{Builder, Discipline};
use crate::transport::Transport;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

/// Simulates `scenario` on at most so many threads, each with a transport of its own. The outcome is
/// that of one thread; so is the panic of a thread that fails.
///
/// Where other programs have the processors, threads that wait for each other take many times as
/// long as one. Then one goes on alone with all parts of the scenario, which `progress` says, and
/// after two seconds the others try again.
pub fn simulate_on_threads<B, T>(
    scenario: &Scenario,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    threads: usize,
    progress: &Progress,
) -> Result<Outcome, Cancelled>
where
    B: Builder<Port: Send> + Sync,
    T: Transport + Send,
{
    simulate_judged(scenario, queue, transport, threads, |_| Losses::new(), progress)
}

/// The same, with a judge for each side as often as threads begin.
pub(super) fn simulate_judged<B, T, J: Judge>(
    scenario: &Scenario,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    threads: usize,
    judge: impl Fn(usize) -> J + Sync,
    progress: &Progress,
) -> Result<Outcome, Cancelled>
where
    B: Builder<Port: Send> + Sync,
    T: Transport + Send,
{
    let sides = Partition::new(&scenario.network, threads);
    if sides.count == 1 {
        return sojourn_simulate(scenario, queue, transport(), progress);
    }
    let layout = &Layout::new(&scenario.network, &sides);
    let crossing = &Crossing::new(sides.count);
    let cut = Cut { scenario, sides: &sides, layout, crossing, progress };
    match lines(scenario, queue) {
        _ if !scenario.memories.is_empty() => {
            cut.run::<_, _, SharedMemory, _>(queue, transport, judge)
        }
        Some(lines) => cut.run::<_, _, OwnBuffers, _>(&lines, transport, judge),
        None => cut.run::<_, _, OwnBuffers, _>(queue, transport, judge),
    }
}

/// A scenario with several sides.
#[derive(Clone, Copy)]
struct Cut<'a> {
    scenario: &'a Scenario,
    sides: &'a Partition,
    layout: &'a Layout,
    crossing: &'a Crossing,
    progress: &'a Progress,
}

impl Cut<'_> {
    fn run<B, T, S, J>(
        self,
        queue: &B,
        transport: impl Fn() -> T + Sync,
        judge: impl Fn(usize) -> J + Sync,
    ) -> Result<Outcome, Cancelled>
    where
        B: Builder<Port: Send> + Sync,
        T: Transport + Send,
        S: Switches<Share: Send> + Send,
        J: Judge,
    {
        let Cut { scenario, sides, layout, crossing, progress } = self;
        // Each thread takes the memory for its own side.
        let mut engines = self.at_once(0..sides.count, |number| {
            let side = Side::new(number, layout, crossing);
            Engine::<_, _, S, _>::new(scenario, layout, queue, transport(), side)
        });
        while !engines[0].is_over() {
            if !judge(0).is_crowded(sides.count) {
                let left_off = self.at_once(&mut engines, |engine| {
                    engine.meet_others(judge(engine.fabric.links.boundary.number), progress)
                });
                left_off.into_iter().collect::<Result<Vec<()>, _>>()?;
            }
            if !engines[0].is_over() {
                progress.went_alone.store(true, Ordering::Relaxed);
                alone(&mut engines, judge(0), progress)?;
            }
        }
        let parts = engines.into_iter().map(|engine| engine.outcome(progress)).collect();
        Ok(Outcome::joined(parts, scenario, sides))
    }

    /// What `work` makes of each of `items`: of the first on this thread, of the others on threads
    /// that help.
    fn at_once<I: Send, O: Send>(
        self,
        items: impl IntoIterator<Item = I>,
        work: impl Fn(I) -> O + Sync,
    ) -> Vec<O> {
        let on = |item| {
            let _watch = self.crossing.tell_of_failure();
            work(item)
        };
        let helped = |item| {
            let made = on(item);
            self.progress.helped_ns.fetch_add(processor_ns(), Ordering::Relaxed);
            made
        };
        std::thread::scope(|threads| {
            // The system may refuse a thread: then those that have begun need not wait for it.
            let _watch = self.crossing.tell_of_failure();
            let mut items = items.into_iter();
            let first = items.next();
            let others: Vec<_> = items.map(|item| threads.spawn(|| helped(item))).collect();
            let mut made: Vec<O> = first.map(on).into_iter().collect();
            for other in others {
                made.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            made
        })
    }
}

/// Simulates all sides, window by window, until `judge` lets other threads try again.
fn alone<D: Discipline, T: Transport, S: Switches>(
    engines: &mut [Engine<'_, D, T, S, Side<'_>>],
    mut judge: impl Judge,
    progress: &Progress,
) -> Result<(), Cancelled> {
    while !engines[0].is_over() && !judge.tries_again() {
        for engine in &mut *engines {
            let said = engine.window(progress).ok_or(Cancelled)?;
            let Links { boundary, wheel, .. } = &mut engine.fabric.links;
            boundary.say(said, false, wheel);
        }
        for engine in &mut *engines {
            engine.hear().ok_or(Cancelled)?;
        }
    }
    Ok(())
}

impl<D: Discipline, T: Transport, S: Switches> Engine<'_, D, T, S, Side<'_>> {
    /// Simulates this side window by window, and meets the others after each, to the end or until the
    /// thread of any is disturbed: then all leave off at the same meeting.
    fn meet_others(&mut self, mut judge: impl Judge, progress: &Progress) -> Result<(), Cancelled> {
        let mut disturbed = false;
        while !self.is_over() && !disturbed {
            let Some(said) = self.window(progress) else {
                self.fabric.links.boundary.stop();
                return Err(Cancelled);
            };
            let Links { boundary, wheel, .. } = &mut self.fabric.links;
            boundary.say(said, judge.is_disturbed(boundary.waited), wheel);
            self.begin_early(said);
            disturbed = self.hear().ok_or(Cancelled)?;
        }
        Ok(())
    }

    /// Begins the next window without waiting for the others, if it is certain to be simulated: this
    /// side has something to do in it, a flow or watch of this side is not done, and it begins by the
    /// horizon. None of the blocks that are visited now hears from the others.
    #[inline]
    fn begin_early(&mut self, said: Said) {
        let Fabric { links: Links { wheel, .. }, arena, .. } = &mut self.fabric;
        let next = wheel.current() + 1;
        if said.next == next && self.done < self.own && wheel.ends() <= self.scenario.horizon {
            wheel.go_on_to(next, arena);
            self.begin();
            self.has_begun = true;
        }
    }

    /// Goes on to the window that all sides agree on; gives whether any thread is disturbed.
    fn hear(&mut self) -> Option<bool> {
        let Fabric { links: Links { wheel, boundary, .. }, arena, .. } = &mut self.fabric;
        let (all, disturbed) = boundary.hear(wheel, arena)?;
        self.go_on(all);
        Some(disturbed)
    }
}
