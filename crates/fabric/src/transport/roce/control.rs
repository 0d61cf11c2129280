//! What transports that go back differ in: how fast a flow sends, and how much it may have under way.

use crate::packet::Packet;
use crate::transport::Speed;
use sojourn_core::{Rate, Span, Time};
use std::fmt::Debug;

/// The rules by which the flows of a transport send.
pub trait Control: Debug {
    /// What it keeps of each flow.
    type Own: Clone + Debug;

    /// A flow that begins, from a host with a link of this speed.
    fn begin(&self, line: Rate) -> Self::Own;

    /// The least time between two NACKs for one missing packet.
    fn nack_interval(&self) -> Span;

    /// How long nothing may be acknowledged of what is under way.
    fn rto(&self) -> Span;

    /// Whether a flow may send a packet while so many full packets are under way.
    fn allows(&self, own: &Self::Own, under_way: u32) -> bool;

    /// Until the packet of `size` bytes that leaves at `now` is followed by the next; none at the speed of the link.
    fn gap(&self, own: &mut Self::Own, now: Time, size: u16) -> Option<Span>;

    /// How fast a flow sends at `now`.
    fn speed(&self, own: &Self::Own, now: Time) -> Speed;

    /// Looks at an ACK before it is followed; `next` is the packet that the flow sends next.
    #[inline]
    fn acknowledged(&self, _own: &mut Self::Own, _ack: &Packet, _next: u32) {}

    /// Takes in a CNP that comes at `now`.
    fn notified(&self, _own: &mut Self::Own, _now: Time) {}

    /// The least time between two CNPs of a flow, and what the receiver takes for one; none where there are none.
    #[inline]
    fn notices(&self) -> Option<(Span, Span)> {
        None
    }

    /// Readies a packet of data that leaves.
    #[inline]
    fn leaves(&self, _data: &mut Packet) {}

    /// Readies the ACK for a packet of data.
    #[inline]
    fn answers(&self, _data: &Packet, _ack: &mut Packet) {}
}
