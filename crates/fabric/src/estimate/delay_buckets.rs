//! The delays that a link adds to flows, by their size.

use super::Settings;
use super::link_model::LOST;
use crate::packet::{LATEST_ARRIVAL, LONGEST_DRAIN};
use sojourn_core::Stream;

/// The delay of one flow on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) bytes: u64,
    pub(super) packets: u32,
    /// In picoseconds; [`LOST`] where the flow did not finish.
    pub(super) delay: i64,
}

/// Samples in buckets of similar sizes.
#[derive(Debug)]
pub(super) struct DelayBuckets {
    /// Sorted by size.
    samples: Vec<Sample>,
    /// One past the last sample of each bucket.
    ends: Vec<usize>,
}

impl DelayBuckets {
    /// Sorts `samples`, at least one, into buckets: each is closed as soon as it holds enough flows
    /// and spans enough sizes, and what is left at the end joins the last one.
    pub(super) fn new(mut samples: Vec<Sample>, settings: &Settings) -> DelayBuckets {
        samples.sort_by_key(|sample| sample.bytes);
        let (mut ends, mut begins) = (Vec::new(), 0);
        for (place, sample) in samples.iter().enumerate() {
            let number = place + 1 - begins;
            let span = sample.bytes as f64 / samples[begins].bytes as f64;
            let goes_on = samples.get(place + 1).is_some_and(|next| next.bytes == sample.bytes);
            let enough = number >= settings.bucket_flows.get() as usize;
            if enough && span >= settings.bucket_span && !goes_on {
                ends.push(place + 1);
                begins = place + 1;
            }
        }
        match ends.last_mut() {
            Some(last) => *last = samples.len(),
            None => ends.push(samples.len()),
        }
        DelayBuckets { samples, ends }
    }

    /// The delay of a flow like one of `bytes` in `packets`, chosen at random; none where that one
    /// did not finish. Delays grow with the number of packets.
    pub(super) fn draw(&self, bytes: u64, packets: u32, stream: &mut Stream) -> Option<i64> {
        let bucket = self.ends.partition_point(|&end| self.samples[end - 1].bytes < bytes);
        let bucket = bucket.min(self.ends.len() - 1);
        let begins = if bucket == 0 { 0 } else { self.ends[bucket - 1] };
        let place = begins + stream.below((self.ends[bucket] - begins) as u64) as usize;
        let Sample { packets: own, delay, .. } = self.samples[place];
        if delay == LOST {
            return None;
        }
        let scaled = i128::from(delay) * i128::from(packets) / i128::from(own);
        // A flow that would be held up for longer than any run lasts does not finish; one is not
        // saved more than that either.
        let longest = i128::from((LATEST_ARRIVAL + LONGEST_DRAIN).ps());
        (scaled <= longest).then_some(scaled.max(-longest) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;
    use std::num::NonZeroU32;

    fn sample(bytes: u64, packets: u32, delay: i64) -> Sample {
        Sample { bytes, packets, delay }
    }

    fn drawn(delays: &DelayBuckets, bytes: u64, packets: u32) -> Vec<Option<i64>> {
        let mut stream = Streams::new(1, 0).stream("test", 0);
        let mut all: Vec<_> = (0..200).map(|_| delays.draw(bytes, packets, &mut stream)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn a_bucket_is_closed_when_it_has_flows_and_sizes_enough() {
        let settings = Settings { bucket_flows: NonZeroU32::new(2).unwrap(), ..defaults() };
        let sizes = [1, 1, 2, 2, 3, 4, 6, 50];
        let samples = (10..).zip(sizes).map(|(delay, bytes)| sample(bytes, 1, delay)).collect();
        let delays = DelayBuckets::new(samples, &settings);
        assert_eq!(delays.ends, [4, 8]);
        assert_eq!(drawn(&delays, 1, 1), [10, 11, 12, 13].map(Some));
        assert_eq!(drawn(&delays, 3, 1), [14, 15, 16, 17].map(Some));
        assert_eq!(drawn(&delays, 1_000, 1), [14, 15, 16, 17].map(Some));
    }

    #[test]
    fn delays_grow_with_the_packets_and_whoever_is_lost_is_lost() {
        let delays = DelayBuckets::new(vec![sample(3_000, 3, -30)], &defaults());
        assert_eq!(drawn(&delays, 7_000, 7), [Some(-70)]);
        let delays = DelayBuckets::new(vec![sample(1, 1, 5), sample(2, 1, LOST)], &defaults());
        assert_eq!(drawn(&delays, 1, 1), [None, Some(5)]);
        let hour = 3_600_000_000_000_000;
        let delays = DelayBuckets::new(vec![sample(1, 1, hour)], &defaults());
        assert_eq!(drawn(&delays, 1, 2), [Some(2 * hour)]);
        assert_eq!(drawn(&delays, 1, u32::MAX), [None]);
    }
}
