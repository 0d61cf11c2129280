//! Least attained service in a few levels: nothing needs to be known of a flow's size.

use super::{Leaving, Number};
use sojourn_core::parameters::{Check, Refusal, Setting};
use sojourn_core::{Bytes, parameters};

parameters! {
    /// How many of a few thresholds the flow had passed before this packet: 0 for its first bytes,
    /// one more for each threshold below what it has sent. PIAS (NSDI 2015) tags packets so; it
    /// needs no knowledge of sizes.
    pub struct Sent: "sent" {
        /// Bytes sent at which a flow leaves each level except the last, in rising order. The
        /// defaults are those of the PIAS authors' simulation scripts for web search at load 0.8:
        /// 911, 1331, 1646, 1959, 2145, 2330 and 2488 packets of 1460 B. Theirs for data mining are
        /// 745, 1083, 1391, 13689, 14936, 21149 and 27245.
        pub thresholds: Vec<Bytes> =
            [911, 1331, 1646, 1959, 2145, 2330, 2488].map(|packets| Bytes(packets * 1460)).into(),
    }
}

impl Check for Sent {
    fn check(&self) -> Result<(), Refusal> {
        match self.thresholds.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => {
                let given = pair[1].write().expect("a size");
                let expected = format!("rising thresholds, each above the one before, {}", pair[0]);
                Err(Refusal::value(&given, expected).under("thresholds"))
            }
            None => Ok(()),
        }
    }
}

impl Number for Sent {
    #[inline]
    fn number(&self, leaving: &Leaving<'_>) -> u64 {
        self.thresholds.iter().take_while(|threshold| threshold.0 < leaving.sent).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use sojourn_core::Time;
    use sojourn_core::parameters::defaults;

    /// The level of the packet before which the flow has sent so many bytes.
    fn level(sent: &Sent, bytes: u64) -> u64 {
        let flow = Flow::new(0, 1, 1, Time::ZERO);
        sent.number(&Leaving { flow: &flow, remaining: 1, sent: bytes, now: Time::ZERO, nic: &[] })
    }

    /// A flow leaves a level when what it has sent exceeds the threshold, and never comes back.
    #[test]
    fn a_flow_falls_level_by_level() {
        let two = Sent { thresholds: vec![Bytes(10_000), Bytes(1_000_000)] };
        let levels = [0, 10_000, 10_001, 1_000_000, 1_000_001, u64::MAX].map(|b| level(&two, b));
        assert_eq!(levels, [0, 0, 1, 1, 2, 2]);
        assert_eq!(level(&Sent { thresholds: Vec::new() }, u64::MAX), 0);
        let web_search: Sent = defaults();
        assert_eq!([911 * 1460, 912 * 1460, 2489 * 1460].map(|b| level(&web_search, b)), [0, 1, 7]);
    }
}
