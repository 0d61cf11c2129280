//! Where recipients unsubscribe with one click.

use percent_encoding::{AsciiSet, percent_decode_str, utf8_percent_encode};
use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{nested, parameters};
use sojourn_mail_engine::list::RESERVED;
use std::borrow::Cow;
use std::net::{Ipv4Addr, SocketAddr};
use url::Url;

parameters! {
    /// An endpoint of the server where recipients unsubscribe with one click (RFC 8058). Each
    /// copy of a list's mail has a separate link there, in `List-Unsubscribe`.
    pub struct Unsubscribe: "unsubscribe" {
        /// Start of the links, as recipients reach it: an https URI, such as
        /// `https://lists.example.org/unsubscribe`. The list and a token follow it.
        pub url: String,
        /// Address and port of the endpoint.
        pub address: SocketAddr = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 443)),
        /// Whether the endpoint uses TLS with the server's `certificate`. Otherwise a proxy in
        /// front of it has to speak https, and only that proxy should reach the port.
        pub tls: bool = true,
    }
}

nested!(Unsubscribe);

/// A link has to fit in a line of a header beside the list's name and a token (RFC 5322 section
/// 2.1.1).
const URL_MAX: usize = 400;

impl Check for Unsubscribe {
    fn check(&self) -> Result<(), Refusal> {
        let normal = Url::parse(&self.url).ok().filter(|url| {
            let bare = url.username().is_empty() && url.query().is_none();
            let written = self.url.trim_end_matches('/');
            bare && url.scheme() == "https"
                && url.as_str().trim_end_matches('/').eq_ignore_ascii_case(written)
        });
        let plain = |c: char| c.is_ascii_graphic() && !"<>\"\\,#".contains(c);
        if normal.is_some() && self.url.len() <= URL_MAX && self.url.chars().all(plain) {
            return Ok(());
        }
        let given = Value::Text(self.url.clone());
        let expected = "an https URI of at most 400 characters in its normal form, such as \
                        https://lists.example.org/unsubscribe";
        Err(Refusal::value(&given, expected).under("url"))
    }
}

impl Unsubscribe {
    /// The path of the endpoint on its host, without a slash at its end: empty, or `/unsubscribe`.
    pub(crate) fn path(&self) -> String {
        let path = Url::parse(&self.url).map_or(String::new(), |url| url.path().to_owned());
        path.trim_end_matches('/').to_owned()
    }

    /// The link for the holder of `token` on the list whose return path is `list`.
    pub(crate) fn link(&self, list: &str, token: &str) -> String {
        let list = utf8_percent_encode(list, SEGMENT);
        format!("{}/{list}/{token}", self.url.trim_end_matches('/'))
    }

    /// The list and the token of a link.
    pub(crate) fn read<'a>(&self, link: &'a str) -> Option<(String, &'a str)> {
        let path = link.strip_prefix(self.url.trim_end_matches('/'))?.strip_prefix('/')?;
        let (list, token) = path.split_once('/')?;
        Some((decoded(list)?, token))
    }
}

/// What is encoded in a segment of a path (RFC 3986 section 3.3).
const SEGMENT: &AsciiSet = &RESERVED.remove(b'@').remove(b'+');

/// What was encoded so; nothing when it is no text.
pub(super) fn decoded(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::{Parameters, Table};

    fn read(url: &str) -> Unsubscribe {
        let mut table = Table::default();
        table.set("url", Value::Text(url.into()));
        Unsubscribe::read_table(&table).unwrap()
    }

    #[test]
    fn links_lead_back() {
        for (url, path) in [
            ("https://lists.example", ""),
            ("https://lists.example/", ""),
            ("https://lists.example:8443/a/leave/", "/a/leave"),
        ] {
            let settings = read(url);
            assert_eq!(settings.path(), path);
            let link = settings.link("\"a/b %\"@lists.example", "token");
            let rest = link.strip_prefix(url.trim_end_matches('/')).unwrap();
            let [_, list, token] = rest.split('/').collect::<Vec<_>>()[..] else {
                panic!("{link}")
            };
            let expected = ("\"a/b %\"@lists.example".to_owned(), "token");
            assert_eq!(settings.read(&link), Some(expected));
            assert_eq!(decoded(list).as_deref(), Some("\"a/b %\"@lists.example"));
            assert_eq!(token, "token");
        }
    }
}
