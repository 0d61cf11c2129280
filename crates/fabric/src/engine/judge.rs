//! Whether several threads are worth it: not where other programs have their processors.

use rustix::time::{ClockId, clock_gettime};

/// When a scenario goes on with one thread, and when with several again.
pub(super) trait Judge {
    /// Whether so many other threads of the system run that these `threads` would not have a processor each.
    fn is_crowded(&self, _threads: usize) -> bool {
        false
    }

    /// Whether the thread of a side has lost so much to other programs that one thread is better
    /// for all. Asked at each meeting, and told whether the side `waited` long at the last one.
    fn is_disturbed(&mut self, waited: bool) -> bool;

    /// Whether one thread has been alone for long enough. Asked after each window.
    fn tries_again(&mut self) -> bool;
}

/// Judges by what this thread had of its processor. A thread that waits looks or offers its
/// processor to others, and never sleeps: all the time that it had none, another program had it.
pub(super) struct Losses {
    asked: u64,
    began_ns: u64,
    /// The clocks of the world and of this thread when they were last read.
    now_ns: u64,
    own_ns: u64,
    lost_ns: u64,
}

/// How often it is asked between two looks at the clocks.
const LOOK_EVERY: u64 = 256;

/// How many looks in a row have to find other programs running.
const LOOKS: usize = 3;

/// The share of its time that a thread may lose: with a quarter gone at random on each of two
/// threads, they take as long as one.
const TOLERATED: u64 = 4;

/// How much more it may lose at once: some turns of another program.
const MOST_LOST_NS: u64 = 20_000_000;

/// How long one thread goes on before several try again. Where they lose as much at once as they
/// may, that is a few hundredths of the time.
const ALONE_NS: u64 = 2_000_000_000;

impl Losses {
    /// Those of this thread from now on.
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

/// How many threads of the system are runnable, without the calling one; only Linux tells.
fn others_running() -> Option<usize> {
    others_in(&std::fs::read_to_string("/proc/loadavg").ok()?)
}

fn others_in(load: &str) -> Option<usize> {
    let (running, _) = load.split_whitespace().nth(3)?.split_once('/')?;
    running.parse::<usize>().ok()?.checked_sub(1)
}

/// How many processors are online, those included that this process may not use: what `/proc/loadavg`
/// counts runs on any of them.
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

/// How long this thread has had a processor.
pub(super) fn processor_ns() -> u64 {
    clock_ns(ClockId::ThreadCPUTime)
}

/// What a clock shows: no row depends on it.
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
