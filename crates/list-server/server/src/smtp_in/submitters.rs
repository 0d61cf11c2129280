//! Who may send to which list, and as which author.

use argon2::Argon2;
use argon2::password_hash::rand_core::OsRng;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use ipnet::IpNet;
use sojourn_core::parameters::{Check, Refusal, Setting, Shape, Value};
use sojourn_core::{nested, parameters};
use sojourn_mail_engine::list::List;
use sojourn_smtp::Address;
use sojourn_smtp::server::{Credentials, Submitter};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

parameters! {
    /// Programs that may send without a password, by their addresses, and what they may send.
    pub struct Program: "submitter" {
        /// Networks of the programs.
        pub networks: Vec<Subnet>,
        /// Return paths of the lists to which they may send. `MAIL FROM` is such a path.
        pub lists: Vec<Pattern> = Vec::new(),
        /// Addresses that the user may use in `MAIL FROM` of other mail. They never include a
        /// list's return path.
        pub senders: Vec<Pattern> = Vec::new(),
        /// Addresses that may be in the `From:` field of all their mail. By default any.
        pub from: Vec<Pattern> = Vec::new(),
    }
}

nested!(Program);

impl Check for Program {
    fn check(&self) -> Result<(), Refusal> {
        if self.networks.is_empty() {
            return Err(Refusal::missing("networks", "at least one"));
        }
        says_what(&self.lists, &self.senders)
    }
}

/// Refuses a submitter that may send nothing.
pub(crate) fn says_what(lists: &[Pattern], senders: &[Pattern]) -> Result<(), Refusal> {
    if lists.is_empty() && senders.is_empty() {
        let expected = "what may be sent: return paths of lists here, or addresses in senders";
        return Err(Refusal::missing("lists", expected));
    }
    Ok(())
}

/// Addresses that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// `*`: every address, and the null sender.
    Any,
    /// `<>`: the null sender, which notifications have (RFC 5321 section 4.5.5).
    Null,
    /// `*@domain`: the addresses of a domain, without those below it.
    Domain(String),
    /// One address, whatever the case of its letters.
    One(Address),
}

impl Pattern {
    /// Whether a sender is meant; nothing stands for the null sender.
    pub(crate) fn means(&self, sender: Option<&Address>) -> bool {
        match (self, sender) {
            (Pattern::Any, _) | (Pattern::Null, None) => true,
            (Pattern::Domain(domain), Some(sender)) => sender.domain() == domain,
            (Pattern::One(address), Some(sender)) => is_same(address, sender),
            _ => false,
        }
    }
}

fn is_same(one: &Address, other: &Address) -> bool {
    one.domain() == other.domain() && one.name().eq_ignore_ascii_case(&other.name())
}

impl Setting for Pattern {
    fn expected() -> String {
        "a mail address, \"*@\" with a domain, \"<>\" (the null sender) or \"*\" (any)".to_owned()
    }

    fn shape() -> Shape {
        Shape::Text(None)
    }

