//! Ours: Postfix's lines.
//!
//! There is no cleanup: the queue manager's line of a message stands once, when it is accepted or
//! found in the spool at the start.

use super::postfix::{attempt, info};
use super::{Mailer, Said};
use crate::event::{Event, MessageInfo};
use crate::fields::queue_id;
use crate::problems::Why;

pub(super) static SOJOURN: Mailer =
    Mailer { name: "sojourn", owns, says_removed: true, has_lists: false, read };

fn owns(program: &[u8]) -> bool {
    program.starts_with(b"sojourn/")
}

fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let Some((id, rest)) = queue_id(text) else { return Ok(None) };
    let event = if rest.starts_with(b"to=<") {
        Some(attempt(rest)?)
    } else if rest.starts_with(b"from=<") {
        info(rest).map(|info| Event::MessageInfo(MessageInfo { accepted: true, ..info }))
    } else {
        (rest == b"removed").then_some(Event::Removed)
    };
    Ok(event.map(|event| (id, event)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_accepted_where_it_is_named() {
        let line = b"000000BEEF1: from=<>, size=42, nrcpt=3 (queue active)";
        let Ok(Some((id, Event::MessageInfo(info)))) = read(line) else { panic!() };
        assert_eq!((id, info.accepted, info.recipients), (&b"000000BEEF1"[..], true, Some(3)));
        let line = b"0000000001: to=<a@x>, relay=none, delay=0.01, delays=0.01/0/0/0, xdelay=0, \
            dsn=4.4.1, status=deferred (refused)";
        let Ok(Some((_, Event::Attempt(attempt)))) = read(line) else { panic!() };
        assert_eq!((attempt.took, attempt.delay), (Some(0), Some(10_000)));
        assert_eq!(read(b"host 192.0.2.1 left alone until x (y)"), Ok(None));
    }
}
