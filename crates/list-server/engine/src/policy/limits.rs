//! How many sessions may be open, and how much one transaction may carry.

use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, nested, parameters};
use std::num::NonZeroU32;

parameters! {
    /// Limits on sessions and transactions. A session counts from the attempt to connect until its
    /// connection is closed.
    pub struct Limits: "limits" {
        /// Sessions in all.
        pub sessions: NonZeroU32 = NonZeroU32::new(1000).expect("above 0"),
        /// Sessions of one destination (a recipient domain), and of one host.
        pub destination: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Sessions of one network: the first 24 bits of an IPv4 address, 48 of an IPv6 address. A
        /// network starts with the share that `probes` says; each answer from it allows one more.
        pub network: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Sessions that a host is given at first, as `initial_destination_concurrency` of Postfix.
        /// Each time as many transactions have succeeded as sessions are allowed, one more is; each
        /// that succeeds allows one more where recipients have copies (VERP) and the host lacks
        /// CHUNKING, so that each takes a round trip. A 421 brings the number down to what the host
        /// did serve.
        pub initial: NonZeroU32 = NonZeroU32::new(5).expect("above 0"),
        /// How long a number of sessions that a host refused to exceed is not exceeded.
        pub relearn: Span = Span::from_s(300),
        /// One in this many sessions, at least one, may go to hosts that did not answer last time, and
        /// as many may wait over 30 s for an answer. Above that, a session is closed if the host
        /// cannot have its message; others are kept beside `sessions`, up to as many again. 1 lets
        /// silent hosts take all sessions. A large number gives hosts that are slow, or back after an
        /// outage, little mail.
        pub probes: NonZeroU32 = NonZeroU32::new(4).expect("above 0"),
        /// Transactions that a session may have under way at a time where each recipient has one of
        /// its own and the host takes PIPELINING and CHUNKING: so many copies a session are in doubt
        /// after a crash or a broken connection. 1 waits for each answer.
        pub window: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Recipients of one transaction. A server has to take 100 (RFC 5321 section 4.5.3.1.8).
        pub recipients: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Recipients that may wait in all, over all messages: a message for more is not taken over
        /// now (452 4.3.1), unless no other waits.
        pub waiting: NonZeroU32 = NonZeroU32::new(1_000_000).expect("above 0"),
        /// Domains that are remembered, with what was learnt of each. Where there are more, those are
        /// forgotten that have no mail and had none for longest, roughly; and as many hosts, but
        /// those that such a domain's mail goes to.
        pub remembered: NonZeroU32 = NonZeroU32::new(50_000).expect("above 0"),
        /// How many transactions a session may have while others wait for its place.
        pub turn: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// How long a session without work is kept open for more.
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
