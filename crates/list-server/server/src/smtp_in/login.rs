//! Verifying passwords: not too often, and not too many at once. Passwords are known by their Argon2
//! hashes only (RFC 9106).
//!
//! Wrong passwords are counted for each client (an IPv4 address, an IPv6 network of 64 bits), for
//! its neighbourhood (24 bits of IPv4, 48 of IPv6) and for the user's name. Beyond a few, the next
//! one is verified 1, 2, 4, ... s later. One wrong password is forgotten an hour; a right one makes
//! the client's and the user's forgotten.
//!
//! A client from which a user has lately logged in is judged by that user's wrong passwords from
//! there alone, so that wrong passwords of others, near or far, do not lock the user out.

use super::submitters::{User, is_right};
use crate::event::{ServerEvent, SharedObserver};
use sojourn_mail_engine::prefix;
use sojourn_smtp::server::{Credentials, Verdict};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Passwords that are verified at once: each takes 19 MB and much of a processor.
const VERIFYING: usize = 2;
/// Sessions that wait at once until their password is verified; it is refused to others.
const DELAYED: usize = 10;

/// What verifies passwords.
pub(crate) struct Passwords {
    observer: SharedObserver,
    /// The clock of what follows.
    began: Instant,
    tries: Mutex<Tries>,
    delayed: Semaphore,
    verifying: Semaphore,
}

impl Passwords {
    pub(crate) fn new(observer: SharedObserver) -> Passwords {
        Passwords {
            observer,
            began: Instant::now(),
            tries: Mutex::new(Tries::new()),
            delayed: Semaphore::new(DELAYED),
            verifying: Semaphore::new(VERIFYING),
        }
    }

    /// What comes of a name and a password from `peer`, where `users` have passwords. This may take a
    /// minute, where the peer or its neighbours had wrong ones before.
    pub(crate) async fn verify(
        &self,
        users: &Arc<[User]>,
        given: Credentials,
        peer: SocketAddr,
    ) -> Verdict {
        let user = given.user.clone();
        let turn = lock(&self.tries).admit(self.now(), peer.ip(), &user);
        let delayed;
        match turn {
            Turn::After(Duration::ZERO) => {}
            Turn::After(wait) => {
                delayed = self.delayed.try_acquire();
                if delayed.is_err() {
                    return self.refuse(peer, &user, wait);
                }
                sleep(wait).await;
            }
            Turn::Refused(wait) => return self.refuse(peer, &user, wait),
        }
        let _turn = self.verifying.acquire().await;
        let users = Arc::clone(users);
        let right = spawn_blocking(move || is_right(&users, &given)).await.unwrap_or(false);
        lock(&self.tries).verified(self.now(), peer.ip(), &user, right);
        if right {
            return Verdict::Right;
        }
        self.observer.notice(&ServerEvent::WrongPassword { peer, user: &user });
        Verdict::Wrong
    }

    /// Whether a user has logged in from this address before, as far as that is remembered.
    pub(crate) fn know(&self, address: IpAddr) -> bool {
        lock(&self.tries).know(address)
    }

