//! The recursion of Lindley (*The theory of queues with a single server*, Proc. Cambridge Phil. Soc.
//! 48, 1952): a service starts at its arrival or at the end of the one before it, whichever is later.

use super::recursion::{Served, Station};
use crate::layout::Access;
use crate::positioning::{Heads, Moment, Task};
use sojourn_kernel::{Span, Streams, Time};

/// A disk that serves one access at a time.
pub(super) struct Single<H: Heads> {
    places: H::Places,
    head: H::Head,
    idle_from: Time,
    busy: Span,
}

impl<H: Heads> Station<H> for Single<H> {
    fn new(heads: &H, streams: Streams, disk: u64) -> Self {
        Single {
            places: heads.places(streams, disk),
            head: heads.head(streams, disk),
            idle_from: Time::ZERO,
            busy: Span::ZERO,
        }
    }

    #[inline(always)]
    fn serve(&mut self, heads: &H, job: u64, access: &Access, arrives: Time) -> Served {
        let transfer = heads.transfer(heads.place(&mut self.places), access);
        let now = arrives.max(self.idle_from);
        let moment = Moment { now, own: false, waiting: 0, between_phases: Span::ZERO };
        let task = Task::new(heads, 0, job, access, transfer);
        let (positioning, motion) = heads.position(&mut self.head, &task, moment);
        let service = positioning + transfer;
        self.idle_from = now + service;
        self.busy += service;
        Served { transfer, motion, ended: self.idle_from }
    }

    fn busy(&self) -> Span {
        self.busy
    }
}
