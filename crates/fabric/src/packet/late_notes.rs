//! Notes of a host that come after many others in its list of arrivals.
//!
//! A list is sorted by insertion from its head, which is quickest while few notes lie before the place of a
//! new one. A host at which a million flows start or run out of time at one moment has more: those are
//! kept in a heap, and move to the head of the list when it is their turn.

use super::{PacketArena, PacketId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The late notes of the host that is visited.
#[derive(Debug, Default)]
pub(crate) struct LateNotes {
    /// By key, flow and the order in which they were put in, first one first.
    heap: BinaryHeap<Reverse<(u64, u32, u32, PacketId)>>,
    /// How many were put in since there was none.
    count: u32,
}

impl LateNotes {
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Puts a note into the list of `arrivals`, or keeps it. While some are kept, all that come are, so that
    /// of equal ones the first goes first.
    #[inline]
    pub(crate) fn put(&mut self, id: PacketId, arrivals: &mut PacketId, arena: &mut PacketArena) {
        if !self.is_empty() || !arena.link(arrivals, id) {
            self.keep(id, arrivals, arena);
        }
    }

    #[cold]
    fn keep(&mut self, id: PacketId, arrivals: &mut PacketId, arena: &mut PacketArena) {
        if self.heap.is_empty() {
            self.count = 0;
        }
        let (key, flow) = arena.order(id);
        self.heap.push(Reverse((key, flow, self.count, id)));
        self.count += 1;
        *arrivals = self.bring(*arrivals, arena);
    }

    /// Moves the first note to the head of the list of `arrivals`, if it comes before all in it, and returns
    /// the head. Nothing comes before that.
    #[cold]
    pub(crate) fn bring(&mut self, mut arrivals: PacketId, arena: &mut PacketArena) -> PacketId {
        if let Some(&Reverse((key, flow, _, id))) = self.heap.peek()
            && (key, flow) < arena.order(arrivals)
        {
            self.heap.pop();
            arena.link_first(&mut arrivals, id);
        }
        arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Kind, NIL, Packet};
    use proptest::prelude::*;
    use sojourn_core::Time;

    const ENDS: Time = Time::from_ps(1 << 40);

    fn note(at: u64, flow: u32, nth: u32) -> Packet {
        let key = Packet::arriving(Time::from_ps(at), 1);
        Packet { key, flow, sequence: nth, kind: Kind::START, ..Packet::LAST }
    }

    proptest! {
        /// Hundreds of notes, most of them equal to others, put in while others are taken out: always the
        /// first by time and flow comes out, and of equal ones the one that was put in first.
        #[test]
        fn notes_come_in_order(
            steps in prop::collection::vec((0u64..3, 0u32..4, 0u32..4), 1..600),
        ) {
            let (mut arena, mut late) = (PacketArena::default(), LateNotes::default());
            arena.lists_end(ENDS);
            let (mut head, mut now) = (NIL, 0);
            let mut plain: Vec<(u64, u32, u32)> = Vec::new();
            let take = |head: &mut PacketId, arena: &mut PacketArena, late: &mut LateNotes| {
                let id = *head;
                *head = arena.known(id).next;
                if !late.is_empty() {
                    *head = late.bring(*head, arena);
                }
                let Packet { flow, sequence, .. } = *arena.known(id);
                (arena.known(id).arrives().ps(), flow, sequence)
            };
            for (nth, (after, flow, takes)) in (0..).zip(steps) {
                let id = arena.insert(note(now + after, flow, nth));
                late.put(id, &mut head, &mut arena);
                plain.push((now + after, flow, nth));
                // Notes pile up, and then most are taken out at once.
                let takes = if takes == 3 && nth % 97 == 0 { plain.len() } else { 0 };
                plain.sort_unstable();
                for first in plain.drain(..takes) {
                    now = first.0;
                    prop_assert_eq!(take(&mut head, &mut arena, &mut late), first);
                }
            }
            for first in plain {
                prop_assert_eq!(take(&mut head, &mut arena, &mut late), first);
            }
            prop_assert!(PacketArena::is_end(head) && late.is_empty());
        }

        /// A list of hundreds of notes, put in in any order, is sorted by time, flow and which was put in first.
        #[test]
        fn a_list_of_a_host_is_sorted(notes in prop::collection::vec((0u64..50, 0u32..4), 1..400)) {
            let mut arena = PacketArena::default();
            let mut plain: Vec<_> =
                (0..).zip(notes).map(|(nth, (at, flow))| (at, flow, nth)).collect();
            let notes = plain.iter().map(|&(at, flow, nth)| note(at, flow, nth));
            let head = list_of(notes, &mut arena);
            plain.sort_unstable();
            prop_assert_eq!(all(arena.sorted_at_host(head), &arena), plain);
        }

        /// What comes to a port of a switch is sorted by time, and by the same rule whatever was put in first.
        #[test]
        fn a_list_of_a_switch_is_sorted(
            packets in prop::collection::vec((prop_oneof![0u64..20, 0u64..2000], 0u8..4), 1..60),
        ) {
            let of = |(nth, (at, port)): (u32, (u64, u8))| Packet {
                key: Packet::arriving(Time::from_ps(at), port),
                ..note(at, u32::from(port), nth)
            };
            let plain: Vec<Packet> = (0..).zip(packets).map(of).collect();
            let sorted = |packets: &mut dyn Iterator<Item = &Packet>| {
                let mut arena = PacketArena::default();
                let head = list_of(packets.copied(), &mut arena);
                let (head, tied) = arena.sorted_at_switch(head);
                let head = match tied {
                    true => arena.with_ties_settled(head, 1, &mut Vec::new()),
                    false => head,
                };
                let keys: Vec<u64> = walk(head, &arena).map(|id| arena.known(id).key).collect();
                (all(head, &arena), keys, tied)
            };
            let (mut found, keys, tied) = sorted(&mut plain.iter());
            prop_assert_eq!(&sorted(&mut plain.iter().rev()), &(found.clone(), keys.clone(), tied));
            // Keys that are read again, by those that share a memory, rise.
            prop_assert!(keys.is_sorted());
            prop_assert_eq!(found.windows(2).any(|pair| pair[0].0 == pair[1].0), tied);
            for pair in found.chunk_by(|one, next| one.0 == next.0).filter(|tied| tied.len() == 2) {
                prop_assert!(pair[0].1 <= pair[1].1, "two come by their ports: {:?}", pair);
            }
            let mut all: Vec<_> =
                plain.iter().map(|it| (it.arrives().ps(), it.flow, it.sequence)).collect();
            all.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, all);
        }
    }

    /// The list of these, the last of which was put in last.
    fn list_of(packets: impl Iterator<Item = Packet>, arena: &mut PacketArena) -> PacketId {
        arena.lists_end(ENDS);
        packets.fold(NIL, |head, packet| {
            let id = arena.insert(packet);
            arena.known_mut(id).next = head;
            id
        })
    }

    fn walk(head: PacketId, arena: &PacketArena) -> impl Iterator<Item = PacketId> {
        let next = |id: &PacketId| Some(arena.known(*id).next);
        std::iter::successors(Some(head), next).take_while(|id| !PacketArena::is_end(*id))
    }

    /// Time, flow and number of each packet of a list.
    fn all(head: PacketId, arena: &PacketArena) -> Vec<(u64, u32, u32)> {
        let found = walk(head, arena).map(|id| arena.known(id));
        found.map(|own| (own.arrives().ps(), own.flow, own.sequence)).collect()
    }
}
