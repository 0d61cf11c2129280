//! Poisson arrivals at a load: all-to-all, the pFabric paper's workload, or all to one.

use super::{Draw, Drawn, MAX_JOBS, WorkloadContext, at_most, sizes};
use crate::flow::Flow;
use crate::packet::LATEST_ARRIVAL;
use crate::topology::LinkSpec;
use crate::workload::offered::Offered;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::resource::NameOrFile;
use sojourn_core::{
    Distribution, Exponential, Reading, SizeTable, Span, Streams, Time, choices, parameters,
};
use std::num::NonZeroU32;

parameters! {
    /// Flows between hosts chosen at random, arriving as one Poisson process; each ordered pair of
    /// hosts so has its own Poisson process (pFabric section 3).
    pub struct Poisson: "poisson" {
        /// Number of flows.
        pub flows: NonZeroU32 = NonZeroU32::new(20_000).expect("above zero"),
        /// Table of sizes: the name of a known table, or a file.
        pub sizes: NameOrFile = NameOrFile("websearch".into()),
        /// How sizes between two rows of the table are drawn. By default as its publisher does.
        pub reading: Option<Reading> = None,
        /// Share of the links of `load_of` that arriving bytes take, above 0 and at most 100. Near 0 flows
        /// hardly meet. From 1 on queues grow for as long as flows arrive: there is no steady state, results
        /// depend on the number of flows, and no interval is given.
        pub load: f64,
        /// The links to which `load` refers.
        pub load_of: LoadOf = LoadOf::Servers,
        /// Pairs of hosts between which flows go.
        pub pairs: Pairs = Pairs::Any,
        /// Bytes that `load` counts.
        pub load_counts: LoadCounts = LoadCounts::Wire,
    }
}

choices! {
    /// Of which links a load is.
    pub enum LoadOf: "set of links" {
        /// The links of all hosts (pFabric section 3).
        Servers = "servers",
        /// The uplinks of all switches that hosts hang on, which only bytes between such switches
        /// cross: what a leaf-spine fabric has between its layers (HOTI 2013, section IV).
        Fabric = "fabric",
    }
}

choices! {
    /// Pairs of hosts between which flows go.
    pub enum Pairs: "choice of pairs" {
        /// From any host to any other, all evenly.
        Any = "any",
        /// From any other host to the last one: senders behind one link, of which the load then is.
        ToLast = "to-last",
    }
}

choices! {
    /// Which bytes a load counts.
    pub enum LoadCounts: "way of counting load" {
        /// Bytes on the wire: each packet's header too, as in the pFabric authors' scripts.
        Wire = "wire",
        /// Payload alone.
        Payload = "payload",
    }
}

/// Upper bound of `load`: beyond it flows arrive all but at once.
const MOST_LOAD: f64 = 100.0;

impl Check for Poisson {
    fn check(&self) -> Result<(), Refusal> {
        if !(self.load > 0.0 && self.load <= MOST_LOAD) {
            let given = Value::Float(self.load);
            let expected = format!("a load above 0 and at most {MOST_LOAD}");
            return Err(Refusal::value(&given, expected).under("load"));
        }
        Ok(())
    }
}

impl Draw for Poisson {
    fn number(&self) -> &'static str {
        "flows"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let table = sizes(&self.sizes, self.reading, context)?;
        let flows = self.flows.get() as usize;
        if table.max() > context.largest_flow() {
            let expected = format!("sizes of {}", at_most(context.largest_flow()));
            return Err(self.sizes.0.refused(expected).under("sizes"));
        }
        if flows > MAX_JOBS {
            // Refused for their number, whatever time they would take.
            return Ok(flows);
        }
        let seconds = self.gaps(&table, context)?.mean * f64::from(self.flows.get());
        match Span::from_seconds(seconds) > LATEST_ARRIVAL {
            true => Err(self.too_long()),
            false => Ok(flows),
        }
    }

    fn is_steady(&self) -> bool {
        true
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        let table = sizes(&self.sizes, self.reading, context)?;
        let gaps = self.gaps(&table, context)?;
        let hosts = context.graph.hosts() as u64;

        // One stream a purpose: changing the load only stretches the gaps.
        let mut gap = streams.stream("gaps", 0);
        let mut pair = streams.stream("pairs", 0);
        let mut size = streams.stream("sizes", 0);
        let mut since_start = Span::ZERO;
        let flows = (0..self.flows.get()).map(|_| {
            let wait = Span::from_seconds(gaps.sample(&mut gap));
            since_start = since_start.saturating_add(wait);
            if since_start > LATEST_ARRIVAL {
                return Err(self.too_long());
            }
            let arrived = Time::ZERO + since_start;
            let (from, to) = match self.pairs {
                Pairs::Any => {
                    let from = pair.below(hosts);
                    (from, (from + 1 + pair.below(hosts - 1)) % hosts)
                }
                Pairs::ToLast => (pair.below(hosts - 1), hosts - 1),
            };
            Ok(Flow::new(from as u16, to as u16, table.draw(&mut size), arrived))
        });
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        let offered = Offered {
            pairs: self.pairs,
            rate: 1.0 / gaps.mean,
            wire: table.mean() + headers(&table, context),
            moments: [1, 2, 4].map(|power| table.moment(power)),
        };
        Ok(Drawn { flows, offered: Some(offered), ..Drawn::default() })
    }
}

impl Poisson {
    /// Gaps between arrivals, in seconds: the load of all links together.
    fn gaps(
        &self,
        table: &SizeTable,
        context: &WorkloadContext<'_>,
    ) -> Result<Exponential, Refusal> {
        let bytes = |link: LinkSpec| link.rate.bits_per_second() as f64 / 8.0;
        let servers: f64 = context.graph.nics().map(bytes).sum();
        let fill = match (self.load_of, self.pairs) {
            (LoadOf::Servers, Pairs::Any) => self.load * servers,
            (LoadOf::Servers, Pairs::ToLast) => {
                self.load * context.graph.nics().last().map_or(0.0, bytes)
            }
            (LoadOf::Fabric, Pairs::ToLast) => {
                let expected = "\"servers\": the load is that of the last host's link";
                return Err(Refusal::of(&self.load_of, expected).under("load_of"));
            }
            (LoadOf::Fabric, Pairs::Any) => {
                let uplinks: f64 = context.graph.uplinks().map(bytes).sum();
                if uplinks == 0.0 {
                    let expected = "\"servers\", as all hosts are on one switch";
                    return Err(Refusal::of(&self.load_of, expected).under("load_of"));
                }
                self.load * uplinks / context.graph.share_between_racks()
            }
        };
        let headers = match self.load_counts {
            LoadCounts::Wire => headers(table, context),
            LoadCounts::Payload => 0.0,
        };
        Ok(Exponential { mean: (table.mean() + headers) / fill })
    }

    fn too_long(&self) -> Refusal {
        let expected = format!("a load at which all flows arrive within {LATEST_ARRIVAL}");
        Refusal::value(&Value::Float(self.load), expected).under("load")
    }
}

/// The headers of a flow's packets in the mean, in bytes.
fn headers(table: &SizeTable, context: &WorkloadContext<'_>) -> f64 {
    table.mean_packets(context.packets.payload.0) * context.packets.header.0 as f64
}
