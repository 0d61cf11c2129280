//! The register: who was mailed, list by list, and by which number tokens name each.

use super::{Book, BookError, key, list_id};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use sojourn_mail::Address;
use sojourn_mail::report::Rule;

/// How long a subscriber is known who is not mailed any more, in days.
pub const MAILED_DAYS: i64 = 400;
/// The same for one who is suspended, from the suspension on: who is refused is not mailed, and must
/// not become a stranger to the book by that.
pub const SUSPENDED_DAYS: i64 = 4 * 365;
/// Days for which unverified mail stays counted.
pub const COUNTED_DAYS: i64 = 90;
/// The day of the last mail is written when the one that stands there is older than this: a daily
/// list writes each row once a month.
const WRITTEN_DAYS: i64 = 30;
/// Rows that one step of expiry looks at.
const SWEEP: u32 = 10_000;
const DAY: i64 = 86_400;

/// How far the expiry of old rows has come.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// The day of the round that is under way or done.
    day: i64,
    /// The number after which the next step begins; nothing when the round is done.
    after: Option<i64>,
}

/// Why a message's recipients have no numbers.
#[derive(Debug)]
pub enum NotEntered {
    /// There are as many subscribers as may be.
    Full,
    /// The book cannot be read or written.
    Book(BookError),
}

impl Book {
    /// The numbers of `recipients` of `list`, in their order, who are mailed at `now`, in seconds
    /// since 1970. Those who have none get one, as long as there are at most `most` subscribers, and
    /// it is on stable storage when this returns.
    ///
    /// # Errors
    ///
    /// There are too many subscribers, and none of these was added; the book cannot be read or
    /// written.
    pub fn numbers(
        &mut self,
        list: &Address,
        recipients: &[Address],
        now: i64,
        most: u64,
    ) -> Result<Vec<u32>, NotEntered> {
        let entered = self.enter_recipients(&key(list), recipients, now.div_euclid(DAY), most);
        entered
            .map_err(|error| NotEntered::Book(BookError { path: self.path.clone(), error }))?
            .ok_or(NotEntered::Full)
    }

