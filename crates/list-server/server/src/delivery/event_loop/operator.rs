//! What an operator wants of a running server.

use super::{Driver, duration};
use crate::delivery::dns::Names;
use crate::delivery::request::Configuration;
use crate::delivery::smtp_out::Wire;
use crate::event::ServerEvent;
use sojourn_mail_engine::{Counts, Event, MessageId, Operation, RecipientIndex, Selection, Task};
use std::rc::Rc;
use tokio::sync::oneshot;

impl Driver {
    pub(super) fn operate(
        &mut self,
        operation: Operation,
        selection: Selection,
        answer: oneshot::Sender<Counts>,
    ) {
        let number = self.next_operation;
        self.next_operation += 1;
        self.operations.insert(number, answer);
        self.soon.push_back(Event::Operate(number, operation, Box::new(selection)));
    }

    pub(super) fn operated(&mut self, number: u64, counts: Counts) {
        if let Some(answer) = self.operations.remove(&number) {
            // An operator who has gone away finds it done.
            let _ = answer.send(counts);
        }
    }

    /// One line a message; for what is deleted, one a recipient.
    pub(super) fn log_operation(
        &mut self,
        operation: Operation,
        message: MessageId,
        recipients: &[RecipientIndex],
    ) {
        let now = self.epoch.unix_ms(self.clock.now());
        if operation != Operation::Delete {
            let recipients = recipients.len();
            return self
                .observer
                .notice(now, &ServerEvent::Operated { operation, message, recipients });
        }
        for &recipient in recipients {
            let task = Task { message, recipient };
            if let Some(recipient) = self.engine.recipient(task) {
                self.observer.notice(now, &ServerEvent::Deleted { task, recipient });
            }
        }
    }

    /// Goes by other settings from now on; sessions go on as they began. Nothing changes where they
    /// cannot be used; why.
    pub(super) fn configure(&mut self, new: Configuration) -> Result<(), String> {
        let Configuration { settings, security, local } = new;
        let names = Names::new(&settings.network)
            .map_err(|why| format!("no name servers can be asked: {why}"))?;
        self.names = Rc::new(names);
        self.wire = Rc::new(Wire::new(&settings.network, security));
        self.grace = duration(settings.network.grace);
        if let Some((local, paths)) = local {
            self.local = local;
            self.engine.set_return_paths(paths);
        }
        self.engine.set_own_hosts(settings.network.itself(self.local.listening()));
        self.soon.push_back(Event::Configure(Box::new(settings.mail)));
        Ok(())
    }
}

impl std::fmt::Debug for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.settings.fmt(f)
    }
}
