//! When what is done is written to stable storage.
//!
//! One write is under way at a time; what comes meanwhile goes into the next. What a submitter
//! waits for, a message to be taken over, is never held back.

mod every;
mod group;
mod queue_files;

pub use super::checkpoint::every::Every;
pub use super::checkpoint::group::Group;
pub use super::checkpoint::queue_files::QueueFiles;

use sojourn_core::{Span, variants};

variants! {
    /// When results are written to stable storage.
    pub enum CheckpointKind: "checkpoint" => checkpoint {
        Group(Group),
        Every(Every),
        QueueFiles(QueueFiles),
    }
}

/// A way to decide when to write.
pub trait Checkpoint {
    /// How much longer the first of `settled` recipients may wait to be written; nothing to write
    /// at once.
    fn wait(&self, settled: usize) -> Option<Span>;

    /// Whether a session waits for its last transaction to be written before it begins another.
    /// Then a crash repeats at most one transaction of each session.
    fn holds(&self) -> bool;

    /// After how many of its recipients an envelope is written by itself and waits for that;
    /// nothing where what is done is written together.
    fn file(&self) -> Option<u32> {
        None
    }
}

impl Checkpoint for CheckpointKind {
    fn wait(&self, settled: usize) -> Option<Span> {
        checkpoint!(self, |way| way.wait(settled))
    }

    fn holds(&self) -> bool {
        checkpoint!(self, |way| way.holds())
    }

    fn file(&self) -> Option<u32> {
        checkpoint!(self, |way| way.file())
    }
}
