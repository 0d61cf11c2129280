//! When each disk is done next: a tournament among as many timers as there are disks.

use sojourn_kernel::Time;

/// One timer a disk. Unlike a calendar it holds at most one event for each, and keeps them where
/// they are; among equal times the lower disk is first.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    at: Vec<Time>,
    /// The winner of each match; match 1 is the final, the matches below i are 2i and 2i + 1.
    winners: Vec<u32>,
}

impl Timers {
    /// `count` timers, none of them set.
    pub(super) fn new(count: usize) -> Timers {
        let leaves = count.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for node in (1..2 * leaves).rev() {
            winners[node] = if node >= leaves { (node - leaves) as u32 } else { winners[2 * node] };
        }
        Timers { at: vec![Time::NEVER; leaves], winners }
    }

    /// The first timer and its time; [`Time::NEVER`] when none is set.
    #[inline]
    pub(super) fn first(&self) -> (usize, Time) {
        let winner = self.winners[1] as usize;
        (winner, self.at[winner])
    }

    /// Sets a timer, or stops it with [`Time::NEVER`].
    #[inline]
    pub(super) fn set(&mut self, timer: usize, at: Time) {
        self.at[timer] = at;
        let mut node = (timer + self.at.len()) / 2;
        while node > 0 {
            let (left, right) = (self.winners[2 * node], self.winners[2 * node + 1]);
            let later = self.at[right as usize] < self.at[left as usize];
            self.winners[node] = if later { right } else { left };
            node /= 2;
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
