//! Failures become messages to the sender (RFC 3464).

use super::{Driver, Submitter};
use crate::delivery::mail::Mail;
use crate::delivery::request::{Input, Reported};
use sojourn_mail_engine::bounce::is_report;
use sojourn_mail_engine::report::{Notice, Written};
use sojourn_mail_engine::{Event, MessageId, Reason, RecipientIndex, Task};
use sojourn_smtp::Address;
use std::sync::Arc;
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::{Duration, sleep};

/// How long a report waits that storage did not take. One that waits when the server stops is made
/// again after the next start.
const AGAIN: Duration = Duration::from_secs(1);

impl Driver {
    /// Reports failures of the message whose text is `original` to its sender.
    pub(super) fn report(
        &mut self,
        message: MessageId,
        original: &[u8],
        failures: Vec<(RecipientIndex, Reason)>,
    ) {
        let engine = &self.engine;
        let (Some(to), Some(arrived)) = (engine.sender(message), engine.accepted(message)) else {
            return;
        };
        let address = |recipient| engine.recipient(Task { message, recipient });
        let known: Vec<_> = failures
            .iter()
            .filter_map(|(recipient, reason)| Some((address(*recipient)?, reason)))
            .collect();
        let recipients = failures.iter().map(|(recipient, _)| *recipient).collect();
        let reported = Reported { message, recipients };
        if self.local.has(to) {
            let own = |(address, reason): (&Address, &Reason)| (address.clone(), reason.clone());
            let failures = known.into_iter().map(own).collect();
            return self.bring_home(to.clone(), self.epoch.day(arrived).into(), failures, reported);
        }
        // A host that forwards reports from a return path there would be sent one more each time.
        if is_report(original) {
            return self.soon.push_back(Event::Reported(message, reported.recipients));
        }
        let now_ms = self.epoch.unix_ms(self.clock.now());
        let notice = Notice {
            server: &self.hello,
            to,
            id: &format!("{:010X}.{now_ms}", self.next_id.0),
            now: now_ms / 1000,
            arrived: self.epoch.unix_ms(arrived) / 1000,
            failures: &known,
            original,
        };
        let Written { text, eight_bit, utf8 } = notice.write();
        let (recipients, text) = (vec![to.clone()], text.into());
        let subscribers = Vec::new();
        let mail = Mail { sender: None, recipients, text, eight_bit, utf8, subscribers };
        self.submit(mail, Submitter::Engine(reported));
    }

    /// Failures of mail whose sender is at home here need no report.
    fn bring_home(
        &mut self,
        sender: Address,
        day: i64,
        failures: Vec<(Address, Reason)>,
        reported: Reported,
    ) {
        let (local, inputs) = (Arc::clone(&self.local), self.inputs.clone());
        let failed = Arc::new((sender, failures));
        spawn_local(async move {
            loop {
                let (local, failed) = (Arc::clone(&local), Arc::clone(&failed));
                let entered = spawn_blocking(move || local.failed(&failed.0, day, &failed.1));
                if let Ok(true) = entered.await {
                    break;
                }
                sleep(AGAIN).await;
            }
            let Reported { message, recipients } = reported;
            let _ = inputs.send(Input::Event(Event::Reported(message, recipients))).await;
        });
    }

    pub(super) fn report_later(&mut self, mail: Mail, reported: Reported) {
        let inputs = self.inputs.clone();
        spawn_local(async move {
            sleep(AGAIN).await;
            let _ = inputs.send(Input::Report(mail, reported)).await;
        });
    }
}
