//! Who has unsubscribed, and who was asked whether to.

use super::{SubscriberError, SubscriberStore, key, list_id};
use rusqlite::{OptionalExtension, Row};
use sojourn_smtp::Address;

/// Why a subscriber gets no mail of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Barred {
    /// Too much mail came back; why the last did.
    Suspended(String),
    /// The subscriber has unsubscribed.
    Left,
}

impl SubscriberStore {
    /// Ends the subscription of `subscriber` at `now`, in seconds since 1970: on stable storage when
    /// this returns. Whether there was one that was not over already.
    ///
    /// # Errors
    ///
    /// The book cannot be written.
    pub fn leave(
        &mut self,
        list: &Address,
        subscriber: &Address,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let leave = || {
            let Some(list) = list_id(&self.database, &key(list))? else { return Ok(0) };
            let update = "UPDATE subscriber SET left_s = ? WHERE list = ? AND address = ?
                AND left_s IS NULL";
            self.database.execute(update, (now, list, key(subscriber)))
        };
        Ok(self.of(self.reserve.with(0, leave))? > 0)
    }

    /// The number of the one to ask, today, whether a request to leave is theirs; nothing where it
    /// is no subscriber of the list, has left it, or was asked today already.
    ///
    /// # Errors
    ///
    /// The book cannot be written.
    pub fn ask(
        &mut self,
        list: &Address,
        subscriber: &Address,
        today: i64,
    ) -> Result<Option<u32>, SubscriberError> {
        let ask = || {
            let Some(list) = list_id(&self.database, &key(list))? else { return Ok(None) };
            let update = "UPDATE subscriber SET asked_day = ?1 WHERE list = ?2 AND address = ?3
                AND left_s IS NULL AND asked_day IS NOT ?1 RETURNING number";
            let row = (today, list, key(subscriber));
            self.database.query_row(update, row, |row| row.get(0)).optional()
        };
        self.of(self.reserve.with(0, ask))
    }

    /// Why `subscriber` gets no mail of `list`; nothing where mail may be sent.
    ///
    /// # Errors
    ///
    /// The book cannot be read.
    pub(crate) fn barred(
        &self,
        list: &Address,
        subscriber: &Address,
    ) -> Result<Option<Barred>, SubscriberError> {
        let find = "SELECT left_s IS NOT NULL, reason FROM subscriber
            JOIN list ON list.id = subscriber.list
            LEFT JOIN bounce ON bounce.subscriber = number
            WHERE bounces = ? AND address = ? AND (left_s IS NOT NULL OR suspended_s IS NOT NULL)";
        let row = |row: &Row<'_>| {
            Ok(match row.get(0)? {
                true => Barred::Left,
                false => Barred::Suspended(row.get(1)?),
            })
        };
        let find = || {
            let mut find = self.database.prepare_cached(find)?;
            find.query_row([key(list), key(subscriber)], row).optional()
        };
        self.of(find())
    }

    /// Those who have left, list by list, the last one first: the list's return path, the address,
    /// and when, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The book cannot be read.
    pub fn left(&self) -> Result<Vec<(String, String, i64)>, SubscriberError> {
        let all = "SELECT bounces, address, left_s FROM subscriber
            JOIN list ON list.id = subscriber.list
            WHERE left_s IS NOT NULL ORDER BY bounces, left_s DESC, address";
        let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let read = || self.database.prepare(all)?.query_map([], row)?.collect();
        self.of(read())
    }
}
