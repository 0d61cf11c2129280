//! Limits that destinations share: what is set for a domain, a mail host or a provider, and the rate
//! that a provider's replies leave.
//!
//! A reply that asks to slow down halves the rate at which transactions begin with its provider. Each
//! minute without such a reply adds a tenth of the rate that was refused (AIMD, as TCP does with its
//! window: V. Jacobson, *Congestion Avoidance and Control*, SIGCOMM 1988). At twice the refused rate
//! the reply is forgotten.

use crate::config::Config;
use crate::host::{Hosts, Route};
use crate::ids::{DestinationId, ShaperId};
use crate::moment::Moment;
use crate::policy::{RollUp, gap};
use crate::table::Table;
use sojourn_core::Span;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Hosts count what they are sent in a minute: replies within one after a reply that counted say
/// nothing new.
const MINUTE: Span = Span::from_s(60);
/// Sessions that may wait for their first transaction are as many as begin one in this time: that long a
/// session takes to be set up, and waits without work.
const SETUP: Span = Span::from_s(1);

/// The domain that runs a mail host, or the host's address where its name has none.
pub fn provider(name: &str, address: IpAddr) -> Arc<str> {
    let name = name.trim_end_matches('.');
    let is_name = !name.starts_with('[') && name.parse::<IpAddr>().is_err();
    match psl::domain_str(name).filter(|_| is_name) {
        Some(provider) => provider.into(),
        None => address.to_string().into(),
    }
}

/// What is set for a destination, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaping {
    /// Kind of destination.
    pub by: RollUp,
    /// Its name.
    pub name: Arc<str>,
    /// Sessions that are open.
    pub open: u32,
    /// The most sessions, as set.
    pub sessions: Option<NonZeroU32>,
    /// The most transactions that begin in a minute, as set.
    pub per_minute: Option<NonZeroU32>,
    /// The most transactions of a session, as set.
    pub per_session: Option<NonZeroU32>,
    /// The most transactions that begin in a minute after replies that asked to slow down.
    pub slowed: Option<u32>,
}

/// The limits of one domain, host or provider.
#[derive(Debug)]
struct Shaper {
    shaping: Shaping,
    /// Destinations and sessions that have these limits.
    uses: u32,
    /// Sessions that have begun no transaction.
    unused: u32,
    /// When the next transaction may begin.
    open_from: Moment,
    rate: Rate,
    /// Destinations that want a session.
    line: VecDeque<DestinationId>,
}

/// Transactions in this minute and in the one before, and how many there may be.
#[derive(Debug, Default)]
struct Rate {
    minute: Moment,
    begun: u32,
    before: u32,
    slowed: Option<Slowed>,
}

/// What a reply that asked to slow down has left.
#[derive(Clone, Copy, Debug)]
struct Slowed {
    per_minute: u32,
    /// The rate that was refused, when it was, and until when the rate has grown since.
    refused: u32,
    at: Moment,
    grown: Moment,
}

/// Why a destination cannot have one more session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocked {
    pub(crate) by: ShaperId,
    /// Whether there are as many as may be, or enough of them wait for their first transaction.
    pub(crate) is_full: bool,
}

/// All that are known.
#[derive(Debug, Default)]
pub(crate) struct Shapers {
    list: Table<ShaperId, Shaper>,
    /// By their kind.
    by_name: [BTreeMap<Arc<str>, ShaperId>; 3],
    free: Vec<ShaperId>,
}

