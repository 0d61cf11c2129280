//! How many sessions may be open, and how much one transaction may carry.

use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Limits on sessions and transactions. A session counts from the attempt to connect until its
    /// connection is closed.
    pub struct Limits: "limits" {
        /// Maximum sessions in total. Too few make recipients wait for a session.
        pub sessions: NonZeroU32 = NonZeroU32::new(1000).expect("above 0"),
        /// Maximum sessions per destination (a recipient domain), and per host.
        pub destination: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Sessions of one network: the first 24 bits of an IPv4 address, 48 of an IPv6 address. A
        /// network starts with the share that `probes` says; each answer from it allows one more.
        pub network: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Sessions that a host gets at first, like `initial_destination_concurrency` of Postfix.
        /// After as many successful transactions as sessions are allowed, one more is allowed. If
        /// recipients have separate copies (VERP) and the host lacks CHUNKING, each success allows
        /// one more, because each copy takes a round trip. A 421 reduces the number to what the
        /// host did serve.
        pub initial: NonZeroU32 = NonZeroU32::new(5).expect("above 0"),
        /// How long the server respects the number of sessions at which a host refused more.
        pub relearn: Span = Span::from_s(300),
        /// One in this many sessions, at least one, may go to hosts that did not reply last time,
        /// and the same number may wait over 30 s for a reply. Beyond that, a session is closed if
        /// the host cannot have its message; others are kept in addition to `sessions`, up to the
        /// same number again. With 1, silent hosts may take all sessions. A large number gives
        /// little mail to hosts that are slow or back after an outage.
        pub probes: NonZeroU32 = NonZeroU32::new(4).expect("above 0"),
        /// Maximum open transactions of a session, if each recipient has its own and the host
        /// offers PIPELINING and CHUNKING. After a crash or a broken connection, up to this many
        /// copies per session are in doubt. 1 waits for each reply.
        pub window: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Maximum recipients of one transaction. A server has to accept 100 (RFC 5321 section
        /// 4.5.3.1.8).
        pub recipients: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Maximum waiting recipients of all messages. A message for more is refused for now (452
        /// 4.3.1), unless no other message waits.
        pub waiting: NonZeroU32 = NonZeroU32::new(1_000_000).expect("above 0"),
        /// Number of domains that the server remembers, with what it learnt about each. Beyond
        /// that, it forgets those that have had no mail for the longest time. The same number
        /// applies to hosts, except hosts of remembered domains.
        pub remembered: NonZeroU32 = NonZeroU32::new(50_000).expect("above 0"),
        /// Maximum transactions of a session while other mail waits for its place.
        pub turn: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// How long an idle session stays open.
        pub idle: Span = Span::from_s(2),
    }
}

impl Check for Limits {
    fn check(&self) -> Result<(), Refusal> {
        if self.initial > self.destination {
            let given = Value::Int(self.initial.get().into());
            let expected = format!("at most the limit of a destination, {}", self.destination);
            return Err(Refusal::value(&given, expected).under("initial"));
        }
        Ok(())
    }
}

impl Limits {
    /// How many of `all` sessions hosts may have that are not known to answer.
    pub(crate) fn share(&self, all: NonZeroU32) -> u32 {
        (all.get() / self.probes).max(1)
    }
}

nested!(Limits);
