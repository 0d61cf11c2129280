//! Leaving a list by mail: who asks for it, and the message that asks back.
//!
//! A request that has a token proves whose it is. Any other is only as good as its `From:`, which
//! any client can write: the subscriber is asked to confirm it.

use super::mailto;
use crate::report::date;
use sojourn_smtp::Address;

/// Asks a subscriber whether a request to leave is theirs.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The server that asks.
    pub server: &'a str,
    /// What the message is called among all of this server: it becomes part of its Message-ID.
    pub id: &'a str,
    /// Now, in seconds since 1970.
    pub now: i64,
    /// The list, by its name for people.
    pub list: &'a str,
    /// Who is asked.
    pub to: &'a Address,
    /// The sender of the question: an answer to it is one more request, which proves nothing. It may
    /// be a program's, such as an absence note that does not say what it is (RFC 3834).
    pub from: &'a Address,
    /// Where mail unsubscribes: the address has the subscriber's token.
    pub confirm: &'a Address,
    /// A link that does the same.
    pub link: Option<&'a str>,
}

impl Question<'_> {
    /// The message, in canonical form.
    pub fn write(&self) -> String {
        let page = match self.link {
            Some(link) => format!("open this page:\r\n\r\n{link}\r\n\r\nor "),
            None => String::new(),
        };
        format!(
            "From: <{from}>\r\n\
             To: <{to}>\r\n\
             Subject: Do you want to unsubscribe?\r\n\
             Date: {date}\r\n\
             Message-ID: <{id}@{server}>\r\n\
             Auto-Submitted: auto-replied\r\n\
             MIME-Version: 1.0\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\
             Content-Transfer-Encoding: 8bit\r\n\
             \r\n\
             A message that bears your address asked to unsubscribe you from\r\n\
             {list}.\r\n\
             \r\n\
             To confirm, {page}write to this address, whatever you say:\r\n\
             \r\n\
             {confirm}\r\n\
             \r\n\
             An answer to this message does not confirm. If it was not you, do\r\n\
             nothing: you stay subscribed, and are not asked again today.\r\n",
            from = self.from,
            to = self.to,
            date = date(self.now),
            id = self.id,
            server = self.server,
            list = self.list,
            // A person may copy it too.
            confirm = mailto(self.confirm).replace("%2B", "+"),
        )
    }
}
