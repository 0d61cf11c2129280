//! Limits of single destinations.

use sojourn_core::parameters::{Check, Refusal, Value};
use sojourn_core::{Span, choices, nested, parameters};
use sojourn_smtp::Address;
use std::fmt;
use std::num::NonZeroU32;

choices! {
    /// What a name in the table of limits is the name of.
    pub enum RollUp: "kind of destination" {
        /// A recipient domain; names below it are others.
        Domain = "domain",
        /// A mail host, as MX records name it: all domains that it takes mail for share the limits.
        Mx = "mx",
        /// The registered domain that the first mail host's name belongs to, such as `google.com`: all
        /// domains whose mail goes there share the limits.
        Provider = "provider",
    }
}

parameters! {
    /// Limits of one destination. If several apply to a domain, all of them count.
    pub struct DomainLimits: "domain" {
        /// Its name.
        pub name: String,
        /// Kind of destination.
        pub by: RollUp = RollUp::Domain,
        /// Maximum simultaneous sessions, instead of `limits.destination` and `limits.initial`. Too
        /// few make large lists wait, above all if each recipient has a copy (VERP) and the host
        /// lacks CHUNKING, because each copy then takes a round trip. A destination refuses too
        /// many, and may then accept less mail for a while.
        pub sessions: Option<NonZeroU32>,
        /// Maximum transactions per minute, evenly spread. Each is a message for up to
        /// `limits.recipients` recipients. Too few make large lists wait. Too many cause requests
        /// to slow down, after which the server finds the rate itself.
        pub per_minute: Option<NonZeroU32>,
        /// Maximum transactions of one session. 1 needs a connection for each. If it is more than
        /// the host allows, sessions end with a refusal, and the refused mail is sent again.
        pub per_session: Option<NonZeroU32>,
    }
}
nested!(DomainLimits);

impl Check for DomainLimits {
    fn check(&self) -> Result<(), Refusal> {
        if Address::of("x", &self.name).is_err() {
            let given = Value::Text(self.name.clone());
            return Err(Refusal::value(&given, "the name of a domain or host").under("name"));
        }
        if [self.sessions, self.per_minute, self.per_session].iter().all(Option::is_none) {
            let expected = "a number, or a number for per_minute or per_session";
            return Err(Refusal::missing("sessions", expected));
        }
        Ok(())
    }
}

impl DomainLimits {
    /// Whether these are the limits of a destination of this kind and name; in whatever case, as in an
    /// [`Address`].
    pub fn is_for(&self, by: RollUp, name: &str) -> bool {
        let name = name.trim_end_matches('.');
        self.by == by && self.name.to_lowercase() == name.to_lowercase()
    }

    /// How long after a transaction the next may begin.
    pub fn gap(&self) -> Span {
        self.per_minute.map_or(Span::ZERO, |it| gap(it.get()))
    }
}

impl fmt::Display for RollUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RollUp::Domain => "domain",
            RollUp::Mx => "mx",
            RollUp::Provider => "provider",
        })
    }
}

/// How long after a transaction the next may begin, of so many in a minute.
pub(crate) fn gap(per_minute: u32) -> Span {
    Span::from_ps(Span::from_s(60).ps().div_ceil(per_minute.into()))
}
