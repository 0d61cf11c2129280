//! Connections: flows that carry many messages, one behind the other.
//!
//! Each message begins in a packet of its own. Its sender hands it over when it is made, so which message comes
//! where is not known beforehand; the number of all packets is. The two ends of a connection share the list of what
//! was handed over: the receiver reads an entry when a packet of that message has come, at least a window after the
//! sender wrote it, so nothing depends on the number of threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The connections of a simulation: the last of its flows.
#[derive(Debug)]
pub struct Connections {
    /// The first flow that is a connection.
    first: u32,
    list: Box<[Connection]>,
    /// Payload of a full packet.
    payload: u64,
}

/// One of them, while it is simulated.
#[derive(Debug)]
struct Connection {
    /// The packets of all its messages.
    packets: u32,
    messages: Box<[OnceLock<Message>]>,
    /// How many of them were handed over.
    handed_over: AtomicU32,
    /// The message that the sender goes on with: that of the packet behind the one it sent last.
    near: AtomicU32,
    /// The first packet of the message of the packet that it sent last, and the last one.
    begin: AtomicU32,
    last: AtomicU32,
}

/// A message that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// One past its last packet.
    pub end: u32,
    /// Payload of its last packet.
    last: u16,
    /// Its place among all messages of its sender.
    order: u32,
    /// What it is to the ranks at both ends.
    pub content: Content,
}

/// What a message is to ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One that a rank sends by itself, and another one receives by its tag.
    Tagged {
        /// The node that sends it.
        node: u32,
        /// Its tag.
        tag: u32,
    },
    /// One of a collective.
    Step {
        /// The collective, and which of its calls.
        call: u32,
        tag: u32,
        /// The channel, and the counter of the receiver.
        channel: u8,
        slot: u32,
    },
}

/// What a connection will carry in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Messages, ...
    pub messages: u32,
    /// ... their packets, ...
    pub packets: u32,
    /// ... and their bytes.
    pub bytes: u64,
}

impl Connections {
    /// Connections with these loads, of packets with up to `payload` bytes; `first` is the flow of the first one.
    pub fn new(first: u32, loads: impl IntoIterator<Item = Load>, payload: u64) -> Connections {
        let connection = |load: Load| Connection {
            packets: load.packets,
            messages: std::iter::repeat_with(OnceLock::new).take(load.messages as usize).collect(),
            handed_over: AtomicU32::new(0),
            near: AtomicU32::new(0),
            begin: AtomicU32::new(0),
            last: AtomicU32::new(0),
        };
        Connections { first, list: loads.into_iter().map(connection).collect(), payload }
    }

    fn of(&self, flow: u32) -> Option<&Connection> {
        self.list.get(flow.checked_sub(self.first)? as usize)
    }

    /// Whether `flow` is a connection.
    pub fn has(&self, flow: u32) -> bool {
        self.of(flow).is_some()
    }

    /// The packets of all messages of `flow`, if it is a connection.
    pub fn packets(&self, flow: u32) -> Option<u32> {
        self.of(flow).map(|connection| connection.packets)
    }

    /// The next message of `flow` is handed over. Called by the host that it starts from. Panics where the connection
    /// has carried all that it was made for. `order` is its place among all messages of the sender. Returns its place
    /// among those of `flow`.
    pub fn hand_over(&self, flow: u32, bytes: u64, order: u32, content: Content) -> u32 {
        let connection = self.of(flow).expect("a connection");
        let place = connection.handed_over.load(Ordering::Relaxed);
        let begin = place.checked_sub(1).map_or(0, |before| connection.message(before).end);
        let packets = packets(bytes, self.payload);
        let last = (bytes - (u64::from(packets) - 1) * self.payload) as u16;
        let message = Message { end: begin + packets, last, order, content };
        connection.messages[place as usize].set(message).expect("each message is handed over once");
        connection.handed_over.store(place + 1, Ordering::Release);
        place
    }

    /// One past the last packet of `flow` that was handed over.
    pub fn end(&self, flow: u32) -> u32 {
        let connection = self.of(flow).expect("a connection");
        let messages = connection.handed_over.load(Ordering::Relaxed);
        messages.checked_sub(1).map_or(0, |last| connection.message(last).end)
    }

    /// Payload of what was handed over of `flow` from packet `begin` on, the first one of a message.
    pub fn bytes_from(&self, flow: u32, begin: u32) -> u64 {
        let connection = self.of(flow).expect("a connection");
        let mut bytes = 0;
        for place in (0..connection.handed_over.load(Ordering::Relaxed)).rev() {
            let Message { end, last, .. } = connection.message(place);
            if end <= begin {
                break;
            }
            let before = place.checked_sub(1).map_or(0, |before| connection.message(before).end);
            bytes += u64::from(end - before - 1) * self.payload + u64::from(last);
        }
        bytes
    }

    /// Message number `place` of `flow`, if it was handed over.
    pub fn message(&self, flow: u32, place: u32) -> Option<Message> {
        self.of(flow)?.messages.get(place as usize)?.get().copied()
    }

