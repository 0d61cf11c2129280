//! The line that a server puts above a message it takes over (RFC 5321 section 4.4).

use std::net::IpAddr;

/// Who sent a message and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the client calls itself.
    pub hello: String,
    /// Its address.
    pub address: IpAddr,
    /// The protocol by its name (RFC 3848; RFC 6531 section 4.3).
    pub protocol: &'static str,
}

impl Trace {
    /// The `Received:` line by the server `name`, at `date` as RFC 5322 writes it. Whom the message is for is left out: list mail has many recipients, who need not know of
    /// each other.
    pub fn received(&self, name: &str, date: &str) -> String {
        let Trace { hello, address, protocol } = self;
        let literal = match address.to_canonical() {
            IpAddr::V4(v4) => format!("[{v4}]"),
            IpAddr::V6(v6) => format!("[IPv6:{v6}]"),
        };
        format!(
            "Received: from {hello} ({literal})\r\n\tby {name} with {protocol};\r\n\t{date}\r\n"
        )
    }
}

/// The protocol's name: `UTF8` for SMTPUTF8, `E` for EHLO, `S` under TLS, `A` with a password.
#[expect(clippy::fn_params_excessive_bools, reason = "a letter of the name for each")]
pub(super) fn protocol(
    lmtp: bool,
    extended: bool,
    secured: bool,
    user: bool,
    utf8: bool,
) -> &'static str {
    let place = usize::from(secured) + 2 * usize::from(user);
    match (lmtp, extended, utf8) {
        (true, _, false) => ["LMTP", "LMTPS", "LMTPA", "LMTPSA"][place],
        (true, _, true) => ["UTF8LMTP", "UTF8LMTPS", "UTF8LMTPA", "UTF8LMTPSA"][place],
        (false, true, false) => ["ESMTP", "ESMTPS", "ESMTPA", "ESMTPSA"][place],
        (false, true, true) => ["UTF8SMTP", "UTF8SMTPS", "UTF8SMTPA", "UTF8SMTPSA"][place],
        (false, false, _) => "SMTP",
    }
}
