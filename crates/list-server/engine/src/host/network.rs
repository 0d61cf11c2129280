//! Networks: what hosts that are near each other share.

use crate::ids::DestinationId;
use crate::policy::Limits;
use std::collections::VecDeque;

/// Addresses that are near each other.
#[derive(Debug)]
pub(crate) struct Network {
    /// Its hosts that are known.
    pub(super) hosts: u32,
    pub(super) sessions: u32,
    /// Sessions that it is given, and the least: each answer allows one more, and each session that ends
    /// without an answer that is overdue one less.
    allowed: u32,
    least: u32,
    /// Destinations that want a session here.
    pub(crate) line: VecDeque<DestinationId>,
}

impl Network {
    pub(super) fn new(limits: &Limits) -> Network {
        let least = limits.share(limits.network);
        Network { hosts: 0, sessions: 0, allowed: least, least, line: VecDeque::new() }
    }

    /// Whether it has as many sessions as it may have.
    pub(super) fn is_full(&self) -> bool {
        self.sessions >= self.allowed
    }

    /// A transaction was answered; whether more sessions fit than before.
    pub(super) fn answered(&mut self, limits: &Limits) -> bool {
        let grows = self.allowed < limits.network.get();
        self.allowed += u32::from(grows);
        grows
    }

    /// A session ends, whose answer may be overdue.
    pub(super) fn remove_session(&mut self, is_overdue: bool) {
        self.sessions -= 1;
        self.allowed = (self.allowed - u32::from(is_overdue)).max(self.least);
    }

    pub(super) fn set_limits(&mut self, limits: &Limits) {
        self.least = limits.share(limits.network);
        self.allowed = self.allowed.clamp(self.least, limits.network.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    #[test]
    fn a_network_is_given_a_share_and_grows_with_answers() {
        let limits: Limits = defaults();
        let mut network = Network::new(&limits);
        assert_eq!(network.allowed, 25);
        assert_eq!((0..100).filter(|_| network.answered(&limits)).count(), 75);
        assert_eq!(network.allowed, 100);
        network.sessions = 111;
        network.remove_session(false);
        (0..10).for_each(|_| network.remove_session(true));
        assert_eq!(network.allowed, 90);
        (0..100).for_each(|_| network.remove_session(true));
        assert_eq!((network.allowed, network.sessions), (25, 0));
    }
}
