//! One scenario on several threads, as long as each of them has a processor.

use super::barrier::{Side, SpinBarrier, WindowSummary};
use super::cancellation::unless_cancelled;
use super::partition::{Layout, Partition};
use super::port::{Fabric, Links, SwitchMemory};
use super::{
    Cancelled, Engine, Execution, Outcome, Progress, Scenario, sojourn_simulate, with_memory,
};
use crate::queue::{Builder, Queue};
use crate::transport::Transport;
use rustix::time::{ClockId, clock_gettime};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

/// Simulates `scenario` on the threads of `execution`, each with its own transport. The outcome is
/// equal on one thread, and so is the panic of a thread that fails.
///
/// Where other programs have the processors, threads that wait for each other take many times as
/// long as one. Then one goes on alone with all parts of the scenario, which `progress` says, and
/// after two seconds the others try again.
pub fn simulate_on_threads<B, T>(
    scenario: &Scenario,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    execution: Execution<'_>,
) -> Result<Outcome, Cancelled>
where
    B: Builder<Port: Send> + Sync,
    T: Transport + Send,
{
    simulate_judged(scenario, queue, transport, |_| Losses::new(), execution)
}

/// Like [`simulate_on_threads`], but `judge` makes the [`Judge`] of each side whenever threads begin.
pub(super) fn simulate_judged<B, T, J: Judge>(
    scenario: &Scenario,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    judge: impl Fn(usize) -> J + Sync,
    execution: Execution<'_>,
) -> Result<Outcome, Cancelled>
where
    B: Builder<Port: Send> + Sync,
    T: Transport + Send,
{
    let Execution { threads, progress, .. } = execution;
    let partition = Partition::new(&scenario.network, threads);
    if partition.count == 1 {
        return sojourn_simulate(scenario, queue, transport(), progress);
    }
    let layout = &Layout::new(&scenario.network, &partition);
    let barrier = &SpinBarrier::new(partition.count);
    let cut = Cut { scenario, partition: &partition, layout, barrier, progress };
    unless_cancelled(|| {
        with_memory!(scenario, B, |Memory| cut.run::<_, _, Memory, _>(queue, transport, judge))
    })
}

