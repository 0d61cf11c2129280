//! Who may be connected: so many clients in all, in one network, at one address, with connections
//! of their own for those who are trusted and for all others.
//!
//! Where a limit is reached, a session that is of no use gives way to a new one: one whose client
//! has begun no message, of the network with the most sessions the one that has been so longest.

use super::settings::Rules;
use sojourn_mail::smtp::server::Stress;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// All connections, and how many there may be.
#[derive(Debug)]
pub(super) struct Connections {
    limits: Limits,
    open: Mutex<Open>,
    /// How scarce connections are, for each [`Class`].
    stress: [AtomicU8; 2],
    began: Instant,
}

#[derive(Debug)]
struct Limits {
    of_class: [usize; 2],
    /// Of those who are trusted, in one of the networks that are set.
    network: usize,
    /// Of strangers.
    neighbours: usize,
    stranger: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Trusted,
    Stranger,
}

/// A network whose clients have a limit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Network {
    /// One that is trusted, by its place in the settings.
    Trusted(usize),
    /// 24 bits of IPv4, or 48 of IPv6.
    Neighbours(IpAddr),
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    sessions: BTreeMap<u64, Entry>,
    of_class: [usize; 2],
    /// Sessions that give way and have not ended.
    leaving: usize,
}

#[derive(Debug)]
struct Entry {
    class: Class,
    network: Network,
    client: IpAddr,
    idle: Arc<AtomicU64>,
    leave: oneshot::Sender<()>,
}

/// A connection, which counts until this is dropped.
#[derive(Debug)]
pub(super) struct Connection {
    connections: Arc<Connections>,
    id: u64,
    class: Class,
    /// Since when it has been of no use, in microseconds since all began.
    idle: Arc<AtomicU64>,
}

/// What a new client gets.
#[derive(Debug)]
pub(super) struct Admitted {
    pub(super) connection: Connection,
    pub(super) trusted: bool,
    /// Told when the connection is to be given up.
    pub(super) leave: oneshot::Receiver<()>,
}

/// In the midst of a message.
const BUSY: u64 = u64::MAX;

impl Connections {
    pub(super) fn new(rules: &Rules) -> Arc<Connections> {
        let strangers = rules.strangers.get() as usize;
        let limits = Limits {
            of_class: [(rules.sessions.get() as usize).saturating_sub(strangers), strangers],
            network: rules.network.get() as usize,
            neighbours: rules.neighbours.get() as usize,
            stranger: rules.stranger.get() as usize,
        };
        Arc::new(Connections {
            limits,
            open: Mutex::default(),
            stress: [AtomicU8::new(0), AtomicU8::new(0)],
            began: Instant::now(),
        })
    }

    /// A connection for a client at `address`, in the `trusted` network or a stranger; nothing where
    /// those who have them use them.
    pub(super) fn admit(
        self: &Arc<Connections>,
        address: IpAddr,
        trusted: Option<usize>,
    ) -> Option<Admitted> {
        let (class, network) = match trusted {
            Some(nth) => (Class::Trusted, Network::Trusted(nth)),
            None => (Class::Stranger, Network::Neighbours(prefix(address, 24, 48))),
        };
        let client = prefix(address, 32, 64);
        let mut open = self.lock();
        self.make_room(&mut open, class, network, client)?;
        let (leave, told) = oneshot::channel();
        let idle = Arc::new(AtomicU64::new(self.micros(Instant::now())));
        let id = open.next;
        open.next += 1;
        let entry = Entry { class, network, client, idle: Arc::clone(&idle), leave };
        open.sessions.insert(id, entry);
        self.counted(&mut open, class, 1);
        let connection = Connection { connections: Arc::clone(self), id, class, idle };
        Some(Admitted { connection, trusted: class == Class::Trusted, leave: told })
    }

