//! Notes that a host sends itself: that a flow starts, that a timer may be due, that it is time to
//! look at a flow. They lie in the same lists as the packets that reach it.

use crate::packet::{Kind, NIL, Packet};
use crate::transport::{End, Wake};
use sojourn_core::Time;

/// The low byte of a note's key: after packets (0), flows start, then senders wake, then receivers,
/// and at last flows are looked at.
pub(super) const START: u8 = 1;
pub(super) const WAKE_SENDER: u8 = 2;
pub(super) const WAKE_RECEIVER: u8 = 3;
const LOOK: u8 = 4;

/// `flow` starts at `at`.
pub(super) fn start(at: Time, flow: u32) -> Packet {
    note(Packet::arriving(at, START), Kind::Start, flow)
}

/// Watch number `watch`, of `flow`, begins or ends at `at`.
pub(super) fn look(at: Time, flow: u32, watch: u32) -> Packet {
    Packet { sequence: watch, ..note(Packet::arriving(at, LOOK), Kind::Look, flow) }
}

/// One of a flow's ends wants to be woken.
pub(super) fn wake(wake: Wake) -> Packet {
    let order = match wake.end {
        End::Sender => WAKE_SENDER,
        End::Receiver => WAKE_RECEIVER,
    };
    note(Packet::arriving(wake.at, order), Kind::Wake, wake.flow)
}

/// What such a note says.
pub(super) fn wake_of(note: &Packet) -> Wake {
    let end = match note.key as u8 {
        WAKE_SENDER => End::Sender,
        _ => End::Receiver,
    };
    Wake { at: note.arrives(), flow: note.flow, end }
}

fn note(key: u64, kind: Kind, flow: u32) -> Packet {
    Packet {
        key,
        next: NIL,
        flow,
        sequence: 0,
        priority: 0,
        to: 0,
        size: 0,
        echo: 0,
        kind,
        marks: 0,
    }
}
