//! Files that hold addresses and mail: their owner's alone, whatever the umask.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, chown};
use std::path::Path;

/// Read and written by the owner.
const MODE: u32 = 0o600;
/// What others than the owner may not have.
const OTHERS: u32 = 0o077;

/// Makes a file that must not be there yet, and opens it to be written.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)
}

/// Makes an empty file where there is none; whether there was none.
///
/// # Errors
///
/// There is none, and it cannot be made.
pub fn make(path: &Path) -> io::Result<bool> {
    match create(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a file to write at its end. One that has to be made is its owner's alone (mode 0600); the
/// mode of one that exists stays.
///
/// # Errors
///
/// It cannot be opened or made.
pub fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(MODE).open(path)
}

/// Copies a file to one that is not there yet, of the same owner.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let (mut read, mut written) = (File::open(from)?, create(to)?);
    give(to, from);
    io::copy(&mut read, &mut written)?;
    written.sync_all()
}

/// Gives a file to the owner of another, where another user, who may, works on both.
pub fn give(file: &Path, like: &Path) {
    if let (Ok(its), Ok(like)) = (file.metadata(), like.metadata())
        && (its.uid(), its.gid()) != (like.uid(), like.gid())
    {
        drop(chown(file, Some(like.uid()), Some(like.gid())));
    }
}

/// Puts the file at `new` in the place of the one at `path`, which is one of the two after a crash.
///
/// # Errors
///
/// It cannot be moved there.
pub fn put(new: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(new, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// What to tell the operator where others than the owner may read or write the file at `path`;
/// nothing where they may not, or where there is no such file. Its mode stays as it is.
pub fn exposed(path: &Path) -> Option<String> {
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    let path = path.display();
    (mode & OTHERS != 0).then(|| {
        format!("{path} has mode {mode:04o}: other users may read or write it; chmod 600 {path}")
    })
}
