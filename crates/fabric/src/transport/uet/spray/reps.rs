//! REPS: recycled entropies packet spraying (Bonato et al., "REPS", 2024).

use super::{News, check_paths};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Light, Span, Time, parameters};

parameters! {
    /// The entropy values of the last eight packets that arrived unmarked are each used once more, the
    /// oldest first; where none is left, any at random. After a time-out the eight are used again
    /// and again for 10 ms, since they are known to work, and then sixteen packets go at random
    /// (REPS, 2024; as in uet-htsim).
    pub struct Reps: "reps" {
        /// How many entropy values a flow has, a power of two. Fewer than there are paths leave some
        /// unused.
        pub paths: u32 = 64,
    }
}

impl Check for Reps {
    fn check(&self) -> Result<(), Refusal> {
        check_paths(self.paths)
    }
}

/// Entropy values that are remembered.
const RING: usize = 8;

/// How long it keeps to them after a time-out.
const FROZEN: Span = Span::from_ms(10);

/// Packets that then go at random.
const EXPLORING: u8 = 16;

/// One sender's.
#[derive(Clone, Debug)]
pub(in crate::transport::uet) struct Running {
    paths: u32,
    ring: [u16; RING],
    /// Which places of the ring have not been used yet, a bit for each, and how many.
    unused: u8,
    fresh: u8,
    /// Where the next value is put, and how many places have ever had one.
    head: u8,
    filled: u8,
    /// While it keeps to the ring: until when, and the place that is next.
    frozen: Option<Time>,
    next_frozen: u8,
    /// Packets that still go at random.
    exploring: u8,
}

impl Running {
    pub(super) fn new(paths: u32, _: &mut Light) -> Running {
        Running::empty(paths)
    }

    #[inline]
    pub(super) fn next(&mut self, chance: &mut Light) -> u16 {
        let any = |chance: &mut Light| chance.below(self.paths.into()) as u16;
        if self.exploring > 0 {
            self.exploring -= 1;
            return any(chance);
        }
        if self.frozen.is_some() && self.filled > 0 {
            let place = self.next_frozen;
            self.next_frozen = (place + 1) % self.filled;
            return self.take(place);
        }
        match self.fresh {
            0 => any(chance),
            fresh => self.take((self.head + RING as u8 - fresh) % RING as u8),
        }
    }

    /// The value at `place`, which is used now.
    fn take(&mut self, place: u8) -> u16 {
        self.fresh -= self.unused >> place & 1;
        self.unused &= !(1 << place);
        self.ring[usize::from(place)]
    }

    #[inline]
    pub(super) fn hear(&mut self, entropy: u16, news: News, now: Time) {
        if news == News::TimedOut && self.frozen.is_none() && self.exploring == 0 {
            self.frozen = Some(now + FROZEN);
        }
        if self.frozen.is_some_and(|until| now > until) {
            *self = Running { exploring: EXPLORING, ..Running::empty(self.paths) };
        }
        if news == News::Good {
            self.put(entropy);
        }
    }

    fn empty(paths: u32) -> Running {
        Running {
            paths,
            ring: [0; RING],
            unused: 0,
            fresh: 0,
            head: 0,
            filled: 0,
            frozen: None,
            next_frozen: 0,
            exploring: 0,
        }
    }

    fn put(&mut self, entropy: u16) {
        let place = self.head;
        self.fresh += 1 - (self.unused >> place & 1);
        self.unused |= 1 << place;
        self.ring[usize::from(place)] = entropy;
        self.head = (place + 1) % RING as u8;
        self.filled = (self.filled + 1).min(RING as u8);
    }
}