    fn read(value: &Value) -> Result<Pattern, Refusal> {
        let pattern = match value {
            Value::Text(text) if text == "*" => Some(Pattern::Any),
            Value::Text(text) if text == "<>" => Some(Pattern::Null),
            Value::Text(text) => match text.strip_prefix("*@") {
                Some(domain) => {
                    let address: Option<Address> = format!("x@{domain}").parse().ok();
                    address.map(|address| Pattern::Domain(address.domain().to_owned()))
                }
                None => text.parse().ok().map(Pattern::One),
            },
            _ => None,
        };
        pattern.ok_or_else(|| Refusal::value(value, Pattern::expected()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(match self {
            Pattern::Any => "*".into(),
            Pattern::Null => "<>".into(),
            Pattern::Domain(domain) => format!("*@{domain}"),
            Pattern::One(address) => address.to_string(),
        }))
    }
}

/// What one entry of the configuration allows.
#[derive(Clone, Debug)]
struct Grant {
    lists: Vec<Pattern>,
    senders: Vec<Pattern>,
    from: Vec<Pattern>,
}

impl Grant {
    /// For mail of `list`, or for mail from `sender` that is no list's.
    fn covers(&self, list: Option<&List>, sender: Option<&Address>) -> bool {
        match list {
            Some(list) => self.lists.iter().any(|it| it.means(Some(&list.bounces))),
            None => self.senders.iter().any(|it| it.means(sender)),
        }
    }
}

/// Who may send what.
#[derive(Clone, Debug)]
pub(crate) struct Submitters {
    networks: Vec<(Subnet, Grant)>,
    users: Vec<(String, Grant)>,
}

impl Submitters {
    /// `trusted` may send as any author, to every list.
    pub(crate) fn new(trusted: &[Subnet], programs: &[Program], users: &[User]) -> Submitters {
        let all = || vec![Pattern::Any];
        let everything = Grant { lists: all(), senders: all(), from: Vec::new() };
        let mut networks: Vec<_> = trusted.iter().map(|it| (*it, everything.clone())).collect();
        for Program { networks: of, lists, senders, from } in programs {
            let (lists, senders, from) = (lists.clone(), senders.clone(), from.clone());
            let grant = Grant { lists, senders, from };
            networks.extend(of.iter().map(|it| (*it, grant.clone())));
        }
        let user = |it: &User| {
            let (lists, senders, from) = (it.lists.clone(), it.senders.clone(), it.from.clone());
            (it.name.clone(), Grant { lists, senders, from })
        };
        Submitters { networks, users: users.iter().map(user).collect() }
    }

    /// The network, by its place among all, whose clients may send without a password and which has
    /// `address`.
    pub(crate) fn network(&self, address: IpAddr) -> Option<usize> {
        self.networks.iter().position(|(network, _)| network.contains(address))
    }

    /// Whether `submitter` may send mail of `list`, or mail from `sender` that is no list's.
    pub(crate) fn may_send(
        &self,
        submitter: Submitter<'_>,
        list: Option<&List>,
        sender: Option<&Address>,
    ) -> bool {
        self.grants(submitter).any(|grant| grant.covers(list, sender))
    }

    /// Whether `submitter` may send such mail in the name of `authors`; nothing stands for
    /// those that cannot be told.
    pub(crate) fn may_write_as(
        &self,
        submitter: Submitter<'_>,
        list: Option<&List>,
        sender: Option<&Address>,
        authors: Option<&[Address]>,
    ) -> bool {
        let mut grants = self.grants(submitter).filter(|grant| grant.covers(list, sender));
        grants.any(|Grant { from, .. }| {
            let means = |author| from.iter().any(|it| it.means(Some(author)));
            from.is_empty() || authors.is_some_and(|authors| authors.iter().all(means))
        })
    }