impl Shapers {
    /// The limits of a domain whose mail goes this way, which are in use from now on: the provider's
    /// are the last.
    pub(crate) fn attach(
        &mut self,
        domain: &str,
        routes: &[Route],
        hosts: &Hosts,
        config: &Config,
    ) -> Arc<[ShaperId]> {
        let is_set = |by, name: &str| config.domain.iter().any(|it| it.is_for(by, name));
        let mut names = Vec::new();
        if is_set(RollUp::Domain, domain) {
            names.push((RollUp::Domain, domain.to_lowercase().into()));
        }
        for route in routes.iter().filter(|route| is_set(RollUp::Mx, &route.name)) {
            let name = (RollUp::Mx, route.name.trim_end_matches('.').to_lowercase().into());
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if let Some(first) = routes.first() {
            let name = first.name.to_lowercase();
            names.push((RollUp::Provider, provider(&name, hosts[first.host].address)));
        }
        let ids = names.into_iter().map(|(by, name)| self.find_or_add(by, name, config));
        ids.collect()
    }

    fn find_or_add(&mut self, by: RollUp, name: Arc<str>, config: &Config) -> ShaperId {
        let known = &mut self.by_name[by as usize];
        let id = *known.entry(name).or_insert_with_key(|name| {
            self.list.place(&mut self.free, Shaper::new(by, Arc::clone(name), config))
        });
        self.list[id].uses += 1;
        id
    }

    /// One destination or session less has these limits.
    pub(crate) fn release(&mut self, ids: &[ShaperId]) {
        for &id in ids {
            let shaper = &mut self.list[id];
            shaper.uses -= 1;
            if shaper.uses == 0 {
                let Shaping { by, name, .. } = &shaper.shaping;
                self.by_name[*by as usize].remove(name);
                self.free.push(id);
            }
        }
    }

    pub(crate) fn set_limits(&mut self, config: &Config) {
        self.list.values_mut().for_each(|it| it.shaping.set_limits(config));
    }

    /// The most sessions that a destination may have, where that is set.
    pub(crate) fn most_sessions(&self, ids: &[ShaperId]) -> Option<NonZeroU32> {
        ids.iter().filter_map(|&id| self.list[id].shaping.sessions).min()
    }

    /// How far apart transactions have to begin.
    pub(crate) fn gap(&self, ids: &[ShaperId]) -> Span {
        ids.iter().map(|&id| self.list[id].gap()).max().unwrap_or(Span::ZERO)
    }

    /// When the next transaction may begin.
    pub(crate) fn open_from(&self, ids: &[ShaperId]) -> Moment {
        ids.iter().map(|&id| self.list[id].open_from).max().unwrap_or(Moment::ZERO)
    }

    /// Whether a session has to end: it has started as many transactions as one session may, or there
    /// are too many sessions since limits changed.
    pub(crate) fn is_spent(&self, ids: &[ShaperId], begun: u32) -> bool {
        ids.iter().map(|&id| &self.list[id].shaping).any(|it| {
            it.per_session.is_some_and(|most| begun >= most.get())
                || it.sessions.is_some_and(|most| it.open > most.get())
        })
    }

    /// What one more session is against.
    pub(crate) fn blocked(&self, ids: &[ShaperId]) -> Option<Blocked> {
        ids.iter().find_map(|&by| {
            let Shaper { shaping, unused, .. } = &self.list[by];
            let gap = self.list[by].gap();
            let is_full = shaping.sessions.is_some_and(|most| shaping.open >= most.get());
            let waits = gap > Span::ZERO && u64::from(*unused) > SETUP.ps() / gap.ps();
            (is_full || waits).then_some(Blocked { by, is_full })
        })
    }

    /// A session more is open.
    pub(crate) fn opened(&mut self, ids: &[ShaperId]) {
        for &id in ids {
            let shaper = &mut self.list[id];
            shaper.shaping.open += 1;
            shaper.unused += 1;
            shaper.uses += 1;
        }
    }

    /// One less is; whether it had begun a transaction.
    pub(crate) fn closed(&mut self, ids: &[ShaperId], is_used: bool) {
        for &id in ids {
            let shaper = &mut self.list[id];
            shaper.shaping.open -= 1;
            shaper.unused -= u32::from(!is_used);
        }
    }

    /// A transaction begins.
    pub(crate) fn began(&mut self, ids: &[ShaperId], now: Moment) {
        for &id in ids {
            let shaper = &mut self.list[id];
            shaper.rate.count(now);
            shaper.shaping.slowed = shaper.rate.slowed.map(|it| it.per_minute);
            shaper.open_from = now + shaper.gap();
        }
    }

    /// A session began its first transaction.
    pub(crate) fn used(&mut self, ids: &[ShaperId]) {
        ids.iter().for_each(|&id| self.list[id].unused -= 1);
    }

    /// The provider asks to slow down: which one, and how many transactions begin in a minute from now
    /// on. Nothing where it asked just before.
    pub(crate) fn slow_down(&mut self, ids: &[ShaperId], now: Moment) -> Option<(Arc<str>, u32)> {
        let shaper = &mut self.list[*ids.last()?];
        let per_minute = shaper.rate.slow_down(now)?;
        shaper.shaping.slowed = Some(per_minute);
        shaper.open_from = shaper.open_from.max(now + shaper.gap());
        Some((Arc::clone(&shaper.shaping.name), per_minute))
    }

    pub(crate) fn line(&mut self, id: ShaperId) -> &mut VecDeque<DestinationId> {
        &mut self.list[id].line
    }

    /// Whether another destination than this one waits for a session.
    pub(crate) fn has_other_in_line(&self, ids: &[ShaperId], destination: DestinationId) -> bool {
        let mut lines = ids.iter().flat_map(|&id| &self.list[id].line);
        lines.any(|&other| other != destination)
    }

    /// What is set, and known, of these.
    pub(crate) fn views(&self, ids: &[ShaperId]) -> Vec<Shaping> {
        ids.iter().map(|&id| self.list[id].shaping.clone()).collect()
    }

    /// Of all that are in use and have limits.
    pub(crate) fn limited(&self) -> Vec<Shaping> {
        let all = self.by_name.iter().flat_map(BTreeMap::values);
        let all = all.map(|&id| &self.list[id].shaping);
        all.filter(|it| it.is_limited()).cloned().collect()
    }
}

impl Shaping {
    fn is_limited(&self) -> bool {
        let is_set = self.sessions.or(self.per_minute).or(self.per_session).is_some();
        is_set || self.slowed.is_some()
    }

