//! The ports of switches, looked at in equal intervals.

use super::Port;
use crate::packet::PacketArena;
use crate::queue::Queue;
use sojourn_core::{Span, Time};

/// What a switch's port was doing when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// Its number.
    pub port: u32,
    /// Bytes that waited, without what was on the wire.
    pub waiting: u64,
    /// For how long it has been sending since the look before.
    pub busy: Span,
    /// How long ago that was.
    pub since: Span,
}

/// The looks at one run's ports.
#[derive(Debug)]
pub(super) struct Samples {
    every: Span,
    next: Time,
    before: Time,
    /// For how long each port had been sending at the look before.
    busy: Vec<Span>,
    taken: Vec<Sample>,
}

/// No run keeps more: they would take half a gigabyte.
const MOST: usize = 10_000_000;

impl Samples {
    /// Looks every so often; never without an interval.
    pub(super) fn new(every: Option<Span>, ports: usize) -> Samples {
        let next = every.map_or(Time::NEVER, |every| Time::ZERO + every);
        let every = every.unwrap_or(Span::ZERO);
        Samples {
            every,
            next,
            before: Time::ZERO,
            busy: vec![Span::ZERO; ports],
            taken: Vec::new(),
        }
    }

    /// Whether a look is due at `now`.
    #[inline]
    pub(super) fn are_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Looks at the ports of switches, as they are at `now`, which come after those of `hosts`; all have
    /// their `numbers`. One where nothing waits, and which
    /// has sent nothing since the look before, leaves none.
    #[cold]
    pub(super) fn look<D: Queue, S>(
        &mut self,
        now: Time,
        hosts: usize,
        ports: &[Port<D, S>],
        numbers: impl Iterator<Item = u32>,
        arena: &PacketArena,
    ) {
        let since = now - self.before;
        let all = ports.iter().zip(numbers).zip(&mut self.busy);
        for ((port, number), before) in all.skip(hosts) {
            // What is on the wire is counted to its end.
            let sent = port.busy - port.free.max(now).since(now).min(port.busy);
            let busy = sent - (*before).min(sent);
            *before = sent;
            let size = |id| u64::from(arena.known(id).size);
            let waiting = port.queue.waiting(arena).into_iter().map(size).sum();
            if (waiting > 0 || busy > Span::ZERO) && self.taken.len() < MOST {
                self.taken.push(Sample { at: now, port: number, waiting, busy, since });
            }
        }
        self.before = now;
        while self.next <= now {
            self.next += self.every;
        }
    }

    /// All that was seen, look by look.
    pub(super) fn taken(self) -> Vec<Sample> {
        self.taken
    }
}

/// Puts what was seen on several sides in the order in which it would have been seen on one.
pub(super) fn in_order(samples: &mut Vec<Sample>) {
    samples.sort_unstable_by_key(|sample| (sample.at, sample.port));
    samples.truncate(MOST);
}
