//! Flows, how their bytes are cut into packets, and their best possible times.

use crate::topology::{Hop, Network};
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Bytes, Span, Time, choices, nested, parameters};

/// One flow, as a workload offers it. What it waits for is in the graph of messages
/// ([`MessageGraph`](crate::workload::MessageGraph)), and how far it has come is known to its two ends, a sender
/// and a receiver of a [`transport`](crate::transport).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Source host.
    pub from: u16,
    /// Destination host, another one.
    pub to: u16,
    /// Size in bytes without headers, at least one; [`ENDLESS`] for a flow that never ends.
    pub bytes: u64,
    /// Arrival time.
    pub arrived: Time,
    /// Deadline; [`Time::NEVER`] for a flow without one.
    pub deadline: Time,
    /// Traffic class, below [`CLASSES`](crate::packet::CLASSES).
    pub class: u8,
}

choices! {
    /// When a flow is complete, for its finish, its sojourn time and the ideal that it is measured by.
    pub enum Completion: "completion" {
        /// When its last byte is at its receiver.
        Receiver = "receiver",
        /// When its sender knows that, from the last acknowledgement.
        Sender = "sender",
    }
}

/// The size of a flow that never ends.
pub const ENDLESS: u64 = u64::MAX;

impl Flow {
    /// A flow without a deadline, of class 0.
    pub const fn new(from: u16, to: u16, bytes: u64, arrived: Time) -> Flow {
        Flow { from, to, bytes, arrived, deadline: Time::NEVER, class: 0 }
    }

    /// Whether it never ends.
    pub const fn is_endless(&self) -> bool {
        self.bytes == ENDLESS
    }
}

parameters! {
    /// Sizes of packets.
    pub struct Packets: "packets" {
        /// Payload of a full packet.
        pub payload: Bytes = Bytes(1460),
        /// Header bytes of each data packet.
        pub header: Bytes = Bytes(40),
        /// Bytes of an acknowledgement.
        pub ack: Bytes = Bytes(40),
    }
}
nested!(Packets);

impl Check for Packets {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: Bytes, expected: &str| {
            Err(Refusal::value(&value.write().expect("a size"), expected).under(key))
        };
        if self.payload.0 == 0 {
            return refuse("payload", self.payload, "at least \"1B\"");
        }
        if self.ack.0 == 0 || self.ack.0 > LARGEST_PACKET {
            return refuse("ack", self.ack, "\"1B\" to \"9KB\"");
        }
        if self.payload.0.saturating_add(self.header.0) > LARGEST_PACKET {
            return match self.header > self.payload {
                true => refuse("header", self.header, "at most \"9KB\" with the payload"),
                false => refuse("payload", self.payload, "at most \"9KB\" with the header"),
            };
        }
        Ok(())
    }
}

/// Packets of a flow are numbered in 32 bits.
pub(crate) const MOST_PACKETS: u32 = u32::MAX;

/// Largest packet: a jumbo frame, in bytes.
const LARGEST_PACKET: u64 = 9_000;

impl Packets {
    /// Number of packets that carry `bytes`. Workloads draw no flow with an end of more than 4294967295
    /// packets; an [`ENDLESS`] one has so many.
    pub fn count(&self, bytes: u64) -> u32 {
        u32::try_from(bytes.div_ceil(self.payload.0)).unwrap_or(MOST_PACKETS)
    }

    /// Payload of the last packet of a flow of `bytes`, in bytes.
    pub fn last_payload(&self, bytes: u64) -> u16 {
        (bytes - (u64::from(self.count(bytes)) - 1) * self.payload.0) as u16
    }

    /// Payload in bytes of a number of different packets of a flow of `bytes`; `last` says whether its last
    /// packet is one of them.
    pub fn carried(&self, bytes: u64, packets: u32, last: bool) -> u64 {
        let short = if last { self.payload.0 - u64::from(self.last_payload(bytes)) } else { 0 };
        u64::from(packets) * self.payload.0 - short
    }

    /// Bytes on the wire that carry `payload` bytes.
    pub fn wire(&self, payload: u16) -> u16 {
        payload + self.header.0 as u16
    }

    /// Bytes on the wire of a full packet.
    pub fn full(&self) -> u16 {
        self.wire(self.payload.0 as u16)
    }

    /// Bytes on the wire of the largest packet, data or acknowledgement.
    pub fn largest(&self) -> u16 {
        self.full().max(self.ack.0 as u16)
    }

    /// Bytes on the wire of all packets of a flow of `bytes`.
    pub fn on_the_wire(&self, bytes: u64) -> u64 {
        bytes + u64::from(self.count(bytes)) * self.header.0
    }

    /// Bytes on the wire of a data packet without its payload.
    pub fn trimmed(&self) -> u16 {
        (self.header.0 as u16).max(1)
    }

    /// Bytes on the wire of the smallest packet.
    pub fn smallest(&self) -> u16 {
        (self.ack.0 as u16).min(self.trimmed())
    }
}

