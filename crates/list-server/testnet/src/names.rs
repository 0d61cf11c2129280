//! What the name servers say of a domain.
//!
//! A new kind is an entry in the table, and an arm in the functions below it.

use crate::fault::duration;
use crate::kinds::kinds;
use sojourn_core::Span;
use std::time::Duration;

kinds! {
    /// What the name servers say of a domain.
    pub enum NamesKind: "kind of names";

    /// The domain's hosts as MX records.
    Mx: "mx" {}

    /// The hosts' addresses as the domain's own, and no MX record (RFC 5321 section 5.1).
    AddressOnly: "address-only" {}

    /// A null MX: the domain takes no mail (RFC 7505).
    NullMx: "null-mx" {}

    /// The domain exists, and has neither MX records nor addresses.
    NoRecords: "no-records" {}

    /// There is no such domain.
    Nxdomain: "nxdomain" {}

    /// SERVFAIL.
    Servfail: "servfail" {
        /// Until so long after the start; then the domain's hosts as MX records.
        pub until: Option<Span>,
    }

    /// No answer.
    Silent: "silent" {
        /// Until so long after the start; then the domain's hosts as MX records.
        pub until: Option<Span>,
    }

    /// The domain's hosts as MX records, after some thought.
    Slow: "slow" {
        /// How long for each answer.
        pub takes: Span = Span::from_s(2),
    }
}

/// What is answered to a question about a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its hosts as MX records; the domain itself has no address.
    Mx,
    /// Its hosts' addresses as its own; it has no MX record.
    Addresses,
    /// An MX record that says that it takes no mail (RFC 7505).
    NullMx,
    /// It exists, and has no records.
    NoRecords,
    /// There is no such domain.
    NoSuchDomain,
    /// The server cannot say.
    Failure,
    /// Nothing.
    Silence,
}

impl NamesKind {
    /// The answer at a time after the start.
    pub fn answer(&self, now: Duration) -> Answer {
        let over = |until: Option<Span>| until.is_some_and(|until| now >= duration(until));
        match self {
            NamesKind::Mx(_) | NamesKind::Slow(_) => Answer::Mx,
            NamesKind::AddressOnly(_) => Answer::Addresses,
            NamesKind::NullMx(_) => Answer::NullMx,
            NamesKind::NoRecords(_) => Answer::NoRecords,
            NamesKind::Nxdomain(_) => Answer::NoSuchDomain,
            NamesKind::Servfail(servfail) if over(servfail.until) => Answer::Mx,
            NamesKind::Servfail(_) => Answer::Failure,
            NamesKind::Silent(silent) if over(silent.until) => Answer::Mx,
            NamesKind::Silent(_) => Answer::Silence,
        }
    }

    /// How long it takes, beyond the round trip.
    pub fn thinking(&self) -> Duration {
        match self {
            NamesKind::Slow(slow) => duration(slow.takes),
            _ => Duration::ZERO,
        }
    }
}
