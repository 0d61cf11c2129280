//! What comes back to the lists' return paths: what this server can verify counts for a subscriber,
//! and all other mail is only counted.

use super::Lists;
use super::subscribers::{NotEntered, SubscriberError, Unverified};
use crate::event::ServerEvent;
use sojourn_core::Span;
use sojourn_mail_engine::bounce::{Bounce, Complaint, Feedback, Returned, returned};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::{Form, Reading, form};
use sojourn_mail_engine::list::token::{Purpose, TokenKeys};
use sojourn_smtp::Address;
use std::cell::OnceCell;
use std::net::SocketAddr;
use std::sync::PoisonError;

/// How long after the mail's lifetime its return path is still good: the host that took it may try
/// for its own lifetime before it gives up.
const GRACE_DAYS: i64 = 7;
const DAY: i64 = 86_400;
/// Recipients whose numbers are looked up in one turn; others may use the book between turns.
const TURN: usize = 4096;
/// Steps of expiry after one message.
const STEPS: usize = 20;

/// What mail to return paths says, before anything of it is entered. Lists are named by their places.
#[derive(Default)]
pub(crate) struct CameBack {
    /// Of one subscriber at most: a report on a copy goes to the copy's return path alone.
    said: Option<(usize, Returned)>,
    unverified: Vec<(usize, Unverified)>,
    /// Those whose readers are to read it, as no program can.
    unclear: Vec<(usize, Address)>,
}

impl CameBack {
    pub(crate) fn readers(&self) -> Vec<Address> {
        self.unclear.iter().map(|(_, reader)| reader.clone()).collect()
    }

    /// The lists for which these read it.
    pub(crate) fn read_for(&self) -> impl Iterator<Item = usize> {
        self.unclear.iter().map(|(list, _)| *list)
    }
}

impl Lists {
    /// The place of the list to whose return path mail comes, and what of it the address is.
    pub(crate) fn of_return(&self, recipient: &Address) -> Option<(usize, Form)> {
        let mut all = self.lists.iter().enumerate();
        all.find_map(|(place, list)| Some((place, form(&list.bounces, recipient)?)))
    }

    /// Reads `text`, which came to `recipients` at `now`, in seconds since 1970.
    pub(crate) fn look(
        &self,
        recipients: &[Address],
        text: &[u8],
        now: i64,
    ) -> Result<CameBack, SubscriberError> {
        let (mut found, plain) = (CameBack::default(), OnceCell::new());
        for recipient in recipients {
            let Some((place, form)) = self.of_return(recipient) else { continue };
            let list = &self.lists[place];
            let is_unclear = match self.subscriber(list, &form, now)? {
                Ok(_) if found.said.is_some() => continue,
                Ok(subscriber) => {
                    let said = returned(&Reading::Of(subscriber), text);
                    let is_unclear = said == Returned::Unclear;
                    found.said = Some((place, said));
                    is_unclear
                }
                Err(kind) => {
                    found.unverified.push((place, kind));
                    let unclear = || returned(&Reading::Plain, text) == Returned::Unclear;
                    form == Form::Plain && list.reader.is_some() && *plain.get_or_init(unclear)
                }
            };
            if let Some(reader) = list.reader.as_ref().filter(|_| is_unclear)
                && found.unclear.iter().all(|(_, known)| known != reader)
            {
                found.unclear.push((place, reader.clone()));
            }
        }
        Ok(found)
    }

    /// Enters what came back from `peer`.
    pub(crate) fn enter(
        &self,
        came_back: &CameBack,
        peer: SocketAddr,
        now: i64,
    ) -> Result<(), SubscriberError> {
        if let Some((place, said)) = &came_back.said {
            self.enter_one(&self.lists[*place], said, now)?;
        }
        self.count(&came_back.unverified, peer, now)
    }

    /// Enters a report of this server on its own failures, for the return path `address`: the
    /// subscriber that it names is not in question. Whether it is on stable storage.
    pub(crate) fn read_own(&self, address: &Address, report: &[u8], now: i64) -> bool {
        let Some((place, _)) = self.of_return(address) else { return true };
        let said = returned(&Reading::Plain, report);
        self.enter_one(&self.lists[place], &said, now).is_ok()
    }