    fn refuse(&self, peer: SocketAddr, user: &str, wait: Duration) -> Verdict {
        self.observer.notice(&ServerEvent::PasswordRefused { peer, user, wait });
        Verdict::Later
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The longest wait before a password is verified; with a longer one it is refused.
const HELD: Duration = Duration::from_secs(60);
/// After so long without another, one wrong password is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// Clients, neighbourhoods and users that are remembered, of each kind; the oldest are dropped.
const REMEMBERED: usize = 4096;

/// How many may be wrong before there is a wait, and how long the wait may become.
#[derive(Clone, Copy)]
struct Allowance {
    free: u32,
    longest: Duration,
}

const CLIENT: Allowance = Allowance { free: 3, longest: Duration::from_secs(3600) };
const NEIGHBOURS: Allowance = Allowance { free: 12, longest: Duration::from_secs(3600) };
/// Guesses at a name delay its user at a new place, but for a minute only.
const USER: Allowance = Allowance { free: 10, longest: HELD };

/// What becomes of a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It is verified when so much time has passed.
    After(Duration),
    /// It is not verified: that would have to wait for so long.
    Refused(Duration),
}

/// Wrong passwords of one kind of key.
#[derive(Debug)]
struct Counts<K>(BTreeMap<K, Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    wrong: u32,
    /// When the last one was wrong, or one was forgotten.
    since: Duration,
    /// When the next one may be verified.
    next: Duration,
}

/// The wrong passwords of late. Times are those of a clock that is never set, since any moment.
#[derive(Debug)]
pub(crate) struct Tries {
    clients: Counts<IpAddr>,
    neighbours: Counts<IpAddr>,
    users: Counts<u64>,
    /// Clients and users who have logged in from there.
    known: Counts<(IpAddr, u64)>,
    names: RandomState,
}

impl Tries {
    pub(crate) fn new() -> Tries {
        Tries {
            clients: Counts(BTreeMap::new()),
            neighbours: Counts(BTreeMap::new()),
            users: Counts(BTreeMap::new()),
            known: Counts(BTreeMap::new()),
            names: RandomState::new(),
        }
    }

    /// A password for `user` comes from `address`. Clients that are to wait are verified one after
    /// the other: each one makes the next one's wait longer.
    pub(crate) fn admit(&mut self, now: Duration, address: IpAddr, user: &str) -> Turn {
        let (client, neighbours) = networks(address);
        let user = self.names.hash_one(user);
        if let Some(count) = self.known.0.get_mut(&(client, user)) {
            return admit(now, &mut [(count, CLIENT)]);
        }
        let mut counts = [
            self.clients.0.get_mut(&client).map(|it| (it, CLIENT)),
            self.neighbours.0.get_mut(&neighbours).map(|it| (it, NEIGHBOURS)),
            self.users.0.get_mut(&user).map(|it| (it, USER)),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
        admit(now, &mut counts)
    }

    /// Whether a user has logged in from there.
    pub(crate) fn know(&self, address: IpAddr) -> bool {
        let (client, _) = networks(address);
        self.known.0.range((client, 0)..=(client, u64::MAX)).next().is_some()
    }

    /// A password was verified.
    pub(crate) fn verified(&mut self, now: Duration, address: IpAddr, user: &str, right: bool) {
        let (client, neighbours) = networks(address);
        let user = self.names.hash_one(user);
        if right {
            self.clients.0.remove(&client);
            self.users.0.remove(&user);
            *self.known.of(now, (client, user)) = Count { since: now, ..Count::default() };
        } else if let Some(count) = self.known.0.get_mut(&(client, user)) {
            count.wrong(now, CLIENT);
        } else {
            self.clients.of(now, client).wrong(now, CLIENT);
            self.neighbours.of(now, neighbours).wrong(now, NEIGHBOURS);
            self.users.of(now, user).wrong(now, USER);
        }
    }
}

fn admit(now: Duration, counts: &mut [(&mut Count, Allowance)]) -> Turn {
    let wait = |it: &(&mut Count, Allowance)| it.0.next.saturating_sub(now);
    let wait = counts.iter().map(wait).max().unwrap_or_default();
    if wait > HELD {
        return Turn::Refused(wait);
    }
    for (count, allowance) in counts {
        count.forget(now);
        if count.wrong >= allowance.free {
            count.next = now + wait + count.wait(*allowance);
        }
    }
    Turn::After(wait)
}

impl<K: Ord + Copy> Counts<K> {
    /// The count of `key`; for a new one the oldest gives way where there are too many.
    fn of(&mut self, now: Duration, key: K) -> &mut Count {
        if self.0.len() >= REMEMBERED && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, count)| count.since).map(|(key, _)| *key);
            oldest.and_then(|oldest| self.0.remove(&oldest));
        }
        self.0.entry(key).or_insert(Count { since: now, ..Count::default() })
    }
}

