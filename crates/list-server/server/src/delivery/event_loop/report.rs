//! Failures become messages to the sender (RFC 3464).

use super::{Driver, Submitter};
use crate::delivery::mail::Mail;
use crate::delivery::request::{Input, Reported};
use sojourn_mail_engine::bounce::is_report;
use sojourn_mail_engine::report::{Notice, Written};
use sojourn_mail_engine::{Event, MessageId, Reason, RecipientIndex, Task};
use std::sync::Arc;
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::{Duration, sleep};

/// How long a report waits that storage did not take. One that waits when the server stops is made
/// again after the next start.
const AGAIN: Duration = Duration::from_secs(1);

/// Failures in one report to a list at home, which reads at most 1,000 recipients of one, and not
/// more than the first 1 MB.
const AT_HOME: usize = 500;

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
        // A host that forwards reports from a return path there would be sent one more each time.
        if !self.local.has(to) && is_report(original) {
            let recipients = failures.into_iter().map(|(recipient, _)| recipient).collect();
            return self.soon.push_back(Event::Reported(message, recipients));
        }
        // A list reads no more of one report.
        if self.local.has(to) && failures.len() > AT_HOME {
            for some in failures.chunks(AT_HOME) {
                self.report(message, original, some.to_vec());
            }
            return;
        }
        let address = |recipient| engine.recipient(Task { message, recipient });
        let known: Vec<_> = failures
            .iter()
            .filter_map(|(recipient, reason)| Some((address(*recipient)?, reason)))
            .collect();
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
        let to = to.clone();
        let local = self.local.has(&to);
        let (recipients, text) = (vec![to], text.into());
        let subscribers = Vec::new();
        let mail = Mail { sender: None, recipients, text, eight_bit, utf8, subscribers };
        let recipients = failures.into_iter().map(|(recipient, _)| recipient).collect();
        let reported = Reported { message, recipients };
        if local {
            return self.bring_home(mail, reported);
        }
        self.submit(mail, Submitter::Engine(reported));
    }

    /// A report whose addressee is at home here need not be sent.
    fn bring_home(&mut self, mail: Mail, reported: Reported) {
        let (local, inputs) = (Arc::clone(&self.local), self.inputs.clone());
        spawn_local(async move {
            let Reported { message, recipients } = reported;
            loop {
                let (local, mail) = (Arc::clone(&local), mail.clone());
                let read = spawn_blocking(move || local.receive(&mail.recipients[0], &mail.text));
                if let Ok(true) = read.await {
                    break;
                }
                sleep(AGAIN).await;
            }
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
