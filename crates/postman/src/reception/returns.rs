//! What comes back to the lists' return paths: what this server can verify counts for a subscriber,
//! and all other mail is only counted.

use super::happening::Happening;
use super::lists::Lists;
use crate::book::{BookError, NotEntered, Unverified};
use sojourn_kernel::Span;
use sojourn_mail::report::verp::Reading;
use sojourn_mail::report::{Bounce, Complaint, Feedback, Returned, returned};
use sojourn_mail::return_path::{Form, form};
use sojourn_mail::token::{Purpose, TokenKeys};
use sojourn_mail::{Address, List};
use std::cell::OnceCell;
use std::fmt;
use std::sync::PoisonError;

/// How long after the mail's lifetime its return path is still good: the host that took it may try
/// for its own lifetime before it gives up.
const GRACE_DAYS: i64 = 7;
const DAY: i64 = 86_400;
const HOUR: i64 = 3600;
/// Recipients whose numbers are looked up in one turn; others may use the book between turns.
const TURN: usize = 4096;
/// Steps of expiry after one message.
const STEPS: usize = 20;

/// Why mail to a return path is not taken.
#[derive(Debug)]
pub(super) enum NotRead {
    /// So many messages have gone to the list's reader in this hour.
    ReaderFull(u32),
    Book(BookError),
}

/// How many messages have gone to a list's reader, hour by hour.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readings {
    /// Since 1970.
    hour: i64,
    number: u32,
}

impl Lists {
    /// The list to whose return path mail comes, and what of it the address is.
    pub(super) fn of_return(&self, recipient: &Address) -> Option<(&List, Form)> {
        let mut all = self.lists.iter();
        all.find_map(|list| Some((list, form(&list.bounces, recipient)?)))
    }

    /// Reads `text`, which came to `recipients` at `now`, in seconds since 1970; returns who is to
    /// read it, as no program can. One message counts for one subscriber at most: a report on a copy
    /// goes to the copy's return path alone.
    pub(super) fn read(
        &self,
        recipients: &[Address],
        text: &[u8],
        now: i64,
    ) -> Result<Vec<Address>, NotRead> {
        let (mut counted, mut unverified) = (false, Vec::new());
        let (mut readers, is_report) = (Vec::new(), OnceCell::new());
        for recipient in recipients {
            let Some((list, form)) = self.of_return(recipient) else { continue };
            let kind = match self.subscriber(list, &form, now)? {
                Ok(_) if counted => continue,
                Ok(subscriber) => {
                    counted = true;
                    self.enter(list, &Reading::Of(subscriber), text, now)?;
                    continue;
                }
                Err(kind) => kind,
            };
            unverified.push((list, kind));
            if let (Form::Plain, Some(reader)) = (&form, &list.reader)
                && !readers.contains(reader)
                && !is_report.get_or_init(|| returned(&Reading::Plain, text) != Returned::Unclear)
            {
                self.count_reading(list, now)?;
                readers.push(reader.clone());
            }
        }
        self.count(&unverified, now)?;
        Ok(readers)
    }

    /// Enters a report of this server on its own failures, for the return path `address`: whom it
    /// names is not in question. Whether it is on stable storage.
    pub(super) fn read_own(&self, address: &Address, report: &[u8], now: i64) -> bool {
        let Some((list, _)) = self.of_return(address) else { return true };
        self.enter(list, &Reading::Plain, report, now).is_ok()
    }

