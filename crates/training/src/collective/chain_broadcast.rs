//! Broadcast along a chain of ranks, piece by piece (NCCL, `device/broadcast.h`).

use super::{Message, Need, Operation, Part, Place, Port, Shape, Steps};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Span, parameters};

parameters! {
    /// Broadcast along a chain, in pieces that each rank passes on: NCCL's ring without its last link.
    pub struct ChainBroadcast: "chain-broadcast" {
        /// The index in the group of the rank that has the data. The choice matters only where ranks are at
        /// different distances; a value that is not below the number of ranks is refused.
        pub root: u32 = 0,
        /// How many chains share the buffer. With too many, messages are small and every one pays its headers.
        pub channels: u8 [1..=64] = 1,
        /// The most bytes of a message (NCCL: 512 KiB with its protocol Simple). Too small, and many messages pay
        /// their headers. Too large, and each rank waits long before it can pass a piece on.
        pub chunk: Bytes = Bytes(512 << 10),
    }
}

impl Check for ChainBroadcast {
    fn check(&self) -> Result<(), Refusal> {
        match self.chunk {
            Bytes(0) => Err(Refusal::of(&self.chunk, "a size of at least 1 B").under("chunk")),
            _ => Ok(()),
        }
    }
}

/// Refuses a root that is not in the group.
pub(super) fn check_root(root: u32, ranks: u32) -> Result<(), String> {
    match root < ranks {
        true => Ok(()),
        false => Err(format!("root {root} is not one of the {ranks} ranks of a group")),
    }
}

/// The distance of `rank` from the root.
pub(super) fn from_root(rank: u32, root: u32, ranks: u32) -> u32 {
    (rank + (ranks - root)) % ranks
}

impl ChainBroadcast {
    fn part(&self, shape: Shape, channel: u32) -> Part {
        Part::whole(shape.bytes).block(channel, self.channels)
    }

    fn pieces(&self, shape: Shape, channel: u32) -> u64 {
        self.part(shape, channel).bytes.div_ceil(self.chunk.0).max(1)
    }
}

impl Steps for ChainBroadcast {
    const OPERATION: Operation = Operation::Broadcast;

    fn channels(&self) -> u32 {
        self.channels.into()
    }

    fn steps(&self, shape: Shape, at: Place) -> u64 {
        match from_root(at.rank, self.root, shape.ranks) + 1 < shape.ranks {
            true => self.pieces(shape, at.channel),
            false => 0,
        }
    }

    fn arrivals(&self, shape: Shape, at: Place) -> u64 {
        match from_root(at.rank, self.root, shape.ranks) {
            0 => 0,
            _ => self.pieces(shape, at.channel),
        }
    }

    fn step(&self, shape: Shape, at: Place, index: u64) -> Option<Message> {
        let received = at.rank != self.root;
        let need = Need { slot: 0, count: if received { index + 1 } else { 0 } };
        Some(Message {
            to: (at.rank + 1) % shape.ranks,
            slot: 0,
            part: self.part(shape, at.channel).block(index, self.pieces(shape, at.channel)),
            reduce: false,
            needs: [need, Need::default(), Need::default()],
        })
    }

    /// (c - 1) s + (n - 1) t for c pieces, each with the serialisation s and alone the time t.
    fn time(&self, shape: Shape, port: &Port) -> Span {
        let pieces = self.pieces(shape, 0);
        let count = pieces * u64::from(self.channels);
        let piece = shape.bytes.div_ceil(count);
        let hops = port.alone(piece).saturating_mul(u64::from(shape.ranks - 1));
        port.serial(piece).saturating_mul(count - 1).saturating_add(hops)
    }

    fn check_for(&self, ranks: u32) -> Result<(), String> {
        check_root(self.root, ranks)
    }
}
