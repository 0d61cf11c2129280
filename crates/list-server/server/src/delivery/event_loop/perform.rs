//! What the engine wants done.

use super::copies::Awaiting;
use super::{Driver, Offered, Reader, Submitter};
use crate::delivery::local::Ended;
use crate::delivery::request::{Input, Refused, Reported, TextId};
use crate::delivery::smtp_out;
use crate::delivery::smtp_out::Order;
use crate::event::ServerEvent;
use sojourn_mail_engine::{
    Effect, Entry, Event, MessageId, Outcome, Refusal, Relay, SessionId, Task,
};
use sojourn_mail_spool::Job;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

impl Driver {
    /// Notes who has it, before anything else is done or sent.
    pub(super) fn note(&mut self, effects: &[Effect]) {
        let mut delivered = effects.iter().filter_map(|effect| match effect {
            Effect::Note(task) => Some(*task),
            _ => None,
        });
        let Some(first) = delivered.next() else { return };
        match self.answers.note(std::iter::once(first).chain(delivered)) {
            Ok(()) => self.unnoted = false,
            Err(_) if self.unnoted => {}
            Err(why) => {
                self.unnoted = true;
                self.observe(&ServerEvent::Trouble(&why.to_string()));
            }
        }
    }

    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Resolve(domain) => self.resolve(domain),
            Effect::Connect(session, relay) => self.connect(session, relay),
            Effect::Send(session, bytes) => self.order(session, Order::Send(bytes)),
            Effect::SendBody(id, message, own, framing) => {
                let (session, copy) = oneshot::channel();
                self.order(id, Order::Body(copy));
                let own = own.map(|recipient| Task { message, recipient });
                let text = TextId { seven_bit: self.engine.is_seven_bit(id, message), message };
                self.read(text, Reader::Session(Awaiting { session, own, framing }));
            }
            Effect::StartTls(session) => self.order(session, Order::StartTls),
            Effect::Close(session) => drop(self.lines.remove(&session)),
            // It was, before all others.
            Effect::Note(_) => {}
            Effect::Persist(batch, records) => {
                self.answers.batched();
                self.archive.order(Job::Write(batch, records));
            }
            Effect::Accepted(id) => self.accepted(id),
            Effect::Refused(id, why) => {
                self.archive.order(Job::Withdraw(id));
                self.texts.forget(id);
                self.refused(id, &why);
            }
            Effect::Report(message, failures) => {
                self.read(TextId::stored(message), Reader::Report(failures));
            }
            Effect::Finished(message) => {
                self.texts.forget(message);
                self.archive.order(Job::Finish(message));
                self.observe(&ServerEvent::Finished { message });
            }
            Effect::Operated(number, counts) => self.operated(number, counts),
            Effect::Log(Entry::Operated(operation, message, recipients)) => {
                self.log_operation(operation, message, &recipients);
            }
            Effect::Log(entry) => self.log(&entry),
            Effect::Wake(at) => self.wake = self.clock.instant(at),
        }
    }

    /// A line that has ended says so itself.
    pub(super) fn order(&mut self, session: SessionId, order: Order) {
        if let Some(line) = self.lines.get(&session) {
            let _ = line.send(order);
        }
    }

    fn resolve(&mut self, domain: Arc<str>) {
        let (names, inputs) = (Rc::clone(&self.names), self.inputs.clone());
        spawn_local(async move {
            let answer = names.look_up(&domain).await;
            let _ = inputs.send(Input::Event(Event::Resolved(domain, answer))).await;
        });
    }

    fn connect(&mut self, session: SessionId, relay: Relay) {
        let (orders, ears) = mpsc::unbounded_channel();
        self.lines.insert(session, orders);
        let (wire, inputs) = (Rc::clone(&self.wire), self.inputs.clone());
        spawn_local(smtp_out::run(wire, session, relay, ears, inputs));
    }

    fn accepted(&mut self, id: MessageId) {
        let Some(Offered { mail, by }) = self.offered.remove(&id) else { return };
        let accepted = self.engine.accepted(id).unwrap_or(self.clock.now());
        self.observe(&ServerEvent::Accepted {
            message: id,
            sender: mail.sender.as_ref(),
            size: mail.text.len() as u64,
            recipients: mail.recipients.len(),
            accepted_ms: self.epoch.unix_ms(accepted),
        });
        match by {
            // Who has gone away finds it delivered none the less.
            Submitter::Outside(answer) => drop(answer.send(Ok(id))),
            Submitter::Engine(Reported { message, recipients }) => {
                self.soon.push_back(Event::Reported(message, recipients));
            }
        }
    }

    fn refused(&mut self, id: MessageId, why: &Refusal) {
        let Some(Offered { mail, by }) = self.offered.remove(&id) else { return };
        match by {
            // Who has gone away has not been promised anything.
            Submitter::Outside(answer) => drop(answer.send(Err(match why {
                Refusal::Full(_) => Refused::Full(why.to_string()),
                Refusal::Stopping => Refused::Stopped,
                Refusal::Storage(_) | Refusal::Invalid(_) => Refused::Now(why.to_string()),
            }))),
            Submitter::Engine(reported) => self.report_later(mail, reported),
        }
    }

    fn log(&mut self, entry: &Entry) {
        let now = self.epoch.unix_ms(self.clock.now());
        let event = match entry {
            Entry::Attempt { task, relay, delays, took, outcome, reason } => {
                let Some(recipient) = self.engine.recipient(*task) else { return };
                if *outcome != Outcome::Deferred
                    && let Some(sender) = self.engine.sender(task.message)
                    && let Some(accepted) = self.engine.accepted(task.message)
                {
                    let failure = Some(reason).filter(|_| *outcome == Outcome::Failed);
                    let ended = Ended { recipient, relay: relay.as_ref(), failure };
                    self.local.ended(sender, self.epoch.day(accepted).into(), &ended);
                }
                ServerEvent::Attempt {
                    task: *task,
                    recipient,
                    relay: relay.as_ref(),
                    delays: *delays,
                    took: *took,
                    outcome: *outcome,
                    reason,
                }
            }
            Entry::HostDown(host, until, reason) => {
                ServerEvent::HostDown(*host, self.epoch.unix_ms(*until), reason)
            }
            Entry::DomainDown(domain, until, reason) => {
                ServerEvent::DomainDown(domain, self.epoch.unix_ms(*until), reason)
            }
            Entry::Slowed(provider, per_minute, reason) => {
                ServerEvent::Slowed { provider, per_minute: *per_minute, reason }
            }
            Entry::Operated(..) => return,
            Entry::NotPersisted(why) => ServerEvent::Trouble(why),
        };
        self.observer.notice(now, &event);
    }
}
