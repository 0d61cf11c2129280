//! The event calendar: what happens next, and among equal times what was scheduled first.

use crate::Time;
use slab::Slab;

/// Events in order of (time, order of scheduling): equal times are first in, first out.
///
/// A 4-ary heap of packed 128-bit keys `time | sequence | slot`; the events themselves lie still
/// in a slab. Nothing is allocated for an event once the two have grown to the most that was ever
/// pending. At most 2^26 events may be pending, and 2^38 scheduled in all.
///
/// ```
/// use sojourn_core::{Calendar, Span, Time};
///
/// let mut calendar = Calendar::new();
/// calendar.schedule(Time::ZERO + Span::from_us(2), "second");
/// calendar.schedule(Time::ZERO + Span::from_us(1), "first");
/// calendar.schedule(Time::ZERO + Span::from_us(2), "third");
/// assert_eq!(calendar.pop(), Some((Time::ZERO + Span::from_us(1), "first")));
/// assert_eq!(calendar.pop().map(|(_, event)| event), Some("second"));
/// assert_eq!(calendar.now(), Time::ZERO + Span::from_us(2));
/// ```
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    keys: Vec<u128>,
    events: Slab<E>,
    scheduled: u64,
    now: Time,
}

const ARITY: usize = 4;
const SLOT_BITS: u32 = 26;
const SEQUENCE_BITS: u32 = 64 - SLOT_BITS;

impl<E> Calendar<E> {
    /// An empty calendar at [`Time::ZERO`].
    pub const fn new() -> Calendar<E> {
        Calendar { keys: Vec::new(), events: Slab::new(), scheduled: 0, now: Time::ZERO }
    }

    /// The time of the event popped last.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// How many events are pending.
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no event is pending.
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The time of the next event.
    pub fn peek_time(&self) -> Option<Time> {
        self.keys.first().map(|&key| time(key))
    }

    /// Schedules `event` for the time `at`, after all events already scheduled for that time.
    /// Panics when `at` is before [`now`](Calendar::now).
    pub fn schedule(&mut self, at: Time, event: E) {
        assert!(at >= self.now, "an event for {at} comes too late: it is {} already", self.now);
        let slot = self.events.insert(event) as u64;
        assert!(slot < 1 << SLOT_BITS, "more than 2^{SLOT_BITS} events are pending");
        assert!(self.scheduled < 1 << SEQUENCE_BITS, "more than 2^{SEQUENCE_BITS} events");
        let order = self.scheduled << SLOT_BITS | slot;
        self.scheduled += 1;
        self.rise(u128::from(at.ps()) << 64 | u128::from(order));
    }

    /// Takes the next event, and makes its time the present.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let last = self.keys.pop()?;
        let next = match self.keys.first() {
            Some(&first) => {
                self.sink(last);
                first
            }
            None => last,
        };
        self.now = time(next);
        let slot = next as usize & ((1 << SLOT_BITS) - 1);
        Some((self.now, self.events.remove(slot)))
    }

    /// Adds `key` at the end and lets it rise to its place.
    fn rise(&mut self, key: u128) {
        let mut hole = self.keys.len();
        self.keys.push(key);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[hole] = self.keys[parent];
            hole = parent;
        }
        self.keys[hole] = key;
    }

    /// Puts `key` in place of the first and lets it sink to its place.
    fn sink(&mut self, key: u128) {
        let keys = &mut self.keys[..];
        let mut hole = 0;
        loop {
            let first = hole * ARITY + 1;
            let least = match keys.get(first..) {
                // Whole families are compared pair by pair.
                Some(&[a, b, c, d, ..]) => {
                    let (left, right) = (usize::from(b < a), 2 + usize::from(d < c));
                    first + if c.min(d) < a.min(b) { right } else { left }
                }
                Some(rest @ [_, ..]) => {
                    first + (0..rest.len()).min_by_key(|&child| rest[child]).expect("there is one")
                }
                _ => break,
            };
            if key <= keys[least] {
                break;
            }
            keys[hole] = keys[least];
            hole = least;
        }
        keys[hole] = key;
    }
}

impl<E> Default for Calendar<E> {
    fn default() -> Calendar<E> {
        Calendar::new()
    }
}

const fn time(key: u128) -> Time {
    Time::from_ps((key >> 64) as u64)
}
