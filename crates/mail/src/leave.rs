//! Leaving a list by mail: who asks for it, and the message that asks back.
//!
//! A request that has a token proves whose it is. Any other is only as good as its `From:`, which
//! anybody can write: the subscriber is asked to confirm it.

use crate::address::Address;
use crate::header::{field, header};
use crate::report::date;

/// Octets of a header that are looked at.
const HEADER_MAX: usize = 64 * 1024;

/// Whether a program wrote the message in answer to another (RFC 3834 section 2), or a list sent it:
/// that is no request, whatever it came to.
pub fn is_automatic(text: &[u8]) -> bool {
    let header = beginning(text);
    let submitted = field(header, "Auto-Submitted");
    let kind = field(header, "Content-Type").unwrap_or_default().to_ascii_lowercase();
    submitted.is_some_and(|it| !it.to_ascii_lowercase().starts_with("no"))
        || ["List-Id", "List-Unsubscribe"].iter().any(|name| field(header, name).is_some())
        || field(header, "Precedence").is_some()
        || kind.starts_with("multipart/report")
}

/// The subscriber whom a request without a token names: its author. Nothing where its `From:` is not
/// one mailbox.
pub fn author(text: &[u8]) -> Option<Address> {
    mailbox(&field(beginning(text), "From")?)
}

fn beginning(text: &[u8]) -> &[u8] {
    header(&text[..text.len().min(HEADER_MAX)])
}

/// The address of a field with one mailbox: `name <address>`, or the address alone. Lists and groups
/// of mailboxes, and local parts in quotes, are none.
fn mailbox(text: &str) -> Option<Address> {
    let (mut quoted, mut escaped) = (false, false);
    let mut plain = text.to_owned();
    plain.retain(|c| {
        let (was_quoted, was_escaped) = (quoted, std::mem::take(&mut escaped));
        match c {
            _ if was_escaped => {}
            '\\' => escaped = was_quoted,
            '"' => quoted = !quoted,
            _ => {}
        }
        !was_quoted && c != '"'
    });
    if plain.contains([',', ':', ';']) {
        return None;
    }
    let bare = match plain.split_once('<') {
        Some((_, rest)) => rest.split_once('>').filter(|(_, rest)| rest.trim().is_empty())?.0,
        None => &plain,
    };
    bare.trim().parse().ok()
}

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
    /// Where an answer unsubscribes: it has the subscriber's token.
    pub answer_to: &'a Address,
    /// A link that does the same.
    pub link: Option<&'a str>,
}

impl Question<'_> {
    /// The message, in canonical form.
    pub fn write(&self) -> String {
        let link = match self.link {
            Some(link) => format!(",\r\nor open this page:\r\n\r\n{link}\r\n\r\n"),
            None => ".\r\n\r\n".to_owned(),
        };
        format!(
            "From: <{answer_to}>\r\n\
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
             To confirm, answer this message{link}\
             If it was not you, do nothing: you stay subscribed, and are not asked\r\n\
             again today.\r\n",
            answer_to = self.answer_to,
            to = self.to,
            date = date(self.now),
            id = self.id,
            server = self.server,
            list = self.list,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks() {
        let asks = |text: &str| author(text.as_bytes()).map(|it| it.to_string());
        let from = |from: &str| asks(&format!("To: x@y\r\nFrom: {from}\r\n\r\nunsubscribe\r\n"));
        assert_eq!(from("ann@x.example").as_deref(), Some("ann@x.example"));
        assert_eq!(from("\"Ann, of <b@c>\"\r\n <Ann@X.example>").as_deref(), Some("Ann@x.example"));
        for none in ["", "a@x, b@x", "<a@x>, <b@x>", "<a@x> b", "group: a@x;", "<a@x"] {
            assert_eq!(from(none), None, "{none}");
        }
        for program in [
            "Auto-Submitted: auto-replied",
            "Precedence: bulk",
            "List-Id: <l.x>",
            "Content-Type: multipart/report; boundary=b",
        ] {
            let text = |line| format!("From: ann@x.example\r\n{line}\r\n\r\n");
            assert!(is_automatic(text(program).as_bytes()), "{program}");
            assert!(!is_automatic(text("Auto-Submitted: no").as_bytes()));
        }
        assert_eq!(asks("Subject: x\r\n\r\nFrom: ann@x.example\r\n"), None);
        // No more of a header than its beginning is looked at.
        let long = format!("X: {}\r\nFrom: ann@x.example\r\n\r\n", "y".repeat(HEADER_MAX));
        assert_eq!(asks(&long), None);
    }

    #[test]
    fn the_question_says_how_to_answer() {
        let (to, answer_to) =
            ("ann@x.example".parse().unwrap(), "leave+t@l.example".parse().unwrap());
        let question = |link| Question {
            server: "l.example",
            id: "1",
            now: 0,
            list: "news.l.example",
            to: &to,
            answer_to: &answer_to,
            link,
        };
        let text = question(Some("https://l.example/t")).write();
        assert!(text.contains("From: <leave+t@l.example>\r\nTo: <ann@x.example>\r\n"), "{text}");
        assert!(
            text.contains("message,\r\nor open this page:\r\n\r\nhttps://l.example/t\r\n\r\nIf"),
            "{text}"
        );
        let bare = question(None).write();
        assert!(bare.contains("answer this message.\r\n\r\nIf"), "{bare}");
        for line in text.split_inclusive("\r\n") {
            assert!(line.ends_with("\r\n") && line.len() <= 80, "{line:?}");
        }
        // It is no request itself.
        assert!(is_automatic(text.as_bytes()));
    }
}
