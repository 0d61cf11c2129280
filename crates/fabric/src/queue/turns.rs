//! Flows in turn: a line for each, and one packet of each before the next of any.

use super::Capacity;
use super::fifo::Fifo;
use crate::packet::{PacketArena, PacketId};
use std::collections::VecDeque;

/// The lines of the flows that wait, the one whose turn it is first. They have no limit.
#[derive(Debug, Default)]
pub(super) struct Turns {
    lines: VecDeque<(u32, Fifo)>,
}

impl Turns {
    /// Appends a packet to the line of its flow; a flow that had none waits for its turn.
    pub(super) fn push(&mut self, id: PacketId, arena: &mut PacketArena) {
        let flow = arena[id].flow;
        let place = match self.lines.iter().position(|(of, _)| *of == flow) {
            Some(place) => place,
            None => {
                self.lines.push_back((flow, Fifo::new(Capacity::endless())));
                self.lines.len() - 1
            }
        };
        self.lines[place].1.push(id, arena);
    }

    /// Takes the packet whose turn it is; some packet waits.
    pub(super) fn pop(&mut self, arena: &PacketArena) -> PacketId {
        let (flow, mut line) = self.lines.pop_front().expect("a queue that is asked has a packet");
        let id = line.pop(arena);
        if !line.is_empty() {
            self.lines.push_back((flow, line));
        }
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(super) fn waiting(&self, arena: &PacketArena) -> Vec<PacketId> {
        self.lines.iter().flat_map(|(_, line)| line.waiting(arena)).collect()
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
