//! Which slot of a table is reused: that of a domain without mail, or of a host without routes.

use crate::ids::{Id, Table};

/// How many are looked at before one more is remembered than should be.
const LOOKS: usize = 8;

/// Goes round a list in search of what can be forgotten: what was used since it came by last is
/// spared once (the "clock" of virtual memory).
#[derive(Debug, Default)]
pub(super) struct ClockHand(usize);

impl ClockHand {
    /// The next that can go, if it is not far.
    pub(super) fn find<I: Id, T>(
        &mut self,
        list: &mut Table<I, T>,
        mut can_go: impl FnMut(&mut T) -> bool,
    ) -> Option<I> {
        for _ in 0..LOOKS.min(list.len()) {
            let index = self.0 % list.len();
            self.0 = index + 1;
            if can_go(&mut list[I::new(index)]) {
                return Some(I::new(index));
            }
        }
        None
    }
}
