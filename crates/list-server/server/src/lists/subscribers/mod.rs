//! The book: who of each list's subscribers was mailed and by which number tokens name them, how
//! they stand after bounces, and how much mail to return paths was not verified. It is an SQLite
//! database beside the spool.
//!
//! Unlike the spool it may be read while a server runs.

mod leaving;
mod register;
mod tables;
#[cfg(test)]
mod tests;
mod unverified;

pub(crate) use super::subscribers::leaving::Barred;
pub use super::subscribers::register::{COUNTED_DAYS, MAILED_DAYS, NotEntered, SUSPENDED_DAYS};
pub use super::subscribers::unverified::{Counted, Unverified};

use super::subscribers::register::Sweep;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params};
use sojourn_mail_engine::bounce::{Bounce, Rule, Standing};
use sojourn_smtp::Address;
use std::fmt;
use std::path::{Path, PathBuf};

/// A book that is open.
#[derive(Debug)]
pub struct SubscriberStore {
    path: PathBuf,
    database: Connection,
    /// How many subscribers there are, once they were counted.
    subscribers: Option<u64>,
    sweep: Sweep,
}

/// A subscriber whose mail has come back.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The list, by its return path.
    pub list: String,
    /// The subscriber, in lower case.
    pub subscriber: String,
    /// What bounces have cost.
    pub standing: Standing,
    /// The status of the last bounce that counted.
    pub status: Option<String>,
    /// Why it came back.
    pub reason: String,
}

/// What bounces have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Bounces that counted, by their places among those given: each of a subscriber of the list,
    /// the first one of the day.
    pub counted: Vec<usize>,
    /// Of these, those whose subscribers they suspend.
    pub suspended: Vec<usize>,
}

/// Why a book cannot be opened, read or written.
#[derive(Debug)]
pub struct SubscriberError {
    path: PathBuf,
    error: rusqlite::Error,
}

const COLUMNS: &str = "bounces, address, score, last_s, suspended_s, status, reason";
const JOINED: &str = "bounce JOIN subscriber ON subscriber.number = bounce.subscriber
    JOIN list ON list.id = subscriber.list";

impl SubscriberStore {
    /// Where the book of the spool at `spool` is.
    pub fn beside(spool: &Path) -> PathBuf {
        let mut name = spool.as_os_str().to_owned();
        name.push(".bounces");
        name.into()
    }

    /// Opens the book at `path`, or makes an empty one.
    ///
    /// # Errors
    ///
    /// It is something else than a book, or cannot be read or written.
    pub fn open(path: &Path) -> Result<SubscriberStore, SubscriberError> {
        // SQLite's own files beside it get the same mode. That it cannot be made, SQLite says.
        drop(sojourn_mail_spool::private::make(path));
        let database = Connection::open(path).and_then(|database| {
            tables::prepare(&database)?;
            Ok(database)
        });
        let database =
            database.map_err(|error| SubscriberError { path: path.to_owned(), error })?;
        let path = path.to_owned();
        Ok(SubscriberStore { path, database, subscribers: None, sweep: Sweep::default() })
    }

    /// Enters bounces of mail of `list` that came at `now`, in seconds since 1970: all of them are
    /// on stable storage when this returns. Bounces of addresses that the list never mailed are left
    /// out.
    ///
    /// # Errors
    ///
    /// Nothing was entered.
    pub fn enter(
        &mut self,
        list: &Address,
        bounces: &[Bounce],
        now: i64,
        rule: &Rule,
    ) -> Result<Entered, SubscriberError> {
        let entered = self.enter_all(&key(list), bounces, now, rule);
        entered.map_err(|error| SubscriberError { path: self.path.clone(), error })
    }

