//! What a host does to the packets of its transports before they are on its link.

use crate::topology::LinkSpec;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, choices, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Behaviour of hosts between the transport and the link.
    pub struct Hosts: "hosts" {
        /// A host delays each packet that it sends by a random time, evenly distributed from 0 to this
        /// many times that of a full packet on its link. Packets stay in order, and the link is not
        /// kept busy by it. With 0, flows of equal packets that are clocked by acknowledgements keep
        /// one phase, and a flow that is a little ahead wins for ever (S. Floyd and V. Jacobson, "On
        /// traffic phase effects in packet-switched gateways", 1992; `overhead_` in ns-2).
        pub overhead: f64 = 1.0,
        /// Where packets wait while a host's link is busy.
        pub port: HostPort = HostPort::Backpressure,
        /// A packet that each flow loses, in order to study the effect of one loss. By default no
        /// packet is lost so.
        pub loss: Option<Loss> = None,
    }
}
nested!(Hosts);

parameters! {
    /// A data packet that each flow loses where it reaches its host, behind all queues. Other losses are not
    /// affected.
    pub struct Loss: "loss" {
        /// Which one, counted from 1; by default the last one of the flow. A flow with fewer packets
        /// loses none.
        pub packet: Option<NonZeroU32> = None,
        /// How often it is lost: 1 is the packet alone, 2 its first retransmission too.
        pub times: NonZeroU32 = NonZeroU32::MIN,
    }
}
nested!(Loss);

impl Check for Loss {}

impl Loss {
    /// The sequence number of the lost packet in a flow of `packets`; none where the flow is too short.
    pub(crate) fn sequence(&self, packets: u32) -> Option<u32> {
        let packet = self.packet.map_or(packets, NonZeroU32::get);
        packet.checked_sub(1).filter(|&sequence| sequence < packets)
    }
}

choices! {
    /// Where packets wait while a host's link is busy.
    pub enum HostPort: "host port" {
        /// With their flows: the host has few packets before its link, and a transport sends when
        /// the link can take more, flow by flow in turn, or by priority where the scheme has one; as a system
        /// does that pushes back on sockets (TCP small queues and byte queue limits, in Linux).
        /// Nothing is dropped at home.
        Backpressure = "backpressure",
        /// In a queue as a switch's port has, where what does not fit is dropped.
        SwitchPort = "switch-port",
    }
}

/// Upper bound of `overhead`: no host takes as long.
const MOST_OVERHEAD: f64 = 100.0;

impl Check for Hosts {
    fn check(&self) -> Result<(), Refusal> {
        if (0.0..=MOST_OVERHEAD).contains(&self.overhead) {
            return Ok(());
        }
        let expected = format!("0 to {MOST_OVERHEAD} times of a full packet");
        Err(Refusal::of(&self.overhead, expected).under("overhead"))
    }
}

impl Hosts {
    /// Hosts that take no time for a packet, for what is exact to the picosecond.
    pub const EXACT: Hosts = Hosts { overhead: 0.0, port: HostPort::SwitchPort, loss: None };

    /// Longest delay of a packet in a host before it is on `link`, where a full packet has `full` bytes.
    pub(crate) fn longest(&self, link: LinkSpec, full: u16) -> Span {
        Span::from_ps((link.rate.span(full.into()).ps() as f64 * self.overhead) as u64)
    }
}
