//! Addresses of an SMTP envelope.

use idna::{AsciiDenyList, domain_to_ascii_cow};
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

/// A mailbox as an SMTP envelope names it (RFC 5321 section 4.1.2; UTF-8 as RFC 6531 allows it).
///
/// Whatever was parsed can stand between `<` and `>` of a command: no control character, no bare
/// space, no angle bracket outside quotes. The domain is in lower case, the local part as given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Shared: an address goes through many hands.
    text: Arc<str>,
    at: u16,
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    /// There is no `@` that parts a local part from a domain.
    NoDomain,
    /// The local part is empty, above 64 octets, or has a character that it may not have.
    LocalPart,
    /// The domain is empty, above 255 octets, or no sequence of labels or address literal.
    Domain,
    /// Together above 254 octets, what fits between the brackets of a path (section 4.5.3.1.3).
    TooLong,
}

const LOCAL_MAX: usize = 64;
const DOMAIN_MAX: usize = 255;
const ADDRESS_MAX: usize = 254;
const LABEL_MAX: usize = 63;

impl Address {
    /// The whole address.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What stands before the `@`.
    pub fn local(&self) -> &str {
        &self.text[..usize::from(self.at)]
    }

    /// What stands after the `@`, in lower case.
    pub fn domain(&self) -> &str {
        &self.text[usize::from(self.at) + 1..]
    }

    /// The mailbox `name` of `domain`; the name is put in quotes where it needs them.
    ///
    /// # Errors
    ///
    /// One of them, or both together, cannot be part of an address.
    pub fn of(name: &str, domain: &str) -> Result<Address, BadAddress> {
        if is_dot_string(name) {
            return format!("{name}@{domain}").parse();
        }
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{escaped}\"@{domain}").parse()
    }

    /// The mailbox's name: the local part without quotes and what quotes need.
    pub fn name(&self) -> Cow<'_, str> {
        let quoted = self.local().strip_prefix('"').and_then(|local| local.strip_suffix('"'));
        let Some(quoted) = quoted else { return self.local().into() };
        let mut escaped = false;
        let mut kept = quoted.to_owned();
        kept.retain(|c| {
            escaped = c == '\\' && !escaped;
            !escaped
        });
        kept.into()
    }

    /// The host, when the domain is an address literal: `[192.0.2.1]`, `[IPv6:2001:db8::1]`.
    pub fn literal(&self) -> Option<IpAddr> {
        literal(self.domain())
    }

    /// The spelling by which mailboxes are compared: the domain in A-labels (RFC 5890), the local
    /// part in lower case, because hosts change its case, and without quotes that mean nothing. Mail
    /// goes to the address as it was given. An address whose canonical form is too long has none, and
    /// is compared as it is.
    pub fn canonical(&self) -> Address {
        let is_plain = |byte: u8| {
            byte.is_ascii() && !byte.is_ascii_uppercase() && !matches!(byte, b'"' | b'[')
        };
        if self.text.bytes().all(is_plain) {
            return self.clone();
        }
        let domain = match self.literal() {
            Some(IpAddr::V4(v4)) => format!("[{v4}]").into(),
            Some(IpAddr::V6(v6)) => format!("[ipv6:{v6}]").into(),
            None => domain_to_ascii_cow(self.domain().as_bytes(), AsciiDenyList::STD3)
                .unwrap_or(self.domain().into()),
        };
        Address::of(&self.name().to_lowercase(), &domain).unwrap_or_else(|_| self.clone())
    }

    /// One address of each mailbox among `addresses`: the first one, as it was given.
    pub fn distinct(mut addresses: Vec<Address>) -> Vec<Address> {
        let mut mailboxes = BTreeSet::new();
        addresses.retain(|address| mailboxes.insert(address.canonical()));
        addresses
    }

    /// Whether it needs SMTPUTF8 (RFC 6531).
    pub fn is_international(&self) -> bool {
        !self.text.is_ascii()
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        let at = local_end(text)?;
        let (local, domain) = (&text[..at], &text[at + 1..]);
        if local.is_empty() || local.len() > LOCAL_MAX {
            return Err(BadAddress::LocalPart);
        }
        let domain = domain.to_lowercase();
        if domain.len() > DOMAIN_MAX || !(is_domain(&domain) || literal(&domain).is_some()) {
            return Err(BadAddress::Domain);
        }
        if local.len() + 1 + domain.len() > ADDRESS_MAX {
            return Err(BadAddress::TooLong);
        }
        Ok(Address { text: format!("{local}@{domain}").into(), at: at as u16 })
    }
}

/// Where the local part ends: at the `@` that follows a dot-string or a quoted string.
fn local_end(text: &str) -> Result<usize, BadAddress> {
    if let Some(quoted) = text.strip_prefix('"') {
        let mut escaped = false;
        for (place, c) in quoted.char_indices() {
            match c {
                _ if c.is_control() => return Err(BadAddress::LocalPart),
                _ if escaped && !(' '..='~').contains(&c) => return Err(BadAddress::LocalPart),
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    let at = 1 + place + 1;
                    return if text[at..].starts_with('@') {
                        Ok(at)
                    } else {
                        Err(BadAddress::LocalPart)
                    };
                }
                _ => {}
            }
        }
        return Err(BadAddress::LocalPart);
    }
    let at = text.find('@').ok_or(BadAddress::NoDomain)?;
    if is_dot_string(&text[..at]) { Ok(at) } else { Err(BadAddress::LocalPart) }
}

fn is_dot_string(text: &str) -> bool {
    text.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || is_international(c)
}

/// A character beyond ASCII that cannot be mistaken for structure.
fn is_international(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !c.is_whitespace()
}

fn is_domain(text: &str) -> bool {
    text.split('.').all(|label| {
        !label.is_empty()
            && label.len() <= LABEL_MAX
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || is_international(c))
    })
}

fn literal(domain: &str) -> Option<IpAddr> {
    let inside = domain.strip_prefix('[')?.strip_suffix(']')?;
    match inside.strip_prefix("ipv6:") {
        Some(v6) => v6.parse().ok().map(IpAddr::V6),
        None => inside.parse().ok().map(IpAddr::V4),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Setting for Address {
    fn expected() -> String {
        "a mail address".to_owned()
    }

    fn shape() -> Shape {
        Shape::Text(None)
    }

    fn read(value: &Value) -> Result<Address, Refusal> {
        match value {
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, Address::expected()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

impl fmt::Display for BadAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadAddress::NoDomain => "no @ with a domain after it",
            BadAddress::LocalPart => "not a local part before the @",
            BadAddress::Domain => "not a domain after the @",
            BadAddress::TooLong => "longer than 254 octets",
        })
    }
}

impl std::error::Error for BadAddress {}