/// A scenario on several sides.
#[derive(Clone, Copy)]
struct Cut<'a> {
    scenario: &'a Scenario,
    partition: &'a Partition,
    layout: &'a Layout,
    barrier: &'a SpinBarrier,
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
        S: SwitchMemory<Share: Send> + Send,
        J: Judge,
    {
        let Cut { scenario, partition, layout, barrier, progress } = self;
        // Each thread allocates the memory of its side.
        let mut engines = self.at_once(0..partition.count, |number| {
            let side = Side::new(number, layout, barrier);
            Engine::<_, _, S, _>::new(scenario, layout, queue, transport(), side, progress)
        });
        while !engines[0].is_over() {
            if !judge(0).is_crowded(partition.count) {
                let left_off = self.at_once(&mut engines, |engine| {
                    engine.meet_others(judge(engine.fabric.links.boundary.number))
                });
                left_off.into_iter().collect::<Result<Vec<()>, _>>()?;
            }
            if !engines[0].is_over() {
                progress.went_alone.store(true, Ordering::Relaxed);
                alone(&mut engines, judge(0))?;
            }
        }
        let parts = engines.into_iter().map(|engine| engine.outcome()).collect();
        Ok(Outcome::joined(parts, scenario, partition))
    }

    /// Maps each of `items` by `work`: the first on this thread, the others on threads that help.
    fn at_once<I: Send, O: Send>(
        self,
        items: impl IntoIterator<Item = I>,
        work: impl Fn(I) -> O + Sync,
    ) -> Vec<O> {
        let on = |item| {
            let _watch = self.barrier.tell_of_failure();
            work(item)
        };
        let helped = |item| {
            let made = on(item);
            self.progress.helped_ns.fetch_add(processor_ns(), Ordering::Relaxed);
            made
        };
        std::thread::scope(|threads| {
            // The system may refuse a thread: then those that have begun do not wait for it.
            let _watch = self.barrier.tell_of_failure();
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
fn alone<D: Queue, T: Transport, S: SwitchMemory>(
    engines: &mut [Engine<'_, D, T, S, Side<'_>>],
    mut judge: impl Judge,
) -> Result<(), Cancelled> {
    while !engines[0].is_over() && !judge.tries_again() {
        for engine in &mut *engines {
            let summary = engine.window();
            let Links { boundary, wheel, .. } = &mut engine.fabric.links;
            boundary.publish(summary, false, wheel);
        }
        for engine in &mut *engines {
            engine.collect_from_others().ok_or(Cancelled)?;
        }
    }
    Ok(())
}

impl<D: Queue, T: Transport, S: SwitchMemory> Engine<'_, D, T, S, Side<'_>> {
    /// Simulates this side window by window, and meets the others after each, to the end or until the
    /// thread of any is disturbed: then all leave off at the same meeting.
    fn meet_others(&mut self, mut judge: impl Judge) -> Result<(), Cancelled> {
        let mut disturbed = false;
        while !self.is_over() && !disturbed {
            let summary = self.window();
            let Links { boundary, wheel, .. } = &mut self.fabric.links;
            boundary.publish(summary, judge.is_disturbed(boundary.waited), wheel);
            self.begin_early(summary);
            disturbed = self.collect_from_others().ok_or(Cancelled)?;
        }
        Ok(())
    }

    /// Begins the next window without waiting for the others, if it is certain to be simulated: this
    /// side has something to do in it, a flow or watch of this side is not done, and it begins by the
    /// horizon. None of the blocks that are visited now hears from the others.
    #[inline]
    fn begin_early(&mut self, summary: WindowSummary) {
        let Fabric { links: Links { wheel, .. }, arena, .. } = &mut self.fabric;
        let next = wheel.current() + 1;
        if summary.next == next && summary.done < self.own && wheel.ends() <= self.scenario.horizon
        {
            wheel.go_on_to(next, arena);
            self.begin();
            self.has_begun = true;
        }
    }

    /// Goes on to the window that all sides agree on. Returns whether any thread is disturbed.
    fn collect_from_others(&mut self) -> Option<bool> {
        let Fabric { links: Links { wheel, boundary, .. }, arena, .. } = &mut self.fabric;
        let (all, disturbed) = boundary.collect_from_others(wheel, arena)?;
        self.go_on(all);
        Some(disturbed)
    }
}

/// Decides when a scenario goes on with one thread, and when with several again.
pub(super) trait Judge {
    /// Whether other programs run so many threads that these `threads` would not have a processor each.
    fn is_crowded(&self, _threads: usize) -> bool {
        false
    }

    /// Whether the thread of a side has lost so much time to other programs that one thread is better for
    /// all. Called at each meeting; `waited`: whether the side waited long at the last one.
    fn is_disturbed(&mut self, waited: bool) -> bool;

    /// Whether one thread has been alone for long enough. Called after each window.
    fn tries_again(&mut self) -> bool;
}

/// Decides by the time that this thread had no processor. A thread that waits spins or yields and never
/// sleeps, so another program had the processor then.
pub(super) struct Losses {
    asked: u64,
    began_ns: u64,
    /// The monotonic clock and this thread's processor time when they were last read, in nanoseconds.
    now_ns: u64,
    own_ns: u64,
    lost_ns: u64,
}

/// Calls between two looks at the clocks.
const LOOK_EVERY: u64 = 256;

/// Looks in a row that have to find other programs running.
const LOOKS: usize = 3;

/// The share of its time that a thread may lose: with a quarter gone at random on each of two
/// threads, they take as long as one.
const TOLERATED: u64 = 4;

/// How much more it may lose at once: some time slices of another program.
const MOST_LOST_NS: u64 = 20_000_000;

/// How long one thread goes on before several try again. Where they lose as much at once as they
/// may, that is a few hundredths of the time.
const ALONE_NS: u64 = 2_000_000_000;

impl Losses {
    /// The losses of this thread from now on.
    pub(super) fn new() -> Losses {
        let now_ns = clock_ns(ClockId::Monotonic);
        Losses { asked: 0, began_ns: now_ns, now_ns, own_ns: processor_ns(), lost_ns: 0 }
    }

    #[inline]
    fn is_time_to_look(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(LOOK_EVERY)
    }
}

impl Judge for Losses {
    /// Looks several times, so that a program that runs only for a moment does not count.
    fn is_crowded(&self, threads: usize) -> bool {
        let Some(processors) = processors() else { return false };
        (0..LOOKS).all(|_| others_running().is_some_and(|others| others + threads > processors))
    }

    #[inline]
    fn is_disturbed(&mut self, waited: bool) -> bool {
        if !self.is_time_to_look() && !waited {
            return false;
        }
        let (now_ns, own_ns) = (clock_ns(ClockId::Monotonic), processor_ns());
        let passed = now_ns - self.now_ns;
        self.lost_ns += passed.saturating_sub(own_ns - self.own_ns);
        self.lost_ns = self.lost_ns.saturating_sub(passed / TOLERATED);
        (self.now_ns, self.own_ns) = (now_ns, own_ns);
        self.lost_ns > MOST_LOST_NS
    }

    #[inline]
    fn tries_again(&mut self) -> bool {
        self.is_time_to_look() && clock_ns(ClockId::Monotonic) - self.began_ns > ALONE_NS
    }
}

/// Runnable threads of the system without the calling one; known on Linux only.
fn others_running() -> Option<usize> {
    others_in(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

fn others_in(load: &str) -> Option<usize> {
    let (running, _) = load.split_whitespace().nth(3)?.split_once('/')?;
    running.parse::<usize>().ok()?.checked_sub(1)
}

/// Processors online, those included that this process may not use: what `/proc/loadavg` counts runs on
/// any of them.
fn processors() -> Option<usize> {
    processors_in(&std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?)
}

fn processors_in(online: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        (last + 1).checked_sub(first)
    };
    online.trim().split(',').map(count).sum()
}

/// Processor time of this thread, in nanoseconds.
pub(super) fn processor_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// The time of a clock, in nanoseconds; no row depends on it.
#[expect(clippy::disallowed_methods)]
fn clock_ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(others_in("0.89 1.25 1.15 3/78 32044\n"), Some(2));
        assert_eq!([others_in(""), others_in("0.89 1.25 1.15 0/78 1")], [None, None]);
        let online = ["0\n", "0-1\n", "0-3,8,10-11\n", "", "2-0"];
        assert_eq!(online.map(processors_in), [Some(1), Some(2), Some(7), None, None]);
    }
}
