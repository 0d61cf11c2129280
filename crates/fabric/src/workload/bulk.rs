//! Flows that never end, measured over a window of time: the big-buffers paper's figure 1.

use super::permutation::partners;
use super::{Draw, Drawn, WorkloadContext};
use crate::flow::{ENDLESS, Flow};
use crate::packet::LATEST_ARRIVAL;
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Span, Streams, Time, choices, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Permanent flows that always have more to send; their rows are of the kind `bulk`. Each
    /// starts at random within `start_spread`; after `warm_up` they are measured for `window`, and
    /// the run ends with the window, unless other jobs go on. What is measured are the new bytes
    /// that each sender knows to have arrived, none missing before them: those of an
    /// acknowledgement count when it comes (big buffers, figures 1 and 2).
    pub struct Bulk: "bulk" {
        /// Pairs of hosts that send.
        pub pattern: Pattern = Pattern::ToLast,
        /// Number of simultaneous flows per sender.
        pub parallel: NonZeroU32 = NonZeroU32::MIN,
        /// Time within which all flows start, at random. With 0 all start together, and lose whole
        /// windows at first.
        pub start_spread: Span = Span::from_ms(100),
        /// Time before the measuring window. If it is too short, the window contains the start.
        pub warm_up: Span = Span::from_s(1),
        /// Length of the measuring window. It has to be at least ten of the longest time-outs, or
        /// `show` prints no fairness.
        pub window: Span = Span::from_s(1),
    }
}

choices! {
    /// Which hosts send to which for good.
    pub enum Pattern: "pattern" {
        /// Every host to the last one: many senders behind one link.
        ToLast = "to-last",
        /// The first half of the hosts to the second half, one to one.
        Halves = "halves",
        /// Every host to one other by chance, and every host is sent to.
        Permutation = "permutation",
    }
}

impl Check for Bulk {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, value: Span, expected: String| {
            Err(Refusal::value(&value.write().expect("a time"), expected).under(key))
        };
        if self.window == Span::ZERO {
            return refuse("window", self.window, "a time above zero".to_owned());
        }
        if self.start_spread > self.warm_up {
            let expected = format!("at most the warm_up of {}", self.warm_up);
            return refuse("start_spread", self.start_spread, expected);
        }
        if self.warm_up.saturating_add(self.window) > LATEST_ARRIVAL {
            let expected = format!("an end, after warm_up, within {LATEST_ARRIVAL}");
            return refuse("window", self.window, expected);
        }
        Ok(())
    }
}

impl Draw for Bulk {
    fn number(&self) -> &'static str {
        "parallel"
    }

    fn count(&self, context: &WorkloadContext<'_>, _: Streams) -> Result<usize, Refusal> {
        let packet = context.packets.full().into();
        let quickest = context.graph.nics().map(|link| link.rate.span(packet)).min();
        let most =
            quickest.unwrap_or(Span::MAX).saturating_mul(context.packets.count(ENDLESS).into());
        if self.warm_up + self.window >= most {
            let given = self.window.write().expect("a time");
            let expected =
                format!("an end, after warm_up, before a flow's packet numbers do: {most}");
            return Err(Refusal::value(&given, expected).under("window"));
        }
        let hosts = context.graph.hosts();
        let senders = match self.pattern {
            Pattern::ToLast => hosts - 1,
            Pattern::Halves => hosts / 2,
            Pattern::Permutation => hosts,
        };
        Ok(senders * self.parallel.get() as usize)
    }

    fn is_of_flows(&self) -> bool {
        false
    }

    fn draw(&self, context: &WorkloadContext<'_>, streams: Streams) -> Result<Drawn, Refusal> {
        let hosts = context.graph.hosts();
        let receivers: Vec<u16> = match self.pattern {
            Pattern::ToLast => vec![(hosts - 1) as u16; hosts - 1],
            Pattern::Halves => (0..hosts / 2).map(|i| (hosts / 2 + i) as u16).collect(),
            Pattern::Permutation => partners(hosts, &mut streams.stream("pairs", 0)),
        };
        let mut starts = streams.stream("starts", 0);
        let mut flows = Vec::with_capacity(self.count(context, streams)?);
        for (from, to) in receivers.into_iter().enumerate() {
            for _ in 0..self.parallel.get() {
                let after = Span::from_ps(starts.below(self.start_spread.ps() + 1));
                flows.push(Flow::new(from as u16, to, ENDLESS, Time::ZERO + after));
            }
        }
        flows.sort_by_key(|flow| flow.arrived);
        let from = Time::ZERO + self.warm_up;
        Ok(Drawn { flows, window: Some((from, from + self.window)), ..Drawn::default() })
    }
}
