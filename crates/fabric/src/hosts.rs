//! What a host does to the packets of its transports before they are on its link.

use crate::topology::LinkSpec;
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, choices, nested, parameters};

parameters! {
    /// What hosts do with the packets of their transports before these are on a link.
    pub struct Hosts: "hosts" {
        /// A host delays each packet that it sends by a random time, evenly distributed from 0 to this
        /// many times that of a full packet on its link. Packets stay in order, and the link is not
        /// kept busy by it. With 0, flows of equal packets that are clocked by acknowledgements keep
        /// one phase, and a flow that is a little ahead wins for ever (S. Floyd and V. Jacobson, "On
        /// traffic phase effects in packet-switched gateways", 1992; `overhead_` in ns-2).
        pub overhead: f64 = 1.0,
        /// Where packets wait that a host's link cannot take yet.
        pub port: HostPort = HostPort::Backpressure,
    }
}
nested!(Hosts);

choices! {
    /// Where packets wait that a host's link cannot take yet.
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
    pub const EXACT: Hosts = Hosts { overhead: 0.0, port: HostPort::SwitchPort };

    /// Longest delay of a packet in a host before it is on `link`, where a full packet has `full` bytes.
    pub(crate) fn longest(&self, link: LinkSpec, full: u16) -> Span {
        Span::from_ps((link.rate.span(full.into()).ps() as f64 * self.overhead) as u64)
    }
}
