//! The file of the keys that sign and verify the tokens of a server, beside its spool.
//!
//! A line is a key: when it was made, in seconds since 1970, and its secret in base32. The last one
//! signs; all of them verify, so that what was signed before a rotation stays good. The first line is
//! the checksum of the others, which files of older versions lack. A second file is the same: the
//! backup.

use super::Lists;
use super::subscribers::backup;
use crate::delivery::server::DeliveryServer;
use crate::error::SetupError;
use argon2::password_hash::rand_core::{OsRng, RngCore};
use data_encoding::BASE32_NOPAD;
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::ReturnPaths;
use sojourn_mail_engine::list::token::{SECRET, TokenKeys};
use sojourn_mail_spool::private;
use sojourn_smtp::Address;
use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The keys of a server, in their file.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    keys: Vec<Key>,
}

struct Key {
    /// In seconds since 1970.
    made: i64,
    secret: [u8; SECRET],
}

/// So many are kept; a rotation drops older ones.
pub const KEYS_MAX: usize = 8;
/// More octets than so many keys take are not read.
const FILE_MAX: u64 = 4096;

impl KeyFile {
    /// Where the keys of the server with the spool at `spool` are.
    pub fn beside(spool: &Path) -> PathBuf {
        let mut name = spool.as_os_str().to_owned();
        name.push(".keys");
        name.into()
    }

    /// The keys in the file at `path`.
    ///
    /// # Errors
    ///
    /// There is no such file, it cannot be read, or it has something else than 1 to 8 keys.
    pub fn read(path: &Path) -> Result<KeyFile, SetupError> {
        let bad = |why: String| SetupError::Key { path: path.to_owned(), why };
        let mut text = String::new();
        let read = File::open(path).and_then(|it| it.take(FILE_MAX + 1).read_to_string(&mut text));
        read.map_err(|error| bad(error.to_string()))?;
        let (sum, lines) = match text.strip_prefix(CHECKSUM).and_then(|it| it.split_once('\n')) {
            Some((sum, lines)) => (Some(sum), lines),
            None => (None, &text[..]),
        };
        if sum.is_some_and(|it| it != checksum(lines)) {
            return Err(bad("it is not as it was written: its checksum is another".into()));
        }
        let first = 1 + usize::from(sum.is_some());
        let keys = (first..).zip(lines.lines()).map(|(number, line)| {
            let expected = "expected seconds since 1970 and 52 characters of base32";
            Key::read(line).ok_or_else(|| bad(format!("line {number}: {expected}")))
        });
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        if !(1..=KEYS_MAX).contains(&keys.len()) {
            return Err(bad(format!("{} keys: expected 1 to {KEYS_MAX}", keys.len())));
        }
        Ok(KeyFile { path: path.to_owned(), keys })
    }

    /// The keys in the file at `path`; where neither it nor its backup exists, both are made with one
    /// key of `now`, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// As [`KeyFile::read`], or a file cannot be made.
    pub fn read_or_make(path: &Path, now: i64) -> Result<KeyFile, SetupError> {
        match (std::fs::symlink_metadata(path), backup::beside(path).exists()) {
            (Err(error), false) if error.kind() == ErrorKind::NotFound => {
                KeyFile::new(path, now).write().and_then(|()| KeyFile::read(path))
            }
            _ => KeyFile::read(path),
        }
    }

    /// One key of `now`, which is to be written to `path`.
    pub(crate) fn new(path: &Path, now: i64) -> KeyFile {
        KeyFile { path: path.to_owned(), keys: vec![Key::make(now)] }
    }

    /// These keys, to be written to another file.
    pub(crate) fn at(self, path: &Path) -> KeyFile {
        KeyFile { path: path.to_owned(), ..self }
    }

    /// Adds a key of `now`, in seconds since 1970, which signs from when a server reads it. Where
    /// there are 8, the oldest is dropped: what it signed is good no more.
    ///
    /// # Errors
    ///
    /// The file cannot be replaced; it is as it was.
    pub fn rotate(&mut self, now: i64) -> Result<(), SetupError> {
        self.keys.push(Key::make(now));
        let surplus = self.keys.len().saturating_sub(KEYS_MAX);
        self.keys.drain(..surplus);
        self.write()
    }

    /// When each was made, in seconds since 1970; the last one signs.
    pub fn made(&self) -> Vec<i64> {
        self.keys.iter().map(|key| key.made).collect()
    }

    /// What signs and verifies.
    pub fn token_keys(&self) -> TokenKeys {
        let secrets: Vec<_> = self.keys.iter().map(|key| key.secret).collect();
        TokenKeys::new(&secrets).expect("a ring has at least one key")
    }

    /// Replaces the backup and the file, each of which is as before after a crash or as it is now.
    /// They are for their owner alone, who stays the same one when another user rotates the keys.
    pub(crate) fn write(&self) -> Result<(), SetupError> {
        let each = self.keys.iter().map(|Key { made, secret }| {
            let secret = BASE32_NOPAD.encode(secret);
            format!("{made} {secret}\n")
        });
        let keys: String = each.collect();
        let text = format!("{CHECKSUM}{}\n{keys}", checksum(&keys));
        let new = PathBuf::from(format!("{}-new", self.path.display()));
        let replace = |path: &Path| {
            // What a rotation left that was cut short.
            drop(std::fs::remove_file(&new));
            let mut file = private::append(&new)?;
            private::give(&new, &self.path);
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            private::put(&new, path)
        };
        replace(&backup::beside(&self.path))
            .and_then(|()| replace(&self.path))
            .map_err(|error| SetupError::Key { path: self.path.clone(), why: error.to_string() })
    }
}

/// What the first line begins with.
const CHECKSUM: &str = "checksum ";

fn checksum(lines: &str) -> String {
    format!("{:08x}", crc32fast::hash(lines.as_bytes()))
}

impl Key {
    fn make(now: i64) -> Key {
        let mut secret = [0; SECRET];
        OsRng.fill_bytes(&mut secret);
        Key { made: now, secret }
    }

    fn read(line: &str) -> Option<Key> {
        let (made, secret) = line.split_once(' ')?;
        let secret = BASE32_NOPAD.decode(secret.as_bytes()).ok()?;
        Some(Key { made: made.parse().ok()?, secret: secret.try_into().ok()? })
    }
}

/// The secret stays one.
impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.made)
    }
}

/// Where the keys are, and who uses them.
pub(crate) struct KeyRing {
    pub(crate) file: PathBuf,
    pub(crate) lists: Arc<Lists>,
    pub(crate) delivery: DeliveryServer,
}

impl KeyRing {
    /// Reads the file again: what it has is used from now on.
    pub(crate) fn reload(&self) -> Result<(), SetupError> {
        let keys = KeyFile::read(&self.file)?.token_keys();
        // What is signed can be verified before it is sent.
        self.lists.set_keys(keys.clone());
        // A server that has stopped sends nothing.
        let _ = self.delivery.set_return_paths(return_paths(keys, &self.lists.lists));
        Ok(())
    }
}

/// The return paths of those lists whose copies have one each.
pub(crate) fn return_paths(keys: TokenKeys, lists: &[List]) -> ReturnPaths {
    let lists: Vec<Address> =
        lists.iter().filter(|list| list.verp).map(|list| list.bounces.clone()).collect();
    ReturnPaths::new(keys, lists)
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({})", self.file.display())
    }
}
