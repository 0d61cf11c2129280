//! Return paths of lists at home: each copy has one with a token, by which a bounce is known to
//! come from a host that was sent the copy.
//!
//! `announce-bounces@host` becomes `announce-bounces+TOKEN@host` ([`super::token`]).
//!
//! Variable envelope return paths (VERP) without a token name the subscriber: `list-bounces@host`
//! becomes `list-bounces+user=domain@host` for `user@domain`, as Mailman and Postfix write it. The
//! domain is what follows the last `=`, which no domain has; the user's part comes back as it was,
//! quotes included.

use super::token::{self, Claim, Purpose, TokenKeys};
use sojourn_smtp::Address;

/// Octets that the local part of a return path may have before a token is added: 64 (RFC 5321
/// section 4.5.3.1.1) without the `+` and the token.
pub const LOCAL_MAX: usize = 64 - 1 - token::LENGTH;

/// The lists whose return paths carry tokens, and the keys that sign these. By default no list's
/// do.
#[derive(Clone, Debug, Default)]
pub struct ReturnPaths(Option<(TokenKeys, Vec<Address>)>);

/// What of a list's return path an address is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// The return path itself.
    Plain,
    /// The path with what has the length of a token behind it; whether it is one, keys tell.
    Token(String),
    /// The path with a subscriber's address behind it, as lists had it before there were tokens.
    Named,
}

impl ReturnPaths {
    /// Copies of mail whose sender is one of `lists` get return paths that `keys` sign.
    pub fn new(keys: TokenKeys, lists: Vec<Address>) -> ReturnPaths {
        ReturnPaths(Some((keys, lists)))
    }

    /// Whether no copies get separate return paths.
    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }

    /// Whether copies of mail from `sender` get separate return paths.
    pub fn has(&self, sender: &Address) -> bool {
        self.0.as_ref().is_some_and(|(_, lists)| lists.contains(sender))
    }

    /// The return path of the copy that `claim` names; nothing when `sender` is not one of the lists.
    pub fn path(&self, sender: &Address, claim: Claim) -> Option<Address> {
        let (keys, lists) = self.0.as_ref()?;
        let path = || with_token(keys, Purpose::Bounce, sender, claim);
        lists.contains(sender).then(path).flatten()
    }
}

/// The return path `back` with the token for `claim`, of a copy or of a probe. Nothing when it would be no address, because
/// the local part of `back` has more than [`LOCAL_MAX`] octets, or its domain is too long.
pub fn with_token(
    keys: &TokenKeys,
    purpose: Purpose,
    back: &Address,
    claim: Claim,
) -> Option<Address> {
    let token = keys.sign(purpose, back, claim);
    Address::of(&format!("{}+{token}", back.name()), back.domain()).ok()
}

/// What of the return path `back` the address is; nothing when it is another's. The case of the
/// return path does not matter: some hosts change it.
pub fn form(back: &Address, address: &Address) -> Option<Form> {
    match decode_verp(back, address) {
        Some(Reading::Plain) => return Some(Form::Plain),
        Some(Reading::Of(_)) => return Some(Form::Named),
        None => {}
    }
    if address.domain() != back.domain() {
        return None;
    }
    let (own, name) = (back.name(), address.name());
    let (head, rest) = name.split_at_checked(own.len())?;
    let token = rest.strip_prefix('+').filter(|_| head.eq_ignore_ascii_case(&own))?;
    let like_one =
        token.len() == token::LENGTH && token.bytes().all(|octet| octet.is_ascii_alphanumeric());
    like_one.then(|| Form::Token(token.to_owned()))
}

/// The return path for mail to `recipient`. Nothing when it would be no address, because it is too
/// long: a local part has 64 octets (RFC 5321 section 4.5.3.1.1).
pub fn encode_verp(back: &Address, recipient: &Address) -> Option<Address> {
    let name = format!("{}+{}={}", back.name(), recipient.name(), recipient.domain());
    Address::of(&name, back.domain()).ok()
}

/// What an address is to a given return path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It is the return path itself.
    Plain,
    /// It is the return path for mail to this subscriber.
    Of(Address),
}

/// What `address` is to the return path `back`; nothing when it is another one's. Upper and lower case of
/// the return path do not matter: some hosts change them.
pub fn decode_verp(back: &Address, address: &Address) -> Option<Reading> {
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
