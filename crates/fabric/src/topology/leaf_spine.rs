//! Racks of hosts under leaves, every leaf connected to every spine.

use super::{Graph, LinkSpec, MOST_PPM, Ppm};
use crate::packet::{MAX_HOSTS, MAX_PORTS, MAX_WAYS};
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Rate, Span, parameters};

parameters! {
    /// Two layers: a leaf switch a rack, every leaf connected to every spine by one or more
    /// parallel uplinks. The defaults are the fabric of the pFabric follow-ups: 9 racks of 16
    /// hosts at 10 Gb/s under 4 spines at 40 Gb/s.
    pub struct LeafSpine: "leaf-spine" {
        /// Number of racks, each with one leaf switch.
        pub racks: u32 [1..=MAX_PORTS as u32] = 9,
        /// Hosts per rack.
        pub hosts: u32 [1..=MAX_PORTS as u32] = 16,
        /// Number of spine switches.
        pub spines: u32 [1..=MAX_WAYS as u32] = 4,
        /// Parallel uplinks from each leaf to each spine.
        pub uplinks: u32 [1..=MAX_WAYS as u32] = 1,
        /// Speed of the hosts' links.
        pub rate: Rate = Rate::gbps(10),
        /// Speed of the uplinks.
        pub uplink_rate: Rate = Rate::gbps(40),
        /// Propagation delay of each link.
        pub delay: Span = Span::from_ns(200),
        /// Time in the hosts, added to the delay of their links.
        pub host_delay: Span = Span::ZERO,
        /// Largest random addition to the delay of each host's link, so that round trips differ.
        pub delay_spread: Span = Span::ZERO,
        /// How many millionths the clock of each host's link may be off, either way, at random
        /// (IEEE 802.3 allows 100). With none all links tick alike, which no real ones do: packets
        /// of several senders then stay in step, and the same ones are dropped again and again.
        pub clock_ppm: Ppm [0..=MOST_PPM] = 0,
    }
}

impl Check for LeafSpine {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: u32, expected: String| {
            Err(Refusal::value(&value.write().expect("a number"), expected).under(key))
        };
        let ports = MAX_PORTS as u64;
        let (racks, hosts) = (u64::from(self.racks), u64::from(self.hosts));
        let (spines, uplinks) = (u64::from(self.spines), u64::from(self.uplinks));
        if racks * uplinks > ports {
            return refuse("racks", self.racks, format!("at most {ports} ports a spine"));
        }
        if hosts + spines * uplinks > ports {
            return refuse("hosts", self.hosts, format!("at most {ports} ports per leaf"));
        }
        if spines * uplinks > MAX_WAYS as u64 {
            return refuse("spines", self.spines, format!("at most {MAX_WAYS} uplinks a leaf"));
        }
        if racks * hosts < 2 {
            return refuse("hosts", self.hosts, "at least 2 hosts in all".to_owned());
        }
        if racks * hosts > MAX_HOSTS as u64 {
            return refuse("racks", self.racks, format!("at most {MAX_HOSTS} hosts in all"));
        }
        Ok(())
    }
}

impl LeafSpine {
    /// Lays the links. Switches: leaves first, then spines.
    pub fn graph(&self) -> Graph {
        let (racks, spines) = (self.racks as usize, self.spines as usize);
        let mut graph = Graph::new(racks + spines);
        graph.spread_hosts(self.delay_spread);
        graph.drift_hosts(self.clock_ppm);
        for rack in 0..racks {
            for _ in 0..self.hosts {
                let delay = self.delay.saturating_add(self.host_delay);
                graph.host(rack, LinkSpec { rate: self.rate, delay });
            }
            for spine in 0..spines {
                for _ in 0..self.uplinks {
                    let link = LinkSpec { rate: self.uplink_rate, delay: self.delay };
                    graph.cable(rack, racks + spine, link);
                }
            }
        }
        graph
    }
}
