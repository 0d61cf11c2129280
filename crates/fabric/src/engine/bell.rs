//! Where a thread waits for another one: awake for as long as that is likely to pay, then asleep.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// What wakes those that sleep.
pub(super) struct Bell {
    /// How often a thread looks before it sleeps.
    patience: u32,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

/// Looks for some 200 us: longer than the system takes to wake a thread. Were it less, one that is
/// being woken would send the others to sleep.
const PATIENCE: u32 = 4_000;

impl Bell {
    /// For so many threads. Where each has a processor it pays to look; where not, who looks may
    /// keep the one that it waits for from having it.
    pub(super) fn new(threads: usize) -> Bell {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Bell {
            patience: if threads <= processors { PATIENCE } else { 0 },
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            rung: Condvar::new(),
        }
    }

    /// Waits until `is_so`, which another thread made so before it rang. Whoever makes it so and
    /// whoever asks does that in the one order of all (`SeqCst`), so that nobody sleeps through it:
    /// either this thread sees it, or the other one sees that somebody sleeps.
    #[inline]
    pub(super) fn wait_until(&self, is_so: impl Fn() -> bool) {
        for _ in 0..self.patience {
            if is_so() {
                return;
            }
            std::hint::spin_loop();
        }
        self.sleep_until(is_so);
    }

    #[cold]
    fn sleep_until(&self, is_so: impl Fn() -> bool) {
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.asleep.fetch_add(1, Ordering::SeqCst);
        while !is_so() {
            held = self.rung.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    /// Something is so that was not.
    #[inline]
    pub(super) fn ring(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        // Who has said that it sleeps, and has the lock, is not yet asleep.
        drop(self.lock.lock());
        self.rung.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads in turns, with and without patience: would one sleep through the bell, the
    /// others would wait for ever.
    #[test]
    fn nobody_sleeps_through_it() {
        const TURNS: usize = 3_000;
        for patience in [0, 1, 50] {
            let (bell, turn) = (Bell { patience, ..Bell::new(3) }, AtomicUsize::new(0));
            let play = |own: usize| {
                for at in (own..TURNS).step_by(3) {
                    bell.wait_until(|| turn.load(Ordering::SeqCst) == at);
                    turn.store(at + 1, Ordering::SeqCst);
                    bell.ring();
                }
            };
            std::thread::scope(|threads| {
                for own in 0..3 {
                    threads.spawn(move || play(own));
                }
            });
            assert_eq!((turn.into_inner(), bell.asleep.into_inner()), (TURNS, 0));
        }
    }
}
