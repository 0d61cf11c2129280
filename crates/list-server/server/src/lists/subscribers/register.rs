//! The register: who was mailed, list by list, and by which number tokens name each.

use super::{SubscriberError, SubscriberStore, add_list, key, list_id};
use rusqlite::{Connection, OptionalExtension, Row};
use sojourn_mail_engine::bounce::PROBE_DAYS;
use sojourn_smtp::Address;
use std::collections::BTreeMap;

/// How long a subscriber is known who is not mailed any more, in days.
pub const MAILED_DAYS: i64 = 400;
/// How long a subscriber is kept that is suspended or has left, from then on: it is refused and not
/// mailed, and must not become unknown to the register by that.
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
    Store(SubscriberError),
}

impl SubscriberStore {
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
            .map_err(|error| NotEntered::Store(SubscriberError { path: self.path.clone(), error }))?
            .ok_or(NotEntered::Full)
    }

    fn enter_recipients(
        &mut self,
        list: &str,
        recipients: &[Address],
        today: i64,
        most: u64,
    ) -> rusqlite::Result<Option<Vec<u32>>> {
        let known = list_id(&self.database, list)?;
        let reading = self.database.transaction()?;
        let mut found = look_up(&reading, known, recipients, today)?;
        drop(reading);
        if found.new.is_empty() && found.old.is_empty() {
            return Ok(Some(found.numbers));
        }
        let before = match self.subscribers {
            Some(rows) => rows,
            None => count(&self.database)?,
        };
        self.subscribers = Some(before);
        let after = before + found.new.len() as u64;
        if !found.new.is_empty() && after > most {
            return Ok(None);
        }
        // Until what follows is on stable storage, the number of rows is not known.
        self.subscribers = None;
        self.transact(|writing| {
            let list = known.map_or_else(|| add_list(writing, list), Ok)?;
            found.write(writing, list, today)
        })?;
        self.subscribers = Some(after);
        Ok(Some(found.numbers))
    }

    /// The subscriber of `list` with this number.
    ///
    /// # Errors
    ///
    /// The book cannot be read.
    pub fn subscriber(
        &self,
        list: &Address,
        number: u32,
    ) -> Result<Option<Address>, SubscriberError> {
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
    /// for [`MAILED_DAYS`], or were suspended [`SUSPENDED_DAYS`] ago, scores whose probe did not come
    /// back, and old counts of unverified mail.
    ///
    /// # Errors
    ///
    /// The book cannot be read or written.
    pub fn expire(&mut self, now: i64) -> Result<bool, SubscriberError> {
        let today = now.div_euclid(DAY);
        if self.sweep.day != today {
            self.sweep = Sweep { day: today, after: Some(0) };
        }
        let Some(after) = self.sweep.after else { return Ok(false) };
        let done = self.sweep(after, now);
        self.sweep.after = self.of(done)?;
        Ok(self.sweep.after.is_some())
    }

    /// One step of expiry; where the next begins.
    fn sweep(&mut self, after: i64, now: i64) -> rusqlite::Result<Option<i64>> {
        let today = now.div_euclid(DAY);
        let part = "SELECT max(number) FROM
            (SELECT number FROM subscriber WHERE number > ? ORDER BY number LIMIT ?)";
        let last: Option<i64> = self.database.query_row(part, (after, SWEEP), |row| row.get(0))?;
        let removed = self.transact(|writing| {
            let Some(last) = last else {
                let old = "DELETE FROM unverified WHERE day < ?";
                return writing.execute(old, [today - COUNTED_DAYS]).map(|_| 0);
            };
            writing.execute(
                "DELETE FROM bounce WHERE subscriber > ?1 AND subscriber <= ?2
                    AND (suspended_s < ?3 OR suspended_s IS NULL
                        AND (probed_s < ?4 OR last_s < ?5))",
                [
                    after,
                    last,
                    now - SUSPENDED_DAYS * DAY,
                    now - PROBE_DAYS * DAY,
                    now - MAILED_DAYS * DAY,
                ],
            )?;
            writing.execute(
                "DELETE FROM subscriber WHERE number > ?1 AND number <= ?2 AND mailed_day < ?3
                    AND (left_s IS NULL OR left_s < ?4)
                    AND number NOT IN (SELECT subscriber FROM bounce
                        WHERE subscriber > ?1 AND subscriber <= ?2 AND suspended_s IS NOT NULL)",
                (after, last, today - MAILED_DAYS, now - SUSPENDED_DAYS * DAY),
            )
        })?;
        self.subscribers = self.subscribers.map(|rows| rows.saturating_sub(removed as u64));
        Ok(last)
    }
}

/// What the register has of some recipients.
struct Found {
    /// Their numbers, in their order; 0 where one has none.
    numbers: Vec<u32>,
    /// Those without a number, with their places: one may stand there twice, in two spellings.
    new: BTreeMap<String, Vec<usize>>,
    /// The places of those whose day is to be written again.
    old: Vec<usize>,
}

fn look_up(
    database: &Connection,
    list: Option<i64>,
    recipients: &[Address],
    today: i64,
) -> rusqlite::Result<Found> {
    let numbers = Vec::with_capacity(recipients.len());
    let mut found = Found { numbers, new: BTreeMap::new(), old: Vec::new() };
    let find = "SELECT number, mailed_day FROM subscriber WHERE list = ? AND address = ?";
    let mut find = database.prepare_cached(find)?;
    for (place, recipient) in recipients.iter().enumerate() {
        let recipient = key(recipient);
        let pair = |row: &Row<'_>| Ok((row.get::<_, u32>(0)?, row.get::<_, i64>(1)?));
        let row = match list {
            Some(list) => find.query_row((list, &recipient), pair).optional()?,
            None => None,
        };
        match row {
            Some((_, day)) if today - day > WRITTEN_DAYS => found.old.push(place),
            Some(_) => {}
            None => found.new.entry(recipient).or_default().push(place),
        }
        found.numbers.push(row.map_or(0, |(number, _)| number));
    }
    Ok(found)
}

impl Found {
    /// Enters the new ones, and today for the old.
    fn write(&mut self, database: &Connection, list: i64, today: i64) -> rusqlite::Result<()> {
        // Another process may have added one meanwhile.
        let insert = "INSERT INTO subscriber (list, address, mailed_day) VALUES (?, ?, ?)
            ON CONFLICT DO UPDATE SET mailed_day = excluded.mailed_day RETURNING number";
        let mut insert = database.prepare_cached(insert)?;
        for (address, places) in &self.new {
            let number = insert.query_row((list, address, today), |row| row.get(0))?;
            places.iter().for_each(|&place| self.numbers[place] = number);
        }
        let update = "UPDATE subscriber SET mailed_day = ? WHERE number = ?";
        let mut update = database.prepare_cached(update)?;
        for &place in &self.old {
            update.execute((today, self.numbers[place]))?;
        }
        Ok(())
    }
}

/// How many subscribers there are.
fn count(database: &Connection) -> rusqlite::Result<u64> {
    let rows = "SELECT count(*) FROM subscriber";
    database.query_row(rows, [], |row| row.get::<_, i64>(0)).map(|rows| rows as u64)
}
