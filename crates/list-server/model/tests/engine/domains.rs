//! What domains are sent, watched from the commands alone.

use sojourn_core::Time;
use sojourn_mail_engine::policy::{DomainLimits, RollUp};
use sojourn_mail_engine::{Config, SessionId};
use std::collections::BTreeMap;

/// Which domain each open session is for, and when transactions of each domain began.
#[derive(Default)]
pub(crate) struct Domains {
    of: BTreeMap<SessionId, String>,
    /// Transactions that have named no recipient yet.
    begun: BTreeMap<SessionId, Time>,
    /// Those that have, of one life of the engine each.
    times: Vec<BTreeMap<String, Vec<Time>>>,
}

fn limits<'a>(config: &'a Config, domain: &str) -> Option<&'a DomainLimits> {
    config.domain.iter().find(|it| it.is_for(RollUp::Domain, domain))
}

impl Domains {
    /// Commands are sent. A session has one domain all its life, and no domain more than it wants.
    pub(crate) fn sent(&mut self, config: &Config, now: Time, session: SessionId, bytes: &[u8]) {
        for line in String::from_utf8_lossy(bytes).lines() {
            if line.starts_with("MAIL FROM:") {
                self.begun.insert(session, now);
            }
            let Some(recipient) = line.strip_prefix("RCPT TO:<") else { continue };
            let domain = recipient.split(['@', '>']).nth(1).unwrap();
            let before = self.of.insert(session, domain.to_owned());
            assert!(before.is_none_or(|before| before == domain), "{session:?}: {recipient}");
            let open = self.of.values().filter(|it| *it == domain).count();
            let most = limits(config, domain).and_then(|it| it.sessions);
            assert!(most.is_none_or(|most| open <= most.get() as usize), "{open} for {domain}");
            if let Some(begun) = self.begun.remove(&session) {
                let life = self.times.last_mut().expect("one lives");
                life.entry(domain.to_owned()).or_default().push(begun);
            }
        }
    }

    /// Nothing is awaited from the session any more.
    pub(crate) fn closed(&mut self, session: SessionId) {
        self.of.remove(&session);
        self.begun.remove(&session);
    }

    /// An engine begins to live: it knows nothing of another one's sessions.
    pub(crate) fn born(&mut self) {
        self.of.clear();
        self.begun.clear();
        self.times.push(BTreeMap::new());
    }

    /// Transactions lie as far apart as their domains want.
    pub(crate) fn check_distances(&self, config: &Config) {
        for (domain, times) in self.times.iter().flatten() {
            let Some(limits) = limits(config, domain) else { continue };
            let mut times = times.clone();
            times.sort_unstable();
            for pair in times.windows(2) {
                assert!(pair[1] - pair[0] >= limits.gap(), "{domain}: {pair:?}");
            }
        }
    }

    /// How many transactions there were with domains that have limits of their own.
    pub(crate) fn limited(&self, config: &Config) -> usize {
        let all = self.times.iter().flatten();
        all.filter(|(domain, _)| limits(config, domain).is_some()).map(|(_, it)| it.len()).sum()
    }
}
