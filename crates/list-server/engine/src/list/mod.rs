//! A list, as its server knows it: where its mail comes back to, and what its mail says of it.

pub mod author;
pub mod letter;
pub mod outgoing;
pub mod return_path;
pub mod seven_bit;
pub mod token;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use return_path::LOCAL_MAX;
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_smtp::Address;
use sojourn_smtp::header::fields;
use std::fmt;

parameters! {
    /// A list. Mail belongs to the list if its sender is the list's return path.
    pub struct List: "list" {
        /// Return path of the list's mail, such as `announce-bounces@lists.example`. This server
        /// reads its bounces, so the MX of the domain has to point here.
        pub bounces: Address,
        /// Whether each copy has its own return path (VERP), with a token that this server can
        /// verify. Each recipient then gets a separate transaction, and a bounce names the
        /// subscriber. The name before the `@` may then have at most 31 octets, because 33 follow
        /// it. Without it, only failures that this server sees itself count.
        pub verp: bool = true,
        /// Address that gets bounces that no program understands. By default they are dropped.
        pub reader: Option<Address>,
        /// Address for leaving by mail, such as `announce-leave@lists.example`. With a token after
        /// the name it unsubscribes at once. Without a token, the subscriber is asked to confirm.
        pub leave: Option<Address>,
        /// The list's identity in `List-Id` (RFC 2919), such as `announce.lists.example`.
        pub id: Option<String>,
        /// The list's name, before its identity.
        pub name: Option<String>,
        /// Where to ask for help: URIs of `List-Help` (RFC 2369). The following keys are URIs too.
        pub help: Vec<String> = Vec::new(),
        /// Where to join.
        pub subscribe: Vec<String> = Vec::new(),
        /// How to leave. In all these URIs `{recipient}` stands for the recipient: each copy has its
        /// own, and its own signature, which needs `verp`.
        pub unsubscribe: Vec<String> = Vec::new(),
        /// Whether one of these is an https URI where a POST is enough to leave (RFC 8058).
        pub one_click: bool = false,
        /// Where to write to the list; `NO` if that is not possible.
        pub post: Vec<String> = Vec::new(),
        /// Where to reach the owner of the list.
        pub owner: Vec<String> = Vec::new(),
        /// Where to find old messages.
        pub archive: Vec<String> = Vec::new(),
    }
}

nested!(List);

impl Check for List {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |key: &str, given: &str, expected: &str| {
            Err(Refusal::value(&Value::Text(given.to_owned()), expected).under(key))
        };
        if self.verp && self.bounces.local().len() > LOCAL_MAX {
            let expected = format!(
                "at most {LOCAL_MAX} octets before the @, as a token of 33 follows them, or verp = false"
            );
            return refuse("bounces", self.bounces.as_str(), &expected);
        }
        if let Some(leave) = self.leave.as_ref().filter(|it| it.local().len() > LOCAL_MAX) {
            let expected = format!("at most {LOCAL_MAX} octets before the @, as a token follows");
            return refuse("leave", leave.as_str(), &expected);
        }
        if let Some(leave) = self.leave.as_ref().filter(|it| it.domain() != self.bounces.domain()) {
            return refuse("leave", leave.as_str(), "an address of the domain of bounces");
        }
        if let Some(id) = self.id.as_deref().filter(|id| !is_id(id)) {
            return refuse("id", id, "labels with dots between, such as announce.lists.example");
        }
        if let Some(name) = self.name.as_deref().filter(|name| !is_phrase(name)) {
            return refuse("name", name, "printable ASCII");
        }
        if self.name.is_some() && self.id.is_none() {
            return Err(Refusal::missing("id", "what the name belongs to"));
        }
        for (_, key, uris) in self.fields() {
            let is_no = |uri: &str| key == "post" && uri == "NO";
            if let Some(uri) = uris.iter().find(|uri| !is_uri(uri) && !is_no(uri)) {
                return refuse(
                    key,
                    uri,
                    "a mailto, http or https URI in ASCII, without < > or space",
                );
            }
        }
        if !self.verp && self.has_own_fields() {
            return refuse("verp", "false", "true, as {recipient} in a URI differs in each copy");
        }
        if self.one_click && !self.unsubscribe.iter().any(|uri| uri.starts_with("https:")) {
            return refuse("one_click", "true", "an https URI in unsubscribe with it");
        }
        Ok(())
    }
}

fn is_id(id: &str) -> bool {
    id.contains('.') && format!("x@{id}").parse::<Address>().is_ok() && id.is_ascii()
}

fn is_phrase(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c == ' ' || c.is_ascii_graphic())
}

fn is_uri(uri: &str) -> bool {
    let scheme = ["mailto:", "http://", "https://"].iter().any(|scheme| uri.starts_with(scheme));
    scheme
        && uri.len() <= 900
        && uri.chars().all(|c| c.is_ascii_graphic() && !"<>\"\\,".contains(c))
}

