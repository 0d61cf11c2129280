//! The three-layer fat-tree of k-port switches (Al-Fares et al., the pFabric paper's fabric).

use super::{Graph, LinkSpec};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Rate, Span, parameters};

parameters! {
    /// Three layers of k-port switches in k pods: k^3/4 hosts, 5k^2/4 switches, full bisection.
    /// k = 6 is the pFabric paper's: 54 hosts and 45 six-port switches, 10 Gb/s throughout. The
    /// default delay makes its round trip 12 us for one full packet over 6 hops and its ACK.
    pub struct FatTree: "fat-tree" {
        /// Ports per switch, an even number.
        pub k: u32 [2..=64] = 6,
        /// Speed of every link.
        pub rate: Rate = Rate::gbps(10),
        /// Propagation delay of each link.
        pub delay: Span = Span::from_ps(384_000),
    }
}

impl Check for FatTree {
    fn check(&self) -> Result<(), Refusal> {
        if !self.k.is_multiple_of(2) {
            return Err(Refusal::of(&self.k, "an even number from 2 to 64").under("k"));
        }
        Ok(())
    }
}

impl FatTree {
    /// Lays the links. Switches: the edges of all pods, then the aggregations, then the cores.
    pub fn graph(&self) -> Graph {
        let (k, half) = (self.k as usize, self.k as usize / 2);
        let link = LinkSpec { rate: self.rate, delay: self.delay };
        let edge = |pod: usize, i: usize| pod * half + i;
        let aggregation = |pod: usize, i: usize| k * half + pod * half + i;
        let core = |i: usize, j: usize| 2 * k * half + i * half + j;
        let mut graph = Graph::new(2 * k * half + half * half);
        for pod in 0..k {
            for i in 0..half {
                for _ in 0..half {
                    graph.host(edge(pod, i), link);
                }
                for j in 0..half {
                    graph.cable(edge(pod, i), aggregation(pod, j), link);
                }
            }
            for i in 0..half {
                for j in 0..half {
                    graph.cable(aggregation(pod, i), core(i, j), link);
                }
            }
        }
        graph
    }
}
