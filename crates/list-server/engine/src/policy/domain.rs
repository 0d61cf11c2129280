//! Limits of single domains.

use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, nested, parameters};
use sojourn_smtp::Address;
use std::num::NonZeroU32;

parameters! {
    /// Limits of one recipient domain, beside those of all: what it asks of those who send to it.
    pub struct DomainLimits: "domain" {
        /// Its name; names below it are others.
        pub name: String,
        /// Sessions at a time.
        pub sessions: Option<NonZeroU32>,
        /// Transactions that begin in a minute, evenly spread: each is a message for as many
        /// recipients as `limits.recipients` has.
        pub per_minute: Option<NonZeroU32>,
    }
}
nested!(DomainLimits);

impl Check for DomainLimits {
    fn check(&self) -> Result<(), Refusal> {
        if Address::of("x", &self.name).is_err() {
            let given = Value::Text(self.name.clone());
            return Err(Refusal::value(&given, "a recipient domain").under("name"));
        }
        if self.sessions.is_none() && self.per_minute.is_none() {
            return Err(Refusal::missing("sessions", "a number, or a number for per_minute"));
        }
        Ok(())
    }
}

impl DomainLimits {
    /// Whether these are the limits of a domain; in whatever case, as in an [`Address`].
    pub fn is_for(&self, domain: &str) -> bool {
        self.name.to_lowercase() == domain.to_lowercase()
    }

    /// How long after a transaction the next may begin.
    pub fn gap(&self) -> Span {
        let minute = Span::from_s(60).ps();
        self.per_minute.map_or(Span::ZERO, |it| Span::from_ps(minute.div_ceil(it.get().into())))
    }
}
