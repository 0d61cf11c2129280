//! What comes back to the lists' return paths: what this server can verify counts for a subscriber,
//! and all other mail is only counted.

use super::Lists;
use super::subscribers::{FailedMailing, NotEntered, SubscriberError, Unverified};
use crate::event::ServerEvent;
use crate::hourly::{Amount, Bound};
use percent_encoding::percent_decode_str;
use sojourn_core::Span;
use sojourn_mail_engine::bounce::{
    Bounce, Complaint, Failure, Fault, Feedback, Returned, Stage, returned,
};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::{Form, Reading, form};
use sojourn_mail_engine::list::token::{Claim, Purpose, TokenKeys};
use sojourn_smtp::Address;
use std::cell::OnceCell;
use std::net::{IpAddr, SocketAddr};
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
    said: Option<(usize, Sent, Returned)>,
    /// A complaint that names no subscriber.
    is_nameless: bool,
    unverified: Vec<(usize, Unverified)>,
    /// Those whose readers are to read it, as no program can.
    unclear: Vec<(usize, Address)>,
    /// Who reads what came to the address for complaints and is none.
    no_complaint: Option<Address>,
}

/// The recipients of a message that are this server's own addresses.
#[derive(Default)]
pub(crate) struct LocalRecipients {
    /// Return paths.
    pub(crate) back: Vec<Address>,
    /// Whether it came to the address for complaints, or to abuse.
    pub(crate) complaints: bool,
    pub(crate) abuse: bool,
}

/// What was sent under a return path with a token.
#[derive(Clone, Debug)]
struct Sent {
    subscriber: Address,
    /// On which day, counted from 1970.
    day: i64,
    probe: bool,
}

impl CameBack {
    pub(crate) fn readers(&self) -> Vec<Address> {
        let unclear = self.unclear.iter().map(|(_, reader)| reader);
        unclear.chain(&self.no_complaint).cloned().collect()
    }

    /// What this takes of the hourly bounds, in a message of `size` octets that `roles` others read
    /// in a role.
    pub(crate) fn wanted(&self, lists: &Lists, roles: usize, size: usize) -> Vec<(Bound, Amount)> {
        let reader = |list: usize| Bound::Reader(lists.lists[list].bounces.clone());
        let readers = self.unclear.iter().map(|(list, _)| (reader(*list), Amount::of(1, size)));
        let roles = roles + self.no_complaint.iter().count();
        let verified = usize::from(self.said.is_some());
        let unverified = self.unverified.len() + usize::from(self.is_nameless);
        let own = [
            (Bound::Roles, Amount::of(roles, size)),
            (Bound::Bounces, Amount::of(verified, 0)),
            (Bound::Unverified, Amount::of(unverified, 0)),
        ];
        readers.chain(own).collect()
    }
}

impl Lists {
    /// The place of the list to whose return path mail comes, and what of it the address is.
    pub(crate) fn of_return(&self, recipient: &Address) -> Option<(usize, Form)> {
        let mut all = self.lists.iter().enumerate();
        all.find_map(|(place, list)| Some((place, form(&list.bounces, recipient)?)))
    }

