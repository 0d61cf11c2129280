//! The lines of the flows that wait at a port, found by flow and by length.

use crate::packet::{PacketArena, PacketId};
use std::collections::VecDeque;
use std::ops::Index;

/// The packets of one flow.
#[derive(Debug, Default)]
pub(super) struct Lane {
    flow: u32,
    packets: VecDeque<PacketId>,
    /// What it may send before its next quantum.
    deficit: u32,
    bytes: u32,
    /// Where it stands among the lengths.
    place: usize,
}

/// A lane for each flow of which a packet waits. Lanes are used again, with what their lines have
/// grown to, so that packets come and go without asking for memory.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    closed: Vec<u32>,
    /// The open ones by flow: (flow, lane).
    by_flow: Vec<(u32, u32)>,
    /// A heap of the open ones, the longest first.
    lengths: Vec<Length>,
}

/// Bytes, then flow, then lane.
type Length = (u32, u32, u32);

impl Lane {
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.packets.iter().copied()
    }
}

impl Index<u32> for Lanes {
    type Output = Lane;

    fn index(&self, lane: u32) -> &Lane {
        &self.lanes[lane as usize]
    }
}

impl Lanes {
    /// The lane of a flow of which a packet waits.
    #[inline]
    pub(super) fn find(&self, flow: u32) -> Option<u32> {
        let place = self.by_flow.binary_search_by_key(&flow, |entry| entry.0).ok()?;
        Some(self.by_flow[place].1)
    }

    /// A lane for a flow that has none.
    pub(super) fn open(&mut self, flow: u32) -> u32 {
        let lane = self.closed.pop().unwrap_or_else(|| {
            self.lanes.push(Lane::default());
            self.lanes.len() as u32 - 1
        });
        let place = self.by_flow.partition_point(|entry| entry.0 < flow);
        self.by_flow.insert(place, (flow, lane));
        let of_lane = &mut self.lanes[lane as usize];
        (of_lane.flow, of_lane.deficit, of_lane.place) = (flow, 0, self.lengths.len());
        self.lengths.push((0, flow, lane));
        lane
    }

    /// An empty lane's flow has none any more.
    pub(super) fn close(&mut self, lane: u32) {
        let Lane { flow, place, .. } = self.lanes[lane as usize];
        let by_flow = self.by_flow.binary_search_by_key(&flow, |entry| entry.0);
        self.by_flow.remove(by_flow.expect("a lane that closes was open"));
        self.lengths.swap_remove(place);
        if place < self.lengths.len() {
            // What took its place came from the end, and an empty lane has none below it.
            self.rise(place);
        }
        self.closed.push(lane);
    }

    /// Appends a packet.
    #[inline]
    pub(super) fn push(&mut self, lane: u32, id: PacketId, size: u16) {
        let of_lane = &mut self.lanes[lane as usize];
        of_lane.packets.push_back(id);
        of_lane.bytes += u32::from(size);
        let place = of_lane.place;
        self.lengths[place].0 = of_lane.bytes;
        self.rise(place);
    }

    /// Grants `quantum`, and takes the first packet if the lane may send it.
    #[inline]
    pub(super) fn pop_first(
        &mut self,
        lane: u32,
        quantum: u32,
        arena: &PacketArena,
    ) -> Option<PacketId> {
        let of_lane = &mut self.lanes[lane as usize];
        of_lane.deficit += quantum;
        let id = *of_lane.packets.front().expect("a packet waits in a lane in turn");
        let size = arena.known(id).size;
        of_lane.deficit = of_lane.deficit.checked_sub(size.into())?;
        of_lane.packets.pop_front();
        self.shrink(lane, size);
        Some(id)
    }

    /// Takes the last packet.
    pub(super) fn pop_last(&mut self, lane: u32, arena: &PacketArena) -> PacketId {
        let id = self.lanes[lane as usize].packets.pop_back().expect("a packet waits");
        self.shrink(lane, arena.known(id).size);
        id
    }

    /// The longest lane, unless that of `flow` is with `size` bytes more.
    pub(super) fn longer_than(&self, flow: u32, size: u16) -> Option<u32> {
        let own = self.find(flow).map_or(0, |lane| self.lanes[lane as usize].bytes);
        let &(bytes, of, lane) = self.lengths.first()?;
        ((own + u32::from(size), flow) < (bytes, of)).then_some(lane)
    }

    #[inline]
    fn shrink(&mut self, lane: u32, size: u16) {
        let of_lane = &mut self.lanes[lane as usize];
        of_lane.bytes -= u32::from(size);
        let place = of_lane.place;
        self.lengths[place].0 = of_lane.bytes;
        self.sink(place);
    }

    /// A length may be too long for its place.
    #[inline]
    fn rise(&mut self, mut place: usize) {
        let length = self.lengths[place];
        while place > 0 && self.lengths[(place - 1) / 2] < length {
            self.put(place, self.lengths[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, length);
    }

    /// A length may be too short for its place.
    #[inline]
    fn sink(&mut self, mut place: usize) {
        let length = self.lengths[place];
        while let Some(&left) = self.lengths.get(2 * place + 1) {
            let right = self.lengths.get(2 * place + 2).copied().unwrap_or(left);
            let (below, longer) =
                if right > left { (2 * place + 2, right) } else { (2 * place + 1, left) };
            if longer <= length {
                break;
            }
            self.put(place, longer);
            place = below;
        }
        self.put(place, length);
    }

    #[inline]
    fn put(&mut self, place: usize, length: Length) {
        self.lengths[place] = length;
        self.lanes[length.2 as usize].place = place;
    }
}
