//! What is known, as Prometheus reads it (its text format, version 0.0.4).

use super::board::{BOUNDS_S, Board, Delays, Totals};
use super::site::Crowd;
use crate::hourly::Bound;
use sojourn_mail_engine::bounce::{Fault, KINDS};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

impl Board {
    /// The metrics. None of them has a label whose values come from outside.
    pub(super) fn metrics(&self, crowd: &Crowd) -> String {
        let known = self.known();
        let totals = &known.totals;
        let mut page = Page(String::new());
        page.one("start_time_seconds", "gauge", "When it started.", known.started_ms as f64 / 1e3);
        page.one("messages_total", "counter", "Messages taken over.", totals.messages);
        page.one("recipients_total", "counter", "Recipients of these.", totals.recipients);
        page.many(
            "attempts_total",
            "counter",
            "Attempts, each for one recipient.",
            "outcome",
            &[
                ("delivered", totals.delivered),
                ("deferred", totals.deferred),
                ("failed", totals.failed),
            ],
        );
        page.lists(totals);
        page.many(
            "refusals_total",
            "counter",
            "What clients were refused.",
            "why",
            &[
                ("not_stored", totals.not_taken),
                ("wrong_password", totals.wrong_passwords),
                ("password_not_verified", totals.refused_passwords),
                ("too_many_sessions", totals.turned_away),
                ("gave_way", totals.gave_way),
                ("unsubscribe_page_full", totals.page_full),
            ],
        );
        page.hourly(totals);
        let queue = &known.queue;
        page.one("queue_messages", "gauge", "Messages that are not finished.", queue.messages());
        page.one("queue_recipients", "gauge", "Recipients not at their end.", queue.left());
        let waiting = known.stragglers.waiting();
        page.one(
            "queue_deferred",
            "gauge",
            "Of these, recipients that an attempt did not reach.",
            waiting,
        );
        let delivering = &crowd.delivering;
        page.many(
            "sessions",
            "gauge",
            "Open sessions with hosts.",
            "state",
            &[
                ("connecting", delivering.connecting),
                ("greeting", delivering.greeting),
                ("sending", delivering.sending),
                ("idle", delivering.idle),
            ],
        );
        page.one("reception_sessions", "gauge", "Open sessions of clients.", crowd.reception);
        page.delays(&known.delays, totals.delivered);
        page.0
    }
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let text =
            format!("# HELP sojourn_mail_{name} {help}\n# TYPE sojourn_mail_{name} {kind}\n");
        self.0.push_str(&text);
    }

    fn sample(&mut self, name: &str, label: Option<(&str, &str)>, value: impl Display) {
        let label = label.map(|(key, it)| format!("{{{key}=\"{it}\"}}")).unwrap_or_default();
        writeln!(self.0, "sojourn_mail_{name}{label} {value}").expect("a text takes it");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.head(name, kind, help);
        self.sample(name, None, value);
    }

    fn many(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        key: &str,
        all: &[(&str, impl Display)],
    ) {
        self.head(name, kind, help);
        for (label, value) in all {
            self.sample(name, Some((key, label)), value);
        }
    }

    /// What failed, came back, and followed for subscribers.
    fn lists(&mut self, totals: &Totals) {
        self.one("bounces_total", "counter", "Bounces that counted.", totals.bounced);
        let faults = Fault::ALL.map(|it| (it.to_string(), totals.faults.get(&it)));
        let faults = faults.each_ref().map(|(name, sum)| (&**name, sum.copied().unwrap_or(0)));
        let help = "Failures for good, by whose fault they are.";
        self.many("failures_total", "counter", help, "fault", &faults);
        let help = "Providers that refused too much of a day's mail.";
        self.one("alarms_total", "counter", help, totals.alarms);
        self.one("probes_total", "counter", "Subscribers who were asked.", totals.probed);
        let counted = "Mail to return paths that is not verified.";
        self.one("unverified_bounces_total", "counter", counted, totals.unverified);
        let mut came_back = KINDS.map(|kind| (kind, 0));
        came_back.iter_mut().zip(totals.came_back).for_each(|((_, sum), number)| *sum = number);
        let counted = "Mail to verified return paths and for complaints.";
        self.many("came_back_total", "counter", counted, "kind", &came_back);
        self.one("suspensions_total", "counter", "Suspended subscribers.", totals.suspended);
        self.one("unsubscribed_total", "counter", "Subscribers who left.", totals.left);
    }

    /// What clients made the server send or store.
    fn hourly(&mut self, totals: &Totals) {
        let of = |counts: &BTreeMap<&str, u64>| {
            Bound::NAMES.map(|it| (it, counts.get(it).copied().unwrap_or(0)))
        };
        let help = "What was taken of the hourly bounds.";
        self.many("hourly_taken_total", "counter", help, "bound", &of(&totals.taken));
        let help = "Messages and requests that an hourly bound refused.";
        self.many("hourly_refused_total", "counter", help, "bound", &of(&totals.refused));
    }

    fn delays(&mut self, delays: &Delays, count: u64) {
        self.head("delay_seconds", "histogram", "From a message's acceptance to its delivery.");
        let mut within = 0;
        for (bound, here) in BOUNDS_S.iter().zip(delays.within) {
            within += here;
            self.sample("delay_seconds_bucket", Some(("le", &bound.to_string())), within);
        }
        self.sample("delay_seconds_bucket", Some(("le", "+Inf")), count);
        self.sample("delay_seconds_sum", None, delays.sum_s);
        self.sample("delay_seconds_count", None, count);
    }
}
