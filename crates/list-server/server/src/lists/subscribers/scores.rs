//! How subscribers stand whose mail failed.

use super::{COLUMNS, JOINED, Member, SubscriberError, SubscriberStore, key, list_id, member};
use rusqlite::{Connection, OptionalExtension, Row, named_params};
use sojourn_mail_engine::bounce::{Failure, Rule, Standing};
use sojourn_smtp::{Address, Enhanced};
use std::collections::BTreeSet;

/// A mailing that did not reach a subscriber, and why.
#[derive(Clone, Debug)]
pub struct FailedMailing {
    /// The subscriber.
    pub subscriber: Address,
    /// How and when it failed.
    pub failure: Failure,
    /// Whether it was a probe.
    pub probe: bool,
    /// Why, as a status.
    pub status: Option<Enhanced>,
    /// Why, in words.
    pub reason: String,
    /// Who runs the subscriber's host.
    pub provider: String,
}

/// What failures have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Failures that counted, by their places among those given: each of a subscriber of the list,
    /// and of a mailing that had not counted.
    pub counted: Vec<usize>,
    /// Those that suspend.
    pub suspended: Vec<usize>,
    /// Those whose subscribers have to be asked.
    pub over: Vec<usize>,
}

impl SubscriberStore {
    /// Enters failures of mail of `list` that were heard of at `now`, in seconds since 1970: all of
    /// them are on stable storage when this returns. Failures of addresses that the list never mailed
    /// are left out.
    ///
    /// # Errors
    ///
    /// Nothing was entered.
    pub fn enter(
        &mut self,
        list: &Address,
        failed: &[FailedMailing],
        now: i64,
        rule: &Rule,
    ) -> Result<Entered, SubscriberError> {
        self.write(|database| {
            let mut entered = Entered::default();
            let Some(list) = list_id(database, &key(list))? else { return Ok(entered) };
            for (place, heard) in failed.iter().enumerate() {
                let Some((number, before)) = find(database, list, &heard.subscriber)? else {
                    continue;
                };
                let mut after = Standing::failed(before, heard.failure, now, rule);
                let asked = heard.probe && after.probed.is_some() && after.suspended.is_none();
                if asked || !rule.probe && after.is_over(rule) {
                    after.suspended = Some(now);
                    entered.suspended.push(place);
                } else if after.is_over(rule) && before != Some(after) {
                    entered.over.push(place);
                }
                if before != Some(after) {
                    entered.counted.push(place);
                    write(database, number, after, Some(heard))?;
                }
            }
            Ok(entered)
        })
    }

    /// Notes that `subscriber` is asked at `now`, in seconds since 1970: the subscriber's number.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn probe(
        &mut self,
        list: &Address,
        subscriber: &Address,
        now: i64,
    ) -> Result<Option<u32>, SubscriberError> {
        self.change(list, subscriber, |standing| Some(Standing { probed: Some(now), ..standing }))
    }

    /// Notes that a host took the mailing of `day`, counted from 1970.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn delivered(
        &mut self,
        list: &Address,
        subscriber: &Address,
        day: i64,
    ) -> Result<Option<u32>, SubscriberError> {
        self.change(list, subscriber, |standing| standing.delivered(day))
    }

    /// Changes how a subscriber stands, or ends a score; the subscriber's number, where there was a
    /// score.
    fn change(
        &mut self,
        list: &Address,
        subscriber: &Address,
        change: impl Fn(Standing) -> Option<Standing>,
    ) -> Result<Option<u32>, SubscriberError> {
        self.write(|database| {
            let Some(list) = list_id(database, &key(list))? else { return Ok(None) };
            let Some((number, Some(before))) = find(database, list, subscriber)? else {
                return Ok(None);
            };
            match change(before) {
                Some(after) if after == before => {}
                Some(after) => write(database, number, after, None)?,
                None => {
                    let end = "DELETE FROM bounce WHERE subscriber = ?";
                    database.execute(end, [number])?;
                }
            }
            Ok(Some(number))
        })
    }

    /// Subscribers of any list who have a score and are not suspended.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(crate) fn scored(&self) -> Result<BTreeSet<Address>, SubscriberError> {
        let all = "SELECT DISTINCT address FROM subscriber
            JOIN bounce ON bounce.subscriber = number WHERE suspended_s IS NULL";
        let read = || {
            let mut all = self.database.prepare(all)?;
            let addresses = all.query_map([], |row| row.get::<_, String>(0))?;
            // What stands there came as an address.
            addresses.filter_map(|it| it.map(|it| it.parse().ok()).transpose()).collect()
        };
        self.of(read())
    }

    /// When the operator was told last, in seconds since 1970, and who was suspended since then.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub(crate) fn unreported(&self) -> Result<(i64, Vec<Member>), SubscriberError> {
        let last = "SELECT coalesce(max(at_s), 0) FROM report";
        let all = format!(
            "SELECT {COLUMNS} FROM {JOINED} WHERE suspended_s > ? ORDER BY bounces, suspended_s"
        );
        let read = || {
            let last = self.database.query_row(last, [], |row| row.get(0))?;
            let members = self
                .database
                .prepare(&all)?
                .query_map([last], member)?
                .collect::<Result<_, _>>()?;
            Ok((last, members))
        };
        self.of(read())
    }

    /// Notes that the operator got a report at `now`, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub(crate) fn reported(&mut self, now: i64) -> Result<(), SubscriberError> {
        self.write(|database| {
            database.execute("DELETE FROM report", [])?;
            database.execute("INSERT INTO report VALUES (?)", [now]).map(drop)
        })
    }
}

