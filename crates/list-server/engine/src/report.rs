//! This server's reports (RFC 3464) of what could not be delivered.

use crate::reason::Reason;
use sojourn_smtp::Address;
use sojourn_smtp::header::header;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// A report on one message, to be written.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// The name of the server that reports.
    pub server: &'a str,
    /// The message's sender.
    pub to: &'a Address,
    /// What names the report, among all of this server: it becomes part of its Message-ID.
    pub id: &'a str,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// When the message was accepted.
    pub arrived: i64,
    /// Who will not have it, and why.
    pub failures: &'a [(&'a Address, &'a Reason)],
    /// The text of the message; its header goes with the report.
    pub original: &'a [u8],
}

/// A report as it is sent: it has no sender, so that no report answers it (RFC 5321 section
/// 6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The text, in canonical form.
    pub text: Vec<u8>,
    /// Whether it has octets above 127.
    pub eight_bit: bool,
    /// Whether it needs SMTPUTF8, as reports on international addresses do (RFC 6533).
    pub utf8: bool,
}

/// Octets of the original's header that go along.
const HEADER_MAX: usize = 64 * 1024;
/// The end of the year 9999, in seconds since 1970.
const LAST_SECOND: i64 = 253_402_300_799;
/// Where lines are folded, if they have a space.
const WIDTH: usize = 76;

impl Notice<'_> {
    /// The report.
    pub fn write(&self) -> Written {
        let utf8 = self.to.is_international()
            || self.failures.iter().any(|(address, _)| address.is_international());
        let header = beginning(self.original);
        let status = self.status(utf8);
        let words = self.words();
        let boundary = (0..)
            .map(|turn| format!("=_{}_{turn}", self.id))
            .find(|it| ![&words, &status].iter().any(|part| part.contains(it)) && !has(header, it))
            .expect("a text has finitely many boundaries");
        let subkind = if utf8 { "global-delivery-status" } else { "delivery-status" };
        let headers = if utf8 { "message/global-headers" } else { "text/rfc822-headers" };
        let mut text = format!(
            "From: Mail delivery <MAILER-DAEMON@{server}>\r\n\
             To: <{to}>\r\n\
             Subject: Mail could not be delivered\r\n\
             Date: {date}\r\n\
             Message-ID: <{id}@{server}>\r\n\
             Auto-Submitted: auto-replied\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status;\r\n\
             \tboundary=\"{boundary}\"\r\n\
             \r\n\
             --{boundary}\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: 8bit\r\n\
             \r\n\
             {words}\r\n\
             --{boundary}\r\n\
             Content-Type: message/{subkind}\r\n\
             {transfer}\
             \r\n\
             {status}\
             --{boundary}\r\n\
             Content-Type: {headers}\r\n\
             Content-Transfer-Encoding: 8bit\r\n\
             \r\n",
            server = self.server,
            to = self.to,
            date = date(self.now),
            id = self.id,
            transfer = if utf8 { "Content-Transfer-Encoding: 8bit\r\n" } else { "" },
        )
        .into_bytes();
        text.extend_from_slice(header);
        text.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let eight_bit = !text.is_ascii();
        Written { text, eight_bit, utf8 }
    }

    /// For a person.
    fn words(&self) -> String {
        let mut words = String::from(
            "Your message could not be delivered to the addresses below.\r\n\
             Its header is attached, and the reasons in a form that programs read.\r\n",
        );
        for (address, reason) in self.failures {
            words += &format!("\r\n<{address}>\r\n{}", folded(&format!("    {reason}")));
        }
        words
    }

    /// For a program.
    fn status(&self, utf8: bool) -> String {
        let mut status = folded(&format!("Reporting-MTA: dns; {}", self.server));
        status += &format!("Arrival-Date: {}\r\n\r\n", date(self.arrived));
        let kind = if utf8 { "utf-8" } else { "rfc822" };
        for (address, reason) in self.failures {
            // Not folded: a space in quotes is part of the address.
            status += &format!("Final-Recipient: {kind}; {address}\r\n");
            status += &format!("Action: failed\r\nStatus: {}\r\n", reason.status);
            // This server's words are no diagnosis of another host's.
            if reason.text.starts_with(|c: char| c.is_ascii_digit()) {
                let plain = |c: char| if c.is_ascii() || utf8 { c } else { '?' };
                let said: String = reason.text.chars().map(plain).collect();
                status += &folded(&format!("Diagnostic-Code: smtp; {said}"));
            }
            status += "\r\n";
        }
        status
    }
}

/// The date of `unix` seconds since 1970 as RFC 5322 writes it, in Greenwich; a clock that is outside
/// the years 1970 to 9999 is wrong, and the nearest of them is written.
pub fn date(unix: i64) -> String {
    let date = OffsetDateTime::from_unix_timestamp(unix.clamp(0, LAST_SECOND));
    let text = date.ok().and_then(|date| date.format(&Rfc2822).ok());
    text.expect("a year of four digits can be written")
}

/// Of a message's header what goes along, whole lines of it.
fn beginning(text: &[u8]) -> &[u8] {
    let whole = header(text);
    let Some((kept, _)) = whole.split_at_checked(HEADER_MAX) else { return whole };
    let end = kept.windows(2).rposition(|octets| octets == b"\r\n");
    &kept[..end.map_or(0, |end| end + 2)]
}

fn has(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|octets| octets == part.as_bytes())
}

/// A field or line, folded at spaces: what follows a fold begins with one.
fn folded(text: &str) -> String {
    let (mut folded, mut column) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        if column > 0 && column + word.trim_end().chars().count() > WIDTH {
            folded.truncate(folded.trim_end().len());
            folded += "\r\n    ";
            column = 4;
        }
        folded += word;
        column += word.chars().count();
    }
    folded.truncate(folded.trim_end().len());
    folded + "\r\n"
}
