//! Why something did not go through, as logs and reports say it.

use sojourn_smtp::client::{Asked, Loss};
use sojourn_smtp::{Enhanced, Pushback, Reply};
use std::fmt;
use std::sync::Arc;

/// Characters of a reply that are kept: a server cannot fill logs, storage and reports with it.
const TEXT_MAX: usize = 500;

/// A status (RFC 3463) and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The status.
    pub status: Enhanced,
    /// The host's reply, or this server's words.
    pub text: Arc<str>,
}

impl Reason {
    /// A reason in this server's words.
    pub fn new(status: Enhanced, text: impl Into<Arc<str>>) -> Reason {
        Reason { status, text: text.into() }
    }

    /// Whether this server gave up after temporary failures.
    pub fn is_expiry(&self) -> bool {
        self.status == status::EXPIRED
    }

    /// As a server replied, and to what where it refused: whose fault a failure is depends on it.
    pub fn reply(reply: &Reply, asked: Option<Asked>) -> Reason {
        let class = (reply.code / 100) as u8;
        let mut text = reply.line();
        if let Some((end, _)) = text.char_indices().nth(TEXT_MAX) {
            text.truncate(end);
        }
        if let Some(asked) = asked {
            text += &format!(" (in reply to {asked} command)");
        }
        Reason { status: reply.enhanced.unwrap_or(Enhanced(class, 0, 0)), text: text.into() }
    }
}

impl Reason {
    /// With another class of status.
    pub(super) fn of_class(&self, class: u8) -> Reason {
        let Enhanced(_, subject, detail) = self.status;
        Reason { status: Enhanced(class, subject, detail), text: Arc::clone(&self.text) }
    }

    /// Whether a host asks to send less. A host that greylists does not.
    pub fn is_slow_down(&self) -> bool {
        let code = self.text.get(..3).and_then(|code| code.parse().ok());
        let asked = code.and_then(|code| Pushback::of(code, self.status, &self.text));
        matches!(asked, Some(Pushback::Rate | Pushback::Sessions))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.text)
    }
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// We ended it.
    Quit,
    /// We closed it, because all that it was for was deleted.
    Needless,
    /// The server closes it and says so: 421, a greeting that refuses, no EHLO.
    Refused,
    /// A step took too long.
    TimedOut,
    /// The connection could not be made, or broke, or carried garbage.
    Dropped,
}

impl End {
    /// How a session ends that is lost by what the server said, and why.
    pub(super) fn of(loss: &Loss) -> (End, Reason) {
        match loss {
            Loss::Unavailable(reply) | Loss::NoHello(reply) => {
                (End::Refused, Reason::reply(reply, None))
            }
            Loss::NoTls => (End::Refused, Reason::new(status::LOST, loss.to_string())),
            Loss::Garbage(_) | Loss::OutOfTurn => {
                (End::Dropped, Reason::new(status::LOST, loss.to_string()))
            }
        }
    }
}

/// RFC 3463 section 3.5 and its neighbours; RFC 6531 and 7505 for those that it has not.
pub(super) mod status {
    use sojourn_smtp::Enhanced;

    pub(in super::super) const EXPIRED: Enhanced = Enhanced(5, 4, 7);
    pub(in super::super) const NO_ANSWER: Enhanced = Enhanced(4, 4, 1);
    pub(in super::super) const LOST: Enhanced = Enhanced(4, 4, 2);
    pub(in super::super) const NAME_SERVERS: Enhanced = Enhanced(4, 4, 3);
    pub(in super::super) const NO_SUCH_DOMAIN: Enhanced = Enhanced(5, 1, 2);
    pub(in super::super) const TOO_LARGE: Enhanced = Enhanced(5, 3, 4);
    pub(in super::super) const INTERNATIONAL: Enhanced = Enhanced(5, 6, 7);
    pub(in super::super) const LOOPS: Enhanced = Enhanced(5, 4, 6);
    pub(in super::super) const NO_MAIL: Enhanced = Enhanced(5, 1, 10);
}