/// A subscriber's number, and how the subscriber stands; nothing when the list never mailed there.
pub(super) fn find(
    database: &Connection,
    list: i64,
    subscriber: &Address,
) -> rusqlite::Result<Option<(u32, Option<Standing>)>> {
    let find = "SELECT number, score, last_s, day, returned, taken_day, probed_s, suspended_s
        FROM subscriber LEFT JOIN bounce ON bounce.subscriber = number
        WHERE list = ? AND address = ?";
    let row = |row: &Row<'_>| {
        let has_score = row.get::<_, Option<f64>>(1)?.is_some();
        Ok((row.get(0)?, has_score.then(|| standing(row, 1)).transpose()?))
    };
    let mut find = database.prepare_cached(find)?;
    find.query_row((list, key(subscriber)), row).optional()
}

/// How a subscriber stands, from the columns of `row` that begin at `first`.
pub(super) fn standing(row: &Row<'_>, first: usize) -> rusqlite::Result<Standing> {
    Ok(Standing {
        score: row.get(first)?,
        last: row.get(first + 1)?,
        day: row.get(first + 2)?,
        returned: row.get(first + 3)?,
        taken: row.get(first + 4)?,
        probed: row.get(first + 5)?,
        suspended: row.get(first + 6)?,
    })
}

/// Enters how a subscriber stands, and why; where nothing new was heard, the reason stays.
fn write(
    database: &Connection,
    number: u32,
    after: Standing,
    heard: Option<&FailedMailing>,
) -> rusqlite::Result<()> {
    let entry = "INSERT INTO bounce (subscriber, score, last_s, day, returned, taken_day, probed_s,
            suspended_s, status, reason, provider)
        VALUES (:subscriber, :score, :last, :day, :returned, :taken, :probed, :suspended, :status,
            coalesce(:reason, ''), coalesce(:provider, ''))
        ON CONFLICT (subscriber) DO UPDATE SET score = :score, last_s = :last, day = :day,
            returned = :returned, taken_day = :taken, probed_s = :probed, suspended_s = :suspended,
            status = iif(:reason IS NULL, status, :status), reason = coalesce(:reason, reason),
            provider = coalesce(:provider, provider)";
    database.prepare_cached(entry)?.execute(named_params! {
        ":subscriber": number,
        ":score": after.score,
        ":last": after.last,
        ":day": after.day,
        ":returned": after.returned,
        ":taken": after.taken,
        ":probed": after.probed,
        ":suspended": after.suspended,
        ":status": heard.and_then(|it| it.status).map(|it| it.to_string()),
        ":reason": heard.map(|it| &it.reason),
        ":provider": heard.map(|it| &it.provider),
    })?;
    Ok(())
}
