//! What is asked for the flows of a workload, whatever its kind.

use super::Deadline;
use crate::flow::Flow;
use sojourn_kernel::parameters::{Check, Refusal, Setting};
use sojourn_kernel::{Bytes, Streams, Time, parameters};

parameters! {
    /// What is asked for the flows of a workload, whatever its kind.
    pub struct Terms: "terms" {
        /// How long each flow may take, from its arrival on. A flow that comes with a deadline of
        /// its own keeps it.
        pub deadline: Option<Deadline> = None,
        /// Share of the flows that get a deadline, by chance.
        pub deadline_share: f64 = 1.0,
        /// Flows larger than this get none.
        pub deadline_upto: Option<Bytes> = None,
    }
}

impl Check for Terms {
    fn check(&self) -> Result<(), Refusal> {
        if !(0.0..=1.0).contains(&self.deadline_share) {
            let given = self.deadline_share.write().expect("a number");
            return Err(Refusal::value(&given, "a share from 0 to 1").under("deadline_share"));
        }
        Ok(())
    }
}

impl Terms {
    /// Sets the terms of `flows`. They come from streams of their own: arrivals, pairs and sizes
    /// are the same under all terms, and a flow keeps its place in the draw whatever becomes of
    /// others.
    pub(super) fn set(&self, flows: &mut [Flow], streams: Streams) {
        let Some(deadline) = &self.deadline else { return };
        let mut lots = streams.stream("deadline-share", 0);
        let mut spans = streams.stream("deadlines", 0);
        for flow in flows {
            let (lot, span) = (lots.uniform(), deadline.draw(&mut spans));
            let small = self.deadline_upto.is_none_or(|upto| flow.bytes <= upto.0);
            if lot < self.deadline_share && small && flow.deadline == Time::NEVER {
                flow.deadline = flow.arrived + span;
            }
        }
    }
}
