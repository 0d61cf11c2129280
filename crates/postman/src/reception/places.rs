//! Places for sessions: so many in all, fewer for strangers, fewer still for each of them.

use super::settings::Rules;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places for sessions.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    most_strangers: usize,
    most_of_one: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    strangers: usize,
    by_stranger: BTreeMap<IpAddr, usize>,
}

/// A place that is taken, until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    stranger: Option<IpAddr>,
}

impl Places {
    pub(super) fn new(rules: &Rules) -> Arc<Places> {
        Arc::new(Places {
            most: rules.sessions.get() as usize,
            most_strangers: rules.strangers.get() as usize,
            most_of_one: rules.stranger.get() as usize,
            taken: Mutex::default(),
        })
    }

    /// A place for somebody at `address`, who is trusted or not; nothing when there is none.
    pub(super) fn take(self: &Arc<Places>, address: IpAddr, trusted: bool) -> Option<Place> {
        let mut taken = self.lock();
        if taken.all >= self.most {
            return None;
        }
        let stranger = (!trusted).then(|| household(address));
        if let Some(household) = stranger {
            let of_one = taken.by_stranger.get(&household).copied().unwrap_or(0);
            if taken.strangers >= self.most_strangers || of_one >= self.most_of_one {
                return None;
            }
            taken.strangers += 1;
            taken.by_stranger.insert(household, of_one + 1);
        }
        taken.all += 1;
        Some(Place { places: Arc::clone(self), stranger })
    }

    /// Places that are taken.
    pub(super) fn taken(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        taken.all -= 1;
        if let Some(household) = self.stranger {
            taken.strangers -= 1;
            let of_one = taken.by_stranger.get_mut(&household).expect("it was counted");
            *of_one -= 1;
            if *of_one == 0 {
                taken.by_stranger.remove(&household);
            }
        }
    }
}

/// Addresses that one client can choose from: of IPv6, a network of 64 bits.
fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::defaults;

    #[test]
    fn strangers_leave_room() {
        let few = |n: u32| n.try_into().unwrap();
        let rules = Rules { sessions: few(4), strangers: few(3), stranger: few(2), ..defaults() };
        let places = Places::new(&rules);
        let take = |address: &str, trusted| places.take(address.parse().unwrap(), trusted);
        let one = take("192.0.2.1", false).unwrap();
        let _two = take("::ffff:192.0.2.1", false).unwrap();
        assert!(take("192.0.2.1", false).is_none());
        let _three = take("2001:db8::1", false).unwrap();
        assert!(take("192.0.2.2", false).is_none(), "three strangers");
        let four = take("192.0.2.1", true).unwrap();
        assert!(take("192.0.2.9", true).is_none(), "four in all");
        drop((one, four));
        assert_eq!(places.taken(), 2);
        let _one = take("192.0.2.1", false).unwrap();
        drop(take("192.0.2.9", true).unwrap());
        assert_eq!(places.lock().by_stranger.len(), 2);
    }

    #[test]
    fn households() {
        let household = |text: &str| household(text.parse().unwrap()).to_string();
        assert_eq!(household("2001:db8::1:2:3:4"), "2001:db8::");
        assert_eq!(household("::ffff:192.0.2.1"), "192.0.2.1");
    }
}
