//! What a session does, and how one state follows another.
//!
//! ```text
//! Connecting ─▶ Greeting ─▶ Hello ─▶ Idle ⇄ Sending
//!                                     │ ▲      │ all are answered
//!                                     │ └── Answered ⇄ AwaitingStorage
//!                                     ▼
//!                                  Quitting
//! ```
//!
//! A session can end in each of them: it is then taken out of the table, and its state apart.

use super::Session;
use crate::event::MessageId;
use crate::ids::RecipientIndex;
use crate::message::DeliveryBatch;
use crate::moment::Moment;
use sojourn_smtp::client::{Framing, Output, Step};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// What a session does, with what belongs to that alone.
#[derive(Debug)]
pub(super) enum SessionState {
    /// The connection is being made.
    Connecting,
    /// The connection stands, and the host has not greeted.
    Greeting,
    /// The host has greeted; EHLO, and TLS where it is wanted, are under way.
    Hello,
    /// A transaction may begin.
    Idle,
    /// Transactions are under way.
    Sending(Sending),
    /// All transactions are answered, and the client does not want the next one yet: there may be a
    /// RSET under way.
    Answered {
        /// Writes that have to be done before the next transaction.
        writes: u32,
    },
    /// The client wants the next transaction, which begins when these writes are done.
    AwaitingStorage {
        /// How many.
        writes: NonZeroU32,
    },
    /// QUIT is sent.
    Quitting,
}

/// Transactions under way.
#[derive(Debug)]
pub(crate) struct Sending {
    /// The one that is answered next.
    pub(crate) first: Transaction,
    /// Those that were begun before the one before them was answered.
    pub(crate) behind: VecDeque<Transaction>,
    /// Writes that are not done, of what was said to transactions before.
    writes: u32,
    /// A text that waits for them: its commands were sent early.
    held: Option<Framing>,
}

/// A transaction under way.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) batch: DeliveryBatch,
    /// When the attempt began, and when its transaction.
    pub(crate) since: Moment,
    pub(crate) began: Moment,
    /// Whether the one before it was not answered by then.
    pub(crate) early: bool,
    /// Whether its text goes out with its commands, where the host takes that.
    whole: bool,
    /// Whether its return path names its one recipient.
    pub(crate) named: bool,
}

/// What a session leaves that is closed.
#[derive(Debug)]
pub(crate) enum Closed {
    /// The host was never ready for a transaction.
    BeforeReady,
    /// These transactions were not answered.
    Sending(Sending),
    /// Nothing.
    Between,
}

/// What a session may do when one of its writes is done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// Nothing that it could not before.
    Nothing,
    /// Begin the next transaction.
    Begin,
    /// Send the text that is held.
    SendText,
}

impl Sending {
    /// What is under way, in the order in which it is answered.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &DeliveryBatch> {
        std::iter::once(&self.first).chain(&self.behind).map(|it| &it.batch)
    }

    fn last(&self) -> &Transaction {
        self.behind.back().unwrap_or(&self.first)
    }
}

/// What happened to the connection of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionEvent<'a> {
    /// It stands.
    Connected,
    /// Bytes came.
    Received(&'a [u8]),
    /// Some of the texts that were to be sent is written, and so many of them wholly.
    Written(u32),
    /// The handshake of TLS is done.
    Secured,
}

/// What follows from an event for the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Whether the host has greeted by it.
    pub(crate) greets: bool,
    /// Whether the time of its step counts from now on.
    pub(crate) renews: bool,
    /// Whether a transaction may begin that could not before.
    pub(crate) frees: bool,
}

/// Transitions.
impl Session {
    /// Takes an event of its connection; what the client wants is put into `outputs`. All events come
    /// in here, and one that does not fit the state changes nothing.
    pub(crate) fn take(&mut self, event: SessionEvent<'_>, outputs: &mut Vec<Output>) -> Heard {
        match (event, &self.state) {
            (SessionEvent::Connected, SessionState::Connecting) => {
                self.state = SessionState::Greeting;
                Heard { renews: true, ..Heard::default() }
            }
            (SessionEvent::Connected, _) | (_, SessionState::Connecting) => Heard::default(),
            (SessionEvent::Received(bytes), _) => self.receive(bytes, outputs),
            (SessionEvent::Written(messages), _) if self.client.is_sending() => {
                (0..messages).for_each(|_| self.client.written());
                Heard { renews: true, frees: messages > 0, ..Heard::default() }
            }
            (SessionEvent::Secured, _) if self.client.is_securing() => {
                self.client.secured(outputs);
                Heard { renews: true, ..Heard::default() }
            }
            (SessionEvent::Written(_) | SessionEvent::Secured, _) => Heard::default(),
        }
    }

