//! What failures cost a subscriber. A score follows mailings, not the calendar: a weekly list
//! suspends a dead address after as many mailings as a daily one.

use super::returned::Severity;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_smtp::Address;
use std::num::NonZeroU32;

parameters! {
    /// When a subscriber with bounces is suspended, and when other failures raise an alarm.
    pub struct Rule: "bounces" {
        /// Score of a mailing that failed permanently. Only failures of the address count, and not
        /// a block or refused content.
        pub hard: f64 = 1.0,
        /// Score of a mailing that failed for a reason that may be temporary.
        pub soft: f64 = 0.5,
        /// Score at which a subscriber is suspended. All mail of one day is one mailing. If it is
        /// small, an outage of some days loses subscribers. If it is large, dead addresses get mail
        /// for a long time, which harms the sender's reputation.
        pub threshold: f64 = 5.0,
        /// Whether the server first sends a probe. Then only a bounce of the probe suspends the
        /// subscriber.
        pub probe: bool = true,
        /// File with rules that classify failures by the reply. They come before the built-in
        /// rules.
        pub faults: Option<String>,
        /// Share of the deliveries to a provider in a day from which failures other than of
        /// addresses raise an alarm, in the log, on the live page and by mail.
        pub alarm_share: f64 = 0.1,
        /// Minimum number of such failures. If it is small, a few full queues raise an alarm. If it
        /// is large, a block by a provider with few subscribers stays unseen.
        pub alarm_from: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
        /// Address that gets the daily report on alarms and suspensions. By default the postmaster.
        pub operator: Option<Address>,
    }
}

impl Check for Rule {
    fn check(&self) -> Result<(), Refusal> {
        for (key, number) in
            [("hard", self.hard), ("soft", self.soft), ("threshold", self.threshold)]
        {
            if number <= 0.0 {
                return Err(Refusal::value(&Value::Float(number), "above 0").under(key));
            }
        }
        if !(self.alarm_share > 0.0 && self.alarm_share <= 1.0) {
            let refusal = Refusal::value(&Value::Float(self.alarm_share), "above 0, at most 1");
            return Err(refusal.under("alarm_share"));
        }
        Ok(())
    }
}

nested!(Rule);

/// A mailing that did not reach a subscriber, through a fault of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whether there is hope.
    pub severity: Severity,
    /// The day of the mailing, counted from 1970.
    pub day: i64,
    /// Whether a host took the mail and returned it; else it refused the mail.
    pub returned: bool,
}

/// How a subscriber stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What failures have cost so far.
    pub score: f64,
    /// When the last failure that counted was heard of, in seconds since 1970.
    pub last: i64,
    /// The day of the last mailing that failed, counted from 1970.
    pub day: i64,
    /// Whether a host took it first.
    pub returned: bool,
    /// The day of the first mailing since then that a host took.
    pub taken: Option<i64>,
    /// Since when a probe is under way, in seconds since 1970.
    pub probed: Option<i64>,
    /// Since when delivery is suspended, in seconds since 1970.
    pub suspended: Option<i64>,
}

const DAY: i64 = 86_400;
/// For how many days the bounce of a probe is awaited: our lifetime, and another host's.
pub const PROBE_DAYS: i64 = 14;
/// A host that returned mail it had taken may do so again. After as many days without that, what it
/// takes counts as delivered (RFC 5321 section 4.5.4.1: hosts give up after 4 to 5 days).
const RETURN_DAYS: i64 = 7;

impl Standing {
    /// After a failure that was heard of at `now`, in seconds since 1970. Nothing changes for one who
    /// is suspended or being asked, nor by a mailing that counted already.
    pub fn failed(before: Option<Standing>, failure: Failure, now: i64, rule: &Rule) -> Standing {
        let points = match failure.severity {
            Severity::Hard => rule.hard,
            Severity::Soft => rule.soft,
        };
        let before = before.filter(|it| !it.is_answered(now));
        if let Some(standing) = before
            && (standing.suspended.is_some()
                || standing.probed.is_some()
                || failure.day <= standing.day)
        {
            return standing;
        }
        let (score, Failure { day, returned, .. }) = (before.map_or(0.0, |it| it.score), failure);
        let (taken, probed, suspended) = (None, None, None);
        Standing { score: score + points, last: now, day, returned, taken, probed, suspended }
    }

    /// After a host took the mailing of `day`, counted from 1970; nothing when that ends the score.
    pub fn delivered(self, day: i64) -> Option<Standing> {
        if self.suspended.is_some() || self.probed.is_some() || day <= self.day {
            return Some(self);
        }
        match self.taken {
            _ if !self.returned => None,
            None => Some(Standing { taken: Some(day), ..self }),
            Some(first) => (day - first < RETURN_DAYS).then_some(self),
        }
    }

    /// Whether it is time to ask, or to suspend.
    pub fn is_over(&self, rule: &Rule) -> bool {
        self.score >= rule.threshold && self.suspended.is_none() && self.probed.is_none()
    }

    /// Whether a probe did not come back: counting begins again.
    pub fn is_answered(&self, now: i64) -> bool {
        self.suspended.is_none() && self.probed.is_some_and(|at| now - at > PROBE_DAYS * DAY)
    }
}
