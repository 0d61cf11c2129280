//! Earliest deadline first.

use super::{Leaving, Number};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, Time, parameters};

parameters! {
    /// Time left until the flow's deadline when the packet leaves: EDF (pFabric section 2.2). A
    /// deadline that has passed leaves none, which goes first; a flow without one goes last.
    pub struct Deadline: "deadline" {
        /// Unit of the remaining time: "quantized in some unit (e.g. microseconds)".
        pub unit: Span = Span::from_us(1),
        /// Whether a flow that can no longer meet its deadline goes after all that can. It cannot
        /// if its unacknowledged bytes, without headers, need more time on its host's link than is
        /// left. The text has no such rule; its authors' code does.
        pub demote: bool = false,
    }
}

impl Check for Deadline {
    fn check(&self) -> Result<(), Refusal> {
        if self.unit == Span::ZERO {
            return Err(Refusal::of(&self.unit, "a time above zero").under("unit"));
        }
        Ok(())
    }
}

impl Number for Deadline {
    #[inline]
    fn number(&self, leaving: &Leaving<'_>) -> u64 {
        let Leaving { flow, remaining, now, nic, .. } = *leaving;
        let left = flow.deadline.since(now);
        let hopeless = || nic[usize::from(flow.from)].span(remaining) > left;
        if flow.deadline == Time::NEVER || (self.demote && hopeless()) {
            return u64::MAX;
        }
        left.ps() / self.unit.ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use sojourn_core::Rate;
    use sojourn_core::parameters::defaults;

    /// The number of a packet that leaves so many nanoseconds before its flow's deadline; 1250 B
    /// are left, 1 us at 10 Gb/s.
    fn number(priority: &Deadline, left: u64) -> u64 {
        let deadline = Time::from_ps(5_000_000);
        let flow = Flow { deadline, ..Flow::new(1, 0, 2_000, Time::ZERO) };
        let nic = [Rate::gbps(40), Rate::gbps(10)];
        let now = Time::from_ps(5_000_000 - left * 1_000);
        priority.number(&Leaving { flow: &flow, remaining: 1_250, sent: 0, now, nic: &nic })
    }

    #[test]
    fn the_time_left_is_counted_in_units() {
        let priority: Deadline = defaults();
        assert_eq!(
            [5_000, 1_999, 1_000, 999, 0].map(|left| number(&priority, left)),
            [5, 1, 1, 0, 0]
        );
        let fine = Deadline { unit: Span::from_ns(1), ..priority };
        assert_eq!(number(&fine, 1_999), 1_999);
    }

    #[test]
    fn who_cannot_make_it_goes_last() {
        let priority = Deadline { demote: true, ..defaults() };
        assert_eq!(
            [1_001, 1_000, 999, 0].map(|left| number(&priority, left)),
            [1, 1, u64::MAX, u64::MAX]
        );
    }
}
