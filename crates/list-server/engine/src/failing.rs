//! Hosts that do not answer, or ask to slow down.

use crate::event::{Effect, Entry};
use crate::ids::DestinationId;
use crate::policy::retry::{Retry, RetryInput};
use crate::reason::{End, Reason};
use crate::session::Session;
use crate::{Engine, Moment, chance};
use sojourn_core::Span;
use sojourn_smtp::client::Tls;

impl Engine {
    /// The host was never ready for a transaction. While it has other sessions, it is not down for
    /// what becomes of one.
    pub(super) fn ended_before_ready(&mut self, session: &Session, end: End, reason: &Reason) {
        if self.stopping || end == End::Needless {
            return;
        }
        let host = &mut self.hosts[session.host];
        if session.client.is_turning_to_tls() && self.config.tls == Tls::Opportunistic {
            host.tls_broken = true;
        } else if host.sessions > 0 {
            host.overloaded(self.clock.now, &self.config.limits);
        } else {
            self.host_failed(session, reason);
            self.slow_down(session.destination, reason);
        }
    }

    /// A provider whose reply asks for it gets fewer transactions in a minute.
    pub(super) fn slow_down(&mut self, destination: DestinationId, reason: &Reason) {
        if reason.is_slow_down()
            && let Some((provider, rate)) = self.destinations.slow_down(destination, &self.clock)
        {
            let slowed = Entry::Slowed(provider, rate, reason.clone());
            self.effects.push(Effect::Log(slowed));
        }
    }

    /// The host did not answer, and serves no other session.
    pub(super) fn host_failed(&mut self, session: &Session, reason: &Reason) {
        let (id, now) = (session.host, self.clock.now);
        let times = self.hosts[id].failed(now);
        let until = now + self.host_wait("host", id.0, times, self.hosts[id].first_failure);
        let host = &mut self.hosts[id];
        host.down_until = until;
        let down = Entry::HostDown(host.address, until, reason.clone());
        self.effects.push(Effect::Log(down));
        self.wake_host_line(id);
        self.destinations[session.destination].trouble = Some(reason.clone());
    }

    /// How long a host or name server that did not answer `times` times in a row is left alone.
    pub(super) fn host_wait(&self, who: &str, entity: u32, times: u32, first: Moment) -> Span {
        self.config.retry.host(&RetryInput {
            times,
            since_first: self.clock.now.since(first),
            named: None,
            learned: None,
            chance: chance(&self.streams, who, entity, times),
        })
    }
}
