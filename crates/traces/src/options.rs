//! What traces leave open.

use sojourn_core::Span;
use sojourn_training::program::Event;

/// When a send of a trace ends, so that what waits for it may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendEnd {
    /// When its last byte has left the rank: LogGOPSim's eager messages, a completed request of NCCL.
    #[default]
    HandedOver,
    /// When the receiving rank has acknowledged its last byte: near to LogGOPSim's rendezvous.
    Acknowledged,
}

impl SendEnd {
    pub(crate) fn event(self) -> Event {
        match self {
            SendEnd::HandedOver => Event::HandedOver,
            SendEnd::Acknowledged => Event::Finished,
        }
    }
}

/// `count` times `unit`, if that is no longer than a setting may be.
pub(crate) fn span(count: u64, unit: Span) -> Option<Span> {
    let span = unit.saturating_mul(count);
    (span <= Span::LONGEST_SETTING).then_some(span)
}
