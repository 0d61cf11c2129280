//! All-reduce by recursive halving and doubling (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005).

use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::Check;
use sojourn_core::{Span, parameters};

parameters! {
    /// All-reduce by recursive halving, then doubling, 2 log2 n steps: MPI's algorithm for large buffers, also
    /// called Rabenseifner's. If n is no power of two, the ranks above the largest one first send their buffer to
    /// another rank, and get the result from it in the end.
    pub struct HalvingDoublingAllReduce: "halving-doubling-all-reduce" {
        /// How many parts of the buffer go their way independently. With one, the port idles while a message is
        /// under way. With too many, messages are small and every one pays its headers.
        pub channels: u8 [1..=64] = 1,
    }
}

impl Check for HalvingDoublingAllReduce {}

/// The ranks of the exchange, a power of two.
#[derive(Clone, Copy)]
struct Core {
    ranks: u32,
    rank: u32,
}

impl Core {
    /// The number of steps of the halving.
    fn halvings(self) -> u32 {
        self.ranks.ilog2()
    }

    /// The partner at this level: at level 0, a rank of the other half.
    fn partner(self, level: u32) -> u32 {
        self.rank ^ self.ranks >> (level + 1)
    }

    /// The blocks that `rank` still has after the halving of this level, of as many blocks as ranks.
    fn half(self, part: Part, rank: u32, level: u32) -> Part {
        let size = self.ranks >> (level + 1);
        let first = rank / size * size;
        part.blocks(first.into(), (first + size).into(), self.ranks.into())
    }
}

/// The largest power of two that is no larger than `ranks`.
fn core(ranks: u32) -> u32 {
    1 << ranks.ilog2()
}

impl Steps for HalvingDoublingAllReduce {
    const OPERATION: Operation = Operation::AllReduce;

    fn channels(&self) -> u32 {
        self.channels.into()
    }

    /// One for each level, and one for messages between a rank of the exchange and one outside.
    fn slots(&self, shape: Shape) -> u32 {
        core(shape.ranks).ilog2() + 1
    }

    fn steps(&self, shape: Shape, at: Place) -> u64 {
        let ranks = core(shape.ranks);
        if at.rank >= ranks {
            return 1;
        }
        let serves = at.rank + ranks < shape.ranks;
        u64::from(2 * ranks.ilog2() + u32::from(serves))
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        self.steps(shape, at)
    }

    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let ranks = core(shape.ranks);
        let part = Part::whole(shape.bytes).block(at.channel, self.channels);
        let outside = ranks.ilog2();
        let message = |to, slot, part, reduce, need| {
            let needs = [need, Need::default(), Need::default()];
            Some(Message { to, slot, part, reduce, needs })
        };
        if at.rank >= ranks {
            return message(at.rank - ranks, outside, part, true, Need::default());
        }
        let core = Core { ranks, rank: at.rank };
        let (halvings, index) = (core.halvings(), index as u32);
        let serves = u64::from(at.rank + ranks < shape.ranks);
        if index < halvings {
            let need = match index {
                0 => Need { slot: outside, count: serves },
                _ => Need { slot: index - 1, count: 1 },
            };
            let partner = core.partner(index);
            return message(partner, index, core.half(part, partner, index), true, need);
        }
        let done = index - halvings;
        let need = match done {
            0 if halvings == 0 => Need { slot: outside, count: serves },
            0 => Need { slot: halvings - 1, count: 1 },
            _ => Need { slot: halvings - done, count: 2 },
        };
        if done == halvings {
            return message(at.rank + ranks, outside, part, false, need);
        }
        let level = halvings - 1 - done;
        message(core.partner(level), level, core.half(part, at.rank, level), false, need)
    }

    /// Twice the sum of the messages of S/2, S/4, .. S/n alone, if n is a power of two and there is one channel;
    /// otherwise an estimate.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let ranks = core(shape.ranks);
        let part = Part::whole(shape.bytes);
        let halves = (0..ranks.ilog2()).map(|level| {
            let most = part.bytes.div_ceil(1 << (level + 1));
            port.alone(most).saturating_mul(2)
        });
        let outside =
            if ranks < shape.ranks { port.alone(part.bytes).saturating_mul(2) } else { Span::ZERO };
        halves.fold(outside, Span::saturating_add)
    }
}
