//! The next event of each port of a switch that is visited as one, in order of time.

use super::partition::{Block, Unit};
use crate::packet::Packet;
use sojourn_core::Time;

/// The next event of each port of one switch, the first to happen at the end.
#[derive(Default)]
pub(super) struct Agenda(Vec<Event>);

/// An event at a port, in the order of time: from the highest bit on the key of an arrival or the time of
/// a service, then what happens, then the port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u128);

/// What happens at a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Happening {
    /// A packet or a frame arrives.
    Arrival,
    /// The port sends its next packet.
    Service,
    /// A time is over, of a pause or until it is sent again.
    TimeOver,
}

impl Event {
    const SERVICE: u128 = 1 << 32;
    const TIME_OVER: u128 = 2 << 32;

    #[inline]
    pub(super) fn arrival(key: u64, unit: Unit) -> Event {
        Event(u128::from(key) << 64 | u128::from(unit.nth))
    }

    /// After all arrivals of that time.
    #[inline]
    pub(super) fn service(at: Time, unit: Unit) -> Event {
        let key = Packet::arriving(at, u8::MAX);
        Event(u128::from(key) << 64 | Event::SERVICE | u128::from(unit.nth))
    }

    /// After all arrivals and services of that time.
    #[inline]
    pub(super) fn time_over(at: Time, unit: Unit) -> Event {
        let key = Packet::arriving(at, u8::MAX);
        Event(u128::from(key) << 64 | Event::TIME_OVER | u128::from(unit.nth))
    }

    #[inline]
    pub(super) fn is_service(self) -> bool {
        self.0 & Event::SERVICE != 0
    }

    /// What happens.
    #[inline]
    pub(super) fn happening(self) -> Happening {
        match self.0 & (Event::SERVICE | Event::TIME_OVER) {
            0 => Happening::Arrival,
            Event::SERVICE => Happening::Service,
            _ => Happening::TimeOver,
        }
    }

    #[inline]
    pub(super) fn unit(self, block: &Block) -> Unit {
        block.unit(self.0 as u16)
    }
}

impl Agenda {
    #[inline]
    pub(super) fn insert(&mut self, event: Event) {
        self.0.push(event);
        let mut place = self.0.len() - 1;
        while place > 0 && self.0[place - 1] < event {
            self.0[place] = self.0[place - 1];
            place -= 1;
        }
        self.0[place] = event;
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        self.0.pop()
    }
}
