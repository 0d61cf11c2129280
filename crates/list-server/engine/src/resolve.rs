//! Where the mail of a destination goes: what name servers are asked, and what follows from their
//! answers.

use crate::destination::{Resolved, Routes, literal};
use crate::event::{Answer, Effect, Entry, MailHost, Task};
use crate::ids::DestinationId;
use crate::policy::timeouts::Timeouts;
use crate::reason::{Reason, status};
use crate::{Engine, Moment, chance};
use sojourn_core::Span;
use std::sync::Arc;

impl Engine {
    pub(super) fn ask(&mut self, id: DestinationId) {
        let this = &self.destinations[id];
        let name = Arc::clone(&this.name);
        if let Some(literal) = literal(&name) {
            let host =
                MailHost { name: Arc::clone(&name), preference: 0, addresses: vec![literal] };
            let routes = Routes::Asking(Moment::NEVER);
            self.destinations.set_routes(id, routes, &mut self.hosts);
            return self.resolved(&name, Answer::Hosts { hosts: vec![host], lifetime: Span::MAX });
        }
        let until = self.clock.now + self.config.timeouts.steps(this.failures).resolve;
        self.effects.push(Effect::Resolve(name));
        self.destinations.set_routes(id, Routes::Asking(until), &mut self.hosts);
        self.destinations.set_alarm(id, &mut self.clock);
    }

    pub(super) fn resolved(&mut self, domain: &str, answer: Answer) {
        let Some(id) = self.destinations.find(domain) else { return };
        let this = &mut self.destinations[id];
        if !matches!(this.routes, Routes::Asking(_)) {
            return;
        }
        this.routes = Routes::Unknown;
        match Resolved::of(answer, domain, &self.own_hosts, &self.hello) {
            Resolved::To(hosts, lifetime) => {
                let chance = |i| chance(&self.streams, "preference", id.0, i);
                let hosts = self.hosts.route_to(hosts, &self.config.limits, chance);
                let routes = Routes::known(hosts, self.clock.now, lifetime);
                this.failures = 0;
                self.destinations.set_routes(id, routes, &mut self.hosts);
                self.destinations.shape(id, &mut self.hosts, &self.config);
                self.destinations.look_at(id);
            }
            Resolved::NotNow(why) => self.unresolved(id, why),
            Resolved::Never(reason) => self.give_up(id, &reason),
        }
    }

    /// The name servers did not answer, or not for now.
    pub(super) fn unresolved(&mut self, id: DestinationId, why: String) {
        let now = self.clock.now;
        let (times, first) = self.destinations[id].lose_routes(now);
        let until = now + self.host_wait("name servers", id.0, times, first);
        let this = &mut self.destinations[id];
        let reason = Reason::new(status::NAME_SERVERS, why);
        this.trouble = Some(reason.clone());
        let down = Entry::DomainDown(Arc::clone(&this.name), until, reason);
        self.effects.push(Effect::Log(down));
        self.stall(id, until);
    }

    /// All recipients at this domain fail: it takes no mail.
    fn give_up(&mut self, id: DestinationId, reason: &Reason) {
        let this = &mut self.destinations[id];
        this.place_in_line = None;
        for batch in std::mem::take(&mut this.queue) {
            for recipient in batch.recipients {
                let task = Task { message: batch.message, recipient };
                if self.queue.is_waiting(task) {
                    self.fail_unsent(task, reason.clone());
                }
            }
            self.done(batch.envelope);
        }
    }
}
