//! What an operator asks of the process that owns a spool, over a Unix socket beside it:
//! `SPOOL.control`. The owner greets with an empty line; a request and its answer are a line of JSON
//! each.

mod ask;
mod protocol;
mod serve;

pub use ask::{AskError, operate, reload, shaping};
pub(crate) use protocol::limits;
pub(crate) use serve::{Control, Reload};

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Octets that a request, or an answer, may have.
const LONGEST: u64 = 1 << 24;

/// Where the socket of the spool at `spool` is.
fn beside(spool: &Path) -> PathBuf {
    let mut name = spool.as_os_str().to_owned();
    name.push(".control");
    name.into()
}

/// The path of the socket by way of its open folder, which is kept: the address of a socket has 108
/// octets at most, a path may have more.
fn short(path: &Path) -> io::Result<(File, PathBuf)> {
    use std::os::fd::AsRawFd;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((folder, short))
}
