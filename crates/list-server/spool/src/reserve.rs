//! Disk space that is kept for what must still be noted of mail that was taken over.
//!
//! A file beside the spool occupies the space. A message is taken over only while the file has its
//! whole length and the message fits beside it. A write that finds the disk full takes a piece of
//! the file, and is tried again. The file's length is the only state, so several handles and
//! processes may work on one reserve, and it survives a crash.

use crate::private;
use rusqlite::{ErrorCode, ffi};
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;
use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Octets for the write-ahead logs of the spool and of the register.
const LOGS: u64 = 8 << 20;
/// Octets to note what became of one recipient: a row with the host's reply, once in the log and once
/// in the database.
const NOTE: u64 = 512;
/// Octets of a recipient's row at first.
const ROW: u64 = 128;
/// A write that finds the disk full takes so many octets of the reserve, and twice as many each time
/// that it finds it full again. A neighbour takes what is left of a piece, so pieces are small.
pub(crate) const PIECE: u64 = 64 << 10;
/// What writes of the database leave of the reserve: space for 65,536 answers of hosts, and for the
/// deletion of messages.
pub(crate) const LAST: u64 = 1 << 20;

/// A reserve of disk space.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    /// The length that it should have.
    wanted: AtomicU64,
    /// Octets of free pages in the spool, which take part of the next message.
    free: AtomicU64,
}

/// Octets of a message and its recipients in the database.
pub fn octets(size: usize, recipients: usize) -> u64 {
    size as u64 + recipients as u64 * ROW
}

/// The disk has no space for a message beside the reserve.
#[derive(Debug)]
pub struct NoSpace {
    path: PathBuf,
    wanted: u64,
    error: io::Error,
}

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NoSpace { path, wanted, error } = self;
        let path = path.display();
        write!(f, "the disk has no space beside the {wanted} octets of {path}: {error}")
    }
}

impl std::error::Error for NoSpace {}

impl Reserve {
    /// The reserve of the spool at `spool`. Nothing is occupied yet.
    pub fn beside(spool: &Path) -> Reserve {
        let path = PathBuf::from(format!("{}-reserve", spool.display()));
        Reserve { path, wanted: AtomicU64::new(0), free: AtomicU64::new(0) }
    }

    /// Sets the length: 1.5 times `largest`, the octets of the largest message (as Postfix keeps
    /// free, smtpd), and what must be noted of `waiting` recipients.
    pub fn want(&self, largest: u64, waiting: u64) {
        let wanted = largest.saturating_add(largest / 2).saturating_add(LOGS + waiting * NOTE);
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// Gives the space back, where nothing is left to be noted. If that fails, the file stays.
    pub fn remove(&self) {
        drop(std::fs::remove_file(&self.path));
    }

    /// Whether something was taken of it that is not back.
    pub(crate) fn is_short(&self) -> bool {
        self.len() < self.wanted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_free(&self, octets: u64) {
        self.free.store(octets, Ordering::Relaxed);
    }

    /// Brings the reserve to its length, and makes sure that so many octets of messages fit beside
    /// it: once in the write-ahead log, and once in the database.
    ///
    /// # Errors
    ///
    /// The disk has no space for both.
    pub fn admit(&self, octets: u64) -> Result<(), NoSpace> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let twice = octets + octets.saturating_sub(self.free.load(Ordering::Relaxed));
        let admitted = self
            .stretch(wanted)
            .and_then(|()| self.stretch(wanted + twice))
            .and_then(|()| self.cut(wanted));
        admitted.map_err(|error| NoSpace { path: self.path.clone(), wanted, error })
    }

    /// Whether so many octets of a message fit, which may be a part of the reserve.
    pub fn fits(&self, octets: u64) -> bool {
        let (before, twice) = (self.len(), 2 * octets);
        let beside = || self.stretch(before + twice).and_then(|()| self.cut(before));
        before >= LAST + twice || beside().is_ok()
    }

    /// Does `work`, and where it finds the disk full, does it again with a piece of the reserve; of
    /// the last `floor` octets none is taken.
    ///
    /// # Errors
    ///
    /// Those of `work`.
    pub fn with<T>(
        &self,
        floor: u64,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut piece = PIECE;
        loop {
            match work() {
                Err(error) if is_full(&error) && self.take(piece, floor) => piece *= 2,
                done => return done,
            }
        }
    }

    /// Takes a piece of the reserve, but none of its last `floor` octets; whether there was one.
    pub(crate) fn take(&self, piece: u64, floor: u64) -> bool {
        let length = self.len();
        let rest = length.saturating_sub(piece).max(floor);
        rest < length && self.cut(rest).is_ok()
    }

    fn len(&self) -> u64 {
        self.path.metadata().map_or(0, |it| it.len())
    }

    /// Makes it at most so long.
    fn cut(&self, octets: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        // Of two at once, one would lengthen what the other cut.
        flock(&file, FlockOperation::LockExclusive)?;
        if file.metadata()?.len() > octets { file.set_len(octets) } else { Ok(()) }
    }

    /// Makes it at least so long, of octets that the disk has; or leaves it as it is.
    fn stretch(&self, octets: u64) -> io::Result<()> {
        if self.len() >= octets {
            return Ok(());
        }
        let mut file = private::append(&self.path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let before = file.metadata()?.len();
        let more = octets.saturating_sub(before);
        let done = match fallocate(&file, FallocateFlags::empty(), before, more.max(1)) {
            // NFS before version 4.2, among others.
            Err(Errno::OPNOTSUPP) => io::copy(&mut io::repeat(0).take(more), &mut file).map(drop),
            done => done.map_err(io::Error::from),
        };
        if done.is_err() {
            // What the disk gave before it was full.
            let _ = file.set_len(before);
        }
        done
    }
}

/// Whether SQLite found no space: by its own code, or by one that it has for a quota.
fn is_full(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error();
    code.is_some_and(|it| {
        let without_space = [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMSIZE];
        it.code == ErrorCode::DiskFull || without_space.contains(&it.extended_code)
    })
}
