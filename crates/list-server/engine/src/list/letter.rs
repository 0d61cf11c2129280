//! Messages that this server writes to a person: whether a request to leave is theirs, whether an
//! address still works, and the operator's report.
//!
//! A request to leave that has a token proves whose it is. Any other is only as good as its `From:`,
//! which any client can write: the subscriber is asked to confirm it.

use super::mailto;
use crate::report::date;
use sojourn_smtp::Address;

/// A message to one person.
#[derive(Clone, Copy, Debug)]
pub struct Letter<'a> {
    /// The server that writes.
    pub server: &'a str,
    /// What the message is called among all of this server: it becomes part of its Message-ID.
    pub id: &'a str,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// In whose name: an answer to a question to leave is one more request, which proves nothing. It
    /// may be a program's, such as an absence note that does not say what it is (RFC 3834).
    pub from: &'a Address,
    /// Who is written to.
    pub to: &'a Address,
}

impl Letter<'_> {
    /// The message about `subject`, in canonical form; lines of `body` end with CRLF. `kind` is
    /// `auto-replied`, or `auto-generated` where nothing is answered (RFC 3834 section 5).
    pub fn write(&self, kind: &str, subject: &str, body: &str) -> String {
        format!(
            "From: <{from}>\r\n\
             To: <{to}>\r\n\
             Subject: {subject}\r\n\
             Date: {date}\r\n\
             Message-ID: <{id}@{server}>\r\n\
             Auto-Submitted: {kind}\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: 8bit\r\n\
             \r\n\
             {body}",
            from = self.from,
            to = self.to,
            date = date(self.now),
            id = self.id,
            server = self.server,
        )
    }

    /// Asks whether the request to leave `list`, which is its name for people, is theirs. `confirm`
    /// is the address that unsubscribes, with the subscriber's token, and `link` does the same.
    pub fn asks_to_leave(&self, list: &str, confirm: &Address, link: Option<&str>) -> String {
        let page = match link {
            Some(link) => format!("open this page:\r\n\r\n{link}\r\n\r\nor "),
            None => String::new(),
        };
        // A person may copy it too.
        let confirm = mailto(confirm).replace("%2B", "+");
        self.write(
            "auto-replied",
            "Do you want to unsubscribe?",
            &format!(
                "A message that bears your address asked to unsubscribe you from\r\n\
                 {list}.\r\n\
                 \r\n\
                 To confirm, {page}write to this address, whatever you say:\r\n\
                 \r\n\
                 {confirm}\r\n\
                 \r\n\
                 An answer to this message does not confirm. If it was not you, do\r\n\
                 nothing: you stay subscribed, and are not asked again today.\r\n"
            ),
        )
    }

    /// Asks whether an address still takes the mail of `list`: the bounce of this message is the
    /// answer. `reason` is why the last mailing failed.
    pub fn probes(&self, list: &str, reason: &str) -> String {
        self.write(
            "auto-generated",
            "Does our mail reach you?",
            &format!(
                "The last messages of\r\n\
                 {list}\r\n\
                 could not be delivered to your address. The last answer was:\r\n\
                 \r\n\
                 {reason}\r\n\
                 \r\n\
                 You need not do anything. If you can read this message, your address\r\n\
                 works again, and you stay subscribed. If it comes back to us too, you\r\n\
                 get no more mail of this list.\r\n"
            ),
        )
    }
}