    fn enter_recipients(
        &mut self,
        list: &str,
        recipients: &[Address],
        today: i64,
        most: u64,
    ) -> rusqlite::Result<Option<Vec<u32>>> {
        let mut numbers = Vec::with_capacity(recipients.len());
        // Their places.
        let (mut new, mut old) = (Vec::new(), Vec::new());
        let reading = self.database.transaction()?;
        let known = list_id(&reading, list)?;
        let find = "SELECT number, mailed_day FROM subscriber WHERE list = ? AND address = ?";
        {
            let mut find = reading.prepare_cached(find)?;
            for (place, recipient) in recipients.iter().enumerate() {
                let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get::<_, i64>(1)?));
                let found = match known {
                    Some(list) => find.query_row((list, key(recipient)), row).optional()?,
                    None => None,
                };
                match found {
                    Some((_, day)) if today - day > WRITTEN_DAYS => old.push(place),
                    Some(_) => {}
                    None => new.push(place),
                }
                numbers.push(found.map_or(0, |(number, _)| number));
            }
        }
        drop(reading);
        if new.is_empty() && old.is_empty() {
            return Ok(Some(numbers));
        }
        let rows = match self.subscribers {
            Some(rows) => rows,
            None => count(&self.database)?,
        };
        if !new.is_empty() && rows + new.len() as u64 > most {
            self.subscribers = Some(rows);
            return Ok(None);
        }
        // Until what follows is on stable storage, the number of rows is not known.
        self.subscribers = None;
        let writing = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        {
            let list = match known {
                Some(list) => list,
                None => writing.query_row(
                    "INSERT INTO list (bounces) VALUES (?1)
                        ON CONFLICT (bounces) DO UPDATE SET bounces = ?1 RETURNING id",
                    [list],
                    |row| row.get(0),
                )?,
            };
            // One address may stand in a message twice, in letters of another case.
            let insert = "INSERT INTO subscriber (list, address, mailed_day) VALUES (?, ?, ?)
                ON CONFLICT (list, address) DO UPDATE SET mailed_day = excluded.mailed_day
                RETURNING number";
            let mut insert = writing.prepare_cached(insert)?;
            for place in new.iter().copied() {
                let row = (list, key(&recipients[place]), today);
                numbers[place] = insert.query_row(row, |row| row.get(0))?;
            }
            let update = "UPDATE subscriber SET mailed_day = ? WHERE number = ?";
            let mut update = writing.prepare_cached(update)?;
            for place in old {
                update.execute((today, numbers[place]))?;
            }
        }
        writing.commit()?;
        self.subscribers = Some(rows + new.len() as u64);
        Ok(Some(numbers))
    }

    /// The subscriber of `list` with this number.
    ///
    /// # Errors
    ///
    /// The book cannot be read.
    pub fn subscriber(&self, list: &Address, number: u32) -> Result<Option<Address>, BookError> {
        let find = "SELECT address FROM subscriber JOIN list ON list.id = subscriber.list
            WHERE number = ? AND bounces = ?";
        let find = || {
            let mut find = self.database.prepare_cached(find)?;
            find.query_row((number, key(list)), |row| row.get::<_, String>(0)).optional()
        };
        // What stands there came as an address.
        Ok(self.of(find())?.and_then(|address| address.parse().ok()))
    }

    /// Removes what has expired at `now`, in seconds since 1970, a few thousand rows at a time: to
    /// be called now and then; whether there is more to do today. Subscribers go who were not mailed
    /// for [`MAILED_DAYS`], or were suspended [`SUSPENDED_DAYS`] ago, bounces that count no more by
    /// `rule`, and old counts of unverified mail.
    ///
    /// # Errors
    ///
    /// The book cannot be read or written.
    pub fn expire(&mut self, now: i64, rule: &Rule) -> Result<bool, BookError> {
        let today = now.div_euclid(DAY);
        if self.sweep.day != today {
            self.sweep = Sweep { day: today, after: Some(0) };
        }
        let Some(after) = self.sweep.after else { return Ok(false) };
        let done = self.sweep(after, now, rule);
        self.sweep.after = self.of(done)?;
        Ok(self.sweep.after.is_some())
    }

    /// One step of expiry; where the next begins.
    fn sweep(&mut self, after: i64, now: i64, rule: &Rule) -> rusqlite::Result<Option<i64>> {
        let today = now.div_euclid(DAY);
        let part = "SELECT max(number) FROM
            (SELECT number FROM subscriber WHERE number > ? ORDER BY number LIMIT ?)";
        let last: Option<i64> = self.database.query_row(part, (after, SWEEP), |row| row.get(0))?;
        let stale = now - rule.stale.seconds() as i64;
        let writing = self.database.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut removed = 0;
        if let Some(last) = last {
            writing.execute(
                "DELETE FROM bounce WHERE subscriber > ?1 AND subscriber <= ?2
                    AND ((suspended_s IS NULL AND last_s < ?3) OR suspended_s < ?4)",
                (after, last, stale, now - SUSPENDED_DAYS * DAY),
            )?;
            removed = writing.execute(
                "DELETE FROM subscriber WHERE number > ?1 AND number <= ?2 AND mailed_day < ?3
                    AND number NOT IN (SELECT subscriber FROM bounce
                        WHERE subscriber > ?1 AND subscriber <= ?2 AND suspended_s IS NOT NULL)",
                (after, last, today - MAILED_DAYS),
            )?;
        } else {
            writing.execute("DELETE FROM unverified WHERE day < ?", [today - COUNTED_DAYS])?;
        }
        writing.commit()?;
        self.subscribers = self.subscribers.map(|rows| rows.saturating_sub(removed as u64));
        Ok(last)
    }
}

fn count(database: &Connection) -> rusqlite::Result<u64> {
    database
        .query_row("SELECT count(*) FROM subscriber", [], |row| row.get::<_, i64>(0))
        .map(|it| it as u64)
}
