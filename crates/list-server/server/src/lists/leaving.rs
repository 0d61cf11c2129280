//! Leaving a list: by one click, by mail with a token, or by mail that has to be confirmed.

use super::subscribers::SubscriberError;
use super::unsubscribe::{Link, NotNow, Subscription, Subscriptions};
use super::{Lists, now};
use crate::delivery::mail::Mail;
use crate::event::ServerEvent;
use crate::hourly::{Amount, Bound};
use crate::smtp_in::context::Current;
use sojourn_mail_engine::bounce::{Origin, origin};
use sojourn_mail_engine::list::author::authors;
use sojourn_mail_engine::list::letter::Letter;
use sojourn_mail_engine::list::token::{Claim, Purpose};
use sojourn_mail_engine::list::{List, mailto};
use sojourn_smtp::Address;
use sojourn_smtp::header::beginning;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use tokio_rustls::TlsAcceptor;

const DAY: i64 = 86_400;

/// A request to leave a list by mail, and how it says whose subscription it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// By a token of this server behind the address that it came to.
    Token(usize, Claim),
    /// By its author alone.
    Author(usize, Address),
}

impl Request {
    pub(crate) fn is_by_author(&self) -> bool {
        matches!(self, Request::Author(..))
    }
}

impl Lists {
    /// The place of the list whose address for leaving this is, and the token behind it.
    pub(crate) fn of_leave(&self, recipient: &Address) -> Option<(usize, Option<String>)> {
        self.lists.iter().enumerate().find_map(|(place, list)| {
            let leave = list.leave.as_ref().filter(|it| it.domain() == recipient.domain())?;
            let (own, name) = (leave.name(), recipient.name());
            let (head, rest) = name.split_at_checked(own.len())?;
            if !head.eq_ignore_ascii_case(&own) {
                return None;
            }
            match rest.strip_prefix('+') {
                Some(token) => Some((place, Some(token.to_owned()))),
                None => rest.is_empty().then_some((place, None)),
            }
        })
    }

    /// What `text` asks for, which came to `recipients`.
    pub(crate) fn requests(&self, recipients: &[Address], text: &[u8]) -> Vec<Request> {
        if recipients.is_empty() || origin(text) != Origin::Person {
            return Vec::new();
        }
        let authors = authors(beginning(text)).unwrap_or_default();
        let claim = |place: usize, token: String| self.leave_claim(&self.lists[place], &token);
        let request = |(place, token)| match (token, &authors[..]) {
            (Some(token), _) => Some(Request::Token(place, claim(place, token)?)),
            (None, [author]) => Some(Request::Author(place, author.clone())),
            (None, _) => None,
        };
        recipients.iter().filter_map(|it| self.of_leave(it)).filter_map(request).collect()
    }

    /// Does what is asked for at `now`, in seconds since 1970. Returns the message that asks the
    /// subscriber to confirm, where a request has no token: it goes to subscribers alone, and to each
    /// once a day.
    pub(crate) fn leave(
        &self,
        request: Request,
        now: i64,
    ) -> Result<Option<Mail>, SubscriberError> {
        let (list, author) = match request {
            Request::Token(place, claim) => {
                self.unsubscribe(&self.lists[place], claim, now)?;
                return Ok(None);
            }
            Request::Author(place, author) => (&self.lists[place], author),
        };
        let day = now.div_euclid(DAY);
        let Some(number) = self.subscribers().ask(&list.bounces, &author, day)? else {
            return Ok(None);
        };
        let token =
            self.leave_token(list, Claim { subscriber: number, mailing: 0, day: day as u16 });
        let Some(confirm) = list.leave_path(&token) else { return Ok(None) };
        let Some(from) = &list.leave else { return Ok(None) };
        let link = self.unsubscribe.as_ref().map(|it| it.link(list.bounces.as_str(), &token));
        let id = format!("leave.{now}.{number}");
        let letter = Letter { server: &self.name, id: &id, now, from, to: &author };
        let text = letter.asks_to_leave(list.title(), &confirm, link.as_deref()).into_bytes();
        let text = [self.signatures(list, &[&text]).into_bytes(), text].concat();
        self.observer
            .notice(&ServerEvent::AskedToLeave { list: &list.bounces, subscriber: &author });
        Ok(Some(Mail::new(None, vec![author], &text)))
    }

    /// Whether each recipient of the list has separate links to unsubscribe.
    pub(crate) fn has_own_links(&self, list: &List) -> bool {
        list.verp && (self.unsubscribe.is_some() || list.leave.is_some())
    }

