//! Verifying passwords: not too often, and not too many at once.

use super::happening::{Attendant, Happening};
use super::tries::{Tries, Turn};
use super::users::{User, is_right};
use sojourn_smtp::server::{Credentials, Verdict};
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
pub(super) struct Passwords {
    attendant: Arc<dyn Attendant>,
    /// The clock of what follows.
    began: Instant,
    tries: Mutex<Tries>,
    delayed: Semaphore,
    verifying: Semaphore,
}

impl Passwords {
    pub(super) fn new(attendant: Arc<dyn Attendant>) -> Passwords {
        Passwords {
            attendant,
            began: Instant::now(),
            tries: Mutex::new(Tries::new()),
            delayed: Semaphore::new(DELAYED),
            verifying: Semaphore::new(VERIFYING),
        }
    }

    /// What comes of a name and a password from `peer`, where `users` have passwords. This may take a
    /// minute, where the peer or its neighbours had wrong ones before.
    pub(super) async fn verify(
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
        self.attendant.notice(&Happening::WrongPassword { peer, user: &user });
        Verdict::Wrong
    }

    /// Whether a user has logged in from this address before, as far as that is remembered.
    pub(super) fn know(&self, address: IpAddr) -> bool {
        lock(&self.tries).know(address)
    }

    fn refuse(&self, peer: SocketAddr, user: &str, wait: Duration) -> Verdict {
        self.attendant.notice(&Happening::PasswordRefused { peer, user, wait });
        Verdict::Later
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_smtp::server::Password;

    struct Ear(Mutex<Vec<String>>);

    impl Attendant for Ear {
        fn notice(&self, happening: &Happening<'_>) {
            lock(&self.0).push(happening.to_string());
        }
    }

    /// A client that is refused takes no turn of those whose passwords are verified.
    #[test]
    fn refused_before_it_is_verified() {
        let ear = Arc::new(Ear(Mutex::default()));
        let passwords = Passwords::new(Arc::<Ear>::clone(&ear) as _);
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
        let heard = lock(&ear.0);
        let line =
            "password not verified: client=[192.0.2.1], user=ann: too many were wrong, again in 51";
        assert!(heard[0].starts_with(line), "{heard:?}");
    }
}
