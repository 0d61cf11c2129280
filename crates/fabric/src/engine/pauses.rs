//! What pauses did to ports.

use sojourn_core::Span;

/// What pauses did to one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// How often it was stopped.
    pub count: u64,
    /// For how long.
    pub time: Span,
}

impl Pauses {
    /// Those of two sides, of which one has the port.
    pub(super) fn joined(self, other: Pauses) -> Pauses {
        Pauses { count: self.count.max(other.count), time: self.time.max(other.time) }
    }

    /// Those since `earlier`.
    pub(super) fn since(self, earlier: Pauses) -> Pauses {
        Pauses { count: self.count - earlier.count, time: self.time - earlier.time }
    }
}
