//! Connections of HTTP clients to one port: so many at once; the one that asked for nothing longest
//! is closed for a new one.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// All connections.
#[derive(Debug)]
pub(crate) struct Visitors {
    most: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    /// Counts connections and requests.
    turn: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    /// When it was made, or asked last.
    used: u64,
    follows: bool,
    close: oneshot::Sender<()>,
}

impl Visitors {
    /// At most so many at once. Half of them may follow events: these stay.
    pub(crate) fn new(most: usize) -> Visitors {
        Visitors { most, open: Mutex::default() }
    }

    /// A new connection, and where it is told that it is to be closed.
    pub(crate) fn enter(&self) -> (u64, oneshot::Receiver<()>) {
        let (close, told) = oneshot::channel();
        let mut open = self.lock();
        if open.connections.len() >= self.most {
            let others = open.connections.iter().filter(|(_, it)| !it.follows);
            let longest = others.min_by_key(|(_, it)| it.used).map(|(&id, _)| id);
            let longest = open.connections.remove(&longest.expect("followers are fewer"));
            // Dropping what tells it tells it.
            drop(longest.expect("it was found").close);
        }
        open.turn += 1;
        let id = open.turn;
        open.connections.insert(id, Connection { used: id, follows: false, close });
        (id, told)
    }

    /// A request has come.
    pub(crate) fn ask(&self, id: u64) {
        let mut open = self.lock();
        open.turn += 1;
        let turn = open.turn;
        if let Some(connection) = open.connections.get_mut(&id) {
            connection.used = turn;
        }
    }

    /// Whether one more may follow the events.
    pub(crate) fn follow(&self, id: u64) -> bool {
        let mut open = self.lock();
        let followers = open.connections.values().filter(|it| it.follows).count();
        match open.connections.get_mut(&id) {
            Some(connection) if followers < self.most / 2 => {
                connection.follows = true;
                true
            }
            _ => false,
        }
    }

    pub(crate) fn leave(&self, id: u64) {
        self.lock().connections.remove(&id);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oneshot::error::TryRecvError;

    #[test]
    fn who_asked_longest_ago_makes_room() {
        const MOST: usize = 32;
        const FOLLOWERS: usize = MOST / 2;
        let visitors = Visitors::new(MOST);
        let mut all: Vec<_> = (0..MOST).map(|_| visitors.enter()).collect();
        assert!(all[..FOLLOWERS].iter().all(|(id, _)| visitors.follow(*id)));
        assert!(!visitors.follow(all[FOLLOWERS].0));
        visitors.ask(all[FOLLOWERS].0);
        let _new = visitors.enter();
        let closed: Vec<usize> = (0..MOST)
            .filter(|&n| all[n].1.try_recv().is_err_and(|it| it != TryRecvError::Empty))
            .collect();
        assert_eq!(closed, [FOLLOWERS + 1]);
        assert_eq!(visitors.lock().connections.len(), MOST);
    }
}
