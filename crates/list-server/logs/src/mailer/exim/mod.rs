//! Exim: a line for each address of each attempt, further addresses of a transaction marked.
//!
//! Source: *Specification of the Exim Mail Transfer Agent*, chapter "Log files"; and lines of 4.96.

use super::{Mailer, Said};
use crate::event::{Attempt, Event, MessageInfo, Outcome, Part};
use crate::fields::{cut, dsn_within, units, whole, without_brackets};
use crate::problems::Why;
use crate::stamp::Clock;
use crate::syslog_header::leading_process;
use memchr::{memchr, memrchr};

mod reason;

use reason::{deferred, failed};

pub(super) static EXIM: Mailer =
    Mailer { name: "exim", owns, says_removed: true, has_lists: false, read };

fn owns(program: &[u8]) -> bool {
    program.starts_with(b"exim")
}

fn read(text: &[u8]) -> Result<Said<'_>, Why> {
    let Some((id, rest)) = message(without_stamp(text)) else { return Ok(None) };
    let Some((flag, rest)) = rest.split_at_checked(3) else { return Ok(None) };
    let event = match flag {
        b"<= " => Event::MessageInfo(info(rest)),
        // a filter threw the message away
        b"=> " if rest.starts_with(b"discarded (") => Event::NoDelivery,
        b"=> " | b">> " => Event::Attempt(delivered(rest, Part::First)?),
        b"-> " => Event::Attempt(delivered(rest, Part::More)?),
        b"** " => Event::Attempt(failed(rest)?),
        b"== " => deferred(rest)?,
        b"Com" if rest == b"pleted" || rest.starts_with(b"pleted ") => Event::Removed,
        _ => return Ok(None),
    };
    Ok(Some((id, event)))
}

/// Exim through syslog writes its own stamp and process too, unless its configuration says not to,
/// and before those `[1\3] ` if the line is the first of three parts.
fn without_stamp(text: &[u8]) -> &[u8] {
    let is_part = text.starts_with(b"[1\\") || text.starts_with(b"[1/");
    let text = cut(text, b"] ").filter(|_| is_part).map_or(text, |(_, text)| text);
    let text = match Clock::new(0).iso(text) {
        Ok((_, rest)) => rest.strip_prefix(b" ").unwrap_or(rest),
        Err(_) => text,
    };
    leading_process(text).1
}

/// The message's name, as before 4.97 and as since, and what follows.
fn message(text: &[u8]) -> Option<(&[u8], &[u8])> {
    [[6, 6, 2], [6, 11, 4]].into_iter().find_map(|lengths| {
        let (id, rest) = text.split_at_checked(lengths.iter().sum::<usize>() + 2)?;
        let mut parts = id.split(|byte| *byte == b'-');
        let fits = lengths.into_iter().all(|length| {
            parts.next().is_some_and(|part| {
                part.len() == length && part.iter().all(u8::is_ascii_alphanumeric)
            })
        });
        Some((id, rest.strip_prefix(b" ")?)).filter(|_| fits)
    })
}

/// Words, of which one in quotes may hold spaces: `T="a b"`.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.0 = self.0.trim_ascii_start();
        let mut quoted = false;
        let mut escaped = false;
        let space = |byte: &u8| {
            let end = *byte == b' ' && !quoted;
            quoted ^= *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            end
        };
        let end = self.0.iter().position(space).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

/// `a@b H=host [192.0.2.1] P=esmtp S=1234 id=1@b T="subject" for c@d e@f`
fn info(text: &[u8]) -> MessageInfo<'_> {
    let mut words = Words(text);
    let mut info = MessageInfo { accepted: true, ..MessageInfo::default() };
    info.sender = words.next().map(without_brackets);
    while let Some(word) = words.next() {
        match word {
            [b'S', b'=', size @ ..] => info.size = whole(size),
            [b'i', b'd', b'=', id @ ..] => info.message_id = Some(id),
            b"for" => info.recipients = Some(words.by_ref().count() as u64),
            _ => {}
        }
    }
    info
}

/// The address, and that behind it in brackets, which it was sent to, or which is the whole of it.
fn whom<'a>(words: &mut Words<'a>, outcome: Outcome, part: Part) -> Result<Attempt<'a>, Why> {
    let command = command(words.0);
    let address = match command {
        Some((command, rest)) => {
            words.0 = rest;
            command
        }
        None => words.next().ok_or("an attempt without a recipient")?,
    };
    let mut attempt = Attempt::new(without_brackets(address), outcome, part);
    let is_bare = command.is_some() || memchr(b'@', attempt.recipients).is_none();
    loop {
        let before = words.0;
        match words.next() {
            // what routers made of it on the way
            Some(word @ [b'(', ..]) => {
                if !word.ends_with(b")") {
                    words.find(|word| word.ends_with(b")"));
                }
            }
            Some([b'<', inner @ .., b'>']) => {
                let inner_is_whole = memchr(b'@', inner).is_some();
                if is_bare && inner_is_whole {
                    attempt.recipients = inner;
                } else {
                    attempt.original = Some(inner);
                }
            }
            _ => {
                words.0 = before;
                return Ok(attempt);
            }
        }
    }
}

