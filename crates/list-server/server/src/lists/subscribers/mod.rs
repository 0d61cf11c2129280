//! The book: who of each list's subscribers was mailed and by which number tokens name them, how
//! they stand after bounces, and how much mail to return paths was not verified. It is an SQLite
//! database beside the spool.
//!
//! Unlike the spool it may be read while a server runs.

pub(crate) mod backup;
mod by_hand;
mod leaving;
mod register;
mod scores;
mod tables;
#[cfg(test)]
mod tests;
mod unverified;

pub use super::subscribers::by_hand::{Suppressed, Suppression};
pub(crate) use super::subscribers::leaving::Barred;
pub use super::subscribers::register::{COUNTED_DAYS, MAILED_DAYS, NotEntered, SUSPENDED_DAYS};
pub use super::subscribers::scores::{Entered, FailedMailing};
pub use super::subscribers::unverified::{Counted, Unverified};

use super::subscribers::register::Sweep;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};
use sojourn_mail_engine::bounce::{Fault, Faults, Stage, Standing};
use sojourn_mail_spool::{Reserve, private};
use sojourn_smtp::Address;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A book that is open.
#[derive(Debug)]
pub struct SubscriberStore {
    path: PathBuf,
    database: Connection,
    /// How many subscribers there are, once they were counted.
    subscribers: Option<u64>,
    sweep: Sweep,
    /// That of the spool.
    reserve: Reserve,
}

/// A subscriber whose mail has come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The list, by its return path.
    pub list: String,
    /// The subscriber, in canonical form.
    pub subscriber: String,
    /// What bounces have cost.
    pub standing: Standing,
    /// The status of the last bounce that counted.
    pub status: Option<String>,
    /// Why it came back.
    pub reason: String,
    /// Who runs the subscriber's host.
    pub provider: String,
}

impl Member {
    /// Whose fault the reason is, by the table that is built in; none where an operator suspended
    /// without a status.
    pub fn fault(&self) -> Option<Fault> {
        let status = self.status.as_ref().and_then(|it| it.parse().ok());
        let is_failure = status.is_some() || self.standing.score > 0.0;
        is_failure.then(|| Faults::built_in().of(Some(Stage::Report), status, &self.reason))
    }

    /// The day of the suspension, counted from 1970.
    pub(crate) fn suspended_day(&self) -> Option<i64> {
        self.standing.suspended.map(|at| at.div_euclid(86_400))
    }
}

/// Why a book cannot be opened, read or written.
#[derive(Debug)]
pub struct SubscriberError {
    path: PathBuf,
    error: rusqlite::Error,
}

/// What the name of a spool's book has after the spool's.
const SUFFIX: &str = ".bounces";

const COLUMNS: &str = "bounces, address, status, reason, provider,
    score, last_s, day, returned, taken_day, probed_s, suspended_s";
const JOINED: &str = "bounce JOIN subscriber ON subscriber.number = bounce.subscriber
    JOIN list ON list.id = subscriber.list";

impl SubscriberStore {
    /// Where the book of the spool at `spool` is.
    pub fn beside(spool: &Path) -> PathBuf {
        let mut name = spool.as_os_str().to_owned();
        name.push(SUFFIX);
        name.into()
    }

    /// Opens the book at `path` and its backup, or makes both where neither exists.
    ///
    /// # Errors
    ///
    /// It is something else than a book, it is missing or empty while its backup exists, or it cannot
    /// be read or written.
    pub fn open(path: &Path) -> Result<SubscriberStore, SubscriberError> {
        if !path.exists() && !backup::beside(path).exists() {
            SubscriberStore::make(path, 0)?;
        }
        let reserve = reserve(path);
        let open = || match path.metadata() {
            // SQLite would make a new book of it, in which no subscriber has left.
            Ok(of) if of.len() == 0 => Err(backup::damaged("it is empty")),
            Err(error) => Err(backup::damaged(&error.to_string())),
            Ok(_) => connect(path).and_then(|it| backup::keep(&it, path).map(|()| it)),
        };
        let database = reserve.with(0, open).map_err(|error| failed(path, error))?;
        let (path, sweep) = (path.to_owned(), Sweep::default());
        Ok(SubscriberStore { path, database, subscribers: None, sweep, reserve })
    }