    fn receive(&mut self, bytes: &[u8], outputs: &mut Vec<Output>) -> Heard {
        let before = self.client.step();
        self.client.received(bytes, outputs);
        let step = self.client.step();
        // It may answer EHLO before it is asked.
        let greets = matches!(self.state, SessionState::Greeting)
            && (step == Step::Hello || outputs.contains(&Output::Ready));
        if greets {
            self.state = SessionState::Hello;
        }
        // A server that lets its bytes trickle gains no time by it.
        Heard { greets, renews: !outputs.is_empty() || step != before, frees: true }
    }

    /// The client wants a transaction: whether one may begin now, or waits for storage.
    pub(crate) fn make_idle(&mut self) -> bool {
        let writes = match self.state {
            SessionState::Answered { writes } => NonZeroU32::new(writes),
            SessionState::Hello | SessionState::Idle => None,
            ref other => unreachable!("no client is ready in {other:?}"),
        };
        self.state = match writes {
            Some(writes) => SessionState::AwaitingStorage { writes },
            None => SessionState::Idle,
        };
        writes.is_none()
    }

    /// The transaction of `batch` begins.
    pub(crate) fn begin(&mut self, batch: DeliveryBatch, named: bool, whole: bool, now: Moment) {
        let since = if self.begun > 0 { now } else { self.since };
        self.begun += 1;
        self.needless = false;
        let new = |early| Transaction { batch, since, began: now, early, whole, named };
        match &mut self.state {
            SessionState::Sending(sending) => sending.behind.push_back(new(true)),
            SessionState::Idle => {
                self.state = SessionState::Sending(Sending {
                    first: new(false),
                    behind: VecDeque::new(),
                    writes: 0,
                    held: None,
                });
            }
            other => unreachable!("no transaction begins in {other:?}"),
        }
    }

    /// The transaction that began first is answered.
    pub(crate) fn answer(&mut self, now: Moment) -> Transaction {
        let transaction = self.take_first();
        self.has_answered(now.since(transaction.began));
        transaction
    }

    fn take_first(&mut self) -> Transaction {
        if let SessionState::Sending(sending) = &mut self.state
            && let Some(next) = sending.behind.pop_front()
        {
            return std::mem::replace(&mut sending.first, next);
        }
        match std::mem::replace(&mut self.state, SessionState::Answered { writes: 0 }) {
            SessionState::Sending(Sending { first, writes, .. }) => {
                self.state = SessionState::Answered { writes };
                first
            }
            other => unreachable!("no transaction is under way in {other:?}"),
        }
    }

    /// What was just answered is not on stable storage: one more write is awaited.
    pub(crate) fn await_write(&mut self) {
        match &mut self.state {
            SessionState::Sending(Sending { writes, .. }) | SessionState::Answered { writes } => {
                *writes += 1;
            }
            other => unreachable!("nothing was answered in {other:?}"),
        }
    }

    /// One of the writes that it awaits is done.
    pub(crate) fn resume(&mut self) -> Resume {
        match &mut self.state {
            SessionState::Sending(Sending { writes, .. }) => {
                *writes -= 1;
                if *writes == 0 { Resume::SendText } else { Resume::Nothing }
            }
            SessionState::Answered { writes } => {
                *writes -= 1;
                Resume::Nothing
            }
            SessionState::AwaitingStorage { writes } => match NonZeroU32::new(writes.get() - 1) {
                Some(left) => {
                    *writes = left;
                    Resume::Nothing
                }
                None => {
                    self.state = SessionState::Answered { writes: 0 };
                    Resume::Begin
                }
            },
            other => unreachable!("no write is awaited in {other:?}"),
        }
    }

