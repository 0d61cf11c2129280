//! The table of open sessions, indexed by their numbers: every event names one.

use super::{Ring, Session};
use crate::clock::{Clock, Timer};
use crate::event::SessionId;
use crate::moment::Moment;
use slab::Slab;
use sojourn_core::Span;
use sojourn_smtp::client::Output;
use std::collections::BTreeSet;
use std::ops::{Index, IndexMut};

/// All open sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    slots: Slab<(SessionId, Session)>,
    /// How many there have been.
    opened: u64,
    /// Those without work.
    idle: BTreeSet<SessionId>,
    /// How many wait for hosts that did not answer last time.
    probes: u32,
    /// How many wait for an answer that is overdue.
    overdue: usize,
    /// Empty lists, for what clients want next.
    spare: Vec<Vec<Output>>,
}

impl Index<SessionId> for Sessions {
    type Output = Session;

    fn index(&self, id: SessionId) -> &Session {
        self.get(id).expect("an event names an open session")
    }
}

impl IndexMut<SessionId> for Sessions {
    fn index_mut(&mut self, id: SessionId) -> &mut Session {
        self.get_mut(id).expect("an event names an open session")
    }
}

/// The table.
impl Sessions {
    /// The number of one that is opened.
    pub(crate) fn open(&mut self, session: Session) -> SessionId {
        self.probes += u32::from(session.probe);
        let slot = self.slots.vacant_entry();
        let id = SessionId::new(self.opened, slot.key());
        slot.insert((id, session));
        self.opened += 1;
        id
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<&Session> {
        self.slots.get(id.slot()).filter(|slot| slot.0 == id).map(|slot| &slot.1)
    }

    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut Session> {
        self.slots.get_mut(id.slot()).filter(|slot| slot.0 == id).map(|slot| &mut slot.1)
    }

    /// One that is over.
    pub(crate) fn remove(&mut self, id: SessionId) -> Session {
        self.overdue -= usize::from(self[id].is_overdue());
        self.slots.remove(id.slot()).1
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Their numbers, the oldest first.
    pub(crate) fn ids(&self) -> Vec<SessionId> {
        let mut ids: Vec<_> = self.slots.iter().map(|(_, slot)| slot.0).collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &Session> {
        self.slots.iter().map(|(_, slot)| &slot.1)
    }

    /// An empty list, for what a client wants.
    pub(crate) fn outputs(&mut self) -> Vec<Output> {
        self.spare.pop().unwrap_or_default()
    }

    /// A list that is empty again.
    pub(crate) fn take_back(&mut self, outputs: Vec<Output>) {
        self.spare.push(outputs);
    }
}

/// Those without work, and those that probe.
impl Sessions {
    pub(crate) fn add_idle(&mut self, id: SessionId) {
        self.idle.insert(id);
    }

    /// Whether it had no work.
    pub(crate) fn remove_idle(&mut self, id: SessionId) -> bool {
        self.idle.remove(&id)
    }

    pub(crate) fn is_idle(&self, id: SessionId) -> bool {
        self.idle.contains(&id)
    }

    /// The oldest without work that `fits`.
    pub(crate) fn find_idle(&self, fits: impl Fn(&Session) -> bool) -> Option<SessionId> {
        self.idle.iter().copied().find(|&id| fits(&self[id]))
    }

    /// How many wait for hosts that did not answer last time.
    pub(crate) fn probes(&self) -> u32 {
        self.probes
    }

    /// A host that did not answer last time does, or does not again.
    pub(crate) fn end_probe(&mut self) {
        self.probes -= 1;
    }
}

/// Their time.
impl Sessions {
    /// Counts the time of a session's present step from now on.
    pub(crate) fn set_deadline(&mut self, id: SessionId, idle: Span, clock: &mut Clock) {
        if let Some(alarm) = self[id].set_deadline(clock.now, idle) {
            clock.schedule(alarm, Timer::Session(id));
        }
    }

    /// The host of a session has said something, or is asked anew.
    pub(crate) fn hear(&mut self, id: SessionId, now: Moment) {
        self.overdue -= usize::from(self[id].is_overdue());
        self[id].hear(now);
    }

    /// How many wait for an answer that is overdue.
    pub(crate) fn overdue(&self) -> usize {
        self.overdue
    }

    /// The timer of a session rings: what it says.
    pub(crate) fn ring(&mut self, at: Moment, id: SessionId, clock: &mut Clock) -> Ring {
        let Some(session) = self.get_mut(id) else { return Ring::Nothing };
        let ring = session.ring(at, clock.now);
        if let Ring::Later(at) | Ring::Overdue(at) = ring {
            clock.schedule(at, Timer::Session(id));
        }
        self.overdue += usize::from(matches!(ring, Ring::Overdue(_)));
        ring
    }
}
