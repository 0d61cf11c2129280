//! Failures that are no subscriber's fault: an alarm, where they exceed a share of what a provider
//! was sent in a day.

use sojourn_mail_engine::bounce::{Fault, Rule};
use sojourn_mail_engine::{Relay, provider};
use sojourn_smtp::plain;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Providers whose mail is counted, and domains whose provider is known. Where there are more, the
/// day's counts begin again: nothing that other hosts are called takes more memory.
const PROVIDERS: usize = 10_000;
const DOMAINS: usize = 100_000;
/// How many seconds lie between two looks for suspensions that have to be reported.
const LOOK: i64 = 600;
/// Alarms that one report has.
const RAISED: usize = 1000;

/// What providers were sent today.
#[derive(Debug, Default)]
pub(crate) struct Alarms {
    /// Counted from 1970.
    day: i64,
    providers: BTreeMap<Arc<str>, Sent>,
    /// The provider of each recipient's domain, as its mail hosts are named.
    of_domain: BTreeMap<Box<str>, Arc<str>>,
    /// Alarms that the operator has had no mail about.
    raised: Vec<Alarm>,
    /// When there may be a report again, and when it is looked for suspensions, in seconds since
    /// 1970.
    pub(crate) next_report: i64,
    next_look: i64,
}

#[derive(Debug, Default)]
struct Sent {
    delivered: u64,
    failed: BTreeMap<Fault, u64>,
    /// Of which kinds the operator has been told today.
    told: Vec<Fault>,
}

/// Too much of what a provider was sent failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// The domain that the provider's hosts belong to, or their address.
    pub provider: Arc<str>,
    /// Whose fault it is.
    pub fault: Fault,
    /// How many deliveries failed today for such a fault.
    pub failed: u64,
    /// How many ended today.
    pub ended: u64,
    /// The reply to the last of them.
    pub reply: String,
}

impl Alarms {
    /// The alarms for a report at `now`, in seconds since 1970, which may be none; nothing where it is
    /// too early to look for suspensions.
    pub(crate) fn due(&mut self, now: i64) -> Option<Vec<Alarm>> {
        if now < self.next_report || self.raised.is_empty() && now < self.next_look {
            return None;
        }
        self.next_look = now + LOOK;
        Some(self.raised.clone())
    }

    /// The first `number` alarms are reported; the next report comes at `next` or later.
    pub(crate) fn reported(&mut self, number: usize, next: i64) {
        self.raised.drain(..number);
        self.next_report = next;
    }

    /// The provider of the recipients at `domain`: who runs `relay`, or ran the last one there.
    pub(crate) fn provider(&mut self, domain: &str, relay: Option<&Relay>) -> Arc<str> {
        let known = self.of_domain.get(domain);
        let Some(relay) = relay else { return known.map_or(domain.into(), Arc::clone) };
        let provider = provider(&relay.name, relay.address);
        if known == Some(&provider) {
            return provider;
        }
        if self.of_domain.len() >= DOMAINS {
            self.of_domain.clear();
        }
        self.of_domain.insert(domain.into(), Arc::clone(&provider));
        provider
    }

    /// A delivery to `provider` ended on `day`, counted from 1970: well, or with `failure`. An alarm,
    /// where it is the one that exceeds the share of `rule`; each kind once a day.
    pub(crate) fn ended(
        &mut self,
        day: i64,
        provider: &Arc<str>,
        failure: Option<(Fault, &str)>,
        rule: &Rule,
    ) -> Option<Alarm> {
        if self.day != day || self.providers.len() >= PROVIDERS {
            self.day = day;
            self.providers.clear();
        }
        let sent = self.providers.entry(Arc::clone(provider)).or_default();
        let Some((fault, reply)) = failure else {
            sent.delivered += 1;
            return None;
        };
        let failed = sent.failed.entry(fault).or_default();
        *failed += 1;
        let failed = *failed;
        let ended = sent.delivered + sent.failed.values().sum::<u64>();
        let is_many = failed >= u64::from(rule.alarm_from.get())
            && failed as f64 >= rule.alarm_share * ended as f64;
        if fault == Fault::Address || !is_many || sent.told.contains(&fault) {
            return None;
        }
        sent.told.push(fault);
        let (provider, reply) = (Arc::clone(provider), reply.to_owned());
        let alarm = Alarm { provider, fault, failed, ended, reply };
        if self.raised.len() < RAISED {
            self.raised.push(alarm.clone());
        }
        Some(alarm)
    }
}

/// As the log has it.
impl fmt::Display for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Alarm { provider, fault, failed, ended, reply } = self;
        let reply = plain(reply);
        write!(
            f,
            "provider={provider}, fault={fault}: {failed} of {ended} deliveries today: {reply}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    fn relay(name: &str) -> Relay {
        Relay { name: name.into(), address: [192, 0, 2, 1].into() }
    }

    #[test]
    fn providers_by_their_hosts() {
        let mut alarms = Alarms::default();
        for (domain, host, provider) in [
            ("gmail.com", "gmail-smtp-in.l.google.com", "google.com"),
            ("gmail.com", "alt1.gmail-smtp-in.l.google.com", "google.com"),
            ("firm.example", "firm-example.mail.protection.outlook.com", "outlook.com"),
            ("firm.example", "mx.elsewhere.co.uk", "elsewhere.co.uk"),
            ("x.example", "com", "192.0.2.1"),
            ("x.example", "xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("y.example", "notgoogle.com", "notgoogle.com"),
            ("y.example", "mx.google.com", "google.com"),
            ("[192.0.2.1]", "[192.0.2.1]", "192.0.2.1"),
            ("[192.0.2.1]", "192.0.2.1", "192.0.2.1"),
        ] {
            assert_eq!(*alarms.provider(domain, Some(&relay(host))), *provider, "{host}");
        }
        assert_eq!(*alarms.provider("gmail.com", None), *"google.com");
        assert_eq!(*alarms.provider("unknown.example", None), *"unknown.example");
    }

    #[test]
    fn one_alarm_a_day_and_none_below_the_share() {
        let rule: Rule = defaults();
        let (mut alarms, provider) = (Alarms::default(), Arc::from("big.example"));
        let refused = Some((Fault::Policy, "550 5.7.1 blocked"));
        let mut raised = Vec::new();
        for day in 0..2 {
            // 181 are delivered: the twentieth failure is less than a tenth, the 21st more.
            (0..181).for_each(|_| drop(alarms.ended(day, &provider, None, &rule)));
            let failures = (0..40).filter_map(|_| alarms.ended(day, &provider, refused, &rule));
            raised.extend(failures.map(|it| (it.failed, it.ended)));
        }
        assert_eq!(raised, [(21, 202), (21, 202)]);
        let dead = Some((Fault::Address, "550 5.1.1 no such user"));
        assert!((0..100).all(|_| alarms.ended(1, &provider, dead, &rule).is_none()));
    }
}
