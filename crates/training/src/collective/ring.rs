//! What the three rings share: channels, chunks and pieces.
//!
//! A rank sends to its successor only. A channel's part of the buffer is cut into loops, so that no step sends
//! more than a chunk; a chunk is cut into pieces, which the next rank passes on one by one (NCCL's slices,
//! `device/all_reduce.h`). NCCL makes all loops but the last one full. Here all loops are equal, so that closed
//! forms are exact.

use super::{Message, Need, Part, Place, Port, Shape};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, parameters};

parameters! {
    /// How a ring is cut.
    pub struct Cuts: "cuts" {
        /// How many rings share the buffer, and on a host with one network card the card. NCCL uses at most 64.
        /// With too few, a ring waits for its own messages and the port idles. With too many, messages are small
        /// and every one pays its headers.
        pub channels: u8 [1..=64] = 1,
        /// The most bytes that a rank sends in one step on one channel (NCCL: 2 MiB with its protocol Simple). Too
        /// small, and many messages pay their headers. Too large, and a step waits long for the one before.
        pub chunk: Bytes = Bytes(2 << 20),
        /// How many messages a chunk is cut into, each of which is passed on when it has arrived (NCCL: 2 slices).
        /// With 1, the port idles while a message is under way. With too many, messages are small and every one
        /// pays its headers.
        pub pieces: u16 [1..=1024] = 2,
    }
}

impl Check for Cuts {
    fn check(&self) -> Result<(), Refusal> {
        match self.chunk {
            Bytes(0) => Err(Refusal::of(&self.chunk, "a size of at least 1 B").under("chunk")),
            _ => Ok(()),
        }
    }
}

/// A place in the order in which a rank sends on a channel: loop after loop, step after step, piece after piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) round: u64,
    pub(super) step: u64,
    piece: u64,
}

impl Cuts {
    /// The number of loops of a channel, if a step of one loop would send `bytes` bytes on all channels.
    pub(super) fn rounds(&self, bytes: u64) -> u64 {
        let channel = bytes.div_ceil(self.channels.into());
        channel.div_ceil(self.chunk.0).max(1)
    }

    /// The number of messages of a rank on a channel in loops of `steps` steps.
    pub(super) fn messages(&self, rounds: u64, steps: u64) -> u64 {
        rounds * steps * u64::from(self.pieces)
    }

    /// What is sent when, in loops of `steps` steps.
    pub(super) fn turn(&self, index: u64, steps: u64) -> Turn {
        let pieces = u64::from(self.pieces);
        let (whole, piece) = (index / pieces, index % pieces);
        Turn { round: whole / steps, step: whole % steps, piece }
    }

    /// The message of a turn: a piece of `chunk`, to the successor. It waits for the same piece of the step
    /// before, in loops of `steps` steps.
    pub(super) fn message(
        &self,
        shape: Shape,
        at: Place,
        turn: Turn,
        steps: u64,
        chunk: Part,
        reduce: bool,
    ) -> Message {
        let pieces = u64::from(self.pieces);
        let before = (turn.round * steps + turn.step).saturating_sub(1) * pieces + turn.piece;
        let need = match turn.step {
            0 => Need::default(),
            _ => Need { slot: 0, count: before + 1 },
        };
        Message {
            to: (at.rank + 1) % shape.ranks,
            slot: 0,
            part: chunk.block(turn.piece, pieces),
            reduce,
            needs: [need, Need::default(), Need::default()],
        }
    }

    /// The part of a channel, and in it the part of a loop.
    pub(super) fn loop_part(&self, whole: Part, channel: u32, round: u64, rounds: u64) -> Part {
        whole.block(channel, self.channels).block(round, rounds)
    }

    /// The time of a ring whose ranks send `bytes` bytes in each of `steps` steps, all loops together.
    pub(super) fn time(&self, steps: u64, bytes: u64, port: &Port) -> Span {
        let rounds = self.rounds(bytes);
        let window = u64::from(self.channels) * u64::from(self.pieces);
        port.pipelined(rounds, steps, window, bytes.div_ceil(window * rounds))
    }
}

/// The block that `rank` sends in `step` if it starts with the block `first` above its own number.
pub(super) fn block(rank: u32, first: u32, step: u64, ranks: u32) -> u64 {
    let ranks = u64::from(ranks);
    (u64::from(rank) + u64::from(first) + ranks - step % ranks) % ranks
}
