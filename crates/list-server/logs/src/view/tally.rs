//! How much was delivered and how much was not: by time, by domain, by the message's age.

use super::View;
use super::histogram::Histogram;
use crate::columns::{Column, Columns};
use crate::event::Outcome;
use crate::messages::Delivery;
use foldhash::fast::FixedState;
use indexmap::IndexMap;
use std::collections::BTreeMap;

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// Ages of messages are counted apart from these on.
const AGES: [i64; 7] = [0, MINUTE, 5 * MINUTE, HOUR, 4 * HOUR, 24 * HOUR, 120 * HOUR];
/// How many intervals are kept, and how many domains.
const MOST_BINS: usize = 1 << 20;
const MOST_DOMAINS: usize = 1 << 16;

/// How many, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ended {
    /// Attempts for a recipient.
    recipients: [u64; 3],
    /// Transactions: attempts of one message at one host, for one recipient or more.
    hosts: [u64; 3],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    ended: Ended,
    arrived: u64,
}

#[derive(Clone, Debug, Default)]
struct Group {
    ended: Ended,
    /// How old messages were when they were delivered.
    delay: Histogram,
    /// How long attempts took that delivered, and that did not.
    took: [Histogram; 2],
}

/// Counts of attempts and arrivals in intervals of time, by domain and by the message's age.
#[derive(Debug)]
pub struct Tally {
    width: i64,
    bins: BTreeMap<i64, Bin>,
    all: Group,
    ages: [Group; AGES.len()],
    domains: IndexMap<Box<[u8]>, Group, FixedState>,
    /// What belongs to domains beyond the limit.
    others: Group,
}

impl Tally {
    /// Counts in intervals of this many microseconds, at least 1.
    pub fn new(width: i64) -> Tally {
        Tally {
            width: width.max(1),
            bins: BTreeMap::new(),
            all: Group::default(),
            ages: Default::default(),
            domains: IndexMap::default(),
            others: Group::default(),
        }
    }

    /// The interval of a time; the last one takes what is beyond the limit.
    fn bin(&mut self, at: i64) -> &mut Bin {
        let start = at.div_euclid(self.width) * self.width;
        let start = match self.bins.last_key_value() {
            Some((last, _)) if self.bins.len() >= MOST_BINS && !self.bins.contains_key(&start) => {
                *last
            }
            _ => start,
        };
        self.bins.entry(start).or_default()
    }

    /// The intervals: `start_us`, `arrived`, then of attempts `delivered_hosts`, `delivered`,
    /// `deferred_hosts`, `deferred`, `bounced_hosts`, `bounced`.
    pub fn bins(&self) -> Columns {
        let mut columns = vec![
            ("start_us", Column::int(self.bins.keys().copied())),
            ("arrived", Column::int(self.bins.values().map(|bin| bin.arrived as i64))),
        ];
        columns.extend(ended(self.bins.values().map(|bin| &bin.ended)));
        columns
    }

    /// Everything, and after it each age: `from_us` (-1 for everything) and the attempts.
    pub fn ages(&self) -> Columns {
        let from = std::iter::once(-1).chain(AGES);
        let mut columns = vec![("from_us", Column::int(from))];
        columns
            .extend(ended(std::iter::once(&self.all).chain(&self.ages).map(|group| &group.ended)));
        columns
    }

    /// The domains as they came, the last one without a name for all beyond the limit:
    /// `domain` and the attempts.
    pub fn domains(&self) -> Columns {
        let names = self.domains.keys().map(|name| &name[..]).chain([&b""[..]]);
        let groups = self.domains.values().chain([&self.others]);
        let mut columns = vec![("domain", Column::texts(names))];
        columns.extend(ended(groups.map(|group| &group.ended)));
        columns
    }

    /// How long it took: of each row of [`Tally::ages`] or [`Tally::domains`] the classes of times.
    ///
    /// `row`, `what` (0 how old messages were when delivered, 1 how long attempts took that
    /// delivered, 2 that did not), `from_us`, `below_us`, `count`.
    pub fn times(&self, domains: bool) -> Columns {
        let groups: Vec<&Group> = if domains {
            self.domains.values().chain([&self.others]).collect()
        } else {
            std::iter::once(&self.all).chain(&self.ages).collect()
        };
        let mut values: [Vec<i64>; 5] = Default::default();
        for (row, group) in groups.into_iter().enumerate() {
            let [sent, not] = &group.took;
            for (what, histogram) in [&group.delay, sent, not].into_iter().enumerate() {
                for (from, below, count) in histogram.classes() {
                    let line = [row as i64, what as i64, from, below, count as i64];
                    values.iter_mut().zip(line).for_each(|(column, value)| column.push(value));
                }
            }
        }
        let names = ["row", "what", "from_us", "below_us", "count"];
        names.into_iter().zip(values.map(Column::Int)).collect()
    }
}

fn ended<'a>(rows: impl Iterator<Item = &'a Ended> + Clone) -> Columns {
    const NAMES: [[&str; 2]; 3] = [
        ["delivered_hosts", "delivered"],
        ["deferred_hosts", "deferred"],
        ["bounced_hosts", "bounced"],
    ];
    let column = |place: usize, of: fn(&Ended) -> &[u64; 3]| {
        Column::int(rows.clone().map(move |row| of(row)[place] as i64))
    };
    let each = NAMES.into_iter().enumerate().flat_map(|(place, [hosts, recipients])| {
        [
            (hosts, column(place, |row| &row.hosts)),
            (recipients, column(place, |row| &row.recipients)),
        ]
    });
    each.collect()
}

impl Ended {
    fn add(&mut self, delivery: &Delivery<'_>) {
        let place = delivery.attempt.outcome as usize;
        self.recipients[place] += 1;
        self.hosts[place] += u64::from(delivery.leads);
    }
}

impl Group {
    fn add(&mut self, delivery: &Delivery<'_>) {
        self.ended.add(delivery);
        let delivered = delivery.attempt.outcome == Outcome::Delivered;
        if let Some(age) = delivery.age
            && delivered
        {
            self.delay.add(age);
        }
        if let Some(took) = delivery.attempt.took {
            self.took[usize::from(!delivered)].add(took);
        }
    }
}

impl View for Tally {
    fn arrived(&mut self, at: i64) {
        self.bin(at).arrived += 1;
    }

    fn tried(&mut self, delivery: &Delivery<'_>) {
        self.bin(delivery.at).ended.add(delivery);
        self.all.add(delivery);
        if let Some(age) = delivery.age {
            self.ages[AGES.partition_point(|from| *from <= age) - 1].add(delivery);
        }
        let mut lower = [0; 256];
        let domain = delivery.domain();
        let domain = match lower.get_mut(..domain.len()) {
            Some(lower) => {
                lower.copy_from_slice(domain);
                lower.make_ascii_lowercase();
                lower
            }
            None => domain,
        };
        let room = self.domains.len() < MOST_DOMAINS;
        match self.domains.get_mut(domain) {
            Some(group) => group.add(delivery),
            None if room => self.domains.entry(domain.into()).or_default().add(delivery),
            None => self.others.add(delivery),
        }
    }

    fn removed(&mut self, _: &[u8]) {}
}