    fn enter_all(
        &mut self,
        list: &str,
        bounces: &[Bounce],
        now: i64,
        rule: &Rule,
    ) -> rusqlite::Result<Entered> {
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut entered = Entered::default();
        let Some(list) = list_id(&transaction, list)? else { return Ok(entered) };
        for (place, bounce) in bounces.iter().enumerate() {
            let Some((number, before)) = standing(&transaction, list, &bounce.subscriber)? else {
                continue;
            };
            let after = Standing::bounced(before, bounce.severity, now, rule);
            if before == Some(after) {
                continue;
            }
            entered.counted.push(place);
            if after.suspended.is_some() {
                entered.suspended.push(place);
            }
            write(&transaction, number, bounce, after)?;
        }
        transaction.commit()?;
        Ok(entered)
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

    /// Forgets the bounces of a subscriber, or that one has left, who is served again; whether there
    /// was anything to forget.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn forget(
        &mut self,
        list: &Address,
        subscriber: &Address,
    ) -> Result<bool, SubscriberError> {
        let number = "SELECT number FROM subscriber
            JOIN list ON list.id = subscriber.list WHERE bounces = ? AND address = ?";
        let mut forget = || {
            let transaction =
                self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let found = transaction
                .query_row(number, [key(list), key(subscriber)], |row| row.get::<_, i64>(0));
            let Some(number) = found.optional()? else { return Ok(false) };
            let stay =
                "UPDATE subscriber SET left_s = NULL WHERE number = ? AND left_s IS NOT NULL";
            let rows = transaction.execute("DELETE FROM bounce WHERE subscriber = ?", [number])?
                + transaction.execute(stay, [number])?;
            transaction.commit()?;
            Ok(rows > 0)
        };
        let forgotten = forget();
        self.of(forgotten)
    }

    fn of<T>(&self, result: rusqlite::Result<T>) -> Result<T, SubscriberError> {
        result.map_err(|error| SubscriberError { path: self.path.clone(), error })
    }
}

/// Hosts change the case of addresses; no two subscribers differ in it.
fn key(address: &Address) -> String {
    address.as_str().to_lowercase()
}

/// A list's number in the book; nothing when the book has nothing of it.
fn list_id(database: &Connection, list: &str) -> rusqlite::Result<Option<i64>> {
    let mut find = database.prepare_cached("SELECT id FROM list WHERE bounces = ?")?;
    find.query_row([list], |row| row.get(0)).optional()
}

/// The number of a list of which the book had nothing.
fn add_list(database: &Connection, list: &str) -> rusqlite::Result<i64> {
    let insert = "INSERT INTO list (bounces) VALUES (?) RETURNING id";
    database.query_row(insert, [list], |row| row.get(0))
}

/// A subscriber's number, and what bounces have cost; nothing when the list never mailed there.
fn standing(
    database: &Connection,
    list: i64,
    subscriber: &Address,
) -> rusqlite::Result<Option<(i64, Option<Standing>)>> {
    let find = "SELECT number, score, last_s, suspended_s FROM subscriber
        LEFT JOIN bounce ON bounce.subscriber = number WHERE list = ? AND address = ?";
    let mut find = database.prepare_cached(find)?;
    let row = |row: &Row<'_>| {
        let standing = match row.get::<_, Option<f64>>(1)? {
            None => None,
            Some(score) => Some(Standing { score, last: row.get(2)?, suspended: row.get(3)? }),
        };
        Ok((row.get(0)?, standing))
    };
    find.query_row((list, key(subscriber)), row).optional()
}

/// Enters how a subscriber stands after `bounce`.
fn write(
    database: &Connection,
    number: i64,
    bounce: &Bounce,
    after: Standing,
) -> rusqlite::Result<()> {
    let entry = "INSERT OR REPLACE INTO bounce
        VALUES (:subscriber, :score, :last, :suspended, :status, :reason)";
    database.prepare_cached(entry)?.execute(named_params! {
        ":subscriber": number,
        ":score": after.score,
        ":last": after.last,
        ":suspended": after.suspended,
        ":status": bounce.status.map(|status| status.to_string()),
        ":reason": bounce.reason,
    })?;
    Ok(())
}

fn member(row: &Row<'_>) -> rusqlite::Result<Member> {
    let standing = Standing { score: row.get(2)?, last: row.get(3)?, suspended: row.get(4)? };
    Ok(Member {
        list: row.get(0)?,
        subscriber: row.get(1)?,
        standing,
        status: row.get(5)?,
        reason: row.get(6)?,
    })
}

impl fmt::Display for SubscriberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the book of bounces {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for SubscriberError {}