impl Count {
    fn wrong(&mut self, now: Duration, allowance: Allowance) {
        self.forget(now);
        self.wrong += 1;
        self.since = now;
        if self.wrong >= allowance.free {
            self.next = self.next.max(now + self.wait(allowance));
        }
    }

    fn wait(&self, allowance: Allowance) -> Duration {
        let doubled = 1u64.checked_shl(self.wrong - allowance.free).unwrap_or(u64::MAX);
        Duration::from_secs(doubled).min(allowance.longest)
    }

    fn forget(&mut self, now: Duration) {
        let hours = now.saturating_sub(self.since).as_secs() / FORGOTTEN.as_secs();
        if let (Ok(hours), true) = (u32::try_from(hours), self.wrong > 0) {
            self.wrong = self.wrong.saturating_sub(hours);
            self.since += FORGOTTEN * hours;
        }
    }
}

/// The client and the neighbourhood of an address.
fn networks(address: IpAddr) -> (IpAddr, IpAddr) {
    (prefix(address, 32, 64), prefix(address, 24, 48))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Recorded;
    use sojourn_smtp::server::Password;

    /// A client that is refused takes no turn of those whose passwords are verified.
    #[test]
    fn refused_before_it_is_verified() {
        let heard = Recorded::default();
        let passwords = Passwords::new(SharedObserver::new(heard.clone()));
        let peer: SocketAddr = "192.0.2.1:25".parse().unwrap();
        for _ in 0..12 {
            lock(&passwords.tries).verified(passwords.now(), peer.ip(), "ann", false);
        }
        let _all = passwords.verifying.try_acquire_many(VERIFYING as u32).unwrap();
        let password = Password("x".into());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let given = Credentials { user: "ann".into(), password };
        let users: Arc<[User]> = Arc::new([]);
        let verify = || runtime.block_on(passwords.verify(&users, given.clone(), peer));
        assert_eq!([verify(), verify()], [Verdict::Later, Verdict::Later]);
        let heard = lock(&heard.0);
        let line =
            "password not verified: client=[192.0.2.1], user=ann: too many were wrong, again in 51";
        assert!(heard[0].starts_with(line), "{heard:?}");
    }

    const HOUR: u64 = 3600;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// How many wrong passwords are verified, when `clients` try in each of so many seconds.
    fn verified(
        tries: &mut Tries,
        clients: impl Fn(u64) -> Vec<IpAddr>,
        user: impl Fn(u64) -> String,
        seconds: std::ops::Range<u64>,
    ) -> usize {
        let mut pending: Vec<(Duration, IpAddr, String)> = Vec::new();
        let mut count = 0;
        for second in seconds {
            let now = s(second);
            for (_, client, user) in pending.extract_if(.., |it| it.0 <= now) {
                count += 1;
                tries.verified(now, client, &user, false);
            }
            for client in clients(second) {
                let user = user(second);
                if let Turn::After(wait) = tries.admit(now, client, &user) {
                    pending.push((now + wait, client, user));
                }
            }
        }
        count
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_one_client_has_verified_in_an_hour() {
        for client in ["192.0.2.1", "2001:db8::1"] {
            let mut tries = Tries::new();
            let of = |tries: &mut Tries, hours| {
                verified(tries, |_| vec![ip(client)], |it| it.to_string(), hours)
            };
            let first = of(&mut tries, 0..HOUR);
            assert!((10..=20).contains(&first), "{first}");
            let later = of(&mut tries, HOUR..24 * HOUR);
            assert!(later <= 30, "{later}");
        }
    }

    /// One client after the other: how many may try at once is bounded by sessions.
    #[test]
    fn what_a_neighbourhood_has_verified_in_an_hour() {
        let v4 = |i: u64| vec![ip(&format!("192.0.2.{}", i % 256))];
        let v6 = |i: u64| vec![ip(&format!("2001:db8:1:{i:x}::1"))];
        for clients in [&v4 as &dyn Fn(u64) -> Vec<IpAddr>, &v6] {
            let first = verified(&mut Tries::new(), clients, |it| it.to_string(), 0..HOUR);
            assert!((20..=30).contains(&first), "{first}");
        }
    }

    /// Sessions of one client that ask at once wait in turn, and do not share a wait.
    #[test]
    fn waits_are_in_turn() {
        let mut tries = Tries::new();
        let client = ip("192.0.2.1");
        (0..5).for_each(|_| tries.verified(s(0), client, "ann", false));
        let turns: Vec<_> = (0..20).map(|_| tries.admit(s(0), client, "ann")).collect();
        assert_eq!(turns[..3], [4, 8, 12].map(|it| Turn::After(s(it))));
        assert!(matches!(turns[19], Turn::Refused(wait) if wait > HELD));
    }

    #[test]
    fn a_right_password_makes_wrong_ones_forgotten() {
        let mut tries = Tries::new();
        let client = ip("192.0.2.1");
        (0..4).for_each(|_| tries.verified(s(0), client, "ann", false));
        assert_eq!(tries.admit(s(0), client, "ann"), Turn::After(s(2)));
        tries.verified(s(2), client, "ann", true);
        assert_eq!(tries.admit(s(2), client, "bob"), Turn::After(s(0)));
        assert_eq!(tries.admit(s(2), client, "ann"), Turn::After(s(0)));
    }

    /// Guesses from everywhere do not keep out a user from where that user has logged in.
    #[test]
    fn others_do_not_lock_a_user_out() {
        let mut tries = Tries::new();
        let home = ip("192.0.2.1");
        tries.verified(s(0), home, "ann", true);
        let far: Vec<IpAddr> = (0..200).map(|i| ip(&format!("198.{i}.100.1"))).collect();
        let guesses = verified(&mut tries, |_| far.clone(), |_| "ann".into(), 1..HOUR);
        // The first of all at once, and then one a minute.
        assert!(guesses <= 200 + 60 + 20, "{guesses}");
        assert_eq!(tries.admit(s(HOUR), home, "ann"), Turn::After(s(0)));
        // From the same client: another guesses at ann.
        (0..20).for_each(|_| tries.verified(s(HOUR), home, "bob", false));
        assert_eq!(tries.admit(s(HOUR), home, "ann"), Turn::After(s(0)));
        assert!(matches!(tries.admit(s(HOUR), home, "bob"), Turn::Refused(_)));
        // What is known of the client does not let others guess without end.
        let guesses = verified(&mut tries, |_| vec![home], |_| "ann".into(), HOUR..2 * HOUR);
        assert!(guesses <= 20, "{guesses}");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut tries = Tries::new();
        let first = ip("192.0.2.1");
        (0..9).for_each(|_| tries.verified(s(0), first, "ann", false));
        for i in 0..20_000_u64 {
            let bits = 0x2001_0db8_u128 << 96 | u128::from(i) << 64;
            let client = std::net::Ipv6Addr::from_bits(bits | u128::from(i)).into();
            tries.verified(s(i + 1), client, &i.to_string(), i % 2 == 0);
        }
        for len in [tries.clients.0.len(), tries.neighbours.0.len(), tries.known.0.len()] {
            assert!(len <= REMEMBERED, "{len}");
        }
        assert!(tries.users.0.len() <= REMEMBERED);
        assert_eq!(tries.admit(s(20_001), first, "x"), Turn::After(s(0)), "it was the oldest");
    }

    #[test]
    fn wrong_passwords_are_forgotten_by_the_hour() {
        let mut tries = Tries::new();
        let client = ip("192.0.2.1");
        (0..5).for_each(|_| tries.verified(s(0), client, "ann", false));
        assert_eq!(tries.admit(s(3 * HOUR), client, "ann"), Turn::After(s(0)));
        assert_eq!(tries.admit(s(3 * HOUR), client, "ann"), Turn::After(s(0)), "two are left");
    }
}
