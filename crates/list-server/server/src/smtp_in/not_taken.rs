//! Why a message is not taken over.

use crate::delivery::request::Refused;
use crate::hourly::{Bound, Excess};
use crate::lists::subscribers::{NotEntered, SubscriberError};
use sojourn_smtp::{Enhanced, Reply};
use std::fmt::Display;
use tokio::task::JoinError;

/// What a client hears whose message is not taken over, and what the log says of it.
#[derive(Debug)]
pub(crate) struct NotTaken {
    pub(crate) reply: Reply,
    pub(crate) told: Option<String>,
}

impl NotTaken {
    /// The message is refused for what it is.
    pub(crate) fn refused(code: u16, status: Enhanced, why: &str) -> NotTaken {
        NotTaken { reply: Reply::new(code, status, why), told: None }
    }

    /// The server is full now: RFC 5321 section 4.2.3 for storage that does not suffice, RFC
    /// 3463 for a full system.
    pub(crate) fn full(why: impl Display) -> NotTaken {
        let reply = Reply::new(452, Enhanced(4, 3, 1), &format!("{why}, try again later"));
        NotTaken { reply, told: Some(why.to_string()) }
    }

    /// There is no memory for it now.
    pub(crate) fn no_memory() -> NotTaken {
        NotTaken { told: None, ..NotTaken::full("too many messages at once") }
    }

    /// Something does not work.
    fn later(why: impl Display) -> NotTaken {
        let text = "it cannot be taken now, try again later";
        NotTaken { reply: Reply::new(451, Enhanced(4, 3, 0), text), told: Some(why.to_string()) }
    }
}

impl From<Refused> for NotTaken {
    fn from(why: Refused) -> NotTaken {
        let NotTaken { reply, .. } = match why {
            Refused::Full(_) => NotTaken::full("too much mail is waiting"),
            Refused::Now(_) => NotTaken::full("it cannot be stored now"),
            Refused::Stopped => NotTaken::refused(451, Enhanced(4, 3, 2), "the server stops"),
        };
        NotTaken { reply, told: Some(why.to_string()) }
    }
}

impl From<Excess<Bound>> for NotTaken {
    fn from(why: Excess<Bound>) -> NotTaken {
        match why {
            Excess::TooLarge(_) => NotTaken::refused(552, Enhanced(5, 3, 4), &why.to_string()),
            Excess::Reached(_) | Excess::Network(_) => NotTaken::full(why),
        }
    }
}

impl From<SubscriberError> for NotTaken {
    fn from(error: SubscriberError) -> NotTaken {
        NotTaken::later(error)
    }
}

impl From<NotEntered> for NotTaken {
    fn from(why: NotEntered) -> NotTaken {
        match why {
            NotEntered::Full => NotTaken::full("there are as many subscribers as may be"),
            NotEntered::Store(error) => error.into(),
        }
    }
}

/// What read or signed it has panicked.
impl From<JoinError> for NotTaken {
    fn from(error: JoinError) -> NotTaken {
        NotTaken::later(error)
    }
}