    /// Sessions that are open.
    pub(super) fn count(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Has a session give way where a limit is reached, the narrowest one: what it leaves counts in
    /// the wider ones too.
    fn make_room(
        &self,
        open: &mut Open,
        class: Class,
        network: Network,
        client: IpAddr,
    ) -> Option<()> {
        let limits = &self.limits;
        let (mut of_network, mut of_client) = (0, 0);
        for it in open.sessions.values().filter(|it| it.class == class && it.network == network) {
            of_network += 1;
            of_client += usize::from(it.client == client);
        }
        let of_class = open.of_class[class as usize];
        let most_of_network = match class {
            Class::Trusted => limits.network,
            Class::Stranger => limits.neighbours,
        };
        let id = if class == Class::Stranger && of_client >= limits.stranger {
            open.longest_idle(|it| it.network == network && it.client == client)
        } else if of_network >= most_of_network {
            open.longest_idle(|it| it.network == network)
        } else if of_class >= limits.of_class[class as usize] {
            open.longest_idle(|it| it.class == class)
        } else {
            return Some(());
        }?;
        // Clients that do not read what they are told end a little later.
        if open.leaving >= limits.of_class.iter().sum() {
            return None;
        }
        let entry = open.sessions.remove(&id).expect("it was found");
        self.counted(open, entry.class, -1);
        open.leaving += 1;
        // A session that has ended meanwhile gives way all the same.
        let _ = entry.leave.send(());
        Some(())
    }

    fn counted(&self, open: &mut Open, class: Class, more: isize) {
        let of_class = &mut open.of_class[class as usize];
        *of_class = of_class.checked_add_signed(more).expect("what is open was counted");
        let stress = Stress::of(*of_class, self.limits.of_class[class as usize]);
        self.stress[class as usize].store(stress.into(), Ordering::Relaxed);
    }

    fn micros(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_micros() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Of the sessions that are of no use, in the network with the most, the one that has been so
    /// longest.
    fn longest_idle(&self, may: impl Fn(&Entry) -> bool) -> Option<u64> {
        let mut of_network = BTreeMap::<Network, usize>::new();
        for it in self.sessions.values().filter(|it| may(it)) {
            *of_network.entry(it.network).or_default() += 1;
        }
        let idle = self.sessions.iter().filter(|(_, it)| may(it)).filter_map(|(id, it)| {
            let since = it.idle.load(Ordering::Relaxed);
            (since != BUSY).then_some((of_network[&it.network], since, *id))
        });
        let first = idle.min_by_key(|(neighbours, since, _)| (usize::MAX - neighbours, *since));
        first.map(|(.., id)| id)
    }
}

impl Connection {
    /// Since when its session has been of no use; nothing in the midst of a message.
    pub(super) fn idle_since(&self, since: Option<Instant>) {
        let since = since.map_or(BUSY, |it| self.connections.micros(it));
        self.idle.store(since, Ordering::Relaxed);
    }

    /// How scarce connections are for those like it.
    pub(super) fn stress(&self) -> Stress {
        self.connections.stress[self.class as usize].load(Ordering::Relaxed).into()
    }

    /// Its client has given a password: it has one of the connections of the trusted, if there is
    /// one.
    pub(super) fn trust(&mut self) {
        let mut open = self.connections.lock();
        let full = open.of_class[0] >= self.connections.limits.of_class[0];
        let Some(entry) = open.sessions.get_mut(&self.id) else { return };
        if self.class == Class::Stranger && !full {
            (entry.class, self.class) = (Class::Trusted, Class::Trusted);
            self.connections.counted(&mut open, Class::Stranger, -1);
            self.connections.counted(&mut open, Class::Trusted, 1);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        match open.sessions.remove(&self.id) {
            Some(entry) => self.connections.counted(&mut open, entry.class, -1),
            None => open.leaving -= 1,
        }
    }
}

/// How long a session that gives way has to send its last reply.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// The first bits of an address, of IPv4 or of IPv6.
pub(super) fn prefix(address: IpAddr, v4_bits: u32, v6_bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << (32 - v4_bits))).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << (128 - v6_bits))).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::defaults;

    fn connections(rules: Rules) -> Arc<Connections> {
        Connections::new(&rules)
    }

    fn few(n: u32) -> std::num::NonZeroU32 {
        n.try_into().unwrap()
    }

    fn busy(connections: &Arc<Connections>, address: &str) -> Admitted {
        let trusted = address.starts_with("198.51.100").then_some(0);
        let admitted = connections.admit(address.parse().unwrap(), trusted).expect(address);
        admitted.connection.idle_since(None);
        admitted
    }

    #[test]
    fn those_in_the_midst_of_a_message_keep_their_connections() {
        let (sessions, strangers) = (few(8), few(5));
        let (stranger, neighbours) = (few(2), few(3));
        let all = connections(Rules { sessions, strangers, stranger, neighbours, ..defaults() });
        let refused = |address: &str| {
            let trusted = address.starts_with("198.51.100").then_some(0);
            all.admit(address.parse().unwrap(), trusted).is_none()
        };
        let mut held = vec![busy(&all, "192.0.2.1"), busy(&all, "::ffff:192.0.2.1")];
        assert!(refused("192.0.2.1"), "two of one address");
        held.push(busy(&all, "192.0.2.2"));
        assert!(refused("192.0.2.3"), "three of 24 bits");
        held.push(busy(&all, "2001:db8::1"));
        held.push(busy(&all, "2001:db8:0:1::1"));
        assert!(refused("203.0.113.1"), "five strangers");
        assert_eq!(u8::from(held[0].connection.stress()), 100);
        // Who is trusted has others.
        let mut own: Vec<_> = (1..4).map(|n| busy(&all, &format!("198.51.100.{n}"))).collect();
        assert!(own.iter().all(|it| it.trusted) && refused("198.51.100.9"));
        own.pop();
        held[0].connection.trust();
        assert_eq!(all.lock().of_class, [3, 4]);
        held.clear();
        own.clear();
        let open = all.lock();
        assert_eq!((open.sessions.len(), open.of_class, open.leaving), (0, [0, 0], 0));
    }

    #[test]
    fn the_idle_ones_give_way() {
        let all = connections(Rules { sessions: few(7), strangers: few(4), ..defaults() });
        let began = all.began;
        let admit = |address: &str, seconds| {
            let admitted = all.admit(address.parse().unwrap(), None).expect(address);
            admitted.connection.idle_since(Some(began + Duration::from_secs(seconds)));
            admitted
        };
        let mut one = admit("192.0.2.1", 1);
        let mut two = admit("203.0.112.2", 3);
        let mut three = admit("203.0.112.3", 2);
        let _busy = busy(&all, "203.0.112.4");
        // Of the network with the most, not the one that has been idle longest.
        let _five = admit("203.0.113.5", 9);
        assert!(three.leave.try_recv().is_ok() && all.lock().leaving == 1);
        drop(three);
        assert!(two.leave.try_recv().is_err() && all.lock().leaving == 0);
        // Of networks with as many, the one that has been idle longest.
        let _six = admit("203.0.114.6", 9);
        assert!(two.leave.try_recv().is_ok() && one.leave.try_recv().is_err());
        let _seven = admit("203.0.115.7", 9);
        assert!(one.leave.try_recv().is_ok());
        assert_eq!(all.lock().of_class, [0, 4]);
    }

    #[test]
    fn prefixes() {
        let prefix = |text: &str, v4, v6| prefix(text.parse().unwrap(), v4, v6).to_string();
        assert_eq!(prefix("2001:db8:1:2:3::4", 32, 64), "2001:db8:1:2::");
        assert_eq!(prefix("2001:db8:1:2:3::4", 24, 48), "2001:db8:1::");
        assert_eq!(prefix("::ffff:192.0.2.1", 32, 64), "192.0.2.1");
        assert_eq!(prefix("192.0.2.1", 24, 48), "192.0.2.0");
    }
}
