//! How much mail from unknown clients people are given to read in an hour.

use super::not_taken::NotTaken;
use sojourn_smtp::{Address, Enhanced};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

const HOUR: i64 = 3600;

/// Whose bound it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Share {
    /// The postmaster's and that of abuse, together.
    Roles,
    /// What these get from one network of neighbours.
    Neighbours(IpAddr),
    /// That of the probes of all lists, which go to subscribers.
    Probes,
    /// That of the reader of the list with this return path.
    Reader(Address),
}

/// Copies of messages, and their octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) copies: u64,
    pub(crate) octets: u64,
}

/// What was taken since this hour began.
#[derive(Debug, Default)]
pub(crate) struct Hour {
    /// Since 1970.
    number: i64,
    taken: BTreeMap<Share, Amount>,
}

impl Amount {
    /// So many copies of a message.
    pub(crate) fn of(copies: usize, size: usize) -> Amount {
        let (copies, size) = (copies as u64, size as u64);
        Amount { copies, octets: copies.saturating_mul(size) }
    }

    /// What one of many may have of it.
    pub(crate) fn tenth(self) -> Amount {
        Amount { copies: self.copies.div_ceil(10), octets: self.octets.div_ceil(10) }
    }

    fn and(self, more: Amount) -> Amount {
        let (copies, octets) = (self.copies, self.octets);
        Amount {
            copies: copies.saturating_add(more.copies),
            octets: octets.saturating_add(more.octets),
        }
    }

    fn fits(self, most: Amount) -> bool {
        self.copies <= most.copies && self.octets <= most.octets
    }
}

impl Hour {
    /// Takes `more` of each share, at `now`, in seconds since 1970, if none has more than its most
    /// then; all or nothing.
    pub(crate) fn take(
        &mut self,
        now: i64,
        wanted: &[(Share, Amount, Amount)],
    ) -> Result<(), NotTaken> {
        let number = now.div_euclid(HOUR);
        if self.number != number {
            *self = Hour { number, taken: BTreeMap::new() };
        }
        let taken = |share| self.taken.get(share).copied().unwrap_or_default();
        for (share, more, most) in wanted {
            if more.octets > most.octets {
                let why = "the message is too large for who reads it";
                return Err(NotTaken::refused(552, Enhanced(5, 3, 4), why));
            }
            if !taken(share).and(*more).fits(*most) {
                return Err(NotTaken::full(format!("{share} has had too much mail in this hour")));
            }
        }
        for (share, more, _) in wanted {
            let taken = self.taken.entry(share.clone()).or_default();
            *taken = taken.and(*more);
        }
        Ok(())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Roles => f.write_str("the postmaster"),
            Share::Neighbours(_) => f.write_str("the postmaster of your network"),
            Share::Probes => f.write_str("subscribers"),
            Share::Reader(_) => f.write_str("the list's reader"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(copies: usize, octets: usize) -> Amount {
        Amount { octets: octets as u64, ..Amount::of(copies, 0) }
    }

    #[test]
    fn one_network_leaves_the_others_their_share() {
        let mut hour = Hour::default();
        let most = amount(100, 1000);
        let mut from = |now, network: u8, copies, octets| {
            let more = amount(copies, octets);
            let own = Share::Neighbours([192, 0, network, 0].into());
            let taken = hour.take(now, &[(Share::Roles, more, most), (own, more, most.tenth())]);
            taken.map_err(|why| why.reply.code)
        };
        // By copies, by octets, and by a message that never fits.
        assert_eq!(from(0, 1, 10, 10), Ok(()));
        assert_eq!(from(HOUR - 1, 1, 1, 0), Err(452));
        assert_eq!(from(0, 2, 1, 99), Ok(()));
        assert_eq!(from(0, 2, 1, 2), Err(452));
        assert_eq!(from(0, 3, 1, 101), Err(552));
        for network in 4..13 {
            assert_eq!(from(0, network, 9, 90), Ok(()), "{network}");
        }
        // All have had 92 copies and 919 octets together.
        assert_eq!(from(0, 13, 10, 0), Err(452));
        assert_eq!(from(0, 13, 8, 82), Err(452));
        assert_eq!(from(0, 13, 8, 81), Ok(()));
        assert_eq!(from(HOUR, 1, 10, 100), Ok(()));
    }
}
