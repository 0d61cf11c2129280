//! What failures cost a subscriber: a score follows mailings.

use proptest::prelude::*;
use sojourn_core::parameters::defaults;
use sojourn_mail_engine::bounce::{Failure, PROBE_DAYS, Rule, Severity, Standing};

const DAY: i64 = 86_400;
const HARD: Severity = Severity::Hard;

fn refused(day: i64) -> Failure {
    Failure { severity: HARD, day, returned: false }
}

fn failed(before: Option<Standing>, failure: Failure) -> Standing {
    Standing::failed(before, failure, failure.day * DAY, &defaults())
}

/// A dead address of a daily, a weekly and a monthly list is asked after as many mailings.
#[test]
fn five_mailings_whatever_the_calendar() {
    let rule: Rule = defaults();
    for days in [1, 7, 31] {
        let mut standing = None;
        let over = (1..=6).map(|mailing| {
            standing = Some(failed(standing, refused(mailing * days)));
            standing.is_some_and(|it| it.is_over(&rule))
        });
        assert_eq!(over.collect::<Vec<_>>(), [false, false, false, false, true, true], "{days}");
    }
}

#[test]
fn a_mailing_counts_once() {
    let first = failed(None, refused(10));
    // A second message of that day, a late report of the day before, a report that comes twice.
    for again in [refused(10), refused(9), Failure { returned: true, ..refused(10) }] {
        assert_eq!(Standing::failed(Some(first), again, 12 * DAY, &defaults()), first);
    }
    let soft = failed(Some(first), Failure { severity: Severity::Soft, ..refused(11) });
    assert_eq!((first.score, soft.score, soft.day), (1.0, 1.5, 11));
}

#[test]
fn a_good_delivery_ends_a_score() {
    let refused = failed(None, refused(10));
    // Mail that was taken over before it failed says nothing.
    assert_eq!(refused.delivered(10), Some(refused));
    assert_eq!(refused.delivered(11), None);
    // A host that takes all and returns it later may do so again.
    let returned = failed(None, Failure { severity: HARD, day: 10, returned: true });
    let taken = returned.delivered(11).unwrap();
    assert_eq!((taken.score, taken.taken), (1.0, Some(11)));
    assert_eq!(taken.delivered(17), Some(taken));
    assert_eq!(taken.delivered(18), None);
    // It did so again.
    let again = failed(Some(taken), Failure { severity: HARD, day: 12, returned: true });
    assert_eq!((again.score, again.taken), (2.0, None));
    assert_eq!(again.delivered(18).unwrap().taken, Some(18));
}

#[test]
fn who_is_asked_or_suspended_stands_still() {
    let standing = failed(None, refused(10));
    let asked = Standing { probed: Some(10 * DAY), ..standing };
    let suspended = Standing { suspended: Some(10 * DAY), ..standing };
    for still in [asked, suspended] {
        assert_eq!(failed(Some(still), refused(12)), still);
        assert_eq!(still.delivered(12), Some(still));
        assert!(!still.is_over(&Rule { threshold: 0.5, ..defaults() }));
    }
    // The probe did not come back: counting begins again.
    assert_eq!(failed(Some(asked), refused(10 + PROBE_DAYS)), asked);
    assert_eq!(failed(Some(asked), refused(11 + PROBE_DAYS)).score, 1.0);
    assert_eq!(failed(Some(suspended), refused(1000)), suspended);
}

proptest! {
    /// The score beside the obvious one: from the whole history of mailings, each of which was taken,
    /// refused, or taken and returned.
    #[test]
    fn scores(mailings in prop::collection::vec((1i64..10, 0..3), 1..40)) {
        let (mut day, mut history, mut standing) = (0, Vec::new(), None);
        for (days, outcome) in mailings {
            day += days;
            history.push((day, outcome));
            if outcome != 1 {
                standing = standing.and_then(|it: Standing| it.delivered(day));
            }
            if outcome != 0 {
                standing = Some(failed(standing, Failure { returned: outcome == 2, ..refused(day) }));
            }
        }
        // A run of good mailings between two failures ends the score: the second one may take part
        // in it, as its host took it first.
        let failures: Vec<usize> = (0..history.len()).filter(|&it| history[it].1 != 0).collect();
        let ended = |from: usize, to: usize| {
            let taken: Vec<i64> =
                (from + 1..=to).filter(|&it| history[it].1 != 1).map(|it| history[it].0).collect();
            match (taken.first(), taken.last()) {
                (Some(first), Some(last)) => history[from].1 == 1 || last - first >= 7,
                _ => false,
            }
        };
        let score = failures.last().map_or(0, |&last| {
            let steps = failures.windows(2).rev();
            let since = 1 + steps.take_while(|pair| !ended(pair[0], pair[1])).count();
            if ended(last, history.len() - 1) { 0 } else { since }
        });
        prop_assert_eq!(standing.map_or(0.0, |it| it.score), score as f64);
    }
}