    /// Keys that sign and verify from now on.
    pub(crate) fn set_keys(&self, keys: TokenKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    /// The numbers of `recipients` of `list`, who are mailed at `now`, in seconds since 1970.
    pub(crate) fn numbers(
        &self,
        list: &List,
        recipients: &[Address],
        now: i64,
    ) -> Result<Vec<u32>, NotEntered> {
        let mut numbers = Vec::with_capacity(recipients.len());
        for some in recipients.chunks(TURN) {
            numbers.extend(self.subscribers().numbers(&list.bounces, some, now, self.most)?);
        }
        Ok(numbers)
    }

    /// Removes what has expired in the book at `now`, in seconds since 1970, as far as it takes no
    /// long time. What cannot be removed now can be later.
    pub(crate) fn expire(&self, now: i64) {
        for _ in 0..STEPS {
            let more = self.subscribers().expire(now, &self.rule);
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
    ) -> Result<Result<Address, Unverified>, SubscriberError> {
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
        Ok(self
            .subscribers()
            .subscriber(&list.bounces, claim.subscriber)?
            .ok_or(Unverified::Expired))
    }

    /// Enters what a message says. Bounces are logged where they count: no other mail with the same
    /// token leads to a line of the log on that day.
    fn enter_one(&self, list: &List, said: &Returned, now: i64) -> Result<(), SubscriberError> {
        let found = match said {
            Returned::Bounces(found) if !found.is_empty() => found,
            Returned::Bounces(_) | Returned::Unclear => return Ok(()),
            Returned::Complaint(complaint) => return self.complained(list, complaint, now),
        };
        let list = &list.bounces;
        let entered = self.subscribers().enter(list, found, now, &self.rule)?;
        for &place in &entered.counted {
            let Bounce { subscriber, reason, .. } = &found[place];
            self.observer.notice(&ServerEvent::Bounced { list, subscriber, reason });
        }
        for &place in &entered.suspended {
            let subscriber = &found[place].subscriber;
            self.observer.notice(&ServerEvent::Suspended { list, subscriber });
        }
        Ok(())
    }

    /// Ends the subscription of one whose mail box's provider says that the mail is unwanted. It is
    /// told of once.
    fn complained(
        &self,
        list: &List,
        complaint: &Complaint,
        now: i64,
    ) -> Result<(), SubscriberError> {
        let Complaint { subscriber: Some(subscriber), feedback } = complaint else { return Ok(()) };
        if matches!(feedback, Feedback::NotSpam | Feedback::AuthFailure) {
            return Ok(());
        }
        if self.end(list, subscriber, now)? {
            let (list, feedback) = (&list.bounces, *feedback);
            self.observer.notice(&ServerEvent::Complaint { list, subscriber, feedback });
        }
        Ok(())
    }

    /// Counts mail that is not verified, list by list and kind by kind.
    fn count(
        &self,
        unverified: &[(usize, Unverified)],
        peer: SocketAddr,
        now: i64,
    ) -> Result<(), SubscriberError> {
        let kinds = [Unverified::NoToken, Unverified::Wrong, Unverified::Expired];
        for (place, List { bounces: list, .. }) in self.lists.iter().enumerate() {
            for kind in kinds {
                let same = |it: &&(usize, Unverified)| **it == (place, kind);
                let number = unverified.iter().filter(same).count() as u64;
                if number > 0 {
                    self.subscribers().count(list, kind, number, now)?;
                    self.observer.notice(&ServerEvent::Unverified { peer, list, kind, number });
                }
            }
        }
        Ok(())
    }
}

/// For how many days after mail was taken over its return paths are good, where it is tried for
/// `lifetime`.
pub(crate) fn good_days(lifetime: Span) -> i64 {
    (lifetime.seconds() / DAY as f64).ceil() as i64 + GRACE_DAYS
}

#[cfg(test)]
mod tests;
