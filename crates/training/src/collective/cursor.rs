//! How far a rank has come on one channel of a collective.

use super::{Collective, LANES, Message, Place, Shape};

/// The state of a rank on one channel of a collective that is under way. Of the messages only the next one of each
/// lane is stored: they follow from [`Collective::step`].
#[derive(Clone, Debug)]
pub struct Cursor {
    rank: u32,
    channel: u32,
    lanes: [Lane; LANES as usize],
    /// The number of messages that arrived at each slot.
    arrived: Box<[u64]>,
    /// The number of messages that have not arrived yet.
    absent: u64,
}

#[derive(Clone, Debug)]
struct Lane {
    /// The next message; none when all are sent.
    message: Option<Message>,
    /// The step after it, and the number of steps.
    next: u64,
    end: u64,
}

impl Cursor {
    /// The state of the rank with this index in its group before it has sent anything.
    pub fn new(collective: &Collective, shape: Shape, rank: u32, channel: u32) -> Cursor {
        let at = |lane| Place { rank, channel, lane };
        let lane = |number| {
            let end = collective.steps(shape, at(number));
            let mut lane = Lane { message: None, next: 0, end };
            lane.advance(collective, shape, at(number));
            lane
        };
        Cursor {
            rank,
            channel,
            lanes: [lane(0), lane(1)],
            arrived: vec![0; collective.slots(shape) as usize].into(),
            absent: collective.arrivals(shape, at(0)),
        }
    }

    /// The next message that the rank may send now; none if it has to wait, or has sent everything. Ask each
    /// channel in turn whenever the port is idle. If all messages wait in one queue instead, those that go up one
    /// tree delay those that go down the other, and a double tree takes up to 1.25 times as long.
    pub fn send(&mut self, collective: &Collective, shape: Shape) -> Option<Message> {
        let Cursor { rank, channel, arrived, .. } = self;
        for (number, lane) in (0..LANES).zip(&mut self.lanes) {
            let Some(message) = lane.message else { continue };
            if message.needs.iter().all(|need| arrived[need.slot as usize] >= need.count) {
                let at = Place { rank: *rank, channel: *channel, lane: number };
                lane.advance(collective, shape, at);
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
    pub fn is_finished(&self) -> bool {
        self.absent == 0 && self.lanes.iter().all(|lane| lane.message.is_none())
    }
}

impl Lane {
    /// Goes to the next step that sends something.
    fn advance(&mut self, collective: &Collective, shape: Shape, at: Place) {
        self.message = None;
        while self.message.is_none() && self.next < self.end {
            self.message = collective.step(shape, at, self.next);
            self.next += 1;
        }
    }
}
