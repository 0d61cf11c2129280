//! What a session is held to.

use super::recipient_policy::RecipientPolicy;
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
    /// Limits of memory and time for one session.
    pub struct Bounds: "bounds" {
        /// Largest message (SIZE, RFC 1870).
        pub message: Bytes = Bytes(50_000_000),
        /// Maximum recipients of one message. A server has to accept 100 (RFC 5321 section
        /// 4.5.3.1.8).
        pub recipients: NonZeroU32 = NonZeroU32::new(100_000).expect("above 0"),
        /// Longest time from a reply to the last octet of the next command (RFC 5321 section
        /// 4.5.3.2.7: at least 5 minutes), and longest time to log in at a port for submission.
        pub command: Span = Span::from_s(300),
        /// Longest pause within a message (a client's own limit is 3 minutes, RFC 5321 section
        /// 4.5.3.2.5).
        pub block: Span = Span::from_s(180),
        /// Longest time to receive a message.
        pub text: Span = Span::from_s(3600),
        /// Longest duration of a session.
        pub session: Span = Span::from_s(6 * 3600),
        /// Wrong commands, and commands refused to unauthenticated clients, after which a session
        /// is ended.
        pub errors: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Commands without a message (EHLO, RSET, NOOP, AUTH and the like), from one message to
        /// the next, after which a session is ended (Postfix: smtpd_junk_command_limit).
        pub detours: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Wrong passwords after which a session is ended.
        pub logins: NonZeroU32 = NonZeroU32::new(3).expect("above 0"),
        /// Maximum `Received:` lines of a message. A message with more is in a loop (RFC 5321
        /// section 6.3: at least 100).
        pub hops: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Limits of a session while hardly any connection is free for others.
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
pub struct SessionConfig {
    /// The server's own name.
    pub name: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// When a password is required.
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
    pub recipient_policy: Arc<dyn RecipientPolicy>,
}

/// The client of a session.
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

parameters! {
    /// Limits of a session when all connections are in use. While half of them are free it has its
    /// ordinary limits, and the limits change gradually between the two. (Postfix has two steps:
    /// its stress mode, STRESS_README.)
    pub struct Stressed: "bounds under stress" {
        /// Longest time for a command, or pause within a message (Postfix: smtpd_timeout, 10 s
        /// under stress).
        pub command: Span = Span::from_s(10),
        /// Longest time from the start of the session, or from the last message, to the next
        /// complete message, without the time that `rate` allows for its text.
        pub message: Span = Span::from_s(60),
        /// Minimum octets per second of a text (Postfix: smtpd_min_data_rate, 500).
        pub rate: Bytes = Bytes(500),
        /// Maximum wrong commands, and commands refused to unauthenticated clients (Postfix:
        /// smtpd_hard_error_limit, 1 under stress).
        pub errors: NonZeroU32 = NonZeroU32::new(1).expect("above 0"),
        /// Maximum commands without a message. Two EHLO and STARTTLS count (Postfix:
        /// smtpd_junk_command_limit, 1 under stress, where EHLO does not count).
        pub detours: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }
}

impl Check for Stressed {}

nested!(Stressed);

impl Stressed {
    /// How long a client may take to its next whole message, of which so many octets are here.
    pub(super) fn message(&self, octets: usize) -> Span {
        let seconds = octets as u64 / self.rate.0.max(1);
        let text = seconds.saturating_mul(Span::from_s(1).ps());
        Span::from_ps(self.message.ps().saturating_add(text))
    }
}

/// How scarce connections are, from 0 (half of them are free, or more) to 100 (none is).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stress(u8);

impl Stress {
    /// There are enough.
    pub const NONE: Stress = Stress(0);

    /// So many of `most` are in use.
    pub fn of(used: usize, most: usize) -> Stress {
        let above_half = (2 * used).saturating_sub(most);
        Stress((above_half * 100).checked_div(most).map_or(100, |it| it.min(100) as u8))
    }

    /// The bound that is as far between the ordinary one and that under stress.
    pub(super) fn span(self, ordinary: Span, stressed: Span) -> Span {
        Span::from_ps(self.between(ordinary.ps(), stressed.ps()))
    }

    /// The count that is as far between the ordinary one and that under stress.
    pub(super) fn count(self, ordinary: NonZeroU32, stressed: NonZeroU32) -> u32 {
        self.between(ordinary.get().into(), stressed.get().into()) as u32
    }

    /// Stress gives no session more than it has without.
    fn between(self, ordinary: u64, stressed: u64) -> u64 {
        let less = u128::from(ordinary.saturating_sub(stressed)) * u128::from(self.0) / 100;
        ordinary - less as u64
    }
}

impl From<u8> for Stress {
    fn from(percent: u8) -> Stress {
        Stress(percent.min(100))
    }
}

impl From<Stress> for u8 {
    fn from(stress: Stress) -> u8 {
        stress.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_shrink_from_half_on() {
        let (s, most) = (Span::from_s, 40);
        for (used, expected) in [(0, 300), (20, 300), (30, 155), (40, 10), (50, 10)] {
            assert_eq!(Stress::of(used, most).span(s(300), s(10)), s(expected), "{used}");
        }
        assert_eq!(Stress::of(40, 40).span(s(5), s(10)), s(5));
        assert_eq!(Stress::of(0, 0), Stress(100));
        let few = |n| NonZeroU32::new(n).unwrap();
        assert_eq!(Stress::of(40, 40).count(few(20), few(1)), 1);
        assert_eq!(Stress::of(30, 40).count(few(20), few(1)), 11);
    }
}
