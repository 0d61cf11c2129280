//! What can go wrong with a spool.

use rusqlite::ErrorCode;
use std::fmt;
use std::path::{Path, PathBuf};

/// Why a spool could not be opened, read or written.
#[derive(Debug)]
pub enum SpoolError {
    /// Another process has it open.
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be locked.
    Lock {
        /// The file beside it that is locked.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// No copy of it can be made before it is repaired.
    Copy {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The files of it, or beside it, cannot be read or written.
    Files {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// It is a file of zero length: cut off, or none of ours.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// It is a file of another kind, or of another version.
    NotASpool {
        /// The file.
        path: PathBuf,
    },
    /// It has what no spool writes.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and what.
        what: String,
    },
    /// The storage refuses.
    Storage {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: Doing,
        /// What SQLite says.
        error: rusqlite::Error,
    },
}

/// What was being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Opening it.
    Open,
    /// Reading from it.
    Read,
    /// Writing to it.
    Write,
}

impl SpoolError {
    pub(super) fn sqlite(path: &Path, doing: Doing, error: rusqlite::Error) -> SpoolError {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SpoolError::InUse { path },
            Some(ErrorCode::NotADatabase) => SpoolError::NotASpool { path },
            Some(ErrorCode::DatabaseCorrupt) => {
                SpoolError::Damaged { path, what: error.to_string() }
            }
            _ if error == rusqlite::Error::QueryReturnedNoRows => {
                let what = "a recipient is not in the state that it should be in".into();
                SpoolError::Damaged { path, what }
            }
            _ => SpoolError::Storage { path, doing, error },
        }
    }
}

impl fmt::Display for SpoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpoolError::InUse { path } => {
                write!(f, "the spool {} is in use by another process", path.display())
            }
            SpoolError::Lock { path, error } => {
                write!(f, "the spool cannot be locked with {}: {error}", path.display())
            }
            SpoolError::Copy { path, error } => {
                write!(f, "the spool {} cannot be copied: {error}", path.display())
            }
            SpoolError::Files { path, error } => {
                write!(f, "the files of the spool {} cannot be used: {error}", path.display())
            }
            SpoolError::Empty { path } => write!(
                f,
                "the spool {} is a file of zero length: it was cut off, or is no spool; \
                 to begin with an empty spool, remove the file",
                path.display()
            ),
            SpoolError::NotASpool { path } => {
                write!(f, "{} is no spool of this version", path.display())
            }
            SpoolError::Damaged { path, what } => {
                write!(f, "the spool {} is damaged: {what}", path.display())
            }
            SpoolError::Storage { path, doing, error } => {
                let doing = match doing {
                    Doing::Open => "opened",
                    Doing::Read => "read",
                    Doing::Write => "written",
                };
                write!(f, "the spool {} cannot be {doing}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for SpoolError {}
