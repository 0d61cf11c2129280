//! What a step of a collective is made of.

use sojourn_core::{Rate, Span};

/// The size of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of ranks.
    pub ranks: u32,
    /// The size of the buffer in bytes, as nccl-tests counts it.
    pub bytes: u64,
}

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The index of the rank in its group.
    pub rank: u32,
    /// The channel. Channels carry different parts of the buffer and do not wait for each other.
    pub channel: u32,
    /// The lane. Each lane of a rank and channel sends in its own order.
    pub lane: u32,
}

/// A message that a rank sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The index of the receiver in the group.
    pub to: u32,
    /// The counter of the receiver that the message counts up when it has arrived.
    pub slot: u32,
    /// The part of the buffer that the message carries. It may be empty: the receiver still has to be told.
    pub part: Part,
    /// Whether the receiver adds the message to its own part, rather than store it.
    pub reduce: bool,
    /// All arrivals that the message waits for.
    pub needs: [Need; 3],
}

/// A number of arrivals at a counter of the sender. Messages of one slot arrive in the order of their sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// The counter.
    pub slot: u32,
    /// The least number of arrivals.
    pub count: u64,
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The place of its first byte.
    pub start: u64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Part {
    /// A buffer of `bytes` bytes.
    pub const fn whole(bytes: u64) -> Part {
        Part { start: 0, bytes }
    }

    /// The `index`-th of `count` blocks, whose sizes differ by at most one byte.
    pub fn block(self, index: impl Into<u64>, count: impl Into<u64>) -> Part {
        let (index, count) = (index.into(), count.into());
        self.blocks(index, index + 1, count)
    }

    /// The blocks from `first` to before `end` of `count`.
    pub fn blocks(self, first: u64, end: u64, count: u64) -> Part {
        // Most products fit into 64 bits, which are divided in a fraction of the time.
        let edge = |index: u64| match self.bytes.checked_mul(index) {
            Some(product) => product.div_ceil(count),
            None => (u128::from(self.bytes) * u128::from(index)).div_ceil(u128::from(count)) as u64,
        };
        Part { start: self.start + edge(first), bytes: edge(end) - edge(first) }
    }
}

/// A full-duplex port in closed forms: a message of b bytes takes [`alone`](Port::alone)(b) when nothing else
/// is under way. Headers are not counted, so `rate` is goodput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The speed in each direction.
    pub rate: Rate,
    /// The time from a byte's departure to its arrival.
    pub latency: Span,
}

impl Port {
    /// How long `bytes` occupy the port.
    pub fn serial(&self, bytes: u64) -> Span {
        self.rate.span(bytes)
    }

    /// The time of one message alone, from its start to the arrival of its last byte.
    pub fn alone(&self, bytes: u64) -> Span {
        self.serial(bytes).saturating_add(self.latency)
    }

    /// The time of `rounds` rounds. In each of them a port sends `steps` steps of `window` messages of `bytes`
    /// bytes; a step waits for the same message of the step before, a round only for the port.
    ///
    /// With s the serialisation of a message and t its time alone: if a window fills the time of a message, the
    /// port never idles and latency counts once. Otherwise each step takes t.
    pub fn pipelined(&self, rounds: u64, steps: u64, window: u64, bytes: u64) -> Span {
        if steps == 0 || rounds == 0 {
            return Span::ZERO;
        }
        let (s, t) = (self.serial(bytes), self.alone(bytes));
        let filled = s.saturating_mul(window);
        if filled >= t {
            let others = (rounds.saturating_mul(steps)).saturating_mul(window) - 1;
            return s.saturating_mul(others).saturating_add(t);
        }
        let round = t.saturating_mul(steps - 1).saturating_add(filled);
        let last = t.saturating_mul(steps).saturating_add(s.saturating_mul(window - 1));
        round.saturating_mul(rounds - 1).saturating_add(last)
    }
}