const UNSUBSCRIBE: &str = "List-Unsubscribe";
const ONE_CLICK: &str = "List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n";
const RECIPIENT: &str = "{recipient}";
/// What stands for itself nowhere in a URI.
pub const RESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

impl List {
    /// The list's name for people: its name, its identity, or its return path.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.id.as_deref()).unwrap_or(self.bounces.as_str())
    }

    /// The address where the holder of `token` leaves by mail; nothing where there is none.
    pub fn leave_path(&self, token: &str) -> Option<Address> {
        let leave = self.leave.as_ref()?;
        Address::of(&format!("{}+{token}", leave.name()), leave.domain()).ok()
    }

    /// The fields of URIs, by name and key.
    fn fields(&self) -> [(&'static str, &'static str, &Vec<String>); 6] {
        [
            ("List-Help", "help", &self.help),
            ("List-Subscribe", "subscribe", &self.subscribe),
            (UNSUBSCRIBE, "unsubscribe", &self.unsubscribe),
            ("List-Post", "post", &self.post),
            ("List-Owner", "owner", &self.owner),
            ("List-Archive", "archive", &self.archive),
        ]
    }

    /// Whether copies differ by their recipients: a URI names the recipient.
    pub fn has_own_fields(&self) -> bool {
        self.fields().iter().any(|(_, _, uris)| names_recipient(uris))
    }

    /// The header fields that the list adds above `text`, equal for all recipients. A field that it
    /// has already stays alone, as its author wrote it (RFC 2369 section 3 wants at most one). With
    /// `own_links` each copy has separate links to unsubscribe, which are not among these.
    pub fn shared_fields(&self, text: &[u8], own_links: bool) -> String {
        let mut added = String::new();
        let missing = |name: &str| fields(text, name) == 0;
        if let Some(id) = self.id.as_ref().filter(|_| missing("List-Id")) {
            added += &match &self.name {
                Some(name) => format!("List-Id: {} <{id}>\r\n", quoted(name)),
                None => format!("List-Id: <{id}>\r\n"),
            };
        }
        for (field, _, uris) in self.fields() {
            let links = field == UNSUBSCRIBE && own_links;
            if !names_recipient(uris) && !links && missing(field) {
                let leave = self.leave.as_ref().filter(|_| field == UNSUBSCRIBE).map(mailto);
                added += &self.field(field, leave.into_iter().chain(uris.iter().cloned()));
            }
        }
        added
    }

    /// The fields that the copy for `recipient` is to have above these. `links` are the recipient's
    /// own to unsubscribe: an https URI among them is one where a POST is enough (RFC 8058).
    pub fn own_fields(&self, text: &[u8], recipient: &Address, links: &[String]) -> String {
        let mut added = String::new();
        for (field, _, uris) in self.fields() {
            let links = if field == UNSUBSCRIBE { links } else { &[] };
            if (names_recipient(uris) || !links.is_empty()) && fields(text, field) == 0 {
                let uris = uris.iter().map(|uri| for_one(uri, recipient));
                added += &self.field(field, links.iter().cloned().chain(uris));
                if links.iter().any(|uri| uri.starts_with("https:")) && !self.one_click {
                    added += ONE_CLICK;
                }
            }
        }
        added
    }

    fn field(&self, field: &str, uris: impl Iterator<Item = String>) -> String {
        let uris: Vec<String> = uris.collect();
        if uris.is_empty() {
            return String::new();
        }
        let https = uris.iter().any(|uri| uri.starts_with("https:"));
        let listed: Vec<_> = uris.into_iter().map(bracketed).collect();
        let mut text = format!("{field}: {}\r\n", listed.join(",\r\n "));
        if field == UNSUBSCRIBE && self.one_click && https {
            text += ONE_CLICK;
        }
        text
    }
}

fn names_recipient(uris: &[String]) -> bool {
    uris.iter().any(|uri| uri.contains(RECIPIENT))
}

fn bracketed(uri: String) -> String {
    if uri == "NO" { uri } else { format!("<{uri}>") }
}

/// A phrase as a quoted string (RFC 5322 section 3.2.4).
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The URI for this recipient.
fn for_one(uri: &str, recipient: &Address) -> String {
    uri.replace(RECIPIENT, &encoded(recipient.as_str()).to_string())
}

/// The URI for mail to `address` (RFC 6068).
pub fn mailto(address: &Address) -> String {
    let (name, domain) = (encoded(address.local()), encoded(address.domain()));
    format!("mailto:{name}@{domain}")
}

/// `text` with all but the unreserved characters encoded (RFC 3986 section 2.3).
fn encoded(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, RESERVED)
}
