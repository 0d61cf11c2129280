//! What was delivered and what was not, interval by interval.

use sojourn_core::{Column, Rows, Span, Time};
use sojourn_mail_engine::{MessageId, Outcome};
use std::net::IpAddr;

/// Attempts with one outcome: for recipients, and messages at hosts, as mailstat counts both.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    hosts: i64,
    recipients: i64,
}

/// Attempts, counted from look to look.
#[derive(Clone, Debug)]
pub(super) struct Series {
    every: Span,
    /// Up to the first look, to the second, and so on; by outcome.
    looks: Vec<[Ended; 3]>,
    /// The attempt before: those of one transaction come one after the other.
    last: Option<Attempt>,
}

/// What attempts for recipients of one transaction have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) at: Time,
    pub(super) message: MessageId,
    /// Nothing where no host was tried.
    pub(super) host: Option<IpAddr>,
    pub(super) outcome: Outcome,
}

impl Series {
    /// Of a world that is looked at this often.
    pub(super) fn new(every: Span) -> Series {
        Series { every, looks: Vec::new(), last: None }
    }

    /// Counts an attempt for one recipient.
    pub(super) fn add(&mut self, attempt: Attempt) {
        let look = (attempt.at.ps() / self.every.ps()) as usize;
        if self.looks.len() <= look {
            self.looks.resize(look + 1, Default::default());
        }
        let ended = &mut self.looks[look][attempt.outcome as usize];
        ended.recipients += 1;
        ended.hosts += i64::from(self.last != Some(attempt));
        self.last = Some(attempt);
    }

    /// A row a look, up to the first after the last attempt.
    pub(super) fn rows(&self) -> Rows {
        let at = (1..=self.looks.len() as u64).map(|look| (self.every.ps() * look) as i64);
        let count = |outcome: Outcome, of: fn(&Ended) -> i64| {
            Column::Int(self.looks.iter().map(|look| of(&look[outcome as usize])).collect())
        };
        let hosts = |outcome| count(outcome, |ended| ended.hosts);
        let recipients = |outcome| count(outcome, |ended| ended.recipients);
        Rows {
            columns: vec![
                ("at_ps", Column::Ps(at.collect())),
                ("delivered_hosts", hosts(Outcome::Delivered)),
                ("delivered", recipients(Outcome::Delivered)),
                ("deferred_hosts", hosts(Outcome::Deferred)),
                ("deferred", recipients(Outcome::Deferred)),
                ("bounced_hosts", hosts(Outcome::Failed)),
                ("bounced", recipients(Outcome::Failed)),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(rows: &Rows, name: &str) -> Vec<i64> {
        match rows.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::Int(values) | Column::Ps(values))) => values.clone(),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn one_message_at_one_host_once_is_one_host() {
        let hour = Span::from_s(3600);
        let mut series = Series::new(hour);
        let attempt = |seconds, message, host: [u8; 4], outcome| Attempt {
            at: Time::ZERO + Span::from_s(seconds),
            message: MessageId(message),
            host: Some(host.into()),
            outcome,
        };
        let (one, two) = ([192, 0, 2, 1], [192, 0, 2, 2]);
        let (delivered, deferred) = (Outcome::Delivered, Outcome::Deferred);
        for attempt in [
            attempt(10, 1, one, delivered),
            attempt(10, 1, one, delivered),
            // The same host takes one of a transaction's recipients and not the other.
            attempt(10, 1, one, deferred),
            // Another message, another host, another time.
            attempt(10, 2, one, deferred),
            attempt(10, 2, two, deferred),
            attempt(11, 2, two, deferred),
            // Two hours later, to the picosecond.
            attempt(7200, 1, one, Outcome::Failed),
        ] {
            series.add(attempt);
        }
        let rows = series.rows();
        let ps = |hours: u64| (hour.ps() * hours) as i64;
        assert_eq!(column(&rows, "at_ps"), [ps(1), ps(2), ps(3)]);
        assert_eq!(column(&rows, "delivered"), [2, 0, 0]);
        assert_eq!(column(&rows, "delivered_hosts"), [1, 0, 0]);
        assert_eq!(column(&rows, "deferred"), [4, 0, 0]);
        assert_eq!(column(&rows, "deferred_hosts"), [4, 0, 0]);
        assert_eq!(column(&rows, "bounced_hosts"), [0, 0, 1]);
        assert_eq!(column(&rows, "bounced"), [0, 0, 1]);
    }
}
