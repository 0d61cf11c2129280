//! What an operator changes by hand or by file: who gets no mail, who does again, who is forgotten.

use super::{SubscriberError, SubscriberStore, add_list, key};
use rusqlite::{Connection, OptionalExtension};
use sojourn_smtp::Address;

/// Why one gets no mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suppression {
    /// Mail does not arrive, or the operator wants it so.
    Suspended,
    /// The subscriber has left.
    Left,
}

/// A subscriber who gets no mail of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppressed {
    /// The list, by its return path.
    pub list: Address,
    /// The subscriber.
    pub subscriber: Address,
    /// Why.
    pub why: Suppression,
    /// Since when, in seconds since 1970.
    pub since: i64,
    /// The status of the last mail that came back.
    pub status: Option<String>,
    /// Why it came back, or the operator's words.
    pub reason: String,
}

impl SubscriberStore {
    /// Enters that these get no mail, known to a list or not; how many got some before.
    ///
    /// # Errors
    ///
    /// Nothing was entered.
    pub fn suppress(&mut self, all: &[Suppressed]) -> Result<u64, SubscriberError> {
        let leave = "UPDATE subscriber SET left_s = ? WHERE number = ? AND left_s IS NULL";
        let suspend =
            "INSERT INTO bounce (subscriber, score, last_s, day, suspended_s, status, reason)
            VALUES (?1, 0, ?2, ?2 / 86400, ?2, ?3, ?4)
            ON CONFLICT (subscriber) DO UPDATE SET suspended_s = excluded.suspended_s,
                status = excluded.status, reason = excluded.reason WHERE suspended_s IS NULL";
        self.subscribers = None;
        self.write(|database| {
            let mut changed = 0;
            for it in all {
                let number = number(database, &it.list, &it.subscriber, it.since)?;
                changed += match it.why {
                    Suppression::Left => database.execute(leave, (it.since, number))?,
                    Suppression::Suspended => {
                        database.execute(suspend, (number, it.since, &it.status, &it.reason))?
                    }
                } as u64;
            }
            Ok(changed)
        })
    }

    /// Serves these again, each the subscriber of a list: their failures, or that they have left, are
    /// forgotten. How many got no mail, or had a score.
    ///
    /// # Errors
    ///
    /// Nothing was changed.
    pub fn resume(&mut self, all: &[(Address, Address)]) -> Result<u64, SubscriberError> {
        let stay = "UPDATE subscriber SET left_s = NULL WHERE number = ? AND left_s IS NOT NULL";
        self.write(|database| {
            let mut changed = 0;
            for (list, subscriber) in all {
                let Some(number) = find(database, list, subscriber)? else { continue };
                let rows = database.execute("DELETE FROM bounce WHERE subscriber = ?", [number])?
                    + database.execute(stay, [number])?;
                changed += u64::from(rows > 0);
            }
            Ok(changed)
        })
    }

    /// Forgets that these were ever subscribers; how many were.
    ///
    /// # Errors
    ///
    /// Nothing was changed.
    pub fn erase(&mut self, all: &[(Address, Address)]) -> Result<u64, SubscriberError> {
        self.subscribers = None;
        self.write(|database| {
            let mut changed = 0;
            for (list, subscriber) in all {
                let Some(number) = find(database, list, subscriber)? else { continue };
                changed += database.execute("DELETE FROM subscriber WHERE number = ?", [number])?;
            }
            Ok(changed as u64)
        })
    }
}

fn find(
    database: &Connection,
    list: &Address,
    subscriber: &Address,
) -> rusqlite::Result<Option<i64>> {
    let find = "SELECT number FROM subscriber JOIN list ON list.id = subscriber.list
        WHERE bounces = ? AND address = ?";
    let mut find = database.prepare_cached(find)?;
    find.query_row([key(list), key(subscriber)], |row| row.get(0)).optional()
}

/// The number of a subscriber, who gets one where there is none.
fn number(
    database: &Connection,
    list: &Address,
    subscriber: &Address,
    since: i64,
) -> rusqlite::Result<i64> {
    if let Some(number) = find(database, list, subscriber)? {
        return Ok(number);
    }
    let list = add_list(database, &key(list))?;
    let insert = "INSERT INTO subscriber (list, address, mailed_day) VALUES (?, ?, ?)
        RETURNING number";
    database.query_row(insert, (list, key(subscriber), since.div_euclid(86_400)), |row| row.get(0))
}
