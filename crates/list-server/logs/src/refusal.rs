//! What a host said when it refused for now, and at which step.

use crate::event::{Attempt, Dsn, Outcome};
use crate::fields::dsn;
use memchr::memmem;
use sojourn_smtp::{Enhanced, Pushback};

/// A host's refusal for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What it asks for, where it says so.
    asks: Option<Pushback>,
    /// Where it came, where the line says so.
    pub(crate) step: Option<Step>,
}

/// A step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The greeting, or the client's.
    Session,
    Mail,
    Rcpt,
    /// DATA, or the end of the text.
    Data,
}

/// Words in front of a reply or behind it, in lower case, as Postfix and Exim have them.
const STEPS: [(&[u8], Step); 9] = [
    (b"rcpt to", Step::Rcpt),
    (b"mail from", Step::Mail),
    (b"end of data", Step::Data),
    (b"data command", Step::Data),
    (b"after data", Step::Data),
    (b"refused to talk to me", Step::Session),
    (b"initial connection", Step::Session),
    (b"ehlo", Step::Session),
    (b"helo", Step::Session),
];

impl Refusal {
    /// Of an attempt that a host refused for now; nothing for another one. Where the line has the
    /// host's words without their code, the status speaks for it.
    pub(crate) fn of(attempt: &Attempt<'_>) -> Option<Refusal> {
        if attempt.outcome != Outcome::Deferred {
            return None;
        }
        let (code, status, around, words) = match reply(attempt.text) {
            Some((at, code)) => {
                let (before, reply) = attempt.text.split_at(at);
                (code, status(&reply[4..]).or(attempt.dsn), before, reply)
            }
            // The mailer's own words are about hosts that cannot be reached, or about itself.
            None => match attempt.dsn {
                Some(Dsn(4, subject, _))
                    if attempt.relay.is_some() && !matches!(subject, 3 | 4) =>
                {
                    (450, attempt.dsn, &b""[..], attempt.text)
                }
                _ => return None,
            },
        };
        let Dsn(class, subject, detail) = status.filter(|it| it.0 == 4).unwrap_or(Dsn(4, 0, 0));
        let status = Enhanced(class, subject, detail);
        let asks = Pushback::of(code, status, &String::from_utf8_lossy(words));
        Some(Refusal { asks, step: step(around).or_else(|| step(behind(words))) })
    }

    /// Its number in a table.
    pub(crate) fn pushback(&self) -> i64 {
        match self.asks {
            None => 0,
            Some(Pushback::Greylist) => 1,
            Some(Pushback::Rate) => 2,
            Some(Pushback::Sessions) => 3,
        }
    }
}

/// Where the reply begins, and its code: three digits, the first a 4, at the beginning or behind what
/// says whose it is.
fn reply(text: &[u8]) -> Option<(usize, u16)> {
    let starts = std::iter::once(0).chain(memmem::find_iter(text, b": ").map(|at| at + 2));
    starts.into_iter().find_map(|at| match text[at..] {
        [b'4', tens @ b'0'..=b'9', ones @ b'0'..=b'9', b' ' | b'-', ..] => {
            Some((at, 400 + u16::from(tens - b'0') * 10 + u16::from(ones - b'0')))
        }
        _ => None,
    })
}

fn status(text: &[u8]) -> Option<Dsn> {
    dsn(text.split(|byte| *byte == b' ').next()?)
}

/// What Postfix adds to a reply.
fn behind(text: &[u8]) -> &[u8] {
    memmem::rfind(text, b" (in reply to ").map_or(&b""[..], |at| &text[at..])
}

fn step(text: &[u8]) -> Option<Step> {
    let text = text.to_ascii_lowercase();
    let named = STEPS.iter().find(|(words, _)| memmem::find(&text, words).is_some());
    named.map(|(_, step)| *step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Part;

    fn of(text: &str, dsn: Option<Dsn>) -> Option<(i64, Option<Step>)> {
        let relay = Some(&b"mx.x.example"[..]);
        let attempt = Attempt::new(b"a@x.example", Outcome::Deferred, Part::Unmarked);
        let refusal = Refusal::of(&Attempt { text: text.as_bytes(), dsn, relay, ..attempt })?;
        Some((refusal.pushback(), refusal.step))
    }

    #[test]
    fn lines_of_each_mailer() {
        let said = "host mx.x[192.0.2.1] said: ";
        for (text, expected) in [
            (format!("{said}450 4.2.0 <a@x>: Greylisted (in reply to RCPT TO command)"), (1, Some(Step::Rcpt))),
            (format!("{said}421-4.7.28 Gmail has detected an unusual rate (in reply to end of DATA command)"), (2, Some(Step::Data))),
            (format!("{said}450 4.7.1 please try again later (in reply to RCPT TO command)"), (0, Some(Step::Rcpt))),
            ("host mx.x[192.0.2.1] refused to talk to me: 421 4.7.0 too many connections".to_owned(), (3, Some(Step::Session))),
            ("421 4.7.0 too many connections".to_owned(), (3, None)),
            ("SMTP error from remote mail server after RCPT TO:<a@x>: 451 4.7.1 Greylisted".to_owned(), (1, Some(Step::Rcpt))),
            ("SMTP error from remote mail server after initial connection: 421 Too many concurrent SMTP connections".to_owned(), (3, Some(Step::Session))),
            ("Deferred: 450 4.2.1 The user you are trying to contact is receiving mail too quickly".to_owned(), (2, None)),
        ] {
            assert_eq!(of(&text, None), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_status_speaks_for_a_reply_without_its_code() {
        assert_eq!(of("Deferred: greylisted, please wait", Some(Dsn(4, 7, 1))), Some((1, None)));
        assert_eq!(
            of("connect to x[192.0.2.1]:25: Connection timed out", Some(Dsn(4, 4, 1))),
            None
        );
        assert_eq!(of("Connection refused", None), None);
    }
}
