//! What failures cost subscribers, and what follows: a probe, a suspension.

use super::Lists;
use super::subscribers::{FailedMailing, SubscriberError};
use crate::delivery::local::Ended;
use crate::delivery::mail::Mail;
use crate::event::ServerEvent;
use crate::hourly::{Amount, Bound};
use sojourn_mail_engine::bounce::{Failure, Fault, Severity, Stage};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::letter::Letter;
use sojourn_mail_engine::list::return_path::with_token;
use sojourn_mail_engine::list::token::{Claim, Purpose};
use sojourn_mail_engine::{Reason, Relay};
use sojourn_smtp::Address;
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use tokio::task::spawn_blocking;

impl Lists {
    /// Whose fault a failure is; one that is not an address's may raise an alarm.
    pub(crate) fn judge(
        &self,
        day: i64,
        recipient: &Address,
        relay: Option<&Relay>,
        fault: Fault,
        reason: &str,
    ) {
        self.observer.notice(&ServerEvent::Failure { fault });
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let provider = alarms.provider(recipient.domain(), relay);
        if let Some(alarm) = alarms.ended(day, &provider, Some((fault, reason)), &self.rule) {
            self.observer.notice(&ServerEvent::Alarm(&alarm));
        }
    }

    /// Enters failures of addresses that were heard of at `now`, in seconds since 1970, from an
    /// unauthenticated `client` if there is one: each counts,
    /// and who has had too many is asked, or suspended. Returns whether one counted.
    pub(crate) fn enter_failures(
        &self,
        list: &List,
        heard: &[FailedMailing],
        client: Option<IpAddr>,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let bounces = &list.bounces;
        let entered = self.subscribers().enter(bounces, heard, now, &self.rule)?;
        for &place in &entered.counted {
            let FailedMailing { subscriber, reason, .. } = &heard[place];
            self.scored
                .write()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(subscriber.canonical());
            self.observer.notice(&ServerEvent::Bounced { list: bounces, subscriber, reason });
        }
        for &place in &entered.suspended {
            let FailedMailing { subscriber, reason, .. } = &heard[place];
            self.observer.notice(&ServerEvent::Suspended { list: bounces, subscriber, reason });
        }
        entered.over.iter().try_for_each(|&it| self.ask(list, &heard[it], client, now))?;
        Ok(!entered.counted.is_empty())
    }

    /// Sends a probe to a subscriber, if there may be one more in this hour; else the next failure
    /// asks.
    fn ask(
        &self,
        list: &List,
        heard: &FailedMailing,
        client: Option<IpAddr>,
        now: i64,
    ) -> Result<(), SubscriberError> {
        let (bounces, subscriber) = (&list.bounces, &heard.subscriber);
        if self.charge(now, client, &[(Bound::Probes, Amount::of(1, 0))]).is_err() {
            return Ok(());
        }
        let Some(number) = self.subscribers().probe(bounces, subscriber, now)? else {
            return Ok(());
        };
        let claim = Claim { subscriber: number, mailing: 0, day: now.div_euclid(86_400) as u16 };
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(path) = with_token(&keys, Purpose::Probe, bounces, claim) else { return Ok(()) };
        drop(keys);
        let id = format!("probe.{now}.{number}");
        let letter = Letter { server: &self.name, id: &id, now, from: bounces, to: subscriber };
        let text = letter.probes(list.title(), &heard.reason);
        let text = self.signatures(list, &[text.as_bytes()]) + &text;
        // The receiver is gone when the server stops: then counting begins again.
        let _ = self.letters.send(Mail::new(Some(path), vec![subscriber.clone()], text.as_bytes()));
        self.observer.notice(&ServerEvent::Probed { list: bounces, subscriber });
        Ok(())
    }

    /// Enters what this server failed to deliver of mail from `sender`, which it took over on `day`.
    pub(crate) fn enter_own(
        &self,
        sender: &Address,
        day: i64,
        failures: &[(Address, Reason)],
        now: i64,
    ) -> Result<(), SubscriberError> {
        let Some(list) = self.of_sender(Some(sender)) else { return Ok(()) };
        let probe = self.is_probe(list, sender);
        let of_addresses =
            failures.iter().filter(|(_, reason)| self.fault(reason) == Fault::Address);
        let heard: Vec<FailedMailing> = of_addresses
            .map(|(subscriber, reason)| FailedMailing {
                subscriber: subscriber.clone(),
                failure: Failure { severity: severity(reason), day, returned: false },
                probe,
                status: Some(reason.status),
                reason: reason.text.to_string(),
                provider: self.provider(subscriber),
            })
            .collect();
        self.enter_failures(list, &heard, None, now).map(drop)
    }

    /// Whose fault a failure is that this server met.
    fn fault(&self, reason: &Reason) -> Fault {
        // A reply starts with its code.
        let is_own = !reason.text.starts_with(|c: char| c.is_ascii_digit());
        self.faults.of(is_own.then_some(Stage::Own), Some(reason.status), &reason.text)
    }

    /// Who runs the host of `subscriber`.
    pub(crate) fn provider(&self, subscriber: &Address) -> String {
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        alarms.provider(subscriber.domain(), None).to_string()
    }

    /// Counts the end of one recipient, on the thread of delivery.
    pub(crate) fn count_end(&self, sender: &Address, day: i64, ended: &Ended<'_>, now: i64) {
        let (recipient, relay) = (ended.recipient, ended.relay);
        let today = now.div_euclid(86_400);
        if let Some(reason) = ended.failure {
            let fault = self.fault(reason);
            return self.judge(today, recipient, relay, fault, &reason.text);
        }
        let mut alarms = self.alarms.lock().unwrap_or_else(PoisonError::into_inner);
        let provider = alarms.provider(recipient.domain(), relay);
        alarms.ended(today, &provider, None, &self.rule);
        drop(alarms);
        let scored = self.scored.read().unwrap_or_else(PoisonError::into_inner);
        if !scored.is_empty()
            && scored.contains(&recipient.canonical())
            && let Some(list) = self.of_sender(Some(sender))
        {
            let (list, subscriber) = (list.bounces.clone(), recipient.clone());
            let subscribers = Arc::clone(&self.subscribers);
            // If it cannot be entered, the score stays: the next delivery ends it.
            spawn_blocking(move || {
                let mut subscribers = subscribers.lock().unwrap_or_else(PoisonError::into_inner);
                drop(subscribers.delivered(&list, &subscriber, day));
            });
        }
    }
}

#[cfg(test)]
mod tests;

/// Whether there is hope: this server gave up after temporary failures.
fn severity(reason: &Reason) -> Severity {
    if reason.is_expiry() { Severity::Soft } else { Severity::Hard }
}
