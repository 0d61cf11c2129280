//! What the name servers say of a domain.

mod address_only;
mod mx;
mod no_records;
mod null_mx;
mod nxdomain;
mod servfail;
mod silent;
mod slow;

pub use address_only::AddressOnly;
pub use mx::Mx;
pub use no_records::NoRecords;
pub use null_mx::NullMx;
pub use nxdomain::Nxdomain;
pub use servfail::Servfail;
pub use silent::Silent;
pub use slow::Slow;

use sojourn_core::variants;
use std::time::Duration;

variants! {
    /// What the name servers say of a domain.
    pub enum NamesKind: "kind of names" => names {
        Mx(Mx),
        AddressOnly(AddressOnly),
        NullMx(NullMx),
        NoRecords(NoRecords),
        Nxdomain(Nxdomain),
        Servfail(Servfail),
        Silent(Silent),
        Slow(Slow),
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

/// What the name servers say of a domain.
pub trait Names {
    /// The answer at a time after the start.
    fn answer(&self, now: Duration) -> Answer;

    /// How long it takes, beyond the round trip.
    fn thinking(&self) -> Duration {
        Duration::ZERO
    }
}

impl Names for NamesKind {
    fn answer(&self, now: Duration) -> Answer {
        names!(self, |it| it.answer(now))
    }

    fn thinking(&self) -> Duration {
        names!(self, |it| it.thinking())
    }
}
