//! What a list server is set to.

use crate::policy::checkpoint::CheckpointKind;
use crate::policy::order::OrderKind;
use crate::policy::retry::RetryKind;
use crate::policy::split::SplitKind;
use crate::policy::timeouts::TimeoutsKind;
use crate::policy::{DomainLimits, Limits, checkpoint, order, retry, split, timeouts};
use sojourn_core::parameters::{Check, Refusal, Value, defaults};
use sojourn_core::{Span, nested, parameters};
use sojourn_smtp::Address;
use sojourn_smtp::client::Tls;

parameters! {
    /// A list server.
    pub struct Config: "mail" {
        /// Name of the server in EHLO: a domain, or an address literal such as `[192.0.2.1]`.
        pub hello: String,
        /// How a message's recipients are split into envelopes.
        pub split: SplitKind = SplitKind::ByDestination(defaults::<split::ByDestination>()),
        /// Order in which recipients are served.
        pub order: OrderKind = OrderKind::PastDelay(defaults::<order::PastDelay>()),
        /// How long to wait at each step of a session.
        pub timeouts: TimeoutsKind = TimeoutsKind::Passes(defaults::<timeouts::Passes>()),
        /// When results are written to stable storage.
        pub checkpoint: CheckpointKind = CheckpointKind::Group(defaults::<checkpoint::Group>()),
        /// When a failed delivery is tried again.
        pub retry: RetryKind = RetryKind::Prompt(defaults::<retry::Prompt>()),
        /// Limits on open sessions.
        pub limits: Limits = defaults::<Limits>(),
        /// Domains, mail hosts and providers with separate limits.
        pub domain: Vec<DomainLimits> = Vec::new(),
        /// Senders whose return path names the recipient (VERP): `list-bounces@host` becomes
        /// `list-bounces+user=domain@host`. Each of their recipients gets a separate transaction.
        /// This is for lists whose bounces another program reads; those at home have tokens.
        pub verp: Vec<Address> = Vec::new(),
        /// Whether sessions use TLS.
        pub tls: Tls = Tls::Opportunistic,
        /// Time after which an undelivered message is returned (RFC 5321 section 4.5.4.1: 4 to 5
        /// days; the paper's "Futures" proposes 24 hours).
        pub lifetime: Span = Span::from_s(5 * 86_400),
    }
}

/// The longest lifetime of a message.
const LONGEST: Span = Span::from_s(90 * 86_400);

nested!(Config);

impl Check for Config {
    fn check(&self) -> Result<(), Refusal> {
        let name = |c: char| c.is_ascii_alphanumeric() || ".-[]:".contains(c);
        if self.hello.is_empty() || !self.hello.chars().all(name) {
            let given = Value::Text(self.hello.clone());
            return Err(Refusal::value(&given, "a domain or an address literal").under("hello"));
        }
        // A delay in the log lasts up to 213 days, more than twice as long.
        if self.lifetime > LONGEST {
            let given = Value::Text(self.lifetime.to_string());
            return Err(Refusal::value(&given, "at most 90d").under("lifetime"));
        }
        for (i, it) in self.domain.iter().enumerate() {
            if self.domain[..i].iter().any(|before| before.is_for(it.by, &it.name)) {
                let given = Value::Text(it.name.clone());
                let refusal = Refusal::value(&given, "a domain that has no limits yet");
                return Err(refusal.under("name").among(i).under("domain"));
            }
        }
        Ok(())
    }
}