    /// Keys that sign and verify from now on.
    pub(super) fn set_keys(&self, keys: TokenKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// The numbers of `recipients` of `list`, who are mailed at `now`, in seconds since 1970.
    pub(super) fn numbers(
        &self,
        list: &List,
        recipients: &[Address],
        now: i64,
    ) -> Result<Vec<u32>, NotEntered> {
        let mut numbers = Vec::with_capacity(recipients.len());
        for some in recipients.chunks(TURN) {
            numbers.extend(self.book().numbers(&list.bounces, some, now, self.most)?);
        }
        Ok(numbers)
    }

    /// Removes what has expired in the book at `now`, in seconds since 1970, as far as it takes no
    /// long time. What cannot be removed now can be later.
    pub(super) fn expire(&self, now: i64) {
        for _ in 0..STEPS {
            let more = self.book().expire(now, &self.rule);
            if !more.unwrap_or(false) {
                break;
            }
        }
    }

    /// The subscriber whose copy had this return path, or why that is not known.
    fn subscriber(
        &self,
        list: &List,
        form: &Form,
        now: i64,
    ) -> Result<Result<Address, Unverified>, BookError> {
        let Form::Token(token) = form else { return Ok(Err(Unverified::NoToken)) };
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let Some(claim) = keys.verify(Purpose::Bounce, &list.bounces, token) else {
            return Ok(Err(Unverified::Wrong));
        };
        drop(keys);
        if now.div_euclid(DAY) > i64::from(claim.day) + self.good_days {
            return Ok(Err(Unverified::Expired));
        }
        // One who is not in the register any more was not mailed for long.
        Ok(self.book().subscriber(&list.bounces, claim.subscriber)?.ok_or(Unverified::Expired))
    }

    /// Enters what `text` says. Bounces are told of where they count: no other mail with the same
    /// token leads to a line of the log on that day.
    fn enter(&self, list: &List, to: &Reading, text: &[u8], now: i64) -> Result<(), BookError> {
        let found = match returned(to, text) {
            Returned::Bounces(found) if !found.is_empty() => found,
            Returned::Bounces(_) | Returned::Unclear => return Ok(()),
            Returned::Complaint(complaint) => return self.complained(list, &complaint, now),
        };
        let list = &list.bounces;
        let entered = self.book().enter(list, &found, now, &self.rule)?;
        for &place in &entered.counted {
            let Bounce { subscriber, reason, .. } = &found[place];
            self.attendant.notice(&Happening::Bounced { list, subscriber, reason });
        }
        for &place in &entered.suspended {
            let subscriber = &found[place].subscriber;
            self.attendant.notice(&Happening::Suspended { list, subscriber });
        }
        Ok(())
    }

    /// Ends the subscription of one whose mail box's provider says that the mail is unwanted. It is
    /// told of once.
    fn complained(&self, list: &List, complaint: &Complaint, now: i64) -> Result<(), BookError> {
        let Complaint { subscriber: Some(subscriber), feedback } = complaint else { return Ok(()) };
        if matches!(feedback, Feedback::NotSpam | Feedback::AuthFailure) {
            return Ok(());
        }
        if self.end(list, subscriber, now)? {
            let (list, feedback) = (&list.bounces, *feedback);
            self.attendant.notice(&Happening::Complaint { list, subscriber, feedback });
        }
        Ok(())
    }

    /// Counts mail that is not verified, list by list and kind by kind.
    fn count(&self, unverified: &[(&List, Unverified)], now: i64) -> Result<(), BookError> {
        let kinds = [Unverified::NoToken, Unverified::Wrong, Unverified::Expired];
        for List { bounces: list, .. } in &self.lists {
            for kind in kinds {
                let same = |it: &&(&List, Unverified)| it.0.bounces == *list && it.1 == kind;
                let number = unverified.iter().filter(same).count() as u64;
                if number > 0 {
                    self.book().count(list, kind, number, now)?;
                    self.attendant.notice(&Happening::Unverified { list, kind, number });
                }
            }
        }
        Ok(())
    }

    /// One more message for the list's reader, if it may have one in this hour.
    fn count_reading(&self, list: &List, now: i64) -> Result<(), NotRead> {
        let place = self.lists.iter().position(|it| it.bounces == list.bounces);
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        readings.resize(self.lists.len(), Readings::default());
        let Some(reading) = place.map(|place| &mut readings[place]) else { return Ok(()) };
        if reading.one_more(now, self.reader_hourly) {
            return Ok(());
        }
        Err(NotRead::ReaderFull(reading.number))
    }

    /// One more message of a stranger for the postmaster or abuse; whether it may be taken in this
    /// hour.
    pub(super) fn count_for_postmaster(&self, now: i64) -> bool {
        let mut read = self.for_postmaster.lock().unwrap_or_else(PoisonError::into_inner);
        read.one_more(now, self.postmaster_hourly)
    }
}

impl Readings {
    /// One more, if it is not more than `most` in this hour.
    fn one_more(&mut self, now: i64, most: u32) -> bool {
        let hour = now.div_euclid(HOUR);
        if self.hour != hour {
            *self = Readings { hour, number: 0 };
        }
        let fits = self.number < most;
        self.number += u32::from(fits);
        fits
    }
}

/// For how many days after mail was taken over its return paths are good, where it is tried for
/// `lifetime`.
pub(super) fn good_days(lifetime: Span) -> i64 {
    (lifetime.seconds() / DAY as f64).ceil() as i64 + GRACE_DAYS
}

impl From<BookError> for NotRead {
    fn from(error: BookError) -> NotRead {
        NotRead::Book(error)
    }
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRead::ReaderFull(number) => {
                write!(f, "the list's reader has had {number} messages in this hour")
            }
            NotRead::Book(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
