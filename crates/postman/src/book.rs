//! The book of bounces: how the subscribers of each list stand, in an SQLite database beside the
//! spool.
//!
//! Who is not in it has had no bounce. Unlike the spool it may be read while a server runs.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, named_params};
use sojourn_mail::Address;
use sojourn_mail::report::{Bounce, Rule, Severity, Standing};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A book that is open.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    database: Connection,
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

/// Why a book cannot be opened, read or written.
#[derive(Debug)]
pub struct BookError {
    path: PathBuf,
    error: rusqlite::Error,
}

/// "sojb", which the file begins to be known by.
const APPLICATION: i32 = i32::from_be_bytes(*b"sojb");
const VERSION: i32 = 1;
/// How long somebody else may be writing.
const PATIENCE: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE member (
        list TEXT NOT NULL,
        subscriber TEXT NOT NULL,
        score REAL NOT NULL,
        last_s INTEGER NOT NULL,
        suspended_s INTEGER,
        status TEXT,
        reason TEXT NOT NULL,
        PRIMARY KEY (list, subscriber)
    ) STRICT, WITHOUT ROWID;
";

const COLUMNS: &str = "list, subscriber, score, last_s, suspended_s, status, reason";

impl Book {
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
    pub fn open(path: &Path) -> Result<Book, BookError> {
        let database = Connection::open(path).and_then(|database| {
            prepare(&database)?;
            Ok(database)
        });
        let database = database.map_err(|error| BookError { path: path.to_owned(), error })?;
        Ok(Book { path: path.to_owned(), database })
    }

    /// Enters bounces of mail of `list` that came at `now`, in seconds since 1970: all of them are
    /// on stable storage when this returns. Returns those whom they suspend.
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
    ) -> Result<Vec<Address>, BookError> {
        let entered = self.enter_all(&key(list), bounces, now, rule);
        entered.map_err(|error| BookError { path: self.path.clone(), error })
    }

    fn enter_all(
        &mut self,
        list: &str,
        bounces: &[Bounce],
        now: i64,
        rule: &Rule,
    ) -> rusqlite::Result<Vec<Address>> {
        let transaction =
            self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut suspended = Vec::new();
        for Bounce { subscriber, severity, status, reason } in bounces {
            let before = find(&transaction, list, subscriber)?.map(|member| member.standing);
            let after = Standing::bounced(before, *severity, now, rule);
            if before == Some(after) {
                continue;
            }
            if after.suspended.is_some() {
                suspended.push(subscriber.clone());
            }
            let entry = "INSERT OR REPLACE INTO member
                VALUES (:list, :subscriber, :score, :last, :suspended, :status, :reason)";
            let words = match (reason.as_str(), severity) {
                ("", Severity::Hard) => "refused without a reason",
                ("", Severity::Soft) => "not delivered in time",
                (words, _) => words,
            };
            transaction.prepare_cached(entry)?.execute(named_params! {
                ":list": list,
                ":subscriber": key(subscriber),
                ":score": after.score,
                ":last": after.last,
                ":suspended": after.suspended,
                ":status": status.map(|status| status.to_string()),
                ":reason": words,
            })?;
        }
        transaction.commit()?;
        Ok(suspended)
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
    ) -> Result<Option<Member>, BookError> {
        self.of(find(&self.database, &key(list), subscriber))
    }

    /// All whose mail came back, by list: those who are suspended first, then by their score.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn members(&self) -> Result<Vec<Member>, BookError> {
        let all = format!(
            "SELECT {COLUMNS} FROM member
                ORDER BY list, suspended_s IS NULL, score DESC, subscriber"
        );
        let read = || self.database.prepare(&all)?.query_map([], member)?.collect();
        self.of(read())
    }

    /// Forgets the bounces of a subscriber, who is served again; whether there were any.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn forget(&mut self, list: &Address, subscriber: &Address) -> Result<bool, BookError> {
        let delete = "DELETE FROM member WHERE list = ? AND subscriber = ?";
        let deleted = self.database.execute(delete, [key(list), key(subscriber)]);
        self.of(deleted.map(|rows| rows > 0))
    }

    fn of<T>(&self, result: rusqlite::Result<T>) -> Result<T, BookError> {
        result.map_err(|error| BookError { path: self.path.clone(), error })
    }
}

