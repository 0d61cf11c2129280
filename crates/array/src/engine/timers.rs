//! When each disk is done next: a tournament among as many timers as there are disks.

use sojourn_kernel::Time;

/// One timer a disk. Unlike a calendar it holds at most one event for each, and keeps them where
/// they are; among equal times the lower disk is first.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The keys `time | timer`: those of the timers in the second half, and before them the winners;
    /// entry i is the less of the entries 2i and 2i + 1.
    keys: Vec<u128>,
}

const fn key(timer: usize, at: Time) -> u128 {
    (at.ps() as u128) << 64 | timer as u128
}

impl Timers {
    /// `count` timers, none of them set.
    pub(super) fn new(count: usize) -> Timers {
        let leaves = count.next_power_of_two();
        let mut timers = Timers { keys: vec![key(0, Time::NEVER); 2 * leaves] };
        (0..leaves).for_each(|timer| timers.set(timer, Time::NEVER));
        timers
    }

    /// The first timer and its time; [`Time::NEVER`] when none is set.
    #[inline]
    pub(super) fn first(&self) -> (usize, Time) {
        let first = self.keys[1];
        (first as u64 as usize, Time::from_ps((first >> 64) as u64))
    }

    /// Sets a timer, or stops it with [`Time::NEVER`].
    #[inline]
    pub(super) fn set(&mut self, timer: usize, at: Time) {
        let mut place = self.keys.len() / 2 + timer;
        let mut winner = key(timer, at);
        self.keys[place] = winner;
        while place > 1 {
            winner = winner.min(self.keys[place ^ 1]);
            place /= 2;
            self.keys[place] = winner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::Streams;

    #[test]
    fn the_first_timer_is_the_least_and_of_equal_ones_the_lowest() {
        let mut stream = Streams::new(1, 0).stream("timers", 0);
        for count in [1, 2, 3, 4, 7, 8, 100] {
            let mut timers = Timers::new(count);
            let mut plain = vec![Time::NEVER; count];
            assert_eq!(timers.first().1, Time::NEVER);
            for _ in 0..2000 {
                let timer = stream.below(count as u64) as usize;
                let at = match stream.below(4) {
                    0 => Time::NEVER,
                    _ => Time::from_ps(stream.below(20)),
                };
                timers.set(timer, at);
                plain[timer] = at;
                let least = (0..count).min_by_key(|&timer| (plain[timer], timer)).unwrap();
                assert_eq!(timers.first().1, plain[least]);
                if plain[least] != Time::NEVER {
                    assert_eq!(timers.first().0, least);
                }
            }
        }
    }
}
