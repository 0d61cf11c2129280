//! One scene on several threads.

use super::apart::Apart;
use super::border::{Crossing, Side};
use super::sides::Sides;
use super::switches::Switches;
use super::together::Together;
use super::{Cancelled, Engine, Outcome, Progress, Scene, lines, sojourn_simulate};
use crate::qdisc::Builder;
use crate::transport::Transport;
use rustix::time::{ClockId, clock_gettime};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

/// Simulates `scene` on at most so many threads, each with a transport of its own. The outcome is
/// that of one thread; so is the panic of a thread that fails.
pub fn simulate_on_threads<B: Builder + Sync, T: Transport>(
    scene: &Scene,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    threads: usize,
    progress: &Progress,
) -> Result<Outcome, Cancelled> {
    let sides = Sides::new(&scene.network, threads);
    if sides.count == 1 {
        return sojourn_simulate(scene, queue, transport(), progress);
    }
    let shared = !scene.memories.is_empty();
    match lines(scene, queue) {
        _ if shared => on_sides::<_, _, Together>(scene, queue, transport, &sides, progress),
        Some(lines) => on_sides::<_, _, Apart>(scene, &lines, transport, &sides, progress),
        None => on_sides::<_, _, Apart>(scene, queue, transport, &sides, progress),
    }
}

/// Simulates `scene` on all `sides` of it at once.
fn on_sides<B: Builder + Sync, T: Transport, S: Switches>(
    scene: &Scene,
    queue: &B,
    transport: impl Fn() -> T + Sync,
    sides: &Sides,
    progress: &Progress,
) -> Result<Outcome, Cancelled> {
    let crossing = Crossing::new(sides.count);
    let on = |number| {
        let _watch = crossing.tell_of_failure();
        let side = Side::new(number, sides, &crossing);
        Engine::<_, _, S, _>::new(scene, queue, transport(), side).run(progress)
    };
    let parts: Result<Vec<Outcome>, Cancelled> = std::thread::scope(|threads| {
        // The system may refuse a thread: then those that have begun wait for nobody.
        let _watch = crossing.tell_of_failure();
        let helped = |number| {
            let part = on(number);
            progress.helped_ns.fetch_add(processor_ns(), Ordering::Relaxed);
            part
        };
        let others: Vec<_> =
            (1..sides.count).map(|number| threads.spawn(move || helped(number))).collect();
        let mut parts = vec![on(0)];
        for other in others {
            parts.push(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        parts.into_iter().collect()
    });
    parts.map(|parts| Outcome::joined(parts, scene, sides))
}

/// How long this thread has had a processor: for who wants to know, nothing depends on it.
#[expect(clippy::disallowed_methods)]
fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
