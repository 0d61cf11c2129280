//! When each disk is done next: as many timers as there are disks.

use sojourn_core::Time;

/// One timer a disk. Unlike a calendar it holds at most one event for each, and keeps them where
/// they are; among equal times the lower disk is first. What is looked through is looked through
/// whole, without a question on the way: which timer is first cannot be predicted, and a wrong guess
/// costs more than the others of a few.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The time of each, up to a whole number of groups.
    times: Vec<Time>,
    /// For each group of neighbours the least of their times, and whose it is.
    least: Vec<Time>,
    whose: Vec<u32>,
    /// How many timers a group has, as a power of two.
    group: u32,
}

/// Up to so many timers are groups of their own.
const FEW: usize = 8;

impl Timers {
    /// `count` timers, none of them set.
    pub(super) fn new(count: usize) -> Timers {
        let group = if count <= FEW { 0 } else { (count.ilog2() / 2).max(2) };
        let groups = count.div_ceil(1 << group).next_multiple_of(4);
        Timers {
            times: vec![Time::NEVER; groups << group],
            least: vec![Time::NEVER; groups],
            whose: (0..groups as u32).map(|of| of << group).collect(),
            group,
        }
    }

    /// The first timer and its time; [`Time::NEVER`] when none is set.
    #[inline(always)]
    pub(super) fn first(&self) -> (usize, Time) {
        let (place, time) = least(&self.least);
        (self.whose[place] as usize, time)
    }

    /// When a timer that is set goes off.
    pub(super) fn at(&self, timer: usize) -> Time {
        if self.group == 0 { self.least[timer] } else { self.times[timer] }
    }

    /// Sets a timer, or stops it with [`Time::NEVER`].
    #[inline(always)]
    pub(super) fn set(&mut self, timer: usize, at: Time) {
        if self.group == 0 {
            self.least[timer] = at;
        } else {
            self.set_in_group(timer, at);
        }
    }

    fn set_in_group(&mut self, timer: usize, at: Time) {
        self.times[timer] = at;
        let of = timer >> self.group;
        let start = of << self.group;
        let (place, time) = least(&self.times[start..start + (1 << self.group)]);
        self.least[of] = time;
        self.whose[of] = (start + place) as u32;
    }
}

/// The first of the least of some times, a whole number of fours.
#[inline(always)]
fn least(times: &[Time]) -> (usize, Time) {
    let earlier = |a: (usize, Time), b: (usize, Time)| if b.1 < a.1 { b } else { a };
    let mut first = (0, Time::NEVER);
    for (place, four) in (0..).step_by(4).zip(times.as_chunks::<4>().0) {
        let early = earlier((place, four[0]), (place + 1, four[1]));
        let late = earlier((place + 2, four[2]), (place + 3, four[3]));
        first = earlier(first, earlier(early, late));
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;

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
