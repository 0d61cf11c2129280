//! Passwords: SASL's PLAIN (RFC 4616) and LOGIN, as AUTH carries them (RFC 4954).

use data_encoding::BASE64;
use std::fmt;

/// A name and a password, to be verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Who it is said to be.
    pub user: String,
    /// The proof.
    pub password: Password,
}

/// A password, which no log shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(pub String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// What came of verifying a name and a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are right.
    Right,
    /// One of them is wrong.
    Wrong,
    /// They were not looked at: too many were wrong before.
    Later,
}

/// What is awaited from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    Plain,
    LoginName,
    LoginPassword(String),
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Ask for more, with this challenge.
    Ask(Exchange, &'static str),
    Verify(Credentials),
    /// The client gave up.
    Cancelled,
    /// It said nothing that can be read.
    Garbled,
    Unknown,
}

/// "Username:" and "Password:", which clients of LOGIN expect.
const NAME: &str = "VXNlcm5hbWU6";
const PASSWORD: &str = "UGFzc3dvcmQ6";

/// What follows AUTH: a mechanism, and maybe its first response.
pub(super) fn begin(rest: &str) -> Turn {
    let (mechanism, response) = rest.split_once(' ').unwrap_or((rest, ""));
    let (exchange, challenge) = match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => (Exchange::Plain, ""),
        "LOGIN" => (Exchange::LoginName, NAME),
        _ => return Turn::Unknown,
    };
    match response.trim_matches(' ') {
        "" => Turn::Ask(exchange, challenge),
        // An empty response (RFC 4954 section 4).
        "=" => exchange.go_on(""),
        response => exchange.go_on(response),
    }
}

impl Exchange {
    /// A line of the client.
    pub(super) fn go_on(self, line: &str) -> Turn {
        if line == "*" {
            return Turn::Cancelled;
        }
        let Some(text) = decoded(line) else { return Turn::Garbled };
        match self {
            Exchange::Plain => plain(&text),
            Exchange::LoginName => Turn::Ask(Exchange::LoginPassword(text), PASSWORD),
            Exchange::LoginPassword(user) => {
                Turn::Verify(Credentials { user, password: Password(text) })
            }
        }
    }
}

/// The text that a line encodes. The decoder alone would take several such texts in a row.
fn decoded(line: &str) -> Option<String> {
    let is_single = !line.trim_end_matches('=').contains('=');
    let octets = BASE64.decode(line.as_bytes()).ok().filter(|_| is_single)?;
    String::from_utf8(octets).ok()
}

/// `authorize-as NUL user NUL password`; acting for another user is not known here.
fn plain(text: &str) -> Turn {
    let parts: Vec<&str> = text.split('\0').collect();
    match parts[..] {
        [acting, user, password]
            if !user.is_empty()
                && !password.is_empty()
                && (acting.is_empty() || acting == user) =>
        {
            let password = Password(password.to_owned());
            Turn::Verify(Credentials { user: user.to_owned(), password })
        }
        _ => Turn::Garbled,
    }
}
