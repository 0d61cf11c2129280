//! Pods of racks under planes of spines: the three-tier Clos of large data centers.

use super::{Graph, LinkSpec};
use crate::packet::{MAX_HOSTS, MAX_PORTS, MAX_WAYS};
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Rate, Span, parameters};

parameters! {
    /// Three layers in planes: every rack of a pod is connected to one fabric switch of each plane,
    /// and the fabric switches of a plane, one a pod, to all spines of that plane (Andreyev,
    /// *Introducing data center fabric*, 2014). The defaults are 8 pods of 16 racks of 16 hosts at
    /// 10 Gb/s, with half the bandwidth above the racks and half of that above the pods.
    pub struct Clos: "clos" {
        /// Number of pods.
        pub pods: u32 [1..=MAX_PORTS as u32] = 8,
        /// Racks per pod, each with one switch.
        pub racks: u32 [1..=MAX_PORTS as u32] = 16,
        /// Hosts per rack.
        pub hosts: u32 [1..=MAX_PORTS as u32] = 16,
        /// Number of planes, which is the number of fabric switches per pod.
        pub planes: u32 [1..=MAX_WAYS as u32] = 2,
        /// Spine switches per plane.
        pub spines: u32 [1..=MAX_WAYS as u32] = 8,
        /// Speed of the hosts' links.
        pub rate: Rate = Rate::gbps(10),
        /// Speed of the links between racks and fabric switches.
        pub uplink_rate: Rate = Rate::gbps(40),
        /// Speed of the links between fabric switches and spines.
        pub spine_rate: Rate = Rate::gbps(40),
        /// Propagation delay of each link.
        pub delay: Span = Span::from_ns(200),
    }
}

impl Check for Clos {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: u32, expected: &str| {
            Err(Refusal::value(&value.write().expect("a number"), expected).under(key))
        };
        let ports = MAX_PORTS as u32;
        if self.hosts + self.planes > ports {
            return refuse("hosts", self.hosts, &format!("at most {ports} ports per rack switch"));
        }
        if self.racks + self.spines > ports {
            return refuse(
                "racks",
                self.racks,
                &format!("at most {ports} ports per fabric switch"),
            );
        }
        let hosts = u64::from(self.pods) * u64::from(self.racks) * u64::from(self.hosts);
        if !(2..=MAX_HOSTS as u64).contains(&hosts) {
            return refuse("pods", self.pods, &format!("2 to {MAX_HOSTS} hosts in all"));
        }
        Ok(())
    }
}

impl Clos {
    /// Lays the links. Switches: the racks' of all pods, then the fabric switches pod by pod, then
    /// the spines plane by plane.
    pub fn graph(&self) -> Graph {
        let [pods, racks, planes, spines] =
            [self.pods, self.racks, self.planes, self.spines].map(|number| number as usize);
        let fabric = |pod: usize, plane: usize| pods * racks + pod * planes + plane;
        let spine = |plane: usize, i: usize| pods * (racks + planes) + plane * spines + i;
        let link = |rate: Rate| LinkSpec { rate, delay: self.delay };
        let mut graph = Graph::new(pods * (racks + planes) + planes * spines);
        for pod in 0..pods {
            for rack in pod * racks..(pod + 1) * racks {
                for _ in 0..self.hosts {
                    graph.host(rack, link(self.rate));
                }
                for plane in 0..planes {
                    graph.cable(rack, fabric(pod, plane), link(self.uplink_rate));
                }
            }
            for plane in 0..planes {
                for i in 0..spines {
                    graph.cable(fabric(pod, plane), spine(plane, i), link(self.spine_rate));
                }
            }
        }
        graph
    }
}
