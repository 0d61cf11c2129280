//! What can be made of a log: one file each.

mod histogram;
mod rows;
mod tally;
mod waiting;

pub use histogram::Histogram;
pub use rows::Rows;
pub use tally::Tally;
pub use waiting::Waiting;

use crate::messages::Delivery;

/// Receives what happened, in the order of the log.
pub trait View {
    /// A message has arrived that is no copy of another one.
    fn arrived(&mut self, at: i64);

    /// A message was tried for one recipient, or its time is over.
    fn tried(&mut self, delivery: &Delivery<'_>);

    /// A message was not tried for one recipient, as it is not yet time to.
    fn put_off(&mut self, _: &Delivery<'_>) {}

    /// A message no longer waits for one recipient, and nothing was delivered: it is in a queue of
    /// the same machine again, behind a filter, or an operator deleted it.
    fn ended_untried(&mut self, _: &Delivery<'_>) {}

    /// A message has left the queue.
    fn removed(&mut self, queue_id: &[u8]);
}
