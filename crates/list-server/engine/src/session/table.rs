//! The table of open sessions, indexed by their numbers: every event names one.

use super::Session;
use crate::event::SessionId;
use slab::Slab;
use std::ops::Index;

/// All open sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    slots: Slab<(SessionId, Session)>,
    /// How many there have been.
    opened: u64,
}

impl Sessions {
    /// The number of one that is opened.
    pub(crate) fn open(&mut self, session: Session) -> SessionId {
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

    pub(crate) fn remove(&mut self, id: SessionId) -> Option<Session> {
        self.get(id)?;
        Some(self.slots.remove(id.slot()).1)
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

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.slots.iter_mut().map(|(_, slot)| &mut slot.1)
    }
}

impl Index<SessionId> for Sessions {
    type Output = Session;

    fn index(&self, id: SessionId) -> &Session {
        self.get(id).expect("an event names an open session")
    }
}
