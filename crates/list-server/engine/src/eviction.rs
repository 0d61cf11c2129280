//! What is forgotten: domains that nobody writes to any more, and the hosts that they had.

use crate::Engine;
use crate::destination::Routes;

/// How many are looked at before one more is remembered than should be.
const LOOKS: usize = 8;

/// Goes round a list in search of what can be forgotten: what was used since it came by last is
/// spared once (the "clock" of virtual memory).
#[derive(Debug, Default)]
pub(super) struct Hand(usize);

impl Hand {
    /// The next that can go, if it is not far.
    pub(super) fn find<T>(
        &mut self,
        list: &mut [T],
        mut can_go: impl FnMut(&mut T) -> bool,
    ) -> Option<u32> {
        for _ in 0..LOOKS.min(list.len()) {
            let number = self.0 % list.len();
            self.0 = number + 1;
            if can_go(&mut list[number]) {
                return Some(number as u32);
            }
        }
        None
    }
}

/// Puts something new into a free place of a list, or at its end; where.
pub(super) fn place<T>(list: &mut Vec<T>, free: &mut Vec<u32>, new: T) -> u32 {
    match free.pop() {
        Some(number) => {
            list[number as usize] = new;
            number
        }
        None => {
            list.push(new);
            list.len() as u32 - 1
        }
    }
}

impl Engine {
    /// How many destinations and hosts are known.
    pub fn remembered(&self) -> (usize, usize) {
        (self.destinations.known(), self.hosts.known())
    }

    /// The destination of one more recipient, which is likely to be `guess`.
    pub(super) fn want(&mut self, domain: &str, guess: Option<u32>) -> u32 {
        let number = self.destinations.find_or_add(domain, guess, &self.config);
        self.destinations.list[number as usize].wanted += 1;
        self.recipients += 1;
        // Two for each that comes: after a rush there are as few again.
        for _ in 0..2 {
            let most = self.config.limits.remembered.get();
            let Some(old) = self.destinations.forgettable(self.now, most) else { break };
            let routes = self.destinations.forget(old, &self.config);
            self.release(&routes);
        }
        number
    }

    /// One recipient less.
    pub(super) fn unwant(&mut self, destination: u32) {
        self.destinations.list[destination as usize].wanted -= 1;
        self.recipients -= 1;
    }

    /// The mail of `destination` goes elsewhere; the hosts of the new routes are retained already.
    pub(super) fn set_routes(&mut self, destination: u32, routes: Routes) {
        let known = &mut self.destinations.list[destination as usize].routes;
        let before = std::mem::replace(known, routes);
        self.release(&before);
    }

    fn release(&mut self, routes: &Routes) {
        if let Routes::Known(hosts, _) = routes {
            for route in hosts {
                self.hosts.list[route.host as usize].routed -= 1;
            }
        }
    }
}
