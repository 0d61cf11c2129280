//! A few levels of strict priority that share a buffer and its marks, as PIAS wants them.

use super::ecn::check_threshold;
use super::fifo::Fifo;
use super::line::mark;
use super::{BUFFER, Buffered, Capacity, Counting, Outlet, Queue, THRESHOLD, check_buffer};
use crate::packet::{Packet, PacketArena, PacketId};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Bytes, Time, parameters};

parameters! {
    /// A packet's priority number is its level. The first level that is not empty goes first, each
    /// in order of arrival; all share one buffer, and a packet is marked on arrival when, with it,
    /// more than the threshold waits at the port, at whatever level (PIAS, NSDI 2015: strict
    /// priorities and marks per port, as commodity switches have them).
    pub struct Levels: "levels" {
        /// Number of levels. Packets with higher numbers wait at the last one.
        pub levels: u32 = 8,
        /// Room for waiting packets at each port. If it is small, packets are dropped; if it is
        /// large, all packets may wait longer.
        pub buffer: Bytes = BUFFER,
        /// Waiting bytes above which an arriving packet is marked. If it is low, links may run
        /// empty; if it is high, all packets wait longer.
        pub threshold: Bytes = THRESHOLD,
        /// Whether the buffer counts bytes or packets.
        pub counting: Counting = Counting::Bytes,
    }
}

impl Check for Levels {
    fn check(&self) -> Result<(), Refusal> {
        check_buffer(self.buffer)?;
        check_threshold(self.threshold, self.buffer)?;
        if !(1..=MOST_LEVELS).contains(&self.levels) {
            let expected = format!("1 to {MOST_LEVELS} levels");
            return Err(Refusal::of(&self.levels, expected).under("levels"));
        }
        Ok(())
    }
}

/// One bit each.
const MOST_LEVELS: u32 = 64;

/// What a port with levels keeps.
#[derive(Debug)]
pub struct LevelsPort {
    lines: Vec<Fifo>,
    /// Which of them are not empty.
    waiting: u64,
    capacity: Capacity,
    bytes: u32,
    threshold: u32,
}

impl Buffered for Levels {
    type Port = LevelsPort;

    fn room(&self) -> Capacity {
        Capacity::new(self.buffer, self.counting)
    }

    fn with_room(&self, room: Capacity, _: Outlet) -> LevelsPort {
        LevelsPort {
            lines: (0..self.levels).map(|_| Fifo::new(Capacity::endless())).collect(),
            waiting: 0,
            capacity: room,
            bytes: 0,
            threshold: u32::try_from(self.threshold.0).unwrap_or(u32::MAX),
        }
    }
}

impl Queue for LevelsPort {
    #[inline]
    fn enqueue(
        &mut self,
        _: Time,
        _: Time,
        id: PacketId,
        arena: &mut PacketArena,
        mut drop: impl FnMut(PacketId, &mut PacketArena),
    ) {
        let Packet { size, priority, .. } = arena[id];
        if !self.capacity.fits(size) {
            drop(id, arena);
            return;
        }
        self.capacity.take(size);
        self.bytes += u32::from(size);
        let level = (priority as usize).min(self.lines.len() - 1);
        self.lines[level].push(id, arena);
        self.waiting |= 1 << level;
        if self.bytes > self.threshold {
            mark(&mut arena[id]);
        }
    }

    #[inline]
    fn pass(&mut self, packet: &mut Packet) -> bool {
        if u32::from(packet.size) > self.threshold {
            mark(packet);
        }
        true
    }

    #[inline]
    fn dequeue(
        &mut self,
        _: Time,
        arena: &mut PacketArena,
        _: impl FnMut(PacketId, &mut PacketArena),
    ) -> Option<PacketId> {
        let level = self.waiting.trailing_zeros();
        let line = &mut self.lines[level as usize];
        let id = line.pop(arena);
        self.waiting &= !(u64::from(line.is_empty()) << level);
        self.capacity.give(arena[id].size);
        self.bytes -= u32::from(arena[id].size);
        Some(id)
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.lines.iter().flat_map(|line| line.waiting(arena)).collect()
    }

    fn peak(&self) -> u64 {
        self.capacity.peak()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{CE, ECT, Kind};
    use crate::queue::{Builder, no_drop};
    use proptest::prelude::*;
    use sojourn_core::Streams;
    use sojourn_core::parameters::defaults;

    fn port(levels: &Levels) -> (LevelsPort, PacketArena) {
        (levels.port(Outlet::alone(Streams::new(1, 0).stream("t", 0))), PacketArena::default())
    }

    fn packet(priority: u32, sequence: u32) -> Packet {
        let template = Packet::LAST;
        Packet { priority, sequence, size: 1500, kind: Kind::DATA, marks: ECT, ..template }
    }

    /// Offers a packet; whether it was kept.
    fn offer(port: &mut LevelsPort, arena: &mut PacketArena, packet: Packet) -> bool {
        let (id, mut kept) = (arena.insert(packet), true);
        port.enqueue(Time::ZERO, Time::ZERO, id, arena, |_, _| kept = false);
        kept
    }

    /// 22.5 KB are 15 full packets, whatever their levels; the sixteenth is marked, of all levels
    /// alike. No packet is pushed out.
    #[test]
    fn the_buffer_and_its_marks_are_shared() {
        let (mut port, mut arena) = port(&Levels { buffer: Bytes(30_000), ..defaults() });
        let kept: Vec<bool> =
            (0..22).map(|i| offer(&mut port, &mut arena, packet(7 - i % 8, i))).collect();
        assert_eq!(kept, [[true; 20].as_slice(), &[false; 2]].concat());
        let mut marked: Vec<u32> = port
            .waiting(&arena)
            .into_iter()
            .map(|id| &arena[id])
            .filter(|packet| packet.marks & CE != 0)
            .map(|packet| packet.sequence)
            .collect();
        marked.sort_unstable();
        assert_eq!(marked, [15, 16, 17, 18, 19]);
    }

    proptest! {
        /// Strict order, first in, first out at each level: against a sorted list.
        #[test]
        fn the_first_level_goes_first(
            steps in prop::collection::vec((0u32..12, any::<bool>()), 1..200),
            levels in 1u32..10,
        ) {
            let (mut port, mut arena) = port(&Levels { levels, ..defaults() });
            let mut plain = Vec::<(u32, u32)>::new();
            for (step, (priority, take)) in (0..).zip(steps) {
                if take && !plain.is_empty() {
                    let id = port.dequeue(Time::ZERO, &mut arena, no_drop).expect("a packet");
                    let level = arena[id].priority.min(levels - 1);
                    prop_assert_eq!((level, arena[id].sequence), plain.remove(0));
                } else if offer(&mut port, &mut arena, packet(priority, step)) {
                    plain.push((priority.min(levels - 1), step));
                    plain.sort_unstable();
                }
                prop_assert_eq!(port.is_empty(), plain.is_empty());
                prop_assert_eq!(port.waiting(&arena).len(), plain.len());
            }
        }
    }
}
