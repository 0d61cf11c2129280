//! The observer of a world, which also decides what the world leaves open.

use sojourn_core::Time;
use sojourn_mail_engine::{
    Counts, Effect, Engine, Entry, Event, MessageId, Reason, RecipientIndex, Record, SessionId,
    Stored, Task,
};
use std::net::IpAddr;

/// A session as the world knows it: its number is unique within one life of the engine.
pub type Line = (u32, SessionId);

/// What becomes of a write to stable storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// It is done in its time.
    Done,
    /// The power goes.
    PowerFails,
}

/// What is there when the power is back: an engine, what it finds on stable storage, and what
/// happens later.
#[derive(Debug)]
pub struct Restart<D> {
    /// The engine, without mail.
    pub engine: Engine,
    /// What is on stable storage.
    pub stored: Vec<Stored>,
    /// What is due again, and when.
    pub due: Vec<(Time, D)>,
}

/// Receives what happens in a world.
pub trait WorldObserver {
    /// What it wants to be reminded of.
    type Due;

    /// What it wanted to be reminded of is due: the event for the engine.
    fn due(&mut self, now: Time, due: Self::Due) -> Event;

    /// How many bytes the text of a message has.
    fn size(&self, message: MessageId) -> u64;

    /// A line of the log.
    fn log(&mut self, now: Time, entry: &Entry);

    /// The engine receives this.
    fn told(&mut self, _now: Time, _event: &Event) {}

    /// The engine wants this.
    fn wanted(&mut self, _now: Time, _effect: &Effect) {}

    /// A message is on stable storage.
    fn accepted(&mut self, _now: Time, _message: MessageId) {}

    /// A message was not taken over.
    fn refused(&mut self, _now: Time, _message: MessageId) {}

    /// Failures are reported to a message's sender.
    fn report(
        &mut self,
        _now: Time,
        _message: MessageId,
        _failures: Vec<(RecipientIndex, Reason)>,
    ) {
    }

    /// A message has come to its end.
    fn finished(&mut self, _now: Time, _message: MessageId) {}

    /// An operator's wish was done.
    fn operated(&mut self, _now: Time, _number: u64, _counts: Counts) {}

    /// A connection is tried.
    fn opens(&mut self, _now: Time, _line: Line, _address: IpAddr) {}

    /// Nothing is awaited from a connection any more: the engine closes it, or hears that it is
    /// closed.
    fn closes(&mut self, _now: Time, _line: Line, _by_us: bool) {}

    /// A host was asked, over a connection, to take a recipient; whether it does.
    fn named(&mut self, _line: Line, _recipient: &str, _taken: bool) {}

    /// A host took over a message, at a time that may lie a little ahead.
    fn took(&mut self, _at: Time, _line: Line, _message: MessageId) {}

    /// A recipient has it, which is kept where the end of the process does not reach it.
    fn notes(&mut self, _now: Time, _task: Task) -> Write {
        Write::Done
    }

    /// Something is to be written.
    fn writes(&mut self, _now: Time, _records: &[Record]) -> Write {
        Write::Done
    }

    /// A write has its time behind it: whether it worked, or why not.
    fn written(&mut self, _now: Time, _records: &[Record]) -> Result<(), String> {
        Ok(())
    }

    /// The power is back.
    fn reborn(&mut self, _now: Time) -> Restart<Self::Due> {
        unreachable!("the power was not turned off");
    }
}
