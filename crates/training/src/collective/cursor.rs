//! How far a rank has come on one channel of a collective.

use super::{Collective, LANES, Message, Place, Shape};

/// The state of a rank on one channel of a collective that is under way. Nothing else is stored: messages follow
/// from [`Collective::step`].
#[derive(Clone, Debug)]
pub struct Cursor {
    rank: u32,
    channel: u32,
    /// The next step of each lane.
    next: [u64; LANES as usize],
    /// The number of messages that arrived at each slot.
    arrived: Box<[u64]>,
    /// The number of messages that have not arrived yet.
    absent: u64,
}

impl Cursor {
    /// The state of the rank with this index in its group before it has sent anything.
    pub fn new(collective: &Collective, shape: Shape, rank: u32, channel: u32) -> Cursor {
        Cursor {
            rank,
            channel,
            next: [0; LANES as usize],
            arrived: vec![0; collective.slots(shape) as usize].into(),
            absent: collective.arrivals(shape, Place { rank, channel, lane: 0 }),
        }
    }

    /// The next message that the rank may send now; none if it has to wait, or has sent everything. Ask each
    /// channel in turn whenever the port is idle. If all messages wait in one queue instead, those that go up one
    /// tree delay those that go down the other, and a double tree takes up to 1.25 times as long.
    pub fn send(&mut self, collective: &Collective, shape: Shape) -> Option<Message> {
        for lane in 0..LANES {
            let at = self.place(lane);
            let next = &mut self.next[lane as usize];
            while *next < collective.steps(shape, at) {
                let Some(message) = collective.step(shape, at, *next) else {
                    *next += 1;
                    continue;
                };
                let arrived = |slot: u32| self.arrived[slot as usize];
                if message.needs.iter().any(|need| arrived(need.slot) < need.count) {
                    break;
                }
                *next += 1;
                return Some(message);
            }
        }
        None
    }

    /// A message for this slot has arrived.
    pub fn arrived(&mut self, slot: u32) {
        self.arrived[slot as usize] += 1;
        self.absent -= 1;
    }

    /// Whether the rank has sent and received everything.
    pub fn is_finished(&self, collective: &Collective, shape: Shape) -> bool {
        self.absent == 0
            && (0..LANES).all(|lane| {
                (self.next[lane as usize]..collective.steps(shape, self.place(lane)))
                    .all(|step| collective.step(shape, self.place(lane), step).is_none())
            })
    }

    fn place(&self, lane: u32) -> Place {
        Place { rank: self.rank, channel: self.channel, lane }
    }
}
