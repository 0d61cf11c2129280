//! One switch, all hosts on it.

use super::{Graph, LinkSpec, MOST_PPM, Ppm};
use crate::packet::MAX_PORTS;
use sojourn_core::parameters::Check;
use sojourn_core::{Rate, Span, parameters};

parameters! {
    /// One switch with all hosts on it. An uplink of another rate can take the place of the
    /// last host's link: the big-buffers paper's 20 servers behind one 40 Gb/s uplink.
    pub struct SingleSwitch: "single-switch" {
        /// Number of hosts.
        pub hosts: u32 [2..=MAX_PORTS as u32] = 16,
        /// Speed of each host's link.
        pub rate: Rate = Rate::gbps(10),
        /// Propagation delay of each link.
        pub delay: Span = Span::from_ns(383),
        /// Speed of the last host's link, if it differs.
        pub uplink: Option<Rate> = None,
        /// Largest random addition to the delay of each host's link, so that round trips differ.
        pub delay_spread: Span = Span::ZERO,
        /// How many millionths the clock of each host's link may be off, either way, at random
        /// (IEEE 802.3 allows 100). With none all links tick alike, which no real ones do: packets
        /// of several senders then stay in step, and the same ones are dropped again and again.
        pub clock_ppm: Ppm [0..=MOST_PPM] = 0,
    }
}

impl Check for SingleSwitch {}

impl SingleSwitch {
    /// Lays the links.
    pub fn graph(&self) -> Graph {
        let mut graph = Graph::new(1);
        graph.spread_hosts(self.delay_spread);
        graph.drift_hosts(self.clock_ppm);
        for host in 0..self.hosts {
            let last = host + 1 == self.hosts;
            let rate = self.uplink.filter(|_| last).unwrap_or(self.rate);
            graph.host(0, LinkSpec { rate, delay: self.delay });
        }
        graph
    }
}
