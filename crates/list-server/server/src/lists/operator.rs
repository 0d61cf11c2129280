//! The operator's daily report: what raised an alarm, and who was suspended.

use super::Lists;
use super::alarms::Alarm;
use super::subscribers::Member;
use crate::delivery::mail::Mail;
use crate::event::ServerEvent;
use sojourn_mail_engine::list::letter::Letter;
use sojourn_smtp::plain;
use std::fmt::Write;
use std::sync::PoisonError;

const DAY: i64 = 86_400;
/// Subscribers that one report names.
const NAMED: usize = 1000;

impl Lists {
    /// Sends the report, if something has to be reported at `now`, in seconds since 1970: an alarm at
    /// once, suspensions on the next day; one message a day at most.
    pub(crate) fn report(&self, now: i64) {
        let Some(operator) = self.rule.operator.as_ref().or(self.postmaster.as_ref()) else {
            return;
        };
        let Some(list) = self.lists.first() else { return };
        // Delivery waits for the alarms: they are not held while the register is read.
        let alarms = || self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(raised) = alarms().due(now) else { return };
        let suspended = match self.subscribers().unreported() {
            Ok((last, _)) if now < last + DAY => {
                alarms().next_report = last + DAY;
                return;
            }
            Ok((_, suspended)) => suspended,
            Err(error) => return self.observer.notice(&ServerEvent::Trouble(&error.to_string())),
        };
        let is_due = |it: &Member| it.suspended_day() < Some(now.div_euclid(DAY));
        if raised.is_empty() && !suspended.iter().any(is_due) {
            return;
        }
        if let Err(error) = self.subscribers().reported(now) {
            return self.observer.notice(&ServerEvent::Trouble(&error.to_string()));
        }
        alarms().reported(raised.len(), now + DAY);
        let body = body(&raised, &suspended);
        let id = format!("report.{now}");
        let from = &list.bounces;
        let letter = Letter { server: &self.name, id: &id, now, from, to: operator };
        let text = letter.write("auto-generated", "Your lists: alarms and suspensions", &body);
        let text = self.signatures(list, &[text.as_bytes()]) + &text;
        let _ = self.letters.send(Mail::new(None, vec![operator.clone()], text.as_bytes()));
    }
}

/// What the report says.
fn body(alarms: &[Alarm], suspended: &[Member]) -> String {
    let mut body = String::new();
    if !alarms.is_empty() {
        body += "These providers refused your mail for reasons that are no subscriber's\r\n\
                 fault. No subscriber was suspended for that.\r\n\r\n";
    }
    for Alarm { provider, fault, failed, ended, reply } in alarms {
        let percent = 100.0 * *failed as f64 / *ended as f64;
        write!(
            body,
            "{provider}: {failed} of {ended} deliveries ({percent:.0} %), {fault}\r\n    {}\r\n\r\n",
            plain(reply)
        )
        .expect("a text takes it");
    }
    if !suspended.is_empty() {
        write!(body, "Suspended subscribers: {}\r\n\r\n", suspended.len())
            .expect("a text takes it");
    }
    for Member { list, subscriber, reason, .. } in suspended.iter().take(NAMED) {
        write!(body, "{subscriber} of {list}\r\n    {}\r\n", plain(reason))
            .expect("a text takes it");
    }
    if suspended.len() > NAMED {
        write!(body, "and {} more\r\n", suspended.len() - NAMED).expect("a text takes it");
    }
    body
}
