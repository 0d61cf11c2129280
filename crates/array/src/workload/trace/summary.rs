//! What was read of a trace: totals of the requests that are replayed, as the trace has them.

use super::reader::DeviceAccess;
use crate::device::Op;
use std::collections::BTreeSet;

/// Bytes in a page, of which the working set is counted.
const PAGE: u64 = 4096;
/// The most pages that are remembered; beyond, a sample of as many is, and the working set is an
/// estimate with a standard error of about half a percent.
const MOST_PAGES: usize = 1 << 16;

/// Totals of requests, before they are rounded to blocks.
#[derive(Clone, Debug)]
pub(super) struct Summary {
    pub(super) requests: u64,
    pub(super) reads: u64,
    pub(super) bytes: u64,
    pub(super) smallest: u64,
    pub(super) largest: u64,
    /// Requests whose size is a whole number of sectors of 512 B.
    pub(super) whole_sectors: u64,
    /// Requests that arrive at the time of the one before them.
    pub(super) together: u64,
    latest: Option<u128>,
    pages: Pages,
}

impl Summary {
    /// Totals of no request.
    pub(super) fn new() -> Summary {
        Summary {
            requests: 0,
            reads: 0,
            bytes: 0,
            smallest: u64::MAX,
            largest: 0,
            whole_sectors: 0,
            together: 0,
            latest: None,
            pages: Pages::default(),
        }
    }

    /// Adds a request; they come in order of time.
    pub(super) fn add(&mut self, access: &DeviceAccess) {
        let DeviceAccess { at, op, first, bytes, .. } = *access;
        self.requests += 1;
        self.reads += u64::from(op == Op::Read);
        self.bytes = self.bytes.saturating_add(bytes);
        self.smallest = self.smallest.min(bytes);
        self.largest = self.largest.max(bytes);
        self.whole_sectors += u64::from(bytes.is_multiple_of(512));
        self.together += u64::from(self.latest == Some(at));
        self.latest = Some(at);
        (first / PAGE..=(first + bytes - 1) / PAGE).for_each(|page| self.pages.add(page));
    }

    /// The bytes of the pages that the requests touch.
    pub(super) fn working_set(&self) -> u64 {
        self.pages.count().saturating_mul(PAGE)
    }
}

/// The number of different pages, in bounded memory: of all pages, or of the share of them whose hashes
/// end with `zeros` zero bits (Flajolet, *On adaptive sampling*, Computing 43, 1990).
#[derive(Clone, Debug, Default)]
struct Pages {
    hashes: BTreeSet<u64>,
    zeros: u32,
    /// The page that came last, which is often the next one too.
    last: Option<u64>,
}

impl Pages {
    fn add(&mut self, page: u64) {
        if self.last.replace(page) == Some(page) {
            return;
        }
        let hash = mixed(page);
        if hash.trailing_zeros() < self.zeros {
            return;
        }
        self.hashes.insert(hash);
        while self.hashes.len() > MOST_PAGES {
            self.zeros += 1;
            self.hashes.retain(|hash| hash.trailing_zeros() >= self.zeros);
        }
    }

    fn count(&self) -> u64 {
        (self.hashes.len() as u64) << self.zeros
    }
}

/// A number whose bits are mixed, each number to another one (the finaliser of SplitMix64; Steele, Lea
/// and Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pages: impl Iterator<Item = u64>) -> u64 {
        let mut found = Pages::default();
        pages.for_each(|page| found.add(page));
        found.count()
    }

    #[test]
    fn few_pages_are_counted_exactly() {
        assert_eq!(count([7, 7, 9, 7, 0, 9].into_iter()), 3);
        assert_eq!(count((0..MOST_PAGES as u64).chain(0..1000)), MOST_PAGES as u64);
    }

    #[test]
    fn many_pages_are_estimated_to_two_percent() {
        for step in [1, 7, 4096] {
            let many = 1_000_000;
            let found = count((0..many).map(|page| page * step));
            assert!((found as f64 / many as f64 - 1.0).abs() < 0.02, "{step}: {found}");
        }
    }
}
