//! What delivery is asked from outside and what reaches its loop, with the answers.

use super::local::LocalDelivery;
use super::mail::Mail;
use super::smtp_out::tls::Security;
use crate::settings::Settings;
use bytes::Bytes;
use sojourn_mail_engine::list::return_path::ReturnPaths;
use sojourn_mail_engine::{
    Counts, Event, MessageId, Operation, RecipientIndex, Selection, SessionId, Shaping,
};
use sojourn_mail_spool::SpoolError;
use sojourn_smtp::client::Step;
use std::fmt;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What comes from outside.
#[derive(Debug)]
pub(crate) enum Request {
    Submit(Mail, oneshot::Sender<Result<MessageId, Refused>>),
    Count(oneshot::Sender<Sessions>),
    /// The limits of a domain; of none, all that are in use.
    Shaping(Option<String>, oneshot::Sender<Vec<Shaping>>),
    ReturnPaths(ReturnPaths),
    /// What an operator wants done with recipients that wait.
    Operate(Operation, Selection, oneshot::Sender<Counts>),
    /// New settings; the name that is given, the port and the spool stay.
    Configure(Box<Configuration>, oneshot::Sender<Result<(), String>>),
    /// A failure elsewhere that the log shows.
    Trouble(String),
    Stop,
}

/// What comes from lines, name servers and the spool.
#[derive(Debug)]
pub(crate) enum Input {
    Event(Event),
    /// A text that was wanted.
    Text(TextId, Result<Bytes, SpoolError>),
    /// A report that was not taken over is to be tried again.
    Report(Mail, Reported),
}

/// A text of a message: as it is stored, or for hosts that take no octets above 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextId {
    pub(crate) message: MessageId,
    pub(crate) seven_bit: bool,
}

impl TextId {
    pub(crate) fn stored(message: MessageId) -> TextId {
        TextId { message, seven_bit: false }
    }
}

impl Input {
    /// The session that it happened to.
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self {
            Input::Event(event) => event.session(),
            _ => None,
        }
    }
}

/// Recipients of a message whose failure is reported.
#[derive(Debug)]
pub(crate) struct Reported {
    pub(crate) message: MessageId,
    pub(crate) recipients: Vec<RecipientIndex>,
}

/// Settings that take the place of others.
pub(crate) struct Configuration {
    pub(crate) settings: Settings,
    pub(crate) security: Security,
    pub(crate) local: Option<(Arc<dyn LocalDelivery>, ReturnPaths)>,
}

/// Why a message was not taken over. It is not in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too much mail is waiting already; how much.
    Full(String),
    /// It cannot be stored now; why.
    Now(String),
    /// The server has stopped.
    Stopped,
}

/// What is left when a server has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopReport {
    /// Messages in the spool that are not finished.
    pub messages: usize,
    /// Sessions that had to be closed because their transaction took too long.
    pub cut: usize,
}

/// How many sessions with hosts there are, by what they wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// A connection.
    pub connecting: usize,
    /// The host's first words, the answer to EHLO, TLS.
    pub greeting: usize,
    /// The transaction's next step.
    pub sending: usize,
    /// Work, or the end.
    pub idle: usize,
}

impl FromIterator<Step> for Sessions {
    fn from_iter<I: IntoIterator<Item = Step>>(steps: I) -> Sessions {
        let mut sessions = Sessions::default();
        for step in steps {
            *match step {
                Step::Connect => &mut sessions.connecting,
                Step::Greeting | Step::Hello => &mut sessions.greeting,
                Step::Mail | Step::Rcpt | Step::Data | Step::Block | Step::Dot | Step::Rset => {
                    &mut sessions.sending
                }
                Step::Quit | Step::Idle => &mut sessions.idle,
            } += 1;
        }
        sessions
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Full(why) | Refused::Now(why) => f.write_str(why),
            Refused::Stopped => f.write_str("the server has stopped"),
        }
    }
}

impl std::error::Error for Refused {}
