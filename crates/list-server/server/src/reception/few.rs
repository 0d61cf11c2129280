//! What strangers can cause is told a few times a minute, and then counted.

use super::happening::{Attendant, Happening};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Tells `inner` at most [`MOST`] happenings of a kind that strangers can cause in a minute, and
/// then how many more there were.
pub(super) struct Few<A> {
    inner: A,
    /// For each kind the minute that began with the first happening after the last one.
    minutes: Mutex<BTreeMap<&'static str, Minute>>,
}

#[derive(Clone, Copy, Debug)]
struct Minute {
    began: Instant,
    happened: u64,
}

const MOST: u64 = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// The kind of what strangers can cause; what an operator's own lists and submitters cause is told
/// whole.
fn kind(happening: &Happening<'_>) -> Option<&'static str> {
    match happening {
        Happening::NotTaken { .. } => Some("not taken"),
        Happening::PasswordRefused { .. } => Some("password not verified"),
        Happening::WrongPassword { .. } => Some("wrong password"),
        Happening::GaveWay { .. } => Some("gave way"),
        Happening::TooMany { .. } => Some("too many sessions"),
        Happening::Unverified { .. } => Some("not verified"),
        Happening::PageFull { .. } => Some("page to unsubscribe full"),
        // Whose lines are limited where they are made, once a subscriber and day or in time, and
        // those that only submitters and operators cause.
        Happening::AskedToLeave { .. }
        | Happening::Left { .. }
        | Happening::Complaint { .. }
        | Happening::Reloaded { .. }
        | Happening::NotReloaded { .. }
        | Happening::Taken { .. }
        | Happening::Bounced { .. }
        | Happening::Suspended { .. }
        | Happening::LeftOut { .. } => None,
    }
}

impl<A: Attendant> Few<A> {
    pub(super) fn new(inner: A) -> Few<A> {
        Few { inner, minutes: Mutex::default() }
    }

    fn notice_at(&self, now: Instant, happening: &Happening<'_>) {
        let Some(kind) = kind(happening) else { return self.inner.notice(happening) };
        self.end_minutes(|began| now.saturating_duration_since(began) >= MINUTE);
        let happened = {
            let mut minutes = self.minutes.lock().unwrap_or_else(PoisonError::into_inner);
            let minute = minutes.entry(kind).or_insert(Minute { began: now, happened: 0 });
            minute.happened += 1;
            minute.happened
        };
        if happened <= MOST {
            self.inner.notice(happening);
        }
    }

    /// Tells what was left out in minutes that are over.
    fn end_minutes(&self, is_over: impl Fn(Instant) -> bool) {
        let mut left_out = Vec::new();
        self.minutes.lock().unwrap_or_else(PoisonError::into_inner).retain(|what, minute| {
            let over = is_over(minute.began);
            if over && minute.happened > MOST {
                left_out.push((*what, minute.happened - MOST));
            }
            !over
        });
        for (what, count) in left_out {
            self.inner.notice(&Happening::LeftOut { what, count });
        }
    }
}

impl<A: Attendant> Attendant for Few<A> {
    fn notice(&self, happening: &Happening<'_>) {
        self.notice_at(Instant::now(), happening);
    }

    fn time_passes(&self) {
        let now = Instant::now();
        self.end_minutes(|began| now.saturating_duration_since(began) >= MINUTE);
        self.inner.time_passes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    struct Ear(Arc<Mutex<Vec<String>>>);

    impl Attendant for Ear {
        fn notice(&self, happening: &Happening<'_>) {
            self.0.lock().unwrap().push(happening.to_string());
        }
    }

    #[test]
    fn ten_a_minute_and_how_many_more() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let few = Few::new(Ear(Arc::clone(&heard)));
        let began = Instant::now();
        let peer = "192.0.2.1:25".parse().unwrap();
        for n in 0..4221 {
            few.notice_at(began + Duration::from_millis(n * 14), &Happening::TooMany { peer });
        }
        // Other kinds have minutes of their own.
        few.notice_at(began, &Happening::GaveWay { peer });
        assert_eq!(heard.lock().unwrap().len(), 11);
        let later = began + MINUTE;
        few.notice_at(later, &Happening::TooMany { peer });
        let lines = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(
            lines[11..],
            [
                "too many sessions: and 4,211 more in the last minute",
                "too many sessions: client=[192.0.2.1]"
            ]
        );
        // Where nothing follows, time itself ends a minute.
        (0..10).for_each(|_| few.notice_at(later, &Happening::TooMany { peer }));
        few.end_minutes(|_| true);
        few.end_minutes(|_| true);
        let lines = heard.lock().unwrap();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[9], "too many sessions: and 1 more in the last minute");
    }
}
