//! Where recipients unsubscribe with one click.

use sojourn_kernel::parameters::{Check, Refusal, Value};
use sojourn_kernel::{nested, parameters};
use std::net::{Ipv4Addr, SocketAddr};

parameters! {
    /// An endpoint of the server's own where recipients unsubscribe with one click (RFC 8058). Each
    /// copy of a list's mail has a link of its own there, in `List-Unsubscribe`.
    pub struct Unsubscribe: "unsubscribe" {
        /// The beginning of the links, as recipients reach it: an https URI, such as
        /// `https://lists.example.org/unsubscribe`. The list and a token follow it.
        pub url: String,
        /// The address and port where it is served.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 443)),
        /// Whether it is served under TLS, with the server's `certificate`. Without, a proxy in front
        /// of it has to speak https, and only that proxy should reach the port.
        pub tls: bool = true,
    }
}

nested!(Unsubscribe);

/// A link has to fit in a line of a header beside the list's name and a token (RFC 5322 section
/// 2.1.1).
const URL_MAX: usize = 400;

impl Check for Unsubscribe {
    fn check(&self) -> Result<(), Refusal> {
        let host = self.url.strip_prefix("https://").and_then(|rest| rest.split('/').next());
        let plain = |c: char| c.is_ascii_graphic() && !"<>\"\\,?#".contains(c);
        let is_url = host.is_some_and(|host| !host.is_empty())
            && self.url.len() <= URL_MAX
            && self.url.chars().all(plain);
        if is_url {
            return Ok(());
        }
        let given = Value::Text(self.url.clone());
        let expected = "an https URI of at most 400 characters of ASCII, without ? and #";
        Err(Refusal::value(&given, expected).under("url"))
    }
}

impl Unsubscribe {
    /// The path of the endpoint on its host, without a slash at its end: empty, or `/unsubscribe`.
    pub(crate) fn path(&self) -> &str {
        let rest = self.url.strip_prefix("https://").unwrap_or(&self.url);
        let path = rest.find('/').map_or("", |at| &rest[at..]);
        path.trim_end_matches('/')
    }

    /// The link for the holder of `token` on the list whose return path is `list`.
    pub(crate) fn link(&self, list: &str, token: &str) -> String {
        format!("{}/{}/{token}", self.url.trim_end_matches('/'), encoded(list))
    }
}

/// `text` as one segment of a path (RFC 3986 section 3.3).
fn encoded(text: &str) -> String {
    let octet = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' | b'+' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(octet).collect()
}

/// What `encoded` made of a text; nothing when it is no such thing.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let mut bytes = segment.bytes();
    let mut text = Vec::with_capacity(segment.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        text.push((16 * high + low) as u8);
    }
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::{Parameters, Table};

    fn read(url: &str) -> Result<Unsubscribe, Refusal> {
        let mut table = Table::default();
        table.set("url", Value::Text(url.into()));
        Unsubscribe::read_table(&table)
    }

    #[test]
    fn links_lead_back() {
        for (url, path) in [
            ("https://lists.example", ""),
            ("https://lists.example/", ""),
            ("https://lists.example:8443/a/leave/", "/a/leave"),
        ] {
            let settings = read(url).unwrap();
            assert_eq!(settings.path(), path);
            let link = settings.link("\"a/b %\"@lists.example", "token");
            let rest = link.strip_prefix(url.trim_end_matches('/')).unwrap();
            let [_, list, token] = rest.split('/').collect::<Vec<_>>()[..] else {
                panic!("{link}")
            };
            assert_eq!(decoded(list).as_deref(), Some("\"a/b %\"@lists.example"));
            assert_eq!(token, "token");
        }
        for text in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_url() {
        for url in ["", "http://lists.example", "https:///x", "https://x/?a=1", "https://ü.example"]
        {
            assert!(read(url).is_err(), "{url}");
        }
        assert!(read(&format!("https://x/{}", "a".repeat(400))).is_err());
    }
}
