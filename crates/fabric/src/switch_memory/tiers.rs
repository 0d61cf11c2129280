//! The memories of all switches of a fabric: those that hosts hang on, and those behind them.

use super::{Buffer, MemoryPlan, Private};
use crate::topology::Graph;
use sojourn_core::parameters::{Parameters, Refusal, Value};
use std::sync::Arc;

/// Which memory the switches of each tier have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiers<'a> {
    /// The edge: switches that hosts hang on.
    pub(crate) edge: &'a Buffer,
    /// The core: switches without hosts; where nothing is said, as the edge.
    pub(crate) core: Option<&'a Buffer>,
}

/// The parameters that say so.
const EDGE: &str = "buffer";
const CORE: &str = "core_buffer";

impl Tiers<'_> {
    /// The memory of each switch of `graph`, or none at all.
    pub(crate) fn plans(&self, graph: &Graph) -> Result<Arc<[MemoryPlan]>, Refusal> {
        let plan = |(ports, is_edge): (Vec<_>, bool)| {
            let (key, buffer) = self.of(is_edge);
            buffer.plan(&ports).map_err(|refusal| refusal.under(key))
        };
        let plans: Result<Vec<Option<MemoryPlan>>, Refusal> =
            graph.ports().into_iter().zip(graph.edges()).map(plan).collect();
        Ok(plans?.into_iter().flatten().collect())
    }

    /// Refuses what cannot run: in switches of `graph` with these `plans`, with packets of up to
    /// `largest` bytes.
    pub(crate) fn check(
        &self,
        graph: &Graph,
        plans: &[MemoryPlan],
        largest: u16,
    ) -> Result<(), Refusal> {
        self.check_core(graph)?;
        let mut tiers = plans.iter().zip(graph.edges());
        tiers.try_for_each(|(plan, is_edge)| {
            let (key, buffer) = self.of(is_edge);
            buffer.check(plan, largest).map_err(|refusal| refusal.under(key))
        })
    }

    fn of(&self, is_edge: bool) -> (&'static str, &Buffer) {
        match self.core.filter(|_| !is_edge) {
            Some(core) => (CORE, core),
            None => (EDGE, self.edge),
        }
    }

    /// A core has to be there, and has a memory if the edge has one.
    fn check_core(&self, graph: &Graph) -> Result<(), Refusal> {
        let Some(core) = self.core else { return Ok(()) };
        let expected = if graph.edges().all(|is_edge| is_edge) {
            "\"none\": all switches of the topology have hosts".to_owned()
        } else if core.is_private() != self.edge.is_private() {
            format!(
                "{:?} in both tiers or in none, and buffer is {:?}; per-port gives each port its own",
                Private::NAME,
                self.edge.name()
            )
        } else {
            return Ok(());
        };
        Err(Refusal::value(&Value::Text(core.name().to_owned()), expected).under(CORE))
    }
}