/// The best possible completion time of a flow of `bytes` over the hops `out`, its last
/// acknowledgement coming `back`, with no other flow in the fabric.
///
/// Full packets follow each other as a pipeline, at the pace of the slowest hop; where a flow can
/// be sprayed over several links at once, their joint pace. The last packet leaves after all others
/// but may overtake them on another path, so the flow cannot be done before the pipeline of its
/// full packets is, nor before its last byte, once out of the first link, has crossed the others:
/// the later of the two. Each ACK is sent at once.
pub fn ideal_fct(packets: &Packets, bytes: u64, out: &[Hop], back: &[Hop]) -> Span {
    let count = u64::from(packets.count(bytes));
    let last = packets.wire(packets.last_payload(bytes));
    let full = if count > 1 { packets.full() } else { last };
    let in_full = if last == full { count } else { count - 1 };
    // Most fabrics have one speed: what the first link takes need not be divided anew.
    let rate = out[0].link.rate;
    let cross = |size: u16| {
        let first = rate.span(size.into());
        move |hop: &Hop| match hop.link.rate == rate {
            true => first,
            false => hop.link.rate.span(size.into()),
        }
    };
    let (whole, head) = (cross(full), cross(packets.smallest()));
    let pass = |size: u16| {
        let all = cross(size);
        move |hop: &Hop| if hop.cuts { head(hop) } else { all(hop) }
    };
    let slowest = out.iter().map(|hop| whole(hop) / hop.parallel).max().unwrap_or(Span::ZERO);
    let pipeline = out.iter().map(pass(full)).sum::<Span>() + slowest * (in_full - 1);
    let overtaking = whole(&out[0]) * (count - 1) + out.iter().map(pass(last)).sum::<Span>();
    let travel = out.iter().chain(back).map(|hop| hop.link.delay).sum::<Span>();
    let ack = back.iter().map(pass(packets.ack.0 as u16)).sum::<Span>();
    pipeline.max(overtaking) + travel + ack
}

/// The completion time of a flow of `bytes` that has the fabric for itself, all its packets on one
/// path and in order, and never has to wait for an acknowledgement, where switches store and
/// forward: [`ideal_fct`], and where the last packet is shorter than the others, what it waits behind
/// them.
pub fn alone_fct(packets: &Packets, bytes: u64, out: &[Hop], back: &[Hop]) -> Span {
    let before = u64::from(packets.count(bytes)) - 1;
    let last = packets.wire(packets.last_payload(bytes));
    let (mut first, mut slowest, mut end) = (Span::ZERO, Span::ZERO, Span::ZERO);
    for hop in out {
        let cross = |size: u16| hop.link.rate.span(size.into());
        let full = cross(packets.full());
        (first, slowest) = (first + full, slowest.max(full));
        let others = if before > 0 { first + slowest * (before - 1) } else { Span::ZERO };
        end = end.max(others) + cross(last);
    }
    let travel = out.iter().chain(back).map(|hop| hop.link.delay).sum::<Span>();
    let ack = back.iter().map(|hop| hop.link.rate.span(packets.ack.0)).sum::<Span>();
    end + travel + ack
}

/// Computes best possible times; each pair of racks is routed once.
pub(crate) struct Ideals<'a> {
    pub(crate) network: &'a Network,
    pub(crate) packets: &'a Packets,
    /// By the racks of source and destination: the hops out and back.
    trips: Vec<Option<Box<RoundTrip>>>,
}

type RoundTrip = (Vec<Hop>, Vec<Hop>);

impl<'a> Ideals<'a> {
    pub(crate) fn new(network: &'a Network, packets: &'a Packets) -> Ideals<'a> {
        Ideals { network, packets, trips: vec![None; network.racks() * network.racks()] }
    }

    /// The time after which a flow that begins after `begin` can begin to cross the link to its receiver.
    pub(crate) fn at_last_link(&mut self, flow: &Flow, begin: Span) -> Span {
        // A queue may let a short last packet go first.
        let packets = self.packets;
        let short = packets.wire(packets.last_payload(flow.bytes));
        let (out, _) = self.trip(flow);
        let first = |hop: &Hop| if hop.cuts { packets.smallest() } else { short };
        let cross = |hop: &Hop| hop.link.rate.span(first(hop).into()) + hop.link.delay;
        begin.saturating_add(out[..out.len() - 1].iter().map(cross).sum::<Span>())
    }

    /// How many switches a flow crosses.
    pub(crate) fn switches(&mut self, flow: &Flow) -> u32 {
        self.trip(flow).0.len() as u32 - 1
    }

    /// Completion time of a flow alone, its packets on one path and in order.
    pub(crate) fn alone(&mut self, flow: &Flow, completion: Completion) -> Span {
        let packets = self.packets;
        let (out, back) = self.until(flow, completion);
        alone_fct(packets, flow.bytes, out, back)
    }

    /// Best possible completion time of a flow.
    pub(crate) fn of(&mut self, flow: &Flow, completion: Completion) -> Span {
        let packets = self.packets;
        let (out, back) = self.until(flow, completion);
        ideal_fct(packets, flow.bytes, out, back)
    }

    /// The hops of a flow, and those of its last acknowledgement as far as it is waited for.
    fn until(&mut self, flow: &Flow, completion: Completion) -> (&[Hop], &[Hop]) {
        let (out, back) = self.trip(flow);
        match completion {
            Completion::Receiver => (out, &[]),
            Completion::Sender => (out, back),
        }
    }

    /// The hops of a flow, and those of its acknowledgements.
    fn trip(&mut self, flow: &Flow) -> &RoundTrip {
        let (from, to) = (usize::from(flow.from), usize::from(flow.to));
        let network = self.network;
        let pair = network.rack_of(from) * network.racks() + network.rack_of(to);
        let trip = self.trips[pair]
            .get_or_insert_with(|| Box::new((network.path(from, to), network.path(to, from))));
        // Between two racks all paths are alike but for their first and last links.
        let (out, back) = &mut **trip;
        let ends = [&network.links[from], &network.links[to]];
        for (path, [first, last]) in [(out, ends), (back, [ends[1], ends[0]])] {
            (path[0].link, path[0].cuts) = (first.spec, first.cuts);
            path.last_mut().expect("two hops at least").link = last.spec;
        }
        trip
    }
}
