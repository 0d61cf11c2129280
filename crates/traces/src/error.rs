//! Why a trace is refused.

use std::fmt::{self, Display};

/// Why a trace is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// The name of the file.
    pub file: String,
    /// The rank, if the error is about one.
    pub rank: Option<u32>,
    /// Where in the file.
    pub place: Place,
    /// What is wrong.
    pub why: String,
}

/// A place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, from 1.
    Line(usize),
    /// A node, by the number that the file gives it.
    Node(u64),
    /// A byte, from 0.
    Byte(usize),
}

impl TraceError {
    /// An error in `file`.
    pub(crate) fn new(
        file: &str,
        rank: Option<u32>,
        place: Place,
        why: impl Into<String>,
    ) -> TraceError {
        TraceError { file: file.to_owned(), rank, place, why: why.into() }
    }
}

impl Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Place::Line(line) = self.place {
            write!(f, ":{line}")?;
        }
        f.write_str(": ")?;
        if let Some(rank) = self.rank {
            write!(f, "rank {rank}: ")?;
        }
        match self.place {
            Place::Node(node) => write!(f, "node {node}: ")?,
            Place::Byte(byte) => write!(f, "byte {byte}: ")?,
            Place::File | Place::Line(_) => {}
        }
        f.write_str(&self.why)
    }
}

impl std::error::Error for TraceError {}
