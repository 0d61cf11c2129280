//! Places of connections: so many in all, for a network, and for a client. Where one of these is
//! reached, a connection gives way to a new one, or the new one has no place.
//!
//! Who gives way has the least claim: it has come to nothing for long; its network, then its client,
//! has the most places; it was not seen to come to its end before; it is at nothing. What comes is
//! judged as those that are there, so a crowd pushes out its own. One that is in the midst of its
//! work stays, unless that is a text of which nothing has come for a while.

use sojourn_mail_engine::prefix;
use sojourn_smtp::server::{Stage, Stress};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// All places, of one or several kinds.
#[derive(Debug)]
pub(crate) struct Places {
    kinds: Vec<Limits>,
    first: First,
    open: Mutex<Open>,
}

/// How many places of a kind there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) all: usize,
    pub(crate) network: usize,
    /// An address, or a network of 64 bits of IPv6.
    pub(crate) client: usize,
}

/// Which one gives way first, of those whose claims are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The one that has come to nothing longest.
    Longest,
    /// The one that came last, where its network has others: they are nearer to their end.
    Newest,
}

/// Clients that have a limit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    /// One that is set, by its number.
    Set(usize),
    /// 24 bits of IPv4, or 48 of IPv6.
    Near(IpAddr),
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    held: BTreeMap<u64, Held>,
    /// Of each kind.
    used: Vec<usize>,
    /// Those that give way and have not ended.
    leaving: usize,
}

#[derive(Debug)]
struct Held {
    kind: usize,
    network: Network,
    client: IpAddr,
    stage: Stage,
    /// Since when it has come to nothing.
    since: Instant,
    /// Whether it was seen to come to its end.
    proven: bool,
    leave: oneshot::Sender<()>,
}

/// A place, which is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    id: u64,
}

/// After so long an honest client has sent something of its text: several times the round trip to the
/// other side of the world.
const SILENT: Duration = Duration::from_secs(2);

/// After so long an honest client has come to something: it is what a command may take under stress.
const LATE: Duration = Duration::from_secs(10);

impl Network {
    pub(crate) fn near(address: IpAddr) -> Network {
        Network::Near(prefix(address, 24, 48))
    }
}

impl Places {
    pub(crate) fn new(kinds: Vec<Limits>, first: First) -> Arc<Places> {
        let open = Open { used: vec![0; kinds.len()], ..Open::default() };
        Arc::new(Places { kinds, first, open: Mutex::new(open) })
    }

    /// A place of this kind for a client at `address`, and a channel that says when it has to be given
    /// up; nothing where all others have a better claim.
    pub(crate) fn enter(
        self: &Arc<Places>,
        kind: usize,
        network: Network,
        address: IpAddr,
    ) -> Option<(Place, oneshot::Receiver<()>)> {
        let (leave, told) = oneshot::channel();
        let (client, since) = (prefix(address, 32, 64), Instant::now());
        let (stage, proven) = (Stage::Idle, false);
        let held = Held { kind, network, client, stage, since, proven, leave };
        let mut open = self.lock();
        self.make_room(&mut open, &held)?;
        let id = open.next;
        open.next += 1;
        open.used[kind] += 1;
        open.held.insert(id, held);
        Some((Place { places: Arc::clone(self), id }, told))
    }

    /// Places that are taken.
    pub(crate) fn count(&self) -> usize {
        self.lock().held.len()
    }

    /// Has one give way where a limit is reached: what it leaves counts in the wider ones too.
    fn make_room(&self, open: &mut Open, new: &Held) -> Option<()> {
        let limits = self.kinds[new.kind];
        let mut networks = BTreeMap::from([(new.network, 1)]);
        let mut clients = BTreeMap::from([(new.client, 1)]);
        for it in open.held.values().filter(|it| it.kind == new.kind) {
            *networks.entry(it.network).or_insert(0) += 1;
            *clients.entry(it.client).or_insert(0) += 1;
        }
        let by_client = clients[&new.client] > limits.client;
        let by_network = networks[&new.network] > limits.network;
        if !by_client && !by_network && open.used[new.kind] < limits.all {
            return Some(());
        }
        let waited = |it: &Held| new.since.saturating_duration_since(it.since);
        let crowd = |it: &Held| (waited(it) >= LATE, networks[&it.network], clients[&it.client]);
        let newest = |it: &Held| self.first == First::Newest && networks[&it.network] > 1;
        let claim = |it: &Held| {
            let last = if newest(it) { Duration::MAX - waited(it) } else { waited(it) };
            (crowd(it), !it.proven, it.stage, last)
        };
        let may = |it: &Held| {
            it.kind == new.kind
                && match it.stage {
                    Stage::Busy => false,
                    Stage::Text => waited(it) >= SILENT,
                    Stage::Begun | Stage::Idle => true,
                }
                && (!by_client || it.client == new.client)
                && (!by_network || it.network == new.network)
        };
        let worst = open.held.iter().filter(|(_, it)| may(it)).max_by_key(|(_, it)| claim(it));
        let (&id, worst) = worst?;
        if crowd(worst) < crowd(new) || newest(new) && crowd(worst) == crowd(new) {
            return None;
        }
        // Clients that do not read their last reply end a little later.
        if open.leaving >= self.kinds.iter().map(|it| it.all).sum() {
            return None;
        }
        let held = open.held.remove(&id).expect("the connection was found above");
        open.used[held.kind] -= 1;
        open.leaving += 1;
        // One that has ended meanwhile gives way all the same.
        let _ = held.leave.send(());
        Some(())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// What its connection is at, and since when it has come to nothing.
    pub(crate) fn set(&self, stage: Stage, since: Instant) {
        if let Some(held) = self.places.lock().held.get_mut(&self.id) {
            (held.stage, held.since) = (stage, since);
        }
    }

    /// Its connection has done what it is there for.
    pub(crate) fn prove(&self) {
        if let Some(held) = self.places.lock().held.get_mut(&self.id) {
            held.proven = true;
        }
    }

    /// Stays from now on, where fewer than `most` do.
    pub(crate) fn stay(&self, most: usize) -> bool {
        let mut open = self.places.lock();
        let staying = open.held.values().filter(|it| it.stage == Stage::Busy).count();
        let held = open.held.get_mut(&self.id).filter(|_| staying < most);
        held.map(|it| it.stage = Stage::Busy).is_some()
    }

    /// How scarce places are for those like it.
    pub(crate) fn stress(&self) -> Stress {
        let open = self.places.lock();
        let kind = open.held.get(&self.id).map(|it| it.kind);
        kind.map_or(Stress::NONE, |it| Stress::of(open.used[it], self.places.kinds[it].all))
    }

    /// Has a place of another kind from now on, if there is one.
    pub(crate) fn change(&self, kind: usize) {
        let mut open = self.places.lock();
        let Some(mut held) = open.held.remove(&self.id) else { return };
        let before = std::mem::replace(&mut held.kind, kind);
        (held.stage, held.since) = (Stage::Busy, Instant::now());
        if before != kind && self.places.make_room(&mut open, &held).is_none() {
            held.kind = before;
        }
        open.used[before] -= 1;
        open.used[held.kind] += 1;
        open.held.insert(self.id, held);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.lock();
        match open.held.remove(&self.id) {
            Some(held) => open.used[held.kind] -= 1,
            None => open.leaving -= 1,
        }
    }
}

#[cfg(test)]
mod tests;
