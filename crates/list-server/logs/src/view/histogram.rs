//! How often times of each length were.

/// Bits of a value that are kept: classes are at most 1/128 of their values wide.
const BITS: u32 = 7;

/// Times in microseconds, counted in classes whose width is at most 1/128 of the times in them; below
/// 256 us each is a class.
///
/// Memory grows with the classes that hold any, of which there are less than 8000.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Class and count, in rising order.
    counts: Vec<(u16, u64)>,
}

impl Histogram {
    /// Counts a time; one below zero as zero.
    pub fn add(&mut self, micros: i64) {
        let class = class(micros.max(0) as u64);
        match self.counts.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(place) => self.counts[place].1 += 1,
            Err(place) => self.counts.insert(place, (class, 1)),
        }
    }

    /// The classes that hold any: the least time, the first time beyond, how many.
    pub fn classes(&self) -> impl Iterator<Item = (i64, i64, u64)> {
        self.counts.iter().map(|&(class, count)| {
            (least(class) as i64, least(class + 1).min(i64::MAX as u64) as i64, count)
        })
    }
}

fn class(value: u64) -> u16 {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(BITS + 1);
    ((u64::from(shift) << BITS) + (value >> shift)) as u16
}

fn least(class: u16) -> u64 {
    let shift = u32::from(class >> BITS).saturating_sub(1);
    (u64::from(class) - (u64::from(shift) << BITS)) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn classes_follow_each_other() {
        for value in 0..256 {
            assert_eq!((class(value), least(class(value))), (value as u16, value));
        }
        for one in 0..class(i64::MAX as u64) {
            assert_eq!(class(least(one)), one);
            assert_eq!(class(least(one + 1) - 1), one);
        }
    }

    proptest! {
        #[test]
        fn a_time_is_in_its_class(micros in 0i64.., more in 0i64..1_000_000) {
            let mut histogram = Histogram::default();
            for time in [micros, more, more, -5] {
                histogram.add(time);
            }
            let classes: Vec<_> = histogram.classes().collect();
            prop_assert_eq!(classes.iter().map(|(_, _, count)| count).sum::<u64>(), 4);
            prop_assert!(classes.is_sorted());
            prop_assert!(classes.iter().any(|(low, high, _)| (*low..*high).contains(&micros)
                || (micros == i64::MAX && *high == i64::MAX)));
            prop_assert!(classes.iter().all(|(low, high, _)| high - low <= (low / 128).max(1)));
        }
    }
}