    /// All entries that are about a submitter. A client that has given a password has the rights of
    /// that user alone, whatever its network has.
    fn grants(&self, submitter: Submitter<'_>) -> impl Iterator<Item = &Grant> {
        let here = self.networks.iter().filter(move |(network, _)| match submitter {
            Submitter::Network(address) => network.contains(address),
            Submitter::User(_) | Submitter::Untrusted => false,
        });
        let user = self.users.iter().filter(move |(name, _)| match submitter {
            Submitter::User(user) => name == user,
            Submitter::Network(_) | Submitter::Untrusted => false,
        });
        here.map(|(_, grant)| grant).chain(user.map(|(_, grant)| grant))
    }
}

/// Refuses patterns for lists that mean no list, by the nearest that there is.
pub(crate) fn check_lists(patterns: &[Pattern], lists: &[List]) -> Result<(), Refusal> {
    for pattern in patterns {
        let is_known = lists.iter().any(|list| pattern.means(Some(&list.bounces)));
        if *pattern == Pattern::Any || is_known {
            continue;
        }
        let given = pattern.write().expect("a pattern is a text");
        let mut expected = "the return path of a [[list]]".to_owned();
        let likeness = |path: &str| match &given {
            Value::Text(text) => strsim::normalized_damerau_levenshtein(text, path),
            _ => 0.0,
        };
        let nearest = lists.iter().map(|list| list.bounces.as_str());
        let nearest = nearest.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        if let Some(nearest) = nearest {
            expected += &format!(" (did you mean {nearest}?)");
        }
        return Err(Refusal::value(&given, expected).under("lists"));
    }
    Ok(())
}

parameters! {
    /// A user who may send with a password.
    pub struct User: "user" {
        /// The name.
        pub name: String,
        /// The hash of the password, as `sojourn mail password` prints it.
        pub password: String,
        /// Return paths of the lists to which the user may send. `MAIL FROM` is such a path.
        pub lists: Vec<Pattern> = Vec::new(),
        /// Addresses that the user may use in `MAIL FROM` of other mail. They never include a
        /// list's return path.
        pub senders: Vec<Pattern> = Vec::new(),
        /// Addresses that may be in the `From:` field of all the user's mail. By default any.
        pub from: Vec<Pattern> = Vec::new(),
    }
}

nested!(User);

impl Check for User {
    fn check(&self) -> Result<(), Refusal> {
        let is_hash = PasswordHash::new(&self.password)
            .is_ok_and(|hash| hash.algorithm.as_str().starts_with("argon2") && hash.hash.is_some());
        if is_hash {
            return says_what(&self.lists, &self.senders);
        }
        // What was given may be the password itself: it is not repeated.
        let given = Value::Text("...".into());
        let expected = "a hash that begins with $argon2id$ (sojourn mail password makes one)";
        Err(Refusal::value(&given, expected).under("password"))
    }
}

/// Whether the password is that of the user. It takes as long for an unknown user.
pub(crate) fn is_right(users: &[User], given: &Credentials) -> bool {
    /// Of a password that no user has.
    const UNKNOWN_USER: &str = "$argon2id$v=19$m=19456,t=2,p=1$c29qb3Vybi1ub2JvZHk$\
        Zm9yIG5vYm9keSBhdCBhbGwsIDMyIG9jdGV0cyBsb25n";
    let user = users.iter().find(|user| user.name == given.user);
    let hash = PasswordHash::new(user.map_or(UNKNOWN_USER, |user| &user.password));
    let right = hash.is_ok_and(|hash| {
        Argon2::default().verify_password(given.password.0.as_bytes(), &hash).is_ok()
    });
    right && user.is_some()
}

/// The hash of a password, as it stands in a configuration.
pub fn hash_password(password: &str) -> String {
    let salt = SaltString::generate(&mut OsRng);
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt);
    hash.expect("the default parameters are sound").to_string()
}

/// An address, and how many of its first bits count: `192.0.2.0/24`, `2001:db8::/32`, `::1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet(IpNet);

/// A text is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASubnet;

impl Subnet {
    /// Whether `address` is in it. An IPv4 address in the form of IPv6 counts as the former.
    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }

    /// Whether all of `other` is in it.
    pub fn covers(self, other: Subnet) -> bool {
        self.0.contains(&other.0)
    }
}

impl FromStr for Subnet {
    type Err = NotASubnet;

    fn from_str(text: &str) -> Result<Subnet, NotASubnet> {
        let alone = |_| text.parse().map(|address: IpAddr| IpNet::from(address));
        let net: IpNet = text.parse().or_else(alone).map_err(|_| NotASubnet)?;
        if net == net.trunc() { Ok(Subnet(net)) } else { Err(NotASubnet) }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Setting for Subnet {
    fn expected() -> String {
        "a network, such as \"192.0.2.0/24\" (no bits set after the first 24) or \"::1\"".to_owned()
    }

    fn shape() -> Shape {
        Shape::Text(None)
    }

    fn read(value: &Value) -> Result<Subnet, Refusal> {
        match value {
            Value::Text(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| Refusal::value(value, Subnet::expected()))
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_smtp::server::Password;

    #[test]
    fn passwords() {
        let ann = |password: String| User {
            name: "ann".into(),
            password,
            lists: Vec::new(),
            senders: vec![Pattern::Any],
            from: Vec::new(),
        };
        let user = ann(hash_password("right"));
        user.check().unwrap();
        let users = [user];
        let right = |user: &str, password: &str| {
            let password = Password(password.into());
            is_right(&users, &Credentials { user: user.into(), password })
        };
        assert!(right("ann", "right"));
        assert!(!right("ann", "wrong") && !right("bob", "right") && !right("ann", ""));
        let plain = ann("secret".into());
        assert!(!format!("{:?}", plain.check().unwrap_err()).contains("secret"));
    }
}
