//! How many sessions and transactions the destinations may have, by the limits that they share.

use super::shaping::{Blocked, Shaping};
use super::{Destinations, Routes};
use crate::clock::Clock;
use crate::config::Config;
use crate::event::{Effect, Entry};
use crate::host::Hosts;
use crate::ids::{DestinationId, ShaperId};
use crate::moment::Moment;
use crate::reason::Reason;
use crate::session::Session;
use sojourn_core::Span;
use std::sync::Arc;

impl Destinations {
    /// The mail of a destination goes this way now, which says what limits it has: it is dispatched.
    pub(crate) fn set_known(
        &mut self,
        id: DestinationId,
        routes: Routes,
        hosts: &mut Hosts,
        config: &Config,
    ) {
        self.set_routes(id, routes, hosts);
        self.look_at(id);
        let this = &mut self.list[id];
        let new = self.shapers.attach(&this.name, this.routes.hosts(), hosts, config);
        let before = std::mem::replace(&mut this.shapers, new);
        self.shapers.release(&before);
        self.set_most_sessions(id, config);
        if let Some(set) = self.shapers.most_sessions(&self.list[id].shapers) {
            let routes = self.list[id].routes.hosts();
            routes.iter().for_each(|route| hosts[route.host].allow(set.get()));
        }
    }

    /// One has as many sessions as are set for it, or else as each.
    pub(super) fn set_most_sessions(&mut self, id: DestinationId, config: &Config) {
        let this = &mut self.list[id];
        let set = self.shapers.most_sessions(&this.shapers);
        this.most_sessions = set.unwrap_or(config.limits.destination).get();
    }

    /// Whether one may have another transaction only later.
    pub(crate) fn is_paced(&self, id: DestinationId, now: Moment) -> bool {
        now < self.shapers.open_from(&self.list[id].shapers)
    }

    /// Whether the transactions of one have to be apart.
    pub(crate) fn is_apart(&self, id: DestinationId) -> bool {
        self.shapers.gap(&self.list[id].shapers) > Span::ZERO
    }

    /// Whether a session of one has had as many transactions as it may have.
    pub(crate) fn is_spent(&self, session: &Session) -> bool {
        self.shapers.is_spent(&session.shapers, session.begun)
    }

    /// What one more session of one is against.
    pub(crate) fn blocked(&self, id: DestinationId) -> Option<Blocked> {
        self.shapers.blocked(&self.list[id].shapers)
    }

    /// One waits for others' sessions to end, or to begin transactions.
    pub(crate) fn wait_for_shaper(&mut self, shaper: ShaperId, id: DestinationId) {
        self.shapers.line(shaper).push_back(id);
        self.list[id].lined_up = true;
    }

    /// Whether another destination waits for what a session holds.
    pub(crate) fn has_other_in_shapers_lines(&self, session: &Session) -> bool {
        self.shapers.has_other_in_line(&session.shapers, session.destination)
    }

    /// A session of one is open; the limits that it counts for.
    pub(crate) fn opened(&mut self, id: DestinationId) -> Arc<[ShaperId]> {
        let shapers = Arc::clone(&self.list[id].shapers);
        self.shapers.opened(&shapers);
        shapers
    }

    /// A session is over.
    pub(crate) fn closed(&mut self, session: &Session) {
        self.shapers.closed(&session.shapers, session.begun > 0);
        self.look_at_lines(&session.shapers);
        self.shapers.release(&session.shapers);
    }

    /// A session of one begins a transaction, its first or another.
    pub(crate) fn began(&mut self, session: &Session, clock: &mut Clock) {
        let id = session.destination;
        let shapers = Arc::clone(&self.list[id].shapers);
        self.shapers.began(&shapers, clock.now);
        if session.begun == 1 {
            self.shapers.used(&session.shapers);
            self.look_at_lines(&session.shapers);
        }
        if self.is_apart(id) {
            self.set_alarm(id, clock);
        }
    }

    fn look_at_lines(&mut self, shapers: &[ShaperId]) {
        shapers.iter().for_each(|&id| self.ready.append(self.shapers.line(id)));
    }

    /// A provider whose reply asks for it gets fewer transactions in a minute.
    pub(crate) fn slow_down(
        &mut self,
        id: DestinationId,
        reason: &Reason,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        let shapers = &self.list[id].shapers;
        if reason.is_slow_down()
            && let Some((provider, rate)) = self.shapers.slow_down(shapers, now)
        {
            effects.push(Effect::Log(Entry::Slowed(provider, rate, reason.clone())));
        }
    }

    /// The limits of a domain, the provider's last; of none, all that are in use.
    pub(crate) fn shaping(&self, domain: Option<&str>) -> Vec<Shaping> {
        let Some(domain) = domain else { return self.shapers.limited() };
        let known = self.find(domain).map(|id| &self.list[id].shapers);
        known.map_or(Vec::new(), |shapers| self.shapers.views(shapers))
    }
}
