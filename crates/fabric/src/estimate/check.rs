//! Which cases can be estimated from their links.

use super::lone::MOST_HOSTS;
use crate::case::FabricCase;
use crate::path::Balance;
use crate::scheme::Scheme;
use crate::switch_memory::Buffer;
use crate::topology::Forwarding;
use crate::transport::TransportKind;
use sojourn_core::parameters::{Refusal, Value};

impl FabricCase {
    /// Refuses what makes links depend on each other, or flows on other flows.
    pub fn check_estimable(&self) -> Result<(), Refusal> {
        let refuse = |given: &str, expected: &str, path: &[&str]| {
            let refusal = Refusal::value(&Value::Text(given.to_owned()), expected);
            Err(path.iter().rev().fold(refusal, |refusal, key| refusal.under(key)))
        };
        let Scheme::Packets(scheme) = &self.scheme else {
            let expected = "a scheme of packets to estimate: the ideal scheduler knows no links";
            return refuse("Ideal", expected, &["scheme", "name"]);
        };
        if scheme.balance != Balance::Ecmp {
            let expected = "\"ecmp\" to estimate: a sprayed flow has no path of its own, and no link \
                            has it alone";
            return Err(Refusal::of(&scheme.balance, expected).under("balance").under("scheme"));
        }
        if !scheme.transport.is_estimable_by_link() {
            let names = TransportKind::estimable_by_link();
            let (last, others) = names.split_last().expect("some transport is estimable by link");
            let expected = format!(
                "a transport to estimate that looks at the links of a path one by one: {} or {last}",
                others.join(", ")
            );
            return refuse(scheme.transport.name(), &expected, &["scheme", "transport"]);
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
        if let Some(sample) = self.sample {
            let expected = "none to estimate: nobody looks at the ports of the whole fabric";
            return Err(Refusal::of(&sample, expected).under("sample"));
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
        Ok(())
    }
}
