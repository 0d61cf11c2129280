//! What some models can do beside simulating a case. A model that has a capability returns itself from
//! the method of that name in [`Model`](crate::model::Model); commands refuse the other models.

use sojourn_core::files::Open;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Rows, Streams};
use sojourn_fabric::Decomposition;
use sojourn_fabric::estimate::Settings;

/// Formulas for sojourn times: bounds beside a simulation, and what a planner rules out by.
pub(crate) trait ExactFormulas {
    /// The mean sojourn time, exactly or between bounds, and for each of `percentiles`, in per cent,
    /// what it is not below: totals by name, as a run has them.
    fn known(&self, open: Open<'_>, percentiles: &[f64]) -> Result<Vec<(String, Value)>, Refusal>;

    /// The distribution of sojourn times, or two that it lies between: columns `sojourn_ps`, in
    /// picoseconds, and the shares `least` and `most` of jobs that are done by then; and the
    /// formulas, for people. None where no formula applies.
    fn distribution(&self, open: Open<'_>) -> Result<Option<(Rows, &'static str)>, Refusal>;
}

/// A list of what each station is asked for: what `sojourn measure` issues to a real one.
pub(crate) trait OfferedLoad {
    /// The list of one replication, a row for each thing asked for.
    fn offered(&self, streams: Streams, open: Open<'_>) -> Result<Rows, Refusal>;
}

/// Links that can be simulated one by one, each with the flows that cross it: `sojourn estimate`.
pub(crate) trait LinkDecomposition {
    /// Refuses what no estimate can be made of.
    fn check_estimable(&self, open: Open<'_>) -> Result<(), Refusal>;

    /// One replication, its flows drawn and put onto the links that they cross.
    fn decompose(
        &self,
        settings: &Settings,
        streams: Streams,
        open: Open<'_>,
    ) -> Result<Decomposition, Refusal>;
}
