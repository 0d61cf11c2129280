//! Flows in turn: a line for each, and one packet of each before the next of any.

use super::Capacity;
use super::fifo::Fifo;
use crate::packet::{PacketArena, PacketId};
use std::collections::{BTreeMap, VecDeque};

/// The lines of the flows that wait. They have no limit.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By flow.
    lines: BTreeMap<u32, Fifo>,
    /// These flows, the one whose turn it is first.
    turns: VecDeque<u32>,
}

impl Turns {
    /// Appends a packet to the line of its flow; a flow that had none waits for its turn.
    pub(super) fn push(&mut self, id: PacketId, arena: &mut PacketArena) {
        let flow = arena[id].flow;
        let line = self.lines.entry(flow).or_insert_with(|| {
            self.turns.push_back(flow);
            Fifo::new(Capacity::endless())
        });
        line.push(id, arena);
    }

    /// Takes the packet whose turn it is; some packet waits.
    pub(super) fn pop(&mut self, arena: &PacketArena) -> PacketId {
        let flow = self.turns.pop_front().expect("a queue that is asked has a packet");
        let line = self.lines.get_mut(&flow).expect("a flow that waits has a line");
        let id = line.pop(arena);
        if line.is_empty() {
            self.lines.remove(&flow);
        } else {
            self.turns.push_back(flow);
        }
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    pub(super) fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.turns.iter().flat_map(|flow| self.lines[flow].waiting(arena)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;

    #[test]
    fn one_packet_of_each_flow_goes_before_the_next() {
        let (mut turns, mut arena) = (Turns::default(), PacketArena::default());
        let template = Packet::LAST;
        for (sequence, flow) in (0..).zip([7, 7, 7, 3, 7, 3, 9]) {
            let id = arena.insert(Packet { flow, sequence, size: 1500, ..template });
            turns.push(id, &mut arena);
        }
        let mut order = Vec::new();
        while !turns.is_empty() {
            let id = turns.pop(&arena);
            order.push((arena[id].flow, arena[id].sequence));
        }
        assert_eq!(order, [(7, 0), (3, 3), (9, 6), (7, 1), (3, 5), (7, 2), (7, 4)]);
    }
}
