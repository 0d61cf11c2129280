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
        self.bring(arrivals, arena);
    }

    /// Moves the first note to the head of the list of `arrivals`, if it comes before all in it. Afterwards
    /// nothing comes before the head of the list.
    #[cold]
    pub(crate) fn bring(&mut self, arrivals: &mut PacketId, arena: &mut PacketArena) {
        if let Some(&Reverse((key, flow, _, id))) = self.heap.peek()
            && (key, flow) < arena.order(*arrivals)
        {
            self.heap.pop();
            arena.link_first(arrivals, id);
        }
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
        Packet { key, flow, sequence: nth, kind: Kind::Start, ..Packet::LAST }
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
                    late.bring(head, arena);
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

        /// A list in any order of hundreds of notes is sorted as its rule says, and says whether two of them
        /// come at one time.
        #[test]
        fn a_list_is_sorted(
            notes in prop::collection::vec((0u64..50, 0u32..4), 1..400),
            of_host in any::<bool>(),
        ) {
            let mut arena = PacketArena::default();
            arena.lists_end(ENDS);
            let mut head = NIL;
            let mut plain: Vec<(u64, u32, u32)> = Vec::new();
            for (nth, (at, flow)) in (0..).zip(notes) {
                let id = arena.insert(note(at, flow, nth));
                arena.known_mut(id).next = head;
                head = id;
                plain.push((at, flow, nth));
            }
            plain.sort_unstable();
            let (mut id, tied) = match of_host {
                true => arena.sorted::<true>(head),
                false => arena.sorted::<false>(head),
            };
            let ties = plain.windows(2).any(|pair| pair[0].0 == pair[1].0);
            prop_assert_eq!(tied, ties && !of_host);
            for first in plain {
                let Packet { flow, sequence, next, .. } = *arena.known(id);
                prop_assert_eq!((arena.known(id).arrives().ps(), flow, sequence), first);
                id = next;
            }
            prop_assert!(PacketArena::is_end(id));
        }
    }
}