/// A command or a file that takes the place of an address, spaces and all, and what follows:
/// `|/usr/bin/vacation -a x <a@b>`, `/dev/null <a@b>`, `save box <a@b>`.
fn command(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_command = matches!(text.first(), Some(b'|' | b'/' | b'>')) || text.starts_with(b"save ");
    let (command, _) = cut(text, b" <").filter(|_| is_command)?;
    Some(text.split_at(command.len()))
}

/// `F=<a@b> R=router T=transport H=mx.x.example [192.0.2.1]:25 C="250 Ok" QT=1s DT=0.1s`
fn details<'a>(words: Words<'a>, attempt: &mut Attempt<'a>) -> Result<(), Why> {
    const NO_TIME: Why = "a QT= or DT= that is no time";
    let mut at_host = false;
    for word in words {
        let of_host = std::mem::take(&mut at_host);
        match word {
            [b'H', b'=', host @ ..] => {
                at_host = true;
                attempt.relay = Some(host);
                if host.starts_with(b"[") {
                    attempt.address = bracketed(host);
                    attempt.relay = Some(attempt.address);
                }
            }
            [b'[', ..] if of_host => attempt.address = bracketed(word),
            [b'C', b'=', reply @ ..] => {
                let reply = reply.strip_prefix(b"\"").unwrap_or(reply);
                attempt.text = reply.strip_suffix(b"\"").unwrap_or(reply);
            }
            [b'Q', b'T', b'=', time @ ..] => attempt.delay = Some(units(time).ok_or(NO_TIME)?),
            [b'D', b'T', b'=', time @ ..] => attempt.took = Some(units(time).ok_or(NO_TIME)?),
            _ => {}
        }
    }
    attempt.dsn = dsn_within(attempt.text);
    Ok(())
}

fn bracketed(word: &[u8]) -> &[u8] {
    let inner = word.strip_prefix(b"[").unwrap_or(word);
    &inner[..memrchr(b']', inner).unwrap_or(inner.len())]
}