    /// Payload of packet `sequence` of `flow`, which was handed over; none if that is no connection. Called by the
    /// host that it starts from.
    #[inline]
    pub fn payload(&self, flow: u32, sequence: u32) -> Option<u16> {
        let connection = self.of(flow)?;
        if connection.is_inside(sequence) {
            return Some(self.payload as u16);
        }
        let message = connection.message(connection.place(sequence));
        Some(self.payload_in(message, sequence))
    }

    /// The same, of a packet that leaves now.
    #[inline]
    pub fn leaves(&self, flow: u32, sequence: u32) -> Option<u16> {
        let connection = self.of(flow)?;
        if connection.is_inside(sequence) {
            return Some(self.payload as u16);
        }
        let place = connection.place(sequence);
        let message = connection.message(place);
        let ends = u32::from(sequence + 1 == message.end);
        connection.near.store(place + ends, Ordering::Relaxed);
        let begin = place.checked_sub(1).map_or(0, |before| connection.message(before).end);
        connection.begin.store(begin, Ordering::Relaxed);
        connection.last.store(message.end - 1, Ordering::Relaxed);
        Some(self.payload_in(message, sequence))
    }

    fn payload_in(&self, message: Message, sequence: u32) -> u16 {
        if sequence + 1 == message.end { message.last } else { self.payload as u16 }
    }

    /// The place among all messages of its sender of the one that `flow` goes on with: the host's link takes messages
    /// in this order.
    pub fn order(&self, flow: u32) -> Option<u32> {
        let connection = self.of(flow)?;
        let next = connection.messages.get(connection.near.load(Ordering::Relaxed) as usize);
        Some(next.and_then(OnceLock::get).map_or(u32::MAX, |message| message.order))
    }
}

impl Connection {
    /// Whether `sequence` is a packet of the message that it sent of last, and not its last one: a full packet.
    #[inline]
    fn is_inside(&self, sequence: u32) -> bool {
        (self.begin.load(Ordering::Relaxed)..self.last.load(Ordering::Relaxed)).contains(&sequence)
    }

    /// The place of the message with packet `sequence`, looked for from the one on that it goes on with.
    #[inline]
    fn place(&self, sequence: u32) -> u32 {
        let mut place = self.near.load(Ordering::Relaxed);
        while place > 0 && self.message(place - 1).end > sequence {
            place -= 1;
        }
        while self.message(place).end <= sequence {
            place += 1;
        }
        place
    }

    fn message(&self, place: u32) -> Message {
        *self.messages[place as usize].get().expect("a message that was handed over")
    }
}

/// Packets of a message of `bytes`, at least one.
fn packets(bytes: u64, payload: u64) -> u32 {
    bytes.div_ceil(payload) as u32
}

impl Load {
    /// Adds `count` messages of `bytes`, at least one byte each. None where packets cannot be numbered.
    pub fn add(self, count: u64, bytes: u64, payload: u64) -> Option<Load> {
        let packets = u64::from(u32::try_from(bytes.div_ceil(payload)).ok()?);
        let more = |before: u32, each: u64| {
            u32::try_from(u64::from(before).checked_add(count.checked_mul(each)?)?).ok()
        };
        Some(Load {
            messages: more(self.messages, 1)?,
            packets: more(self.packets, packets)?,
            bytes: self.bytes.checked_add(count.checked_mul(bytes)?)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tagged(tag: u32) -> Content {
        Content::Tagged { node: 0, tag }
    }

    #[test]
    fn each_message_has_packets_of_its_own() {
        let load = [2500, 1000, 1]
            .iter()
            .fold(Load::default(), |load, &bytes| load.add(1, bytes, 1000).expect("few packets"));
        assert_eq!(load, Load { messages: 3, packets: 5, bytes: 3501 });
        let connections = Connections::new(7, [load], 1000);
        assert_eq!((connections.packets(6), connections.packets(7)), (None, Some(5)));
        assert_eq!((connections.end(7), connections.message(7, 0)), (0, None));
        connections.hand_over(7, 2500, 4, tagged(1));
        assert_eq!((connections.order(7), connections.order(6)), (Some(4), None));
        assert_eq!(connections.end(7), 3);
        connections.hand_over(7, 1000, 8, tagged(2));
        connections.hand_over(7, 1, 9, tagged(3));
        let sizes = [0, 1, 2, 3, 4, 2, 0].map(|sequence| connections.payload(7, sequence));
        assert_eq!(sizes, [1000, 1000, 500, 1000, 1, 500, 1000].map(Some));
        let orders = [2, 4, 0].map(|sequence| {
            connections.leaves(7, sequence);
            connections.order(7)
        });
        assert_eq!(orders, [Some(8), Some(u32::MAX), Some(4)]);
        let bytes = [0, 3, 4, 5].map(|begin| connections.bytes_from(7, begin));
        assert_eq!(bytes, [3501, 1001, 1, 0]);
        let ends = [0, 1, 2].map(|place| connections.message(7, place).map(|message| message.end));
        assert_eq!(ends, [Some(3), Some(4), Some(5)]);
    }

    #[test]
    fn what_cannot_be_numbered_is_refused() {
        assert_eq!(Load::default().add(1 << 20, 1 << 30, 1000), None);
        assert_eq!(Load::default().add(2, u64::MAX, 1 << 40), None);
    }
}
