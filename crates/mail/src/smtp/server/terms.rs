//! What a session is held to.

use super::house::House;
use super::stress::Stressed;
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::units::Bytes;
use sojourn_core::{Span, choices, nested, parameters};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;

choices! {
    /// Which protocol a listener speaks.
    pub enum Protocol: "protocol" {
        /// SMTP (RFC 5321).
        Smtp = "smtp",
        /// LMTP (RFC 2033): a reply for each recipient after the message.
        Lmtp = "lmtp",
    }
}

choices! {
    /// Where a password is asked for (RFC 4954).
    pub enum AuthUse: "use of AUTH" {
        /// Nowhere.
        Never = "never",
        /// Under TLS only.
        Tls = "tls",
        /// Under TLS, and in plain text from a loopback address.
        Loopback = "loopback",
    }
}

parameters! {
    /// What one session may take of memory and time.
    pub struct Bounds: "bounds" {
        /// The largest message (SIZE, RFC 1870).
        pub message: Bytes = Bytes(50_000_000),
        /// Recipients of one message. A server has to take 100 (RFC 5321 section 4.5.3.1.8).
        pub recipients: NonZeroU32 = NonZeroU32::new(100_000).expect("above 0"),
        /// How long a command may take to come, from the reply before it to its last octet
        /// (RFC 5321 section 4.5.3.2.7: 5 minutes at least), and how long a client may take to log
        /// in at a port for submission.
        pub command: Span = Span::from_s(300),
        /// How long no octet of a message may come (a client's own limit is 3 minutes, RFC 5321
        /// section 4.5.3.2.5).
        pub block: Span = Span::from_s(180),
        /// How long a message may take to come.
        pub text: Span = Span::from_s(3600),
        /// How long a session may take.
        pub session: Span = Span::from_s(6 * 3600),
        /// Commands of one session that are wrong or refused to strangers; then it is ended.
        pub errors: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Commands of one session that lead to no message (EHLO, RSET, NOOP and such), from one
        /// message to the next; then it is ended (Postfix: smtpd_junk_command_limit).
        pub detours: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Passwords of one session that are wrong; then it is ended.
        pub logins: NonZeroU32 = NonZeroU32::new(3).expect("above 0"),
        /// `Received:` lines of a message; one with more goes round in circles (RFC 5321 section
        /// 6.3: 100 at least).
        pub hops: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// What a session may take while hardly a connection is left for others.
        pub stressed: Stressed = defaults(),
    }
}

impl Check for Bounds {
    fn check(&self) -> Result<(), Refusal> {
        if self.recipients.get() < 100 {
            let given = Value::Int(self.recipients.get().into());
            return Err(Refusal::value(&given, "at least 100").under("recipients"));
        }
        Ok(())
    }
}

nested!(Bounds);

/// What the sessions of one listener are held to.
#[derive(Clone)]
pub struct Terms {
    /// The server's own name.
    pub name: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// Where a password is asked for.
    pub auth: AuthUse,
    /// Whether it is for submission (RFC 6409): who is not known has to log in soon.
    pub submission: bool,
    /// Whether STARTTLS is offered.
    pub start_tls: bool,
    /// Whether a message of a known submitter with a CR or LF that stands alone is repaired; else, and
    /// of all others, it is refused.
    pub repair: bool,
    /// How much a session may take.
    pub bounds: Bounds,
    /// Who is at home here.
    pub house: Arc<dyn House>,
}

/// Whom a session is with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Whether its network may send.
    pub trusted: bool,
    /// Whether TLS stands already.
    pub secured: bool,
}

impl AuthUse {
    /// Whether a password may be asked for.
    pub(super) fn allows(self, peer: IpAddr, secured: bool) -> bool {
        match self {
            AuthUse::Never => false,
            AuthUse::Tls => secured,
            AuthUse::Loopback => secured || peer.to_canonical().is_loopback(),
        }
    }
}