    /// Reads `text`, which came to `home` at `now`, in seconds since 1970. Its own return path may be
    /// empty.
    pub(crate) fn look(
        &self,
        home: &LocalRecipients,
        is_null_sender: bool,
        text: &[u8],
        now: i64,
    ) -> Result<CameBack, SubscriberError> {
        let (mut found, plain) = (CameBack::default(), OnceCell::new());
        let plain = || plain.get_or_init(|| returned(&Reading::Plain, is_null_sender, text));
        for recipient in &home.back {
            let Some((place, form)) = self.of_return(recipient) else { continue };
            let list = &self.lists[place];
            let is_unclear = match self.subscriber(list, &form, now)? {
                Ok(_) if found.said.is_some() => continue,
                Ok(sent) => {
                    let to = Reading::Of(sent.subscriber.clone());
                    let said = returned(&to, is_null_sender, text);
                    let is_unclear = said == Returned::Unclear;
                    found.said = Some((place, sent, said));
                    is_unclear
                }
                Err(_)
                    if form == Form::Plain && self.look_for_token(plain(), &mut found, now)? =>
                {
                    false
                }
                Err(kind) => {
                    found.unverified.push((place, kind));
                    let is_plain = form == Form::Plain && list.reader.is_some();
                    is_plain && *plain() == Returned::Unclear
                }
            };
            if let Some(reader) = list.reader.as_ref().filter(|_| is_unclear)
                && found.unclear.iter().all(|(_, known)| known != reader)
            {
                found.unclear.push((place, reader.clone()));
            }
        }
        if home.complaints || home.abuse {
            let is_named = self.look_for_token(plain(), &mut found, now)?;
            match plain() {
                Returned::Complaint(_) => found.is_nameless = !is_named && home.complaints,
                _ if home.complaints && !home.abuse => found.no_complaint = self.abuse.clone(),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Enters what came back from `peer`, and from the network of `client` where that is not
    /// authenticated.
    pub(crate) fn enter(
        &self,
        came_back: &CameBack,
        (peer, client): (SocketAddr, Option<IpAddr>),
        now: i64,
    ) -> Result<(), SubscriberError> {
        if let Some((place, sent, said)) = &came_back.said {
            let list = &self.lists[*place];
            let is_told = self.enter_one(list, sent, said, client, now)?;
            let (copy, kind) = (Some((&list.bounces, &sent.subscriber)), said.kind());
            self.observer.notice(&ServerEvent::CameBack { peer, copy, kind, is_told });
        }
        if came_back.is_nameless {
            let (copy, kind, is_told) = (None, "complaint", false);
            self.observer.notice(&ServerEvent::CameBack { peer, copy, kind, is_told });
        }
        self.count(&came_back.unverified, peer, now)
    }

    /// Whether `said` is a complaint about a copy that it names with a token: of addresses without
    /// one anyone can write as many as there are. What it says is noted if nothing is yet.
    fn look_for_token(
        &self,
        said: &Returned,
        found: &mut CameBack,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let Returned::Complaint(complaint) = said else { return Ok(false) };
        for mention in &complaint.mentions {
            let Some((place, sent)) = self.mentioned(mention, now)? else { continue };
            let subscriber = Some(sent.subscriber.clone());
            let said = Returned::Complaint(Complaint { subscriber, ..complaint.clone() });
            found.said.get_or_insert((place, sent, said));
            return Ok(true);
        }
        Ok(false)
    }

    /// The list and the copy of a return path, or of an address or a link to leave.
    fn mentioned(&self, mention: &str, now: i64) -> Result<Option<(usize, Sent)>, SubscriberError> {
        // A link has an address whose special characters are encoded (RFC 6068 section 2).
        let link = mention.strip_prefix("mailto:").and_then(|it| it.split('?').next());
        let address = percent_decode_str(link.unwrap_or(mention)).decode_utf8_lossy();
        let address = address.parse::<Address>();
        let (place, token) = match &address {
            Ok(address) => {
                if let Some((place, form)) = self.of_return(address) {
                    let subscriber = self.subscriber(&self.lists[place], &form, now)?;
                    return Ok(subscriber.ok().map(|it| (place, it)));
                }
                let Some((place, Some(token))) = self.of_leave(address) else { return Ok(None) };
                (place, token)
            }
            Err(_) => {
                let Some((place, token)) = self.of_link(mention) else { return Ok(None) };
                (place, token.to_owned())
            }
        };
        let list = &self.lists[place];
        let Some(claim) = self.leave_claim(list, &token) else { return Ok(None) };
        let subscriber = self.subscribers().subscriber(&list.bounces, claim.subscriber)?;
        let sent = |subscriber| Sent { subscriber, day: claim.day.into(), probe: false };
        Ok(subscriber.map(|it| (place, sent(it))))
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
            let more = self.subscribers().expire(now);
            if !more.unwrap_or(false) {
                break;
            }
        }
    }

    /// The subscriber whose copy, or probe, had this return path, or why that is not known.
    fn subscriber(
        &self,
        list: &List,
        form: &Form,
        now: i64,
    ) -> Result<Result<Sent, Unverified>, SubscriberError> {
        let Form::Token(token) = form else { return Ok(Err(Unverified::NoToken)) };
        let Some((claim, probe)) = self.claim(list, token) else {
            return Ok(Err(Unverified::Wrong));
        };
        let day = i64::from(claim.day);
        if now.div_euclid(DAY) > day + self.good_days {
            return Ok(Err(Unverified::Expired));
        }
        // One who is not in the register any more was not mailed for long.
        let subscriber = self.subscribers().subscriber(&list.bounces, claim.subscriber)?;
        let sent = |subscriber| Sent { subscriber, day, probe };
        Ok(subscriber.map(sent).ok_or(Unverified::Expired))
    }

    /// What the token of a return path claims, and whether it is a probe's.
    fn claim(&self, list: &List, token: &str) -> Option<(Claim, bool)> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let claim = |purpose| keys.verify(purpose, &list.bounces, token);
        claim(Purpose::Bounce)
            .map(|it| (it, false))
            .or_else(|| claim(Purpose::Probe).map(|it| (it, true)))
    }

    /// Whether mail from `sender` is a probe.
    pub(crate) fn is_probe(&self, list: &List, sender: &Address) -> bool {
        let Some(Form::Token(token)) = form(&list.bounces, sender) else { return false };
        self.claim(list, &token).is_some_and(|(_, probe)| probe)
    }

    /// Enters what a message says. Returns whether an event reports it: bounces have one where they
    /// count, once a mailing.
    fn enter_one(
        &self,
        list: &List,
        &Sent { day, probe, .. }: &Sent,
        said: &Returned,
        client: Option<IpAddr>,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let found = match said {
            Returned::Bounces(found) => found,
            Returned::Note(_) | Returned::Unclear => return Ok(false),
            Returned::Complaint(complaint) => return self.complained(list, complaint, now),
        };
        let mut heard = Vec::with_capacity(found.len());
        for Bounce { subscriber, severity, status, reason } in found {
            let fault = self.faults.of(Some(Stage::Report), *status, reason);
            if fault != Fault::Address {
                self.judge(now.div_euclid(DAY), subscriber, None, fault, reason);
                continue;
            }
            heard.push(FailedMailing {
                subscriber: subscriber.clone(),
                failure: Failure { severity: *severity, day, returned: true },
                probe,
                status: *status,
                reason: reason.clone(),
                provider: self.provider(subscriber),
            });
        }
        self.enter_failures(list, &heard, client, now)
    }

    /// Ends the subscription of one whose mail box's provider says that the mail is unwanted. An
    /// event reports it once; whether one does now.
    fn complained(
        &self,
        list: &List,
        complaint: &Complaint,
        now: i64,
    ) -> Result<bool, SubscriberError> {
        let Complaint { subscriber: Some(subscriber), feedback, .. } = complaint else {
            return Ok(false);
        };
        if matches!(feedback, Feedback::NotSpam | Feedback::AuthFailure) {
            return Ok(false);
        }
        let is_new = self.end(list, subscriber, now)?;
        if is_new {
            let (list, feedback) = (&list.bounces, *feedback);
            self.observer.notice(&ServerEvent::Complaint { list, subscriber, feedback });
        }
        Ok(is_new)
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
pub(super) mod tests;
