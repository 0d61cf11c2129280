//! Variable envelope return paths: the address that a bounce comes back to names the subscriber.
//!
//! `list-bounces@host` becomes `list-bounces+user=domain@host` for `user@domain`, as Mailman and
//! Postfix write it. The domain is what follows the last `=`, which no domain has; whatever the
//! user's part has, quotes included, comes back as it was.

use crate::address::Address;

/// The return path for mail to `recipient`. Nothing when it would be no address, because it is too
/// long: a local part has 64 octets (RFC 5321 section 4.5.3.1.1).
pub fn encode(back: &Address, recipient: &Address) -> Option<Address> {
    let name = format!("{}+{}={}", back.name(), recipient.name(), recipient.domain());
    Address::of(&name, back.domain()).ok()
}

/// What an address says, to somebody whose return path is a given one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is the return path itself.
    Plain,
    /// It is the return path for mail to this subscriber.
    Of(Address),
}

/// What `address` says to `back`; nothing when it is somebody else's. Upper and lower case of
/// the return path do not matter: some hosts change them.
pub fn decode(back: &Address, address: &Address) -> Option<Reading> {
    if address.domain() != back.domain() {
        return None;
    }
    let (own, name) = (back.name(), address.name());
    let (head, rest) = name.split_at_checked(own.len())?;
    if !head.eq_ignore_ascii_case(&own) {
        return None;
    }
    if rest.is_empty() {
        return Some(Reading::Plain);
    }
    let (user, domain) = rest.strip_prefix('+')?.rsplit_once('=')?;
    Address::of(user, domain).ok().map(Reading::Of)
}
