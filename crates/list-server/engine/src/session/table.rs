//! The table of open sessions, indexed by their numbers: every event names one.

use super::{Ring, Session};
use crate::clock::{Clock, Timer};
use crate::destination::Destinations;
use crate::event::SessionId;
use crate::moment::Moment;
use crate::policy::Limits;
use crate::queue::MessageQueue;
use slab::Slab;
use sojourn_core::Span;
use sojourn_smtp::client::{Output, Step};
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
    overdue: u32,
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
        self.overdue -= u32::from(self[id].is_overdue());
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
    /// Counts the time of a session's present step from now on; `hears` says whether its host has said
    /// something, or is asked again. One that takes a message bit by bit has said nothing.
    pub(crate) fn set_deadline(
        &mut self,
        id: SessionId,
        hears: bool,
        idle: Span,
        clock: &mut Clock,
    ) {
        let session = &mut self[id];
        let was_overdue = hears && session.is_overdue();
        if hears {
            session.hear(clock.now);
        }
        if let Some(alarm) = session.set_deadline(clock.now, idle) {
            clock.schedule(alarm, Timer::Session(id));
        }
        self.overdue -= u32::from(was_overdue);
    }

    /// The timer of a session rings: the step that its host has had its time for, if it has. Where many
    /// answers are overdue, one that is has no more time, unless the host may have a message: that
    /// would be sent twice.
    pub(crate) fn ring(
        &mut self,
        at: Moment,
        id: SessionId,
        limits: &Limits,
        clock: &mut Clock,
    ) -> Option<Step> {
        let ring = self.get_mut(id)?.ring(at, clock.now);
        self.overdue += u32::from(matches!(ring, Ring::Overdue(_)));
        let few = self.overdue <= limits.share(limits.sessions);
        match ring {
            Ring::Nothing => return None,
            Ring::TimeOut(step) => return Some(step),
            Ring::Overdue(_) if !few && !self[id].client.is_sending() => {
                return Some(self[id].step());
            }
            Ring::Overdue(at) | Ring::Later(at) => clock.schedule(at, Timer::Session(id)),
        }
        None
    }

    /// Whether there are as many as there may be. Those beyond their share whose answer is overdue do
    /// not count, up to as many again.
    pub(crate) fn is_full(&self, limits: &Limits) -> bool {
        let most = limits.sessions.get();
        let beyond = self.overdue.saturating_sub(limits.share(limits.sessions));
        self.len() >= most.saturating_add(beyond.min(most)) as usize
    }

    /// Sessions that are for nothing but what was deleted, or is held, are not waited for long.
    pub(crate) fn free(
        &mut self,
        queue: &MessageQueue,
        destinations: &Destinations,
        limits: &Limits,
        clock: &mut Clock,
    ) {
        for id in self.ids() {
            let session = &mut self[id];
            session.needless = match session.sending() {
                Some(sending) => sending.batches().all(|batch| queue.is_deleted(batch)),
                None if session.was_ready() => false,
                None => destinations[session.destination].queue.is_empty(),
            };
            if session.needless {
                self.set_deadline(id, false, limits.idle, clock);
            }
        }
    }
}
