//! A slow oracle: messages between full-duplex ports, event by event. A port sends messages first in, first out, and
//! receives them in the order in which their first bytes arrive; a byte is under way for a fixed time.

use sojourn_core::{Span, Time};
use sojourn_training::collective::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// The sender's port is idle.
    Sent,
    /// The first byte is at the receiver's port.
    Reached,
    /// The last byte is through it.
    Arrived,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Carried {
    to: u32,
    channel: u32,
    slot: u32,
    bytes: u64,
}

/// When a rank hands its messages to its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandOver {
    /// As soon as the cursor gives them.
    AtOnce,
    /// When the port is idle, one of each channel in turn.
    InTurn,
}

/// The time from the start of all ranks to the last arrival.
pub(crate) fn time(collective: &Collective, shape: Shape, port: &Port) -> Span {
    time_with(HandOver::AtOnce, collective, shape, port)
}

/// The same for this way to hand messages over.
pub(crate) fn time_with(
    hand_over: HandOver,
    collective: &Collective,
    shape: Shape,
    port: &Port,
) -> Span {
    let channels = collective.channels();
    let all = shape.ranks * channels;
    let mut cursors: Vec<Cursor> = (0..all)
        .map(|one| Cursor::new(collective, shape, one / channels, one % channels))
        .collect();
    let mut sends_until = vec![Time::ZERO; shape.ranks as usize];
    let mut receives_until = vec![Time::ZERO; shape.ranks as usize];
    let mut events = BinaryHeap::new();
    let mut count = 0;
    let mut now = Time::ZERO;
    let mut due: Vec<u32> = (0..shape.ranks).collect();
    let mut turns = vec![0; shape.ranks as usize];
    loop {
        for rank in due.drain(..) {
            let (until, turn) = (&mut sends_until[rank as usize], &mut turns[rank as usize]);
            while hand_over == HandOver::AtOnce || *until <= now {
                let mut order = (0..channels).map(|place| (*turn + place) % channels);
                let found = order.find_map(|channel| {
                    let cursor = &mut cursors[(rank * channels + channel) as usize];
                    cursor.send(collective, shape).map(|message| (channel, message))
                });
                let Some((channel, message)) = found else { break };
                *turn = channel + u32::from(hand_over == HandOver::InTurn);
                let start = now.max(*until);
                let bytes = message.part.bytes;
                *until = start + port.serial(bytes);
                let carried = Carried { to: message.to, channel, slot: message.slot, bytes };
                events.push(Reverse((start + port.latency, count, Moment::Reached, carried)));
                let idle = Carried { to: rank, channel, slot: 0, bytes: 0 };
                events.push(Reverse((*until, count + 1, Moment::Sent, idle)));
                count += 2;
            }
        }
        let Some(Reverse((at, _, moment, carried))) = events.pop() else { break };
        now = at;
        match moment {
            Moment::Sent => due.push(carried.to),
            Moment::Reached => {
                let until = &mut receives_until[carried.to as usize];
                *until = now.max(*until) + port.serial(carried.bytes);
                events.push(Reverse((*until, count, Moment::Arrived, carried)));
                count += 1;
            }
            Moment::Arrived => {
                let one = carried.to * channels + carried.channel;
                cursors[one as usize].arrived(carried.slot);
                due.push(carried.to);
            }
        }
    }
    assert!(cursors.iter().all(Cursor::is_finished));
    now - Time::ZERO
}
