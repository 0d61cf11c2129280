//! Mail to return paths that nothing shows to come from a host that was sent a copy: it is counted,
//! and scores no subscriber.

use super::{SubscriberError, SubscriberStore, add_list, key, list_id};
use sojourn_smtp::Address;
use std::fmt;

/// Why mail to a return path is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverified {
    /// The path has no token.
    NoToken,
    /// What it has is no token of this list, or was signed by a key that is gone.
    Wrong,
    /// The token is too old.
    Expired,
}

/// So much unverified mail of one kind came to a list on one day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The list, by its return path.
    pub list: String,
    /// The day, counted from 1970.
    pub day: i64,
    /// Why it is not verified.
    pub kind: String,
    /// How many.
    pub number: u64,
}

impl SubscriberStore {
    /// Counts `number` that came at `now`, in seconds since 1970. The count is not synced: what any client
    /// sends costs no write that waits for the disk, and a crash may lose the last of it.
    ///
    /// # Errors
    ///
    /// It was not counted.
    pub fn count(
        &mut self,
        list: &Address,
        kind: Unverified,
        number: u64,
        now: i64,
    ) -> Result<(), SubscriberError> {
        let count = || {
            let list = key(list);
            let known = list_id(&self.database, &list)?;
            let list = known.map_or_else(|| add_list(&self.database, &list), Ok)?;
            let add = "INSERT INTO unverified (list, day, kind, number) VALUES (?, ?, ?, ?)
                ON CONFLICT (list, day, kind) DO UPDATE SET number = number + excluded.number";
            let day = now.div_euclid(86_400);
            self.database.prepare_cached(add)?.execute((list, day, kind.to_string(), number as i64))
        };
        let sync = |how| self.database.pragma_update(None, "synchronous", how);
        let counted = sync("NORMAL").and_then(|()| {
            let counted = count();
            sync("FULL")?;
            counted
        });
        self.of(counted.map(drop))
    }

    /// What was counted, by list, the newest first.
    ///
    /// # Errors
    ///
    /// The book cannot be read.
    pub fn counted(&self) -> Result<Vec<Counted>, SubscriberError> {
        let all = "SELECT bounces, day, kind, number FROM unverified
            JOIN list ON list.id = unverified.list ORDER BY bounces, day DESC, kind";
        let read = || {
            let mut all = self.database.prepare(all)?;
            let row = |row: &rusqlite::Row<'_>| {
                let number = row.get::<_, i64>(3)? as u64;
                Ok(Counted { list: row.get(0)?, day: row.get(1)?, kind: row.get(2)?, number })
            };
            all.query_map([], row)?.collect()
        };
        self.of(read())
    }
}

/// As the book has it, and the log.
impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unverified::NoToken => "no token",
            Unverified::Wrong => "wrong",
            Unverified::Expired => "expired",
        })
    }
}
