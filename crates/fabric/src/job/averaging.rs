//! Over which times the goodput of long flows is averaged: any from a round trip to the whole measuring
//! window, in bounded memory.

use super::Watch;
use sojourn_core::{Span, Time};
use std::sync::Arc;

/// Number of times at which averages of each length start, evenly spread over the measuring window.
const STARTS: u64 = 100;

/// The averaging times of each decade, in hundredths: ten that people ask for.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 300, 400, 500, 600, 800];

/// The most numbers that a run keeps of its long flows, 8 bytes each.
const MOST: usize = 8_000_000;

/// A time over which the goodput of a flow is averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Averaged {
    /// Its length.
    pub(crate) over: Span,
    /// Its start.
    pub(crate) start: Time,
}

/// All averages that a case takes of its long flows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Averaging {
    /// The measuring windows of the case, each with what is averaged in it, by length and start.
    plans: Vec<(Measured, Vec<Averaged>)>,
    /// The instants at which flows are looked at, in order.
    pub(crate) instants: Arc<[Time]>,
}

/// Start and end of a measuring window.
type Measured = (Time, Time);

impl Averaging {
    /// The averages of flows with these `watches`, the shortest over about `round_trip`. Where that would be
    /// too many numbers, averages start at fewer times, and at last there is one over the whole window.
    pub(crate) fn new(watches: &[Watch], round_trip: Span) -> Averaging {
        let mut windows: Vec<Measured> = watches.iter().map(|w| (w.from, w.until)).collect();
        windows.sort_unstable();
        windows.dedup();
        let most = MOST / watches.len().max(1) / windows.len().max(1);
        let plan = |window| (window, averages(window, round_trip, most));
        let plans: Vec<_> = windows.into_iter().map(plan).collect();
        let ends = |own: &Averaged| [own.start, own.start + own.over];
        let mut instants: Vec<Time> =
            plans.iter().flat_map(|(_, averages)| averages).flat_map(ends).collect();
        instants.sort_unstable();
        instants.dedup();
        Averaging { plans, instants: instants.into() }
    }

    /// What is averaged in the measuring window of `watch`.
    pub(crate) fn of(&self, watch: &Watch) -> &[Averaged] {
        let plan = self.plans.iter().find(|(window, _)| *window == (watch.from, watch.until));
        plan.map_or(&[], |(_, averages)| averages)
    }

    /// The place of `at` among the instants.
    pub(crate) fn place(&self, at: Time) -> usize {
        self.instants.binary_search(&at).expect("averages start and end at instants")
    }
}

/// At most `most` averages in a window, the shortest over about `round_trip`, by length and start.
fn averages((from, until): Measured, round_trip: Span, most: usize) -> Vec<Averaged> {
    let window = until - from;
    let lengths: Vec<Span> = lengths(round_trip, window).collect();
    let starts = STARTS.min((most / lengths.len()) as u64);
    let mut all: Vec<Averaged> = lengths
        .iter()
        .flat_map(|&over| (0..starts).map(move |nth| (over, nth)))
        .map(|(over, nth)| Averaged { over, start: from + window * nth / starts })
        .filter(|own| own.start + own.over <= until)
        .collect();
    if starts == 0 {
        all.push(Averaged { over: window, start: from });
    }
    all
}

/// The averaging times from about `shortest` to the whole `window`, in rising order.
fn lengths(shortest: Span, window: Span) -> impl Iterator<Item = Span> {
    let decades = (0..=16).map(|power| 10u64.pow(power));
    let steps = decades.flat_map(|ten| STEPS.map(|step| Span::from_ps(step * ten)));
    let from = shortest.min(window);
    // The longest that is not above the shortest wanted is one of them.
    steps
        .filter(move |over| over.saturating_mul(5) > from.saturating_mul(4) && *over < window)
        .chain(std::iter::once(window))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(flow: u32, from: u64, until: u64) -> Watch {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        Watch { flow, from: at(from), until: at(until) }
    }

    /// From the round trip to the whole window in steps of at most a quarter, each of 100 starts as far as
    /// it lies in the window.
    #[test]
    fn every_time_has_an_average_near_it() {
        let own = watch(0, 1_000, 3_000);
        let averaging = Averaging::new(&[own], Span::from_us(22));
        let averages = averaging.of(&own);
        let mut lengths: Vec<Span> = averages.iter().map(|average| average.over).collect();
        lengths.dedup();
        assert_eq!((lengths[0], lengths[lengths.len() - 1]), (Span::from_us(20), Span::from_s(2)));
        assert!(lengths.windows(2).all(|pair| pair[0] < pair[1] && pair[1] * 3 <= pair[0] * 4));
        for ms in [1, 10, 250, 500, 1_000] {
            assert!(lengths.contains(&Span::from_ms(ms)));
        }
        let starts = |over| averages.iter().filter(|average| average.over == over).count();
        assert_eq!(starts(Span::from_us(20)), 100);
        assert_eq!(starts(Span::from_s(1)), 51);
        assert_eq!(starts(Span::from_s(2)), 1);
        for average in averages {
            assert!(own.from <= average.start && average.start + average.over <= own.until);
            averaging.place(average.start);
            averaging.place(average.start + average.over);
        }
    }

    /// However many flows there are, the numbers fit into memory, and the whole window is there.
    #[test]
    fn many_flows_have_fewer_averages() {
        for flows in [1, 1_000, 100_000, 20_000_000] {
            let own = watch(0, 0, 20_000);
            let mut watches = vec![own; 1];
            watches.resize(flows, own);
            let averaging = Averaging::new(&watches, Span::from_us(10));
            let averages = averaging.of(&own);
            assert!(averages.len() <= (MOST / flows).max(1));
            assert_eq!(averages[averages.len() - 1].over, Span::from_s(20));
        }
    }

    /// Two parts of a case have separate windows.
    #[test]
    fn each_window_has_its_averages() {
        let (early, late) = (watch(0, 0, 10), watch(1, 5, 20));
        let averaging = Averaging::new(&[early, late], Span::from_us(10));
        for own in [early, late] {
            assert!(averaging.of(&own).iter().all(|average| average.start >= own.from));
            assert_eq!(averaging.of(&own).last().unwrap().over, own.until - own.from);
        }
        assert!(Averaging::new(&[], Span::from_us(10)).instants.is_empty());
    }
}
