//! Why a reception cannot open.

use crate::lists::subscribers::SubscriberError;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Why a reception cannot open.
#[derive(Debug)]
pub enum SetupError {
    /// A port cannot be listened at.
    Bind {
        /// Address and port.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// A file of keys or certificates cannot be used.
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file of keys or certificates cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The user whose rights it is to have.
    User {
        /// The name.
        name: String,
        /// Why not.
        why: String,
    },
    /// The table of faults: its file and line, and why.
    Faults(String),
    /// The register or the keys are lost, or cannot be repaired: why, and what to do.
    State(String),
    /// The book of bounces.
    Subscribers(SubscriberError),
    /// The system gives no threads.
    System(std::io::Error),
}

impl From<SubscriberError> for SetupError {
    fn from(error: SubscriberError) -> SetupError {
        SetupError::Subscribers(error)
    }
}

/// Reads a file of keys or certificates.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SetupError> {
    std::fs::read(path).map_err(|error| SetupError::Unreadable { path: path.to_owned(), error })
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::Bind { address, error } => {
                write!(f, "cannot listen at {address}: {error}")
            }
            SetupError::Key { path, why } => write!(f, "{}: {why}", path.display()),
            SetupError::Unreadable { path, error } => write!(f, "{}: {error}", path.display()),
            SetupError::User { name, why } => write!(f, "this cannot run as {name:?}: {why}"),
            SetupError::Faults(why) => f.write_str(why),
            SetupError::State(why) => f.write_str(why),
            SetupError::Subscribers(error) => error.fmt(f),
            SetupError::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for SetupError {}