fn prepare(database: &Connection) -> rusqlite::Result<()> {
    database.busy_timeout(PATIENCE)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    database.execute_batch("BEGIN IMMEDIATE")?;
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let known = (pragma("application_id")?, pragma("user_version")?);
    let tables =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, u32>(0))?;
    if known == (0, 0) && tables == 0 {
        database.execute_batch(TABLES)?;
        database.pragma_update(None, "application_id", APPLICATION)?;
        database.pragma_update(None, "user_version", VERSION)?;
    } else if known != (APPLICATION, VERSION) {
        // SQLite's own word for a file of another kind.
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
        return Err(rusqlite::Error::SqliteFailure(code, None));
    }
    database.execute_batch("COMMIT")
}

/// Hosts change the case of addresses; no two subscribers differ in it.
fn key(address: &Address) -> String {
    address.as_str().to_lowercase()
}

fn find(
    database: &Connection,
    list: &str,
    subscriber: &Address,
) -> rusqlite::Result<Option<Member>> {
    let one = format!("SELECT {COLUMNS} FROM member WHERE list = ? AND subscriber = ?");
    let mut one = database.prepare_cached(&one)?;
    one.query_row([list, &key(subscriber)], member).optional()
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

impl fmt::Display for BookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the book of bounces {}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for BookError {}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_kernel::parameters::defaults;
    use sojourn_mail::smtp::Enhanced;

    const DAY: i64 = 86_400;

    fn bounce(subscriber: &str, severity: Severity) -> Bounce {
        let status = Some(Enhanced(5, 1, 1));
        Bounce { subscriber: subscriber.parse().unwrap(), severity, status, reason: "gone".into() }
    }

    #[test]
    fn who_is_suspended_and_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = Book::beside(&folder.path().join("spool"));
        let list: Address = "l@x".parse().unwrap();
        let mut book = Book::open(&path).unwrap();
        for day in 0..5 {
            let both = [bounce("Ann@d", Severity::Hard), bounce("bob@d", Severity::Soft)];
            let suspended = book.enter(&list, &both, day * DAY, &defaults()).unwrap();
            let names: Vec<_> = suspended.iter().map(Address::as_str).collect();
            assert_eq!(names, if day == 4 { vec!["Ann@d"] } else { vec![] });
        }
        // Read by another while it is open.
        let mut other = Book::open(&path).unwrap();
        let members = other.members().unwrap();
        let shown: Vec<_> = members
            .iter()
            .map(|it| (it.subscriber.as_str(), it.standing.score, it.standing.suspended))
            .collect();
        assert_eq!(shown, [("ann@d", 5.0, Some(4 * DAY)), ("bob@d", 2.5, None)]);
        assert_eq!((members[0].status.as_deref(), &*members[0].reason), (Some("5.1.1"), "gone"));
        // Another list is another book; the case of an address does not matter.
        let ann: Address = "ANN@d".parse().unwrap();
        assert!(book.member(&"m@x".parse().unwrap(), &ann).unwrap().is_none());
        assert!(book.member(&list, &ann).unwrap().unwrap().standing.suspended.is_some());
        assert!(other.forget(&list, &ann).unwrap() && !other.forget(&list, &ann).unwrap());
        assert!(book.member(&list, &ann).unwrap().is_none());
    }

    #[test]
    fn something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.bounces");
        std::fs::write(&path, "no database, but more than a page of it".repeat(99)).unwrap();
        let told = Book::open(&path).unwrap_err().to_string();
        assert!(told.ends_with("file is not a database"), "{told}");
        let path = folder.path().join("other");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
        let told = Book::open(&path).unwrap_err().to_string();
        assert!(told.contains("other: ") && told.contains("not a database"), "{told}");
    }
}