    /// Makes an empty book at `path`, whatever its backup has, whose subscribers get numbers after
    /// `last`. It has another name first: none that is cut short passes for a book.
    pub(crate) fn make(path: &Path, last: i64) -> Result<(), SubscriberError> {
        let mut new = path.as_os_str().to_owned();
        new.push("-new");
        let new = PathBuf::from(new);
        drop(std::fs::remove_file(&new));
        // SQLite's own files beside it get the same mode. That it cannot be made, SQLite says.
        drop(private::make(&new));
        let after = "INSERT INTO sqlite_sequence (name, seq) VALUES ('subscriber', ?)";
        let made = connect(&new).and_then(|it| it.execute(after, [last]));
        made.map_err(|error| failed(path, error))?;
        let put = private::put(&new, path);
        put.map_err(|error| failed(path, backup::damaged(&error.to_string())))
    }

    /// How `subscriber` of `list` stands; nothing when no mail came back.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn member(
        &self,
        list: &Address,
        subscriber: &Address,
    ) -> Result<Option<Member>, SubscriberError> {
        let one = format!("SELECT {COLUMNS} FROM {JOINED} WHERE bounces = ? AND address = ?");
        let find = || {
            let mut one = self.database.prepare_cached(&one)?;
            one.query_row([key(list), key(subscriber)], member).optional()
        };
        self.of(find())
    }

    /// All whose mail came back, by list: those who are suspended first, then by their score.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn members(&self) -> Result<Vec<Member>, SubscriberError> {
        let all = format!(
            "SELECT {COLUMNS} FROM {JOINED}
                ORDER BY bounces, suspended_s IS NULL, score DESC, address"
        );
        let read = || self.database.prepare(&all)?.query_map([], member)?.collect();
        self.of(read())
    }

    /// Does `work`, all or nothing: it is on stable storage when this returns. On a full disk it is done
    /// again, with space of the reserve.
    fn write<T>(
        &mut self,
        work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, SubscriberError> {
        let done = self.transact(work);
        self.of(done)
    }

    fn transact<T>(
        &mut self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.reserve.with(0, || {
            let immediate = TransactionBehavior::Immediate;
            let transaction = self.database.transaction_with_behavior(immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    fn of<T>(&self, result: rusqlite::Result<T>) -> Result<T, SubscriberError> {
        result.map_err(|error| SubscriberError { path: self.path.clone(), error })
    }
}

/// Opens a file, which is a book of this version then.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    backup::function(&database)?;
    tables::prepare(&database, backup::sum)?;
    Ok(database)
}

/// The reserve of the spool whose book is at `path`.
fn reserve(path: &Path) -> Reserve {
    let name = path.as_os_str().as_bytes();
    let spool = name.strip_suffix(SUFFIX.as_bytes()).unwrap_or(name);
    Reserve::beside(Path::new(OsStr::from_bytes(spool)))
}

fn failed(path: &Path, error: rusqlite::Error) -> SubscriberError {
    SubscriberError { path: path.to_owned(), error }
}

/// How the book names an address: no two subscribers have the same mailbox.
fn key(address: &Address) -> String {
    address.canonical().to_string()
}

/// A list's number in the book; nothing when the book has nothing of it.
fn list_id(database: &Connection, list: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = database.prepare_cached("SELECT id FROM list WHERE bounces = ?")?;
    find.query_row([list], |row| row.get(0)).optional()
}

/// The number of a list, which is added if another process has not added it meanwhile.
fn add_list(database: &Connection, list: &str) -> rusqlite::Result<i64> {
    let insert = "INSERT INTO list (bounces) VALUES (?)
        ON CONFLICT DO UPDATE SET bounces = excluded.bounces RETURNING id";
    database.query_row(insert, [list], |row| row.get(0))
}

fn member(row: &Row<'_>) -> rusqlite::Result<Member> {
    Ok(Member {
        list: row.get(0)?,
        subscriber: row.get(1)?,
        status: row.get(2)?,
        reason: row.get(3)?,
        provider: row.get(4)?,
        standing: scores::standing(row, 5)?,
    })
}

impl fmt::Display for SubscriberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the book of bounces {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for SubscriberError {}
