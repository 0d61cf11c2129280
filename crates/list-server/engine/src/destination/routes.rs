//! Where the mail of a domain goes.

use super::{Route, Routes};
use crate::Engine;
use crate::event::{Answer, Effect, Entry, MailHost, Task};
use crate::ids::DestinationId;
use crate::policy::timeouts::Timeouts;
use crate::reason::{Reason, status};
use sojourn_core::{Span, Time};
use std::sync::Arc;

impl Engine {
    pub(crate) fn ask(&mut self, destination: DestinationId) {
        let this = &self.destinations[destination];
        if let Some(literal) = literal(&this.name) {
            let name = Arc::clone(&this.name);
            let host =
                MailHost { name: Arc::clone(&name), preference: 0, addresses: vec![literal] };
            self.set_routes(destination, Routes::Asking(Time::NEVER));
            return self.resolved(&name, Answer::Hosts { hosts: vec![host], lifetime: Span::MAX });
        }
        let until = self.now + self.config.timeouts.steps(this.failures).resolve;
        self.effects.push(Effect::Resolve(Arc::clone(&this.name)));
        self.set_routes(destination, Routes::Asking(until));
        self.set_destination_alarm(destination);
    }

    pub(crate) fn resolved(&mut self, domain: &str, answer: Answer) {
        let Some(destination) = self.destinations.find(domain) else { return };
        let this = &mut self.destinations[destination];
        if !matches!(this.routes, Routes::Asking(_)) {
            return;
        }
        this.routes = Routes::Unknown;
        match answer {
            Answer::Hosts { mut hosts, lifetime } if hosts.iter().any(has_address) => {
                self.without_own_hosts(&mut hosts);
                if hosts.is_empty() {
                    let why = format!("mail for {domain} loops back to myself");
                    return self.give_up(destination, &Reason::new(status::LOOPS, why));
                }
                if !hosts.iter().any(has_address) {
                    let why = "no mail host is found that is preferred to this one";
                    return self.unresolved(destination, why.into());
                }
                self.destinations[destination].failures = 0;
                let until = Time::from_ps(self.now.ps().saturating_add(lifetime.ps()));
                let routes = self.ordered(destination, hosts);
                // Known at least for now: an answer of no lifetime would be asked for without end.
                let until = until.max(self.now + Span::from_s(1));
                self.set_routes(destination, Routes::Known(routes, until));
                self.look_at(destination);
            }
            Answer::NoSuchDomain => {
                let reason = Reason::new(status::NO_SUCH_DOMAIN, "there is no such domain");
                self.give_up(destination, &reason);
            }
            Answer::Hosts { .. } | Answer::NoMail => {
                let reason = Reason::new(status::NO_MAIL, "the domain takes no mail");
                self.give_up(destination, &reason);
            }
            Answer::Failed(why) => self.unresolved(destination, why),
        }
    }

    /// Hosts by preference; those of one preference in random order (RFC 5321 section 5.1).
    fn ordered(&mut self, destination: DestinationId, hosts: Vec<MailHost>) -> Vec<Route> {
        let chance = |i| self.chance("preference", destination.0.into(), i);
        let mut ranked: Vec<_> =
            (0..).zip(hosts).map(|(i, it)| (it.preference, chance(i), it)).collect();
        ranked.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut routes: Vec<Route> = Vec::new();
        for (preference, _, MailHost { name, addresses, .. }) in ranked {
            for address in addresses {
                let host = self.hosts.find_or_add(address, &self.config.limits);
                if routes.iter().all(|known| known.host != host) {
                    self.hosts[host].routed += 1;
                    routes.push(Route { preference, host, name: Arc::clone(&name) });
                }
            }
        }
        routes
    }

    /// The name servers did not answer, or not for now.
    pub(crate) fn unresolved(&mut self, destination: DestinationId, why: String) {
        let now = self.now;
        let this = &mut self.destinations[destination];
        this.routes = Routes::Unknown;
        if this.failures == 0 {
            this.first_failure = now;
        }
        this.failures += 1;
        let (times, first) = (this.failures, this.first_failure);
        let until = now + self.host_wait("name servers", destination.0.into(), times, first);
        let name = Arc::clone(&self.destinations[destination].name);
        let reason = Reason::new(status::NAME_SERVERS, why);
        self.destinations[destination].trouble = Some(reason.clone());
        self.effects.push(Effect::Log(Entry::DomainDown(name, until, reason)));
        self.stall(destination, until);
    }

    /// All recipients at this domain fail: it takes no mail.
    fn give_up(&mut self, destination: DestinationId, reason: &Reason) {
        let this = &mut self.destinations[destination];
        this.place_in_line = None;
        let queue = std::mem::take(&mut this.queue);
        for batch in queue {
            for recipient in batch.recipients {
                let task = Task { message: batch.message, recipient };
                if self.is_waiting(task) {
                    self.fail_unsent(task, reason.clone());
                }
            }
            self.done(batch.envelope);
        }
    }
}

fn has_address(host: &MailHost) -> bool {
    !host.addresses.is_empty()
}

fn literal(domain: &str) -> Option<std::net::IpAddr> {
    format!("x@{domain}").parse::<sojourn_smtp::Address>().ok()?.literal()
}
