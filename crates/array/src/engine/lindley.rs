//! The recursion of Lindley (*The theory of queues with a single server*, Proc. Cambridge Phil. Soc.
//! 48, 1952): a service starts at its arrival or at the end of the one before it, whichever is later.

use super::recursion::{Served, Station};
use crate::device::Heads;
use crate::layout::Access;
use sojourn_core::{Span, Streams, Time};

/// A disk that serves one access at a time.
pub(super) struct Single<H: Heads> {
    line: H::Line,
    idle_from: Time,
    busy: Span,
}

impl<H: Heads> Station<H> for Single<H> {
    fn new(heads: &H, streams: Streams, disk: u64) -> Self {
        Single { line: heads.line(streams, disk), idle_from: Time::ZERO, busy: Span::ZERO }
    }

    #[inline(always)]
    fn serve(&mut self, heads: &H, access: &Access, arrives: Time) -> Served {
        let now = arrives.max(self.idle_from);
        let (positioning, transfer, motion) = heads.serve(&mut self.line, access, now);
        let service = positioning + transfer;
        self.idle_from = now + service;
        self.busy += service;
        Served { transfer, motion, ended: self.idle_from }
    }

    fn busy(&self) -> Span {
        self.busy
    }
}
