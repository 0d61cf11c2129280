//! What an operator does with a spool that no server is at work on.

use crate::Spool;
use crate::epoch::Epoch;
use crate::error::SpoolError;
use sojourn_mail_engine::{Counts, Operation, Progress, RecipientIndex, Record, Selection};
use std::path::Path;

/// Does an operation with recipients in the spool at `path`, as a server that is at work on it would.
/// What is flushed is tried when a server starts.
///
/// # Errors
///
/// There is no spool; a server has it; it cannot be read or written.
pub fn operate(
    path: &Path,
    operation: Operation,
    selection: &Selection,
) -> Result<Counts, SpoolError> {
    let mut spool = Spool::open(path, Epoch { unix_ms: 0 })?;
    let (mut counts, mut records) = (Counts::default(), Vec::new());
    for stored in spool.load()? {
        let id = stored.submission.id;
        let applies = |recipient: &RecipientIndex| {
            let is_held = stored.held.binary_search(recipient).is_ok();
            let progress = &stored.progress[recipient.index()];
            matches!(progress, Progress::Open | Progress::Deferred(_))
                && match operation {
                    Operation::Count | Operation::Delete => true,
                    Operation::Hold | Operation::Flush | Operation::Requeue => !is_held,
                    Operation::Release => is_held,
                }
        };
        let mut chosen = selection.of(&stored);
        chosen.retain(applies);
        if chosen.is_empty() {
            continue;
        }
        counts.messages += 1;
        counts.recipients += chosen.len() as u64;
        records.push(Record::Operated(operation, id, chosen.into()));
    }
    match operation {
        Operation::Count => {}
        Operation::Flush => spool.make_due(&records)?,
        _ => {
            spool.write(&records)?;
            // What cannot be given back now is used by the next message.
            let _ = spool.shrink();
        }
    }
    Ok(counts)
}
