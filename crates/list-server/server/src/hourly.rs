//! How much clients may make the server send or store in an hour: a bound for all together, and a
//! tenth of it for one network, so that one client leaves the rest to others.

use sojourn_core::parameters::Check;
use sojourn_core::units::Bytes;
use sojourn_core::{nested, parameters};
use sojourn_mail_engine::prefix;
use sojourn_smtp::Address;
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;

parameters! {
    /// What clients may make the server send or store in an hour. One network of unauthenticated
    /// clients, of 24 bits of IPv4 or 48 of IPv6, has a tenth of each. More is refused until the next
    /// hour (452, or 429 by HTTP).
    pub struct HourlyBounds: "hourly bounds" {
        /// Messages of unauthenticated clients for the postmaster and for abuse, together, one for
        /// each of them. If this is small, a flood keeps people from writing to them; if it is large,
        /// they read a flood.
        pub postmaster: NonZeroU32 = NonZeroU32::new(100).expect("above 0"),
        /// Messages for each list's `reader`. Too small or too large: as for `postmaster`.
        pub reader: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// Octets of the messages for the postmaster and abuse, and of those for each `reader`. An
        /// unauthenticated client's message with more than a network's tenth is refused for good (552).
        pub octets: Bytes = Bytes(100_000_000),
        /// Questions to authors who ask to leave without a token. If this is small, requests wait for
        /// the next hour; if it is large, forged requests send as many messages to subscribers.
        pub questions: NonZeroU32 = NonZeroU32::new(1000).expect("above 0"),
        /// Requests to leave that have a token, by HTTP and by mail, with those for the page. If this
        /// is small, a provider's requests after a large mailing are refused; if it is large, the
        /// holder of one token may use the disk as often.
        pub requests: NonZeroU32 = NonZeroU32::new(100_000).expect("above 0"),
        /// Messages that come back and are verified; as many that are not. If this is small, hosts
        /// have to send a large mailing's bounces again later; if it is large, each costs time.
        pub bounces: NonZeroU32 = NonZeroU32::new(100_000).expect("above 0"),
        /// Messages that ask a subscriber whether mail arrives. If this is small, many dead addresses
        /// wait for theirs, and are mailed meanwhile; if it is large, providers see as many failures
        /// at once.
        pub probes: NonZeroU32 = NonZeroU32::new(200).expect("above 0"),
    }
}

impl Check for HourlyBounds {}

nested!(HourlyBounds);

/// What is bounded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Bound {
    /// Mail for the postmaster and for abuse, together.
    Roles,
    /// Mail for the reader of the list with this return path.
    Reader(Address),
    Questions,
    Requests,
    Bounces,
    /// Mail that came back and is not verified.
    Unverified,
    Probes,
}

/// How many, and the octets of them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) number: u64,
    pub(crate) octets: u64,
}

/// Why something is too much; the bound, and what is left of it for other networks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Excess<B> {
    /// It has more octets than may ever be taken.
    TooLarge(B),
    /// The bound of this window is reached.
    Reached(B),
    /// The network has had its tenth of it.
    Network(B),
}

/// What was taken in the current window of time.
#[derive(Debug)]
pub(crate) struct Window<B> {
    /// How long a window is, in seconds.
    length: i64,
    /// Windows since 1970.
    number: i64,
    /// By each network, and by all.
    taken: BTreeMap<(B, Option<IpAddr>), Amount>,
}

impl HourlyBounds {
    /// How much there may be in an hour.
    pub(crate) fn most(&self, bound: &Bound) -> Amount {
        let (number, octets) = match bound {
            Bound::Roles => (self.postmaster, self.octets.0),
            Bound::Reader(_) => (self.reader, self.octets.0),
            Bound::Questions => (self.questions, u64::MAX),
            Bound::Requests => (self.requests, u64::MAX),
            Bound::Bounces | Bound::Unverified => (self.bounces, u64::MAX),
            Bound::Probes => (self.probes, u64::MAX),
        };
        Amount { number: number.get().into(), octets }
    }
}

impl Bound {
    /// The names of all in the metrics.
    pub(crate) const NAMES: [&str; 7] =
        ["postmaster", "reader", "questions", "requests", "bounces", "unverified", "probes"];

    pub(crate) fn name(&self) -> &'static str {
        let place = match self {
            Bound::Roles => 0,
            Bound::Reader(_) => 1,
            Bound::Questions => 2,
            Bound::Requests => 3,
            Bound::Bounces => 4,
            Bound::Unverified => 5,
            Bound::Probes => 6,
        };
        Bound::NAMES[place]
    }
}

impl Amount {
    /// So many of `size` octets each.
    pub(crate) fn of(number: usize, size: usize) -> Amount {
        let (number, size) = (number as u64, size as u64);
        Amount { number, octets: number.saturating_mul(size) }
    }

    /// What one network may have of it.
    fn tenth(self) -> Amount {
        Amount { number: self.number.div_ceil(10), octets: self.octets.div_ceil(10) }
    }

    fn and(self, more: Amount) -> Amount {
        let number = self.number.saturating_add(more.number);
        Amount { number, octets: self.octets.saturating_add(more.octets) }
    }

    fn fits(self, most: Amount) -> bool {
        self.number <= most.number && self.octets <= most.octets
    }
}

impl<B: Clone + Ord> Window<B> {
    pub(crate) fn of_seconds(length: i64) -> Window<B> {
        Window { length, number: 0, taken: BTreeMap::new() }
    }

