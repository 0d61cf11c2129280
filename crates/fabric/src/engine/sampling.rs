//! Occupancy and utilisation of switches' ports, sampled at equal intervals.

use super::Port;
use super::pauses::Pauses;
use crate::packet::PacketArena;
use crate::queue::Queue;
use sojourn_core::{Span, Time};

/// One sample of a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the sample.
    pub at: Time,
    /// Number of the port.
    pub port: u32,
    /// Bytes waiting, without the packet in transmission.
    pub waiting: u64,
    /// Transmission time since the sample before.
    pub busy: Span,
    /// Pauses since the sample before.
    pub pauses: Pauses,
    /// Time since the sample before.
    pub since: Span,
}

/// The samples of one run.
#[derive(Debug)]
pub(super) struct Samples {
    every: Span,
    next: Time,
    before: Time,
    /// Transmission time of each port up to the sample before.
    busy: Vec<Span>,
    /// Its pauses up to then.
    pauses: Vec<Pauses>,
    taken: Vec<Sample>,
}

/// Most samples that a run keeps; they take half a gigabyte.
const MOST: usize = 10_000_000;

impl Samples {
    /// Samples `ports` ports after each interval `every`; never without one.
    pub(super) fn new(every: Option<Span>, ports: usize) -> Samples {
        let next = every.map_or(Time::NEVER, |every| Time::ZERO + every);
        let every = every.unwrap_or(Span::ZERO);
        Samples {
            every,
            next,
            before: Time::ZERO,
            busy: vec![Span::ZERO; ports],
            pauses: vec![Pauses::default(); ports],
            taken: Vec::new(),
        }
    }

    /// Whether a sample is due at `now`.
    #[inline]
    pub(super) fn are_due(&self, now: Time) -> bool {
        now >= self.next
    }

    /// Samples the ports of switches at `now`. `ports` begins with those of `hosts`; `numbers` are the
    /// numbers of all, and `pauses_of` says what pauses did to one. A port where nothing waits, and which has
    /// sent nothing since the sample before, is left out.
    #[cold]
    pub(super) fn look<D: Queue, S>(
        &mut self,
        now: Time,
        hosts: usize,
        ports: &[Port<D, S>],
        (numbers, pauses_of): (impl Iterator<Item = u32>, fn(&S, Time) -> Pauses),
        arena: &PacketArena,
    ) {
        let since = now - self.before;
        let all = ports.iter().zip(numbers).zip(self.busy.iter_mut().zip(&mut self.pauses));
        for ((port, number), (before, paused_before)) in all.skip(hosts) {
            // `busy` counts the packet in transmission to its end.
            let sent = port.busy - port.free.max(now).since(now).min(port.busy);
            let busy = sent - (*before).min(sent);
            *before = sent;
            let pauses_now = pauses_of(&port.share, now);
            let pauses = pauses_now.since(*paused_before);
            *paused_before = pauses_now;
            let size = |id| u64::from(arena[id].size);
            let waiting = port.queue.waiting(arena).into_iter().map(size).sum();
            if (waiting > 0 || busy > Span::ZERO) && self.taken.len() < MOST {
                self.taken.push(Sample { at: now, port: number, waiting, busy, pauses, since });
            }
        }
        self.before = now;
        while self.next <= now {
            self.next += self.every;
        }
    }

    /// All samples, by time.
    pub(super) fn taken(self) -> Vec<Sample> {
        self.taken
    }
}

/// Sorts the samples of several sides by time and port, as one side would have taken them.
pub(super) fn in_order(samples: &mut Vec<Sample>) {
    samples.sort_unstable_by_key(|sample| (sample.at, sample.port));
    samples.truncate(MOST);
}