    /// The links to unsubscribe of the subscriber that `claim` names: one click, and mail. Without a
    /// claim, mail that has to be confirmed.
    pub(crate) fn links(&self, list: &List, claim: Option<Claim>) -> Vec<String> {
        let token = claim.map(|claim| self.leave_token(list, claim));
        let endpoint = self.unsubscribe.as_ref().zip(token.as_ref());
        let one_click = endpoint.map(|(it, token)| it.link(list.bounces.as_str(), token));
        let leave = match &token {
            Some(token) => list.leave_path(token),
            None => list.leave.clone(),
        };
        one_click.into_iter().chain(leave.as_ref().map(mailto)).collect()
    }

    /// Ends the subscription that a token claims; whose it was.
    fn unsubscribe(
        &self,
        list: &List,
        claim: Claim,
        now: i64,
    ) -> Result<Option<Address>, SubscriberError> {
        let found = self.subscribers().subscriber(&list.bounces, claim.subscriber)?;
        if let Some(subscriber) = &found {
            self.end(list, subscriber, now)?;
        }
        Ok(found)
    }

    /// Ends a subscription; whether it was not over already.
    pub(crate) fn end(
        &self,
        list: &List,
        subscriber: &Address,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let is_new = self.subscribers().leave(&list.bounces, subscriber, now)?;
        if is_new {
            let list = &list.bounces;
            self.observer.notice(&ServerEvent::Left { list, subscriber });
        }
        Ok(is_new)
    }

    /// The token with which a subscriber leaves.
    pub(crate) fn leave_token(&self, list: &List, claim: Claim) -> String {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.sign(Purpose::Unsubscribe, &list.bounces, claim)
    }

    /// What a token to leave claims. It does not expire, as links in old messages have to work.
    pub(super) fn leave_claim(&self, list: &List, token: &str) -> Option<Claim> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.verify(Purpose::Unsubscribe, &list.bounces, token)
    }

    /// The place of the list, and the token, of a link to unsubscribe.
    pub(super) fn of_link<'a>(&self, link: &'a str) -> Option<(usize, &'a str)> {
        let (list, token) = self.unsubscribe.as_ref()?.read(link)?;
        let place = self.lists.iter().position(|it| it.bounces.as_str() == list)?;
        Some((place, token))
    }

    /// The list of a link and what its token claims, if there may be one more request in this hour;
    /// nothing where it is no token of this server for this list, which is not counted.
    fn admit(&self, link: &Link<'_>) -> Result<Option<(&List, Claim)>, NotNow> {
        let Some(list) = self.named(link.list) else { return Ok(None) };
        let Some(claim) = self.leave_claim(list, link.token) else { return Ok(None) };
        let wanted = [(Bound::Requests, Amount::of(1, 0))];
        self.charge(now(), link.client, &wanted).map_err(|_| NotNow::TooMany)?;
        Ok(Some((list, claim)))
    }

    /// The list with this return path.
    fn named(&self, bounces: &str) -> Option<&List> {
        self.lists.iter().find(|list| list.bounces.as_str().eq_ignore_ascii_case(bounces))
    }
}

/// A link leads to the lists as they are set by then.
impl Subscriptions for Current {
    fn tls(&self) -> Option<TlsAcceptor> {
        self.get().context.tls.clone()
    }

    fn closed(&self, peer: SocketAddr) {
        self.get().context.tell(&ServerEvent::PageFull { peer });
    }

    fn trouble(&self, why: &str) {
        self.get().context.tell(&ServerEvent::Trouble(why));
    }

    fn find(&self, link: Link<'_>) -> Result<Option<Subscription>, NotNow> {
        let context = Arc::clone(&self.get().context);
        let Some((list, claim)) = context.lists.admit(&link)? else { return Ok(None) };
        let found = context.lists.subscribers().subscriber(&list.bounces, claim.subscriber)?;
        Ok(found.map(|address| subscription(list, &address)))
    }

    fn end(&self, link: Link<'_>) -> Result<Option<Subscription>, NotNow> {
        let context = Arc::clone(&self.get().context);
        let Some((list, claim)) = context.lists.admit(&link)? else { return Ok(None) };
        let left = context.lists.unsubscribe(list, claim, now())?;
        Ok(left.map(|address| subscription(list, &address)))
    }
}

impl From<SubscriberError> for NotNow {
    fn from(_: SubscriberError) -> NotNow {
        NotNow::Broken
    }
}

fn subscription(list: &List, address: &Address) -> Subscription {
    Subscription { list: list.title().to_owned(), address: address.to_string() }
}
