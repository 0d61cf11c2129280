//! Which cases can be estimated from their links, and what speaks against an estimate whose assumptions
//! do not hold.

use super::Decomposition;
use super::link_model::MOST_HOSTS;
use crate::case::FabricCase;
use crate::path::Balance;
use crate::queue::QueueKind;
use crate::scheme::Scheme;
use crate::switch_memory::Buffer;
use crate::topology::Forwarding;
use crate::transport::TransportKind;
use sojourn_core::Streams;
use sojourn_core::parameters::{Refusal, Setting, Value};
use sojourn_core::resource::Tables;

impl FabricCase {
    /// Refuses what makes links depend on each other, or flows on other flows. Arguments as for
    /// [`count`](FabricCase::count).
    pub fn check_estimable(&self, first: Streams, tables: Tables<'_>) -> Result<(), Refusal> {
        let refuse = |given: &str, expected: &str, path: &[&str]| {
            let refusal = Refusal::value(&Value::Text(given.to_owned()), expected);
            Err(path.iter().rev().fold(refusal, |refusal, key| refusal.under(key)))
        };
        let Scheme::Packets(scheme) = &self.scheme else {
            let expected = "a scheme of packets to estimate: the ideal scheduler knows no links";
            return refuse("Ideal", expected, &["scheme", "name"]);
        };
        if scheme.balance != Balance::Ecmp {
            let expected = "\"ecmp\" to estimate: a flow has to stay on a single path";
            return Err(Refusal::of(&scheme.balance, expected).under("balance").under("scheme"));
        }
        if !scheme.transport.is_estimable_by_link() {
            let names = TransportKind::estimable_by_link();
            let (last, others) =
                names.split_last().expect("a transport of the list is estimable by link");
            let expected = format!(
                "a transport to estimate that looks at the links of a path one by one: {} or {last}",
                others.join(", ")
            );
            return refuse(scheme.transport.name(), &expected, &["scheme", "transport"]);
        }
        if scheme.pfc.is_some() {
            let expected =
                "none to estimate: a link that is simulated alone is stopped by no other";
            return refuse("a table", expected, &["scheme", "pfc"]);
        }
        if let Some(class) = scheme.queue.classes().first() {
            let expected = "a queue to estimate that is compiled in, no class of Python";
            return refuse(class.name(), expected, &["scheme", "queue", "class"]);
        }
        let memories = [("buffer", Some(&self.buffer)), ("core_buffer", self.core_buffer.as_ref())];
        let private = Buffer::default();
        for (key, buffer) in memories {
            if let Some(shared) = buffer.filter(|buffer| buffer.name() != private.name()) {
                let expected = "\"private\" to estimate: a link that is simulated alone shares no \
                                memory with others";
                return refuse(shared.name(), expected, &[key]);
            }
        }
        if self.forwarding != Forwarding::StoreAndForward {
            let expected = "\"store-and-forward\" to estimate: times of links add up only where each \
                            takes packets whole";
            return Err(Refusal::of(&self.forwarding, expected).under("forwarding"));
        }
        if !self.failure.is_empty() {
            let expected = "none, where links are simulated one by one";
            return Err(Refusal::of(&self.failure, expected).under("failure"));
        }
        if self.hosts.loss.is_some() {
            let expected =
                "none to estimate: a link that is simulated alone loses nothing by script";
            return refuse("a table", expected, &["hosts", "loss"]);
        }
        let sample = self.sample.as_ref().and_then(Setting::write);
        let recorded =
            [("sample", sample), ("trace", self.trace.as_ref().and_then(Setting::write))];
        if let Some((key, Some(value))) = recorded.iter().find(|(_, value)| value.is_some()) {
            return Err(Refusal::value(value, NO_PORTS).under(key));
        }
        if let Some((key, source)) = self.sources().find(|(_, source)| !source.is_steady()) {
            let expected = "\"poisson\" or \"csv\" to estimate: flows that come on their own, one \
                            after the other, and end";
            return refuse(source.arrivals.name(), expected, &[key, "kind"]);
        }
        if self.topology.graph().hosts() > MOST_HOSTS {
            let expected = format!("at most {MOST_HOSTS} hosts to estimate");
            return refuse(self.topology.name(), &expected, &["topology"]);
        }
        self.check_known_arrivals(first, tables, "to estimate")
    }
}

/// Flows of a link from which on it has buckets of ten sizes, of the default hundred flows each.
const FEW: usize = 1_000;

const NO_PORTS: &str = "none to estimate: no run has the ports of the whole fabric";

const LOSSES: &str = "packets are lost in drop-tail queues: one burst is lost once, and counted at \
                      each link of its path, with the time-outs that follow";
const ORDER: &str = "pFabric's queues put the flows of the whole fabric in one order: a flow that \
                     waits at one link waits at the next ones too";

impl Decomposition {
    /// What speaks against the estimate; none where nothing does.
    pub(super) fn doubts(&self) -> Option<String> {
        let Scheme::Packets(scheme) = &self.ready.scheme else { unreachable!("it is estimable") };
        let of_queue = match scheme.queue {
            QueueKind::DropTail(_) => Some(LOSSES.to_owned()),
            QueueKind::PFabric(_) => Some(ORDER.to_owned()),
            _ => None,
        };
        let few = Some(self.flows_a_link()).filter(|&flows| flows < FEW).map(|flows| {
            format!(
                "few flows cross a link, {flows} in the middle: the delays of one are given to \
                 others of quite another size, from {FEW} on of ten sizes"
            )
        });
        let doubts: Vec<String> = of_queue.into_iter().chain(few).collect();
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }

    /// The median number of flows of the links that any crosses.
    pub(super) fn flows_a_link(&self) -> usize {
        let of = |link: u32| self.crossings.of(link).len();
        let mut flows: Vec<usize> = self.crossings.used().map(of).collect();
        flows.sort_unstable();
        flows.get(flows.len() / 2).copied().unwrap_or(0)
    }
}
