//! A fabric too large to be simulated whole, estimated from its links (Zhao, Goyal, Alizadeh and
//! Anderson, *Scalable tail latency estimation for data center networks*, NSDI 2023).
//!
//! - [`Decomposition`] draws the flows of a case and finds the links that each crosses;
//! - [`simulate`](Decomposition::simulate) runs one of the links alone, in the packet engine, with
//!   the flows that cross it;
//! - [`combine`](Decomposition::combine) adds up, for each flow, a delay of a flow like it from each
//!   link of its path.
//!
//! Not modelled: that the links of a path are busy at the same time for the same reason, that what
//! one link held back comes to the next one later, that acknowledgements take capacity from data, and
//! that those which wait slow their flow down.

mod admissible;
mod clustering;
mod combine;
mod crossings;
mod delay_buckets;
mod link_model;
#[cfg(test)]
mod tests;

pub use combine::OtherLinks;
pub use link_model::LinkTimes;

use crate::case::{FabricCase, Ready};
use crate::engine::{Cancelled, Progress};
use crate::flow::Flow;
use crossings::Crossings;
use link_model::LinkModel;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::resource::Tables;
use sojourn_core::{Streams, choices, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// How a fabric is estimated from its links.
    pub struct Settings: "estimate" {
        /// Largest difference in load, sizes and gaps between arrivals at which one link is
        /// simulated for another. A larger one saves time and adds errors; with none every link is
        /// simulated.
        pub cluster: Option<f64> = None,
        /// Where the delay at the flow's own host link is counted. That link is in front of every
        /// simulated link.
        pub access: Access = Access::Once,
        /// Which flow's delay at a link a flow gets.
        pub draws: Draws = Draws::Like,
        /// Whether the last acknowledgement is delayed on its way back.
        pub acks: Acks = Acks::Wait,
        /// Delays are kept in buckets of flows of similar size. This is the minimum number of flows
        /// in a bucket.
        pub bucket_flows: NonZeroU32 = NonZeroU32::new(100).expect("above zero"),
        /// Minimum ratio of the largest to the smallest flow of a bucket.
        pub bucket_span: f64 = 2.0,
    }
}
nested!(Settings);

choices! {
    /// Where the delay at a flow's own host is counted.
    pub enum Access: "way of counting" {
        /// Once, at the host's link: at every other link, what the flows suffer with it is less
        /// what they suffer were it infinitely fast.
        Once = "once",
        /// At every link, as in the authors' published code: twice as quick, and too slow.
        EveryLink = "every-link",
    }
}

choices! {
    /// Which flow's delay at a link a flow gets.
    pub enum Draws: "choice of a delay" {
        /// That of a flow of about its size, chosen at random, at each link anew: as in the paper.
        Like = "like",
        /// Its own, where the link was simulated itself. What the links of its path do at the same
        /// time then stays together.
        Own = "own",
    }
}

choices! {
    /// Whether the last acknowledgement is delayed on its way back.
    pub enum Acks: "treatment of acknowledgements" {
        /// At each link of that way as long as a packet of a flow that is among the smallest there.
        Wait = "wait",
        /// Nowhere: links are idle but for those that the flow itself crosses.
        Free = "free",
    }
}

impl Check for Settings {
    fn check(&self) -> Result<(), Refusal> {
        if let Some(share) = self.cluster.filter(|share| !(0.0..=1.0).contains(share)) {
            let given = Value::Float(share);
            return Err(Refusal::value(&given, "a share from 0 to 1").under("cluster"));
        }
        if !(1.0..=1e6).contains(&self.bucket_span) {
            let given = Value::Float(self.bucket_span);
            return Err(Refusal::value(&given, "a number from 1 to 1000000").under("bucket_span"));
        }
        Ok(())
    }
}

/// One replication of a case, its flows drawn and put onto the links that they cross.
#[derive(Debug)]
pub struct Decomposition {
    ready: Ready,
    settings: Settings,
    crossings: Crossings,
    /// For each link the one that is simulated for it.
    simulated: Vec<u32>,
}

impl Decomposition {
    /// Draws the flows. `case` has to be [estimable](FabricCase::check_estimable).
    pub fn new(
        case: &FabricCase,
        settings: &Settings,
        streams: Streams,
        tables: Tables<'_>,
    ) -> Result<Decomposition, Refusal> {
        let ready = case.ready(streams, tables)?;
        let crossings = Crossings::new(&ready.network, &ready.jobs.flows, streams);
        let simulated = clustering::choose(&ready, &crossings, settings.cluster);
        Ok(Decomposition { ready, settings: settings.clone(), crossings, simulated })
    }

    /// The links to be simulated, by the number of the port that sends on them; those with most
    /// packets first.
    pub fn links(&self) -> Vec<u32> {
        let packets = |&link: &u32| -> u64 {
            let count = |flow: Flow| u64::from(self.ready.packets.count(flow.bytes));
            self.flows(link).map(count).sum()
        };
        let own = self.crossings.used().filter(|&link| self.simulated[link as usize] == link);
        let mut links: Vec<u32> = own.collect();
        links.sort_by_cached_key(|link| (std::cmp::Reverse(packets(link)), *link));
        links
    }

    /// How often packets of data cross a link when the whole fabric is simulated, and how often when
    /// the links to be simulated are, each in its small fabric: what the one takes is to what the
    /// other takes about as these are.
    pub fn crossings(&self) -> [u64; 2] {
        let packets = |link: u32| -> u64 {
            self.flows(link).map(|flow| u64::from(self.ready.packets.count(flow.bytes))).sum()
        };
        let alone = |link: u32| {
            let network = &self.ready.network;
            let own = (link as usize) < network.hosts;
            let last = (network.links[link as usize].to as usize) < network.hosts;
            let twice = !own && self.settings.access == Access::Once;
            packets(link) * (1 + u64::from(!own) + u64::from(!last)) * (1 + u64::from(twice))
        };
        [self.crossings.used().map(packets).sum(), self.links().into_iter().map(alone).sum()]
    }

    /// The flows that cross `link`, by time of arrival.
    pub fn flows(&self, link: u32) -> impl Iterator<Item = Flow> + '_ {
        self.crossings.of(link).iter().map(|&flow| self.ready.jobs.flows[flow as usize])
    }

    /// The links that flow number `flow` crosses, in order: those of its packets in the whole
    /// fabric.
    pub fn path(&self, flow: u32) -> Vec<u32> {
        let to = self.ready.jobs.flows[flow as usize];
        self.crossings.path(&self.ready.network, flow, &to).collect()
    }

    /// Simulates `link` with the flows that cross it.
    pub fn simulate(&self, link: u32, progress: &Progress) -> Result<LinkTimes, Cancelled> {
        LinkModel::new(&self.ready, &self.crossings, link).times(self.settings.access, progress)
    }
}