    fn set_limits(&mut self, config: &Config) {
        let set = config.domain.iter().find(|it| it.is_for(self.by, &self.name));
        self.sessions = set.and_then(|it| it.sessions);
        self.per_minute = set.and_then(|it| it.per_minute);
        self.per_session = set.and_then(|it| it.per_session);
    }
}

impl Shaper {
    fn new(by: RollUp, name: Arc<str>, config: &Config) -> Shaper {
        let mut shaping = Shaping {
            by,
            name,
            open: 0,
            sessions: None,
            per_minute: None,
            per_session: None,
            slowed: None,
        };
        shaping.set_limits(config);
        Shaper {
            shaping,
            uses: 0,
            unused: 0,
            open_from: Moment::ZERO,
            rate: Rate::default(),
            line: VecDeque::new(),
        }
    }

    /// How long after a transaction the next may begin.
    fn gap(&self) -> Span {
        let set = self.shaping.per_minute.map(NonZeroU32::get);
        let rates = set.into_iter().chain(self.shaping.slowed);
        rates.map(gap).max().unwrap_or(Span::ZERO)
    }
}

impl Rate {
    /// Goes on to the present minute, and raises the rate for each that has passed.
    fn pass(&mut self, now: Moment) {
        let since = now.since(self.minute);
        if since >= MINUTE {
            self.before = if since < MINUTE * 2 { self.begun } else { 0 };
            (self.begun, self.minute) = (0, now);
        }
        let Some(slowed) = &mut self.slowed else { return };
        let minutes = u32::try_from(now.since(slowed.grown).ps() / MINUTE.ps()).unwrap_or(u32::MAX);
        slowed.grown += MINUTE * u64::from(minutes);
        let more = minutes.saturating_mul((slowed.refused / 10).max(1));
        slowed.per_minute = slowed.per_minute.saturating_add(more);
        if slowed.per_minute / 2 >= slowed.refused {
            self.slowed = None;
        }
    }

    /// A transaction begins.
    fn count(&mut self, now: Moment) {
        self.pass(now);
        self.begun += 1;
    }

    /// A reply asks to slow down: how many transactions begin in a minute from now on. Nothing where
    /// none began: a host that refuses each session has no rate that could be too high.
    fn slow_down(&mut self, now: Moment) -> Option<u32> {
        self.pass(now);
        if self.slowed.is_some_and(|it| now.since(it.at) < MINUTE) {
            return None;
        }
        let most = self.slowed.map_or(u32::MAX, |it| it.per_minute);
        let refused = self.begun.max(self.before).min(most);
        if refused == 0 {
            return None;
        }
        let per_minute = (refused / 2).max(1);
        self.slowed = Some(Slowed { per_minute, refused, at: now, grown: now });
        Some(per_minute)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::ZERO + Span::from_s(seconds)
    }

    #[test]
    fn a_rate_is_halved_and_grows_by_a_tenth_a_minute() {
        let mut rate = Rate::default();
        (0..100).for_each(|_| rate.count(at(1)));
        assert_eq!(rate.slow_down(at(2)), Some(50));
        // The host counts what it was sent before.
        assert_eq!(rate.slow_down(at(61)), None);
        let after = |rate: &mut Rate, seconds| {
            rate.pass(at(seconds));
            rate.slowed.map(|it| it.per_minute)
        };
        let rates = [61, 62, 122, 123, 842, 902].map(|seconds| after(&mut rate, seconds));
        assert_eq!(rates, [Some(50), Some(60), Some(70), Some(70), Some(190), None]);
    }

    #[test]
    fn what_is_refused_again_is_the_rate_that_it_had() {
        let mut rate = Rate::default();
        let rates: Vec<_> = [2, 62, 122, 182]
            .map(|it| {
                (0..100).for_each(|_| rate.count(at(it)));
                rate.slow_down(at(it))
            })
            .into();
        // A tenth of what was refused is added before each cut.
        assert_eq!(rates, [50, 30, 18, 10].map(Some));
        let mut one = Rate::default();
        one.count(at(0));
        assert_eq!(one.slow_down(at(0)), Some(1));
        // Each session was refused before a transaction began.
        assert_eq!(Rate::default().slow_down(at(0)), None);
    }

    #[test]
    fn providers_by_their_hosts() {
        let address = IpAddr::from([192, 0, 2, 1]);
        for (name, expected) in [
            ("gmail-smtp-in.l.google.com", "google.com"),
            ("firm-example.mail.protection.outlook.com.", "outlook.com"),
            ("mx.elsewhere.co.uk", "elsewhere.co.uk"),
            ("com", "192.0.2.1"),
        ] {
            assert_eq!(*provider(name, address), *expected, "{name}");
        }
    }
}