fn delivered(text: &[u8], part: Part) -> Result<Attempt<'_>, Why> {
    let mut words = Words(text);
    let mut attempt = whom(&mut words, Outcome::Delivered, part)?;
    details(words, &mut attempt)?;
    Ok(attempt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Dsn;

    pub(super) const ID: &str = "1tEabc-0000AB-CD";

    #[test]
    fn a_delivery() {
        let line = format!(
            "{ID} => a@x.example <b@y.example> F=<s@l.example> R=dnslookup T=remote_smtp S=900 \
             H=mx.x.example [192.0.2.1]:25* X=TLS1.3:X:256 CV=yes K C=\"250 2.0.0 Ok: \\\"A\\\" B\" \
             QT=1m1.5s DT=0.250s"
        );
        assert_eq!(
            EXIM.attempted(&line),
            Attempt {
                recipients: b"a@x.example",
                original: Some(b"b@y.example"),
                relay: Some(b"mx.x.example"),
                address: b"192.0.2.1",
                delay: Some(61_500_000),
                parts: None,
                took: Some(250_000),
                dsn: Some(Dsn(2, 0, 0)),
                outcome: Outcome::Delivered,
                text: b"250 2.0.0 Ok: \\\"A\\\" B",
                part: Part::First,
            }
        );
    }

    #[test]
    fn attempts_of_other_kinds() {
        let more = format!("{ID} -> c@x R=r T=t H=[192.0.2.1] C=\"250 Ok\"");
        assert_eq!(
            (EXIM.attempted(&more).part, EXIM.attempted(&more).relay),
            (Part::More, Some(&b"192.0.2.1"[..]))
        );
        let local = format!("{ID} => kolstad <Kolstad@x.example> R=local_user T=mail_spool");
        assert_eq!(EXIM.attempted(&local).recipients, b"Kolstad@x.example");
        let spaced = format!("{ID} => \"a b\"@x.example R=r T=t H=x [192.0.2.1]");
        assert_eq!(EXIM.attempted(&spaced).recipients, b"\"a b\"@x.example");
        let hole = format!("{ID} => :blackhole: <a@x> R=r");
        assert_eq!(EXIM.attempted(&hole).recipients, b"a@x");
        let no = format!("{ID} ** a@x: Unrouteable address");
        assert_eq!(
            (EXIM.attempted(&no).outcome, EXIM.attempted(&no).text),
            (Outcome::Bounced, &b"Unrouteable address"[..])
        );
        let refused = format!(
            "{ID} ** a@x R=dnslookup T=remote_smtp H=mx.x [2001:db8::1]:25: SMTP error from remote \
             mail server after RCPT TO:<a@x>: 550 5.1.1 no"
        );
        let refused = EXIM.attempted(&refused);
        assert_eq!((refused.address, refused.dsn), (&b"2001:db8::1"[..], Some(Dsn(5, 1, 1))));
        let late = format!("{ID} == a@x R=r T=t defer (110): Connection timed out DT=30s");
        let late = EXIM.attempted(&late);
        assert_eq!((late.text, late.took), (&b"Connection timed out"[..], Some(30_000_000)));
        let host = format!(
            "{ID} == a@x R=r T=t defer (-44) H=mx.x [192.0.2.1] DT=1s: SMTP error after RCPT: \
             450 4.7.1 later"
        );
        let host = EXIM.attempted(&host);
        assert_eq!((host.relay, host.dsn), (Some(&b"mx.x"[..]), Some(Dsn(4, 7, 1))));
        assert_eq!(
            (host.took, host.text),
            (Some(1_000_000), &b"SMTP error after RCPT: 450 4.7.1 later"[..])
        );
    }

    #[test]
    fn what_is_about_messages() {
        let line = format!(
            "{ID} <= s@l.example H=h (e) [192.0.2.9]:4711 P=esmtp S=1234 id=1@l \
             T=\"for you \\\" and me\" from <s@l.example> for a@x b@x"
        );
        let info = MessageInfo {
            accepted: true,
            sender: Some(b"s@l.example"),
            message_id: Some(b"1@l"),
            size: Some(1234),
            recipients: Some(2),
        };
        assert_eq!(EXIM.event(&line), Ok(Some(Event::MessageInfo(info))));
        let report = format!("{ID} <= <> R=1tEabc-0000AB-CE U=exim P=local S=99");
        let Ok(Some(Event::MessageInfo(report))) = EXIM.event(&report) else { panic!() };
        assert_eq!((report.sender, report.recipients), (Some(&b""[..]), None));
        assert_eq!(EXIM.event(&format!("{ID} Completed")), Ok(Some(Event::Removed)));
        let long = "1tEabc-00000000ABC-0000 Completed";
        assert_eq!(EXIM.event(long), Ok(Some(Event::Removed)));
        for stamp in [
            "[1\\2] 2026-11-22 10:00:00",
            "2026-11-22 10:00:00",
            "2026-11-22 10:00:00.175 +0100 [77]",
            "[77]",
        ] {
            let twice = format!("{stamp} {ID} Completed QT=2.1s");
            assert_eq!(EXIM.event(&twice), Ok(Some(Event::Removed)), "{stamp}");
        }
    }

    #[test]
    fn commands_and_files() {
        for (what, recipient) in [
            ("|/usr/bin/vacation -a b <a@x> R=r T=address_pipe", "a@x"),
            ("|/usr/bin/autorespond a@x /home/b (c@x) <a@x> R=r", "a@x"),
            ("/home/b/mail/.Junk mail/ (b@x) <a@x> R=r T=address_file", "a@x"),
            ("save box <a@x> R=r T=address_file", "a@x"),
            ("b (c@x, d@x) <a@x> R=r", "a@x"),
            ("/dev/null R=r", "/dev/null"),
        ] {
            let line = format!("{ID} => {what}");
            assert_eq!(EXIM.attempted(&line).recipients, recipient.as_bytes(), "{what}");
        }
        let thrown_away = format!("{ID} => discarded (system filter)");
        assert_eq!(EXIM.event(&thrown_away), Ok(Some(Event::NoDelivery)));
    }

    #[test]
    fn what_is_of_no_interest() {
        let frozen = format!("{ID} Message is frozen");
        for line in
            ["Start queue run: pid=1", &frozen, ID, "", "no host name found for IP address 1.2.3.4"]
        {
            assert_eq!(EXIM.event(line), Ok(None), "{line}");
        }
    }

    #[test]
    fn what_is_damaged() {
        for rest in ["=> ", "** a@x", "== a@x R=r", "=> a@x QT=x"] {
            assert!(EXIM.event(&format!("{ID} {rest}")).is_err(), "{rest}");
        }
    }
}