    /// The text of the transaction whose commands were sent last is to be sent, as `framing` says.
    pub(crate) fn hold_text(&mut self, framing: Framing) {
        match &mut self.state {
            SessionState::Sending(sending) => sending.held = Some(framing),
            other => unreachable!("no text is sent in {other:?}"),
        }
    }

    /// The text that is to be sent now: its framing, its message, and its recipient where it is for
    /// one alone. While the answer to the one before
    /// it is being written, none goes out that could have waited: a crash repeats no more than one.
    pub(crate) fn take_text(&mut self) -> Option<(Framing, MessageId, Option<RecipientIndex>)> {
        let SessionState::Sending(sending) = &mut self.state else { return None };
        if sending.writes > 0 && !sending.last().whole {
            return None;
        }
        let framing = sending.held.take()?;
        let batch = &sending.last().batch;
        let only = if let [only] = batch.recipients[..] { Some(only) } else { None };
        Some((framing, batch.message, only))
    }

    /// It is ended.
    pub(crate) fn quit(&mut self, outputs: &mut Vec<Output>) {
        match self.state {
            SessionState::Idle => self.state = SessionState::Quitting,
            ref other => unreachable!("no session is ended in {other:?}"),
        }
        self.client.quit(outputs);
    }

    /// Its connection is no more.
    pub(crate) fn close(&mut self) -> Closed {
        match std::mem::replace(&mut self.state, SessionState::Quitting) {
            SessionState::Connecting | SessionState::Greeting | SessionState::Hello => {
                Closed::BeforeReady
            }
            SessionState::Sending(sending) => Closed::Sending(sending),
            SessionState::Idle
            | SessionState::Answered { .. }
            | SessionState::AwaitingStorage { .. }
            | SessionState::Quitting => Closed::Between,
        }
    }
}

/// What can be seen of a state.
impl Session {
    /// Whether the host has greeted it.
    pub(crate) fn is_greeted(&self) -> bool {
        !matches!(self.state, SessionState::Connecting | SessionState::Greeting)
    }

    /// Whether it was ready for a transaction at least once.
    pub(crate) fn was_ready(&self) -> bool {
        self.is_greeted() && !matches!(self.state, SessionState::Hello)
    }

    /// Whether it will be free in a moment: it is not ready yet, or between two transactions.
    pub(crate) fn is_soon_free(&self) -> bool {
        match self.state {
            SessionState::Connecting | SessionState::Greeting | SessionState::Hello => true,
            SessionState::Answered { .. } | SessionState::AwaitingStorage { .. } => true,
            SessionState::Idle | SessionState::Sending(_) | SessionState::Quitting => false,
        }
    }

    /// The transactions under way.
    pub(crate) fn sending(&self) -> Option<&Sending> {
        match &self.state {
            SessionState::Sending(sending) => Some(sending),
            _ => None,
        }
    }

    /// Writes that are not done, of what was said to it.
    pub(crate) fn writes(&self) -> u32 {
        match self.state {
            SessionState::Sending(Sending { writes, .. }) | SessionState::Answered { writes } => {
                writes
            }
            SessionState::AwaitingStorage { writes } => writes.get(),
            _ => 0,
        }
    }

    /// Whether it is for stable storage, and not for the host, to let it go on.
    pub(crate) fn is_waiting_for_storage(&self) -> bool {
        match &self.state {
            SessionState::AwaitingStorage { .. } => true,
            SessionState::Sending(sending) => sending.held.is_some(),
            _ => false,
        }
    }

