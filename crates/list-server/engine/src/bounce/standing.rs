//! What bounces cost a subscriber, as Mailman counts them.

use super::returned::Severity;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, nested, parameters};

parameters! {
    /// When a subscriber is suspended whose mail comes back (Mailman's `bounce_score_threshold` and
    /// its neighbours).
    pub struct Rule: "bounces" {
        /// What a failure for good counts.
        pub hard: f64 = 1.0,
        /// What a failure counts that may pass.
        pub soft: f64 = 0.5,
        /// At this score delivery is suspended. A day counts once, with its first bounce.
        pub threshold: f64 = 5.0,
        /// After so long without a bounce, counting begins anew.
        pub stale: Span = Span::from_s(7 * 86_400),
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
        Ok(())
    }
}

nested!(Rule);

/// How a subscriber stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// What bounces have cost so far.
    pub score: f64,
    /// The last bounce that counted, in seconds since 1970.
    pub last: i64,
    /// Since when delivery is suspended, in seconds since 1970.
    pub suspended: Option<i64>,
}

const DAY: i64 = 86_400;

impl Standing {
    /// After a bounce at `now`, in seconds since 1970. Days are those of Greenwich. Who is
    /// suspended gets no mail any more; bounces of earlier mail change nothing.
    pub fn bounced(
        before: Option<Standing>,
        severity: Severity,
        now: i64,
        rule: &Rule,
    ) -> Standing {
        let points = match severity {
            Severity::Hard => rule.hard,
            Severity::Soft => rule.soft,
        };
        let stale = rule.stale.seconds() as i64;
        let score = match before {
            Some(standing) if standing.suspended.is_some() => return standing,
            // A clock that was set back counts as the same day.
            Some(standing) if now.div_euclid(DAY) <= standing.last.div_euclid(DAY) => {
                return standing;
            }
            Some(standing) if now - standing.last <= stale => standing.score + points,
            _ => points,
        };
        Standing { score, last: now, suspended: (score >= rule.threshold).then_some(now) }
    }
}