    /// Starts the window of `now`, in seconds since 1970, if that is another one; whether it is.
    pub(crate) fn turn(&mut self, now: i64) -> bool {
        let number = now.div_euclid(self.length);
        let is_new = self.number != number;
        if is_new {
            (self.number, self.taken) = (number, BTreeMap::new());
        }
        is_new
    }

    /// Takes `more` of each bound at `now`, all or nothing, if no more than `most` is taken then, and
    /// no more than a tenth of it by the network of `client`. Each bound is named once.
    pub(crate) fn take(
        &mut self,
        now: i64,
        client: Option<IpAddr>,
        wanted: &[(B, Amount, Amount)],
    ) -> Result<(), Excess<B>> {
        self.turn(now);
        let network = client.map(|it| prefix(it, 24, 48));
        let after = |bound: &B, of, more| {
            let taken = self.taken.get(&(bound.clone(), of)).copied().unwrap_or_default();
            taken.and(more)
        };
        for (bound, more, most) in wanted {
            let share = if network.is_some() { most.tenth() } else { *most };
            if more.octets > share.octets {
                return Err(Excess::TooLarge(bound.clone()));
            }
            if network.is_some() && !after(bound, network, *more).fits(share) {
                return Err(Excess::Network(bound.clone()));
            }
            if !after(bound, None, *more).fits(*most) {
                return Err(Excess::Reached(bound.clone()));
            }
        }
        for (bound, more, _) in wanted {
            for of in network.map(Some).into_iter().chain([None]) {
                let taken = self.taken.entry((bound.clone(), of)).or_default();
                *taken = taken.and(*more);
            }
        }
        Ok(())
    }
}

impl<B> Excess<B> {
    /// What is too much.
    pub(crate) fn bound(&self) -> &B {
        let (Excess::TooLarge(bound) | Excess::Reached(bound) | Excess::Network(bound)) = self;
        bound
    }
}

/// As a client reads it.
impl fmt::Display for Excess<Bound> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.bound() {
            Bound::Roles => "mail for the postmaster",
            Bound::Reader(_) => "mail for the list's reader",
            Bound::Questions => "requests to leave without a token",
            Bound::Requests => "requests to leave",
            Bound::Bounces => "returned mail",
            Bound::Unverified => "returned mail that is not verified",
            Bound::Probes => "probes",
        };
        match self {
            Excess::TooLarge(_) => f.write_str("the message is too large for who reads it"),
            Excess::Reached(_) => write!(f, "{what}: the bound of this hour is reached"),
            Excess::Network(_) => {
                write!(f, "{what}: your network's share of this hour is used up")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Excess::{Network, Reached, TooLarge};

    const HOUR: i64 = 3600;

    fn amount(number: usize, octets: u64) -> Amount {
        Amount { octets, ..Amount::of(number, 0) }
    }

    #[test]
    fn one_network_leaves_the_others_their_share() {
        let mut hour = Window::of_seconds(HOUR);
        let mut from = |now, network: u8, number, octets| {
            let client = Some([192, 0, network, 7].into());
            hour.take(now, client, &[("x", amount(number, octets), amount(100, 1000))])
        };
        // By number, by octets, and by a message that never fits.
        assert_eq!(from(0, 1, 10, 10), Ok(()));
        assert_eq!(from(HOUR - 1, 1, 1, 0), Err(Network("x")));
        assert_eq!(from(0, 2, 1, 99), Ok(()));
        assert_eq!(from(0, 2, 1, 2), Err(Network("x")));
        assert_eq!(from(0, 3, 1, 101), Err(TooLarge("x")));
        for network in 4..13 {
            assert_eq!(from(0, network, 9, 90), Ok(()), "{network}");
        }
        // All have had 92 and 919 octets together.
        assert_eq!(from(0, 13, 10, 0), Err(Reached("x")));
        assert_eq!(from(0, 13, 8, 82), Err(Reached("x")));
        assert_eq!(from(0, 13, 8, 81), Ok(()));
        assert_eq!(from(HOUR, 1, 10, 100), Ok(()));
    }

    #[test]
    fn all_bounds_take_or_none_does() {
        let mut hour = Window::of_seconds(HOUR);
        let mut take = |a, b| {
            let most = amount(10, 0);
            hour.take(0, None, &[("a", amount(a, 0), most), ("b", amount(b, 0), most)])
        };
        assert_eq!(take(1, 11), Err(Reached("b")));
        // Without a client's network there is no tenth, and nothing was taken of "a" before.
        assert_eq!(take(10, 9), Ok(()));
        assert_eq!(take(0, 1), Ok(()));
    }

    /// 48 bits of IPv6 have one share, and an IPv4 address in IPv6 that of IPv4.
    #[test]
    fn networks_of_ipv6() {
        let mut hour = Window::of_seconds(HOUR);
        let mut from = |client: &str| {
            hour.take(0, Some(client.parse().unwrap()), &[("x", amount(1, 0), amount(10, 0))])
        };
        assert_eq!(from("2001:db8:1:2::3"), Ok(()));
        assert_eq!(from("2001:db8:1:ffff::4"), Err(Network("x")));
        assert_eq!(from("2001:db8:2::"), Ok(()));
        assert_eq!(from("192.0.2.1"), Ok(()));
        assert_eq!(from("::ffff:192.0.2.9"), Err(Network("x")));
    }

    #[test]
    fn each_bound_has_a_name() {
        let reader = Bound::Reader("a@b.example".parse().unwrap());
        let all = [Bound::Roles, reader, Bound::Questions, Bound::Requests, Bound::Bounces];
        let all = all.into_iter().chain([Bound::Unverified, Bound::Probes]);
        assert!(all.map(|it| it.name()).eq(Bound::NAMES));
    }
}