    /// What the host is waited for.
    pub(crate) fn step(&self) -> Step {
        match self.state {
            SessionState::Connecting => Step::Connect,
            _ => self.client.step(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{MailHost, Relay};
    use crate::host::Hosts;
    use crate::ids::{DestinationId, EnvelopeId};
    use crate::policy::timeouts::{Rfc5321, Timeouts};
    use sojourn_core::parameters::defaults;
    use sojourn_smtp::client::{Client, Tls};

    fn session() -> Session {
        let address = "192.0.2.1".parse().unwrap();
        let host = MailHost { name: "mx.example".into(), preference: 0, addresses: vec![address] };
        let mut hosts = Hosts::default();
        let routes = hosts.route_to(vec![host], &defaults(), |_| 0.0);
        let (id, name) = (routes[0].host, routes[0].name.clone());
        let steps = defaults::<Rfc5321>().steps(0);
        let client = Client::new("lists.example".into(), Tls::Never);
        let relay = Relay { name, address };
        Session::new(DestinationId(0), id, &hosts[id], relay, steps, client, Moment::ZERO)
    }

    fn batch(recipient: u32) -> DeliveryBatch {
        let recipients = vec![RecipientIndex(recipient)];
        let (message, envelope) = (MessageId(1), EnvelopeId(0));
        DeliveryBatch { message, recipients, envelope, queued: Moment::ZERO }
    }

    /// One whose host is ready.
    fn idle() -> Session {
        let mut session = session();
        for event in [SessionEvent::Connected, SessionEvent::Received(b"220 hi\r\n250 hi\r\n")] {
            session.take(event, &mut Vec::new());
        }
        assert!(session.make_idle());
        session
    }

    #[test]
    fn an_event_that_does_not_fit_changes_nothing() {
        let (mut session, mut outputs) = (session(), Vec::new());
        for early in [SessionEvent::Received(b"220 hi\r\n"), SessionEvent::Secured] {
            assert_eq!(session.take(early, &mut outputs), Heard::default());
            assert_eq!(session.step(), Step::Connect);
        }
        assert!(session.take(SessionEvent::Connected, &mut outputs).renews);
        for late in [SessionEvent::Connected, SessionEvent::Secured, SessionEvent::Written(1)] {
            assert_eq!(session.take(late, &mut outputs), Heard::default());
            assert_eq!(session.step(), Step::Greeting);
        }
        assert_eq!(outputs, []);
    }

    #[test]
    fn a_host_that_answers_before_it_is_asked_has_greeted() {
        for (said, greets) in
            [("220 hi\r\n250 hi\r\n", true), ("220 hi\r\n", true), ("554 no\r\n", false)]
        {
            let (mut session, mut outputs) = (session(), Vec::new());
            session.take(SessionEvent::Connected, &mut outputs);
            let heard = session.take(SessionEvent::Received(said.as_bytes()), &mut outputs);
            assert_eq!((heard.greets, session.is_greeted()), (greets, greets), "{said}");
        }
    }

    #[test]
    fn transactions_are_answered_in_order_and_the_next_waits_for_storage() {
        let mut session = idle();
        assert!(!session.is_soon_free());
        session.begin(batch(0), true, true, Moment::ZERO);
        session.begin(batch(1), true, true, Moment::ZERO);
        let first = session.answer(Moment::ZERO);
        assert_eq!((first.batch.recipients, first.early), (batch(0).recipients, false));
        session.await_write();
        let second = session.answer(Moment::ZERO);
        assert_eq!((second.batch.recipients, second.early), (batch(1).recipients, true));
        session.await_write();
        assert!(session.is_soon_free() && !session.is_waiting_for_storage());
        assert!(!session.make_idle() && session.is_waiting_for_storage());
        assert_eq!((session.writes(), session.resume()), (2, Resume::Nothing));
        assert_eq!((session.writes(), session.resume()), (1, Resume::Begin));
        assert!(session.is_soon_free() && session.make_idle());
        assert!(matches!(session.state, SessionState::Idle));
    }

    #[test]
    fn a_text_that_could_have_waited_waits_for_storage() {
        for (whole, waits) in [(false, true), (true, false)] {
            let mut session = idle();
            session.begin(batch(0), true, whole, Moment::ZERO);
            session.begin(batch(1), true, whole, Moment::ZERO);
            session.answer(Moment::ZERO);
            session.await_write();
            session.hold_text(Framing::Chunk);
            let text = Some((Framing::Chunk, MessageId(1), Some(RecipientIndex(1))));
            assert_eq!(session.take_text(), if waits { None } else { text });
            assert_eq!(session.is_waiting_for_storage(), waits);
            assert_eq!(session.resume(), Resume::SendText);
            assert_eq!(session.take_text(), if waits { text } else { None });
        }
    }
}
