//! The recursion of Kiefer and Wolfowitz (*On the theory of queues with many servers*, Trans. AMS 78,
//! 1955): a service starts at its arrival or when the first of the servers is idle, whichever is later.

use super::recursion::{Served, Station};
use crate::device::{Heads, Motion};
use crate::layout::Access;
use sojourn_core::{Span, Streams, Time};

/// A disk without a head that serves several accesses at once.
pub(super) struct Servers<P> {
    places: P,
    /// When each server is idle again.
    idle_from: Vec<Time>,
    /// For how long they were busy in all.
    busy: Span,
}

impl<H: Heads> Station<H> for Servers<H::Places> {
    fn new(heads: &H, streams: Streams, disk: u64) -> Self {
        Servers {
            places: heads.places(streams, disk),
            idle_from: vec![Time::ZERO; heads.servers()],
            busy: Span::ZERO,
        }
    }

    #[inline(always)]
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served {
        let transfer = heads.transfer(heads.place(&mut self.places), access);
        let idle_from = self.idle_from.iter().enumerate();
        let (first, &idle) = idle_from.min_by_key(|(_, ends)| **ends).expect("there are servers");
        let starts = arrives.max(idle);
        let others = || self.idle_from.iter().filter(|&&ends| ends > starts).count();
        let service = heads.slowed(transfer, others);
        let ended = starts + service;
        self.idle_from[first] = ended;
        self.busy += service;
        Served { transfer, motion: Motion::InPlace, ended }
    }

    fn busy(&self) -> Span {
        self.busy / self.idle_from.len() as u64
    }
}
