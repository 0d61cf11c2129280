//! The lists of this server: whose mail is whose, what comes back, and who is suspended.

pub(crate) mod alarms;
pub(crate) mod bounces_in;
pub(crate) mod keys;
pub(crate) mod leaving;
pub(crate) mod operator;
pub(crate) mod scores;
pub(crate) mod signing;
pub mod state;
pub(crate) mod subscribers;
pub(crate) mod unsubscribe;

use crate::delivery::local::{Addressed, Ended, LocalDelivery};
use crate::delivery::mail::Mail;
use crate::error::{SetupError, read};
use crate::event::{ServerEvent, SharedObserver};
use crate::hourly::{Amount, Bound, Excess, HourlyBounds, Window};
use crate::smtp_in::persistent::PersistentState;
use crate::smtp_in::privileges::own_addresses;
use crate::smtp_in::settings::Serving;
use crate::smtp_in::submitters::Submitters;
use alarms::Alarms;
use bounces_in::good_days;
use signing::{Signer, signing_domain};
use sojourn_mail_engine::Reason;
use sojourn_mail_engine::bounce::{Faults, Rule};
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::{Form, form};
use sojourn_mail_engine::list::seven_bit::seven_bit;
use sojourn_mail_engine::list::token::TokenKeys;
use sojourn_smtp::header::{all, header, whole};
use sojourn_smtp::server::{RecipientDecision, RecipientPolicy, Submitter, Text};
use sojourn_smtp::{Address, Enhanced, Reply};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};
use subscribers::{Barred, SubscriberStore};
use tokio::sync::mpsc::UnboundedSender;
use unsubscribe::Unsubscribe;

/// The lists.
pub(crate) struct Lists {
    /// The server's own name, and the addresses at which it takes mail from other hosts.
    pub(crate) name: String,
    pub(crate) listening: Vec<IpAddr>,
    /// Where links to leave lead.
    pub(crate) unsubscribe: Option<Unsubscribe>,
    pub(crate) lists: Vec<List>,
    pub(crate) signers: Vec<Signer>,
    pub(crate) submitters: Submitters,
    pub(crate) postmaster: Option<Address>,
    pub(crate) abuse: Option<Address>,
    /// Where providers send complaints of their users.
    pub(crate) complaints: Option<Address>,
    pub(crate) rule: Rule,
    pub(crate) faults: Arc<Faults>,
    pub(crate) alarms: Arc<Mutex<Alarms>>,
    /// Subscribers of any list whose mail failed lately: those whose deliveries matter.
    pub(crate) scored: Arc<RwLock<BTreeSet<Address>>>,
    /// Where messages of this server go to be delivered.
    pub(crate) letters: UnboundedSender<Mail>,
    pub(crate) subscribers: Arc<Mutex<SubscriberStore>>,
    /// Subscribers of all lists that there may be.
    pub(crate) most: u64,
    /// Octets of the largest message.
    pub(crate) largest: u64,
    /// What signs return paths and verifies them.
    pub(crate) keys: Arc<RwLock<TokenKeys>>,
    /// For how many days a return path is good.
    pub(crate) good_days: i64,
    /// What clients may make it send or store in an hour, and what they did in this one.
    pub(crate) hourly: HourlyBounds,
    pub(crate) hour: Arc<Mutex<Window<Bound>>>,
    pub(crate) observer: SharedObserver,
}

impl Lists {
    /// Those of `settings`, with what outlasts a change of the configuration.
    pub(crate) fn new(
        settings: &Serving,
        signers: Vec<Signer>,
        persistent: &PersistentState,
    ) -> Result<Lists, SetupError> {
        let rules = &settings.reception;
        Ok(Lists {
            name: settings.mail.hello.clone(),
            listening: own_addresses(&settings.listener, settings.network.port)?,
            unsubscribe: settings.unsubscribe.clone(),
            lists: settings.list.clone(),
            signers,
            submitters: Submitters::new(&rules.trusted, &settings.submitter, &settings.user),
            postmaster: rules.postmaster.clone(),
            abuse: rules.abuse.clone().or_else(|| rules.postmaster.clone()),
            complaints: rules.complaints.clone(),
            faults: faults(&settings.bounces)?,
            rule: settings.bounces.clone(),
            alarms: Arc::clone(&persistent.alarms),
            scored: Arc::clone(&persistent.scored),
            letters: persistent.letters.clone(),
            subscribers: Arc::clone(&persistent.subscribers),
            most: rules.subscribers.get().into(),
            largest: rules.bounds.message.0,
            keys: Arc::clone(&persistent.keys),
            good_days: good_days(settings.mail.lifetime),
            hourly: rules.hourly.clone(),
            hour: Arc::clone(&persistent.hour),
            observer: persistent.observer.clone(),
        })
    }

    /// The list whose mail comes from `sender`, its return path in one of its forms.
    pub(crate) fn of_sender(&self, sender: Option<&Address>) -> Option<&List> {
        let sender = sender?;
        self.lists.iter().find(|list| form(&list.bounces, sender).is_some())
    }

    /// The sender of a list's mail as the configuration has it: the case of a return path does not
    /// matter, nor what it names.
    pub(crate) fn as_written(&self, list: &List, sender: Address) -> Address {
        match form(&list.bounces, &sender) {
            // A program that makes return paths itself gets ours all the same: the copies of
            // others would have neither signatures nor links.
            Some(form) if form == Form::Plain || list.verp => list.bounces.clone(),
            _ => sender,
        }
    }

    /// Whether mail of `list` is signed.
    pub(crate) fn signs(&self, list: &List) -> bool {
        self.signers.iter().any(|it| it.is_for(list.bounces.domain()))
    }

    /// The text of a list's mail with what its list adds for all recipients: nothing of what is
    /// there is touched. It is signed here where all copies are the same. Nothing where the system
    /// has no memory for it.
    pub(crate) fn dressed(&self, list: &List, text: Text) -> Option<Text> {
        let added = list.shared_fields(&text, self.has_own_links(list));
        let text = under(added.as_bytes(), text)?;
        if self.has_own_copies(list) {
            return Some(text);
        }
        let signatures = self.signatures(list, &[&text]);
        under(signatures.as_bytes(), text)
    }

    /// Whether each copy of a list's mail has a separate text.
    fn has_own_copies(&self, list: &List) -> bool {
        list.has_own_fields() || self.has_own_links(list)
    }

    /// The signatures of a list's mail, whose text is in `parts`.
    pub(crate) fn signatures(&self, list: &List, parts: &[&[u8]]) -> String {
        let signers = self.signers.iter().filter(|it| it.is_for(list.bounces.domain()));
        signers.filter_map(|signer| signer.sign(parts)).collect()
    }

    /// A list's message with octets above 127, which was signed once, for hosts that take none: it
    /// is signed again, as what is sent.
    fn signed_again(&self, list: &List, text: &[u8]) -> Vec<u8> {
        let head = header(text);
        let is_ours = |field: &&[u8]| {
            let domain = all(field, "DKIM-Signature").find_map(signing_domain);
            domain.is_some_and(|domain| self.signers.iter().any(|it| it.domain() == domain))
        };
        let kept = whole(head).filter(|field| !is_ours(field)).collect::<Vec<_>>().concat();
        let body = &text[head.len()..];
        let signatures = self.signatures(list, &[&kept, body]);
        [signatures.as_bytes(), &kept, body].concat()
    }

    /// What mail of `list` would have to do without, if these went over to `new`.
    pub(crate) fn lost(&self, list: &List, new: &Lists) -> Option<&'static str> {
        let Some(now) = new.lists.iter().find(|it| it.bounces == list.bounces) else {
            return Some("the list");
        };
        let lost = [
            (list.verp && !now.verp, "verp"),
            (self.signs(list) && !new.signs(now), "the signature"),
            (self.has_own_copies(list) && !new.has_own_copies(now), "the links"),
        ];
        lost.into_iter().find_map(|(is_lost, what)| is_lost.then_some(what))
    }

    /// Who reads mail for `recipient`: a role that every domain of a list has, postmaster (RFC 5321
    /// section 4.5.1) or abuse (RFC 2142 section 2), or who reads for one.
    pub(crate) fn of_role(&self, recipient: &Address) -> Option<&Address> {
        let mut readers = [&self.postmaster, &self.abuse].into_iter().flatten();
        if let Some(reader) = readers.find(|reader| *reader == recipient) {
            return Some(reader);
        }
        match recipient.name().to_ascii_lowercase().as_str() {
            _ if !self.is_of_list(recipient.domain()) => None,
            "postmaster" => self.postmaster.as_ref(),
            "abuse" => self.abuse.as_ref(),
            _ => None,
        }
    }

    /// Whether this is the address for complaints.
    pub(crate) fn is_for_complaints(&self, recipient: &Address) -> bool {
        let same = |it: &Address| it.name().eq_ignore_ascii_case(&recipient.name());
        let own = self.complaints.as_ref().filter(|it| it.domain() == recipient.domain());
        own.is_some_and(same)
    }

    /// Whether this is abuse of a list's domain.
    pub(crate) fn is_abuse(&self, recipient: &Address) -> bool {
        recipient.name().eq_ignore_ascii_case("abuse") && self.is_of_list(recipient.domain())
    }

    /// Whether a list's return path or address for leaving is of `domain`.
    fn is_of_list(&self, domain: &str) -> bool {
        let mut all = self.lists.iter().flat_map(|list| [Some(&list.bounces), list.leave.as_ref()]);
        all.any(|address| address.is_some_and(|it| it.domain() == domain))
    }

    /// Takes what is wanted of this hour's bounds at `now`, in seconds since 1970, all or nothing.
    /// Without a `client` no network's tenth applies: for trusted clients, and what no client caused.
    pub(crate) fn charge(
        &self,
        now: i64,
        client: Option<IpAddr>,
        wanted: &[(Bound, Amount)],
    ) -> Result<(), Excess<Bound>> {
        let most =
            |(bound, more): &(Bound, Amount)| (bound.clone(), *more, self.hourly.most(bound));
        let wanted: Vec<_> = wanted.iter().filter(|(_, it)| it.number > 0).map(most).collect();
        let mut hour = self.hour.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = hour.take(now, client, &wanted);
        drop(hour);
        let count = |bound: &Bound, number, taken| {
            let bound = bound.name();
            self.observer.notice(&ServerEvent::Bounded { bound, number, taken });
        };
        match &taken {
            Ok(()) => wanted.iter().for_each(|(bound, it, _)| count(bound, it.number, true)),
            Err(excess) => count(excess.bound(), 1, false),
        }
        taken
    }

    /// A book whose last user panicked is what the database says it is.
    pub(crate) fn subscribers(&self) -> MutexGuard<'_, SubscriberStore> {
        self.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecipientPolicy for Lists {
    fn receives(
        &self,
        submitter: Submitter<'_>,
        sender: Option<&Address>,
        recipient: &Address,
    ) -> RecipientDecision {
        if self.of_return(recipient).is_some()
            || self.of_leave(recipient).is_some()
            || self.of_role(recipient).is_some()
            || self.is_for_complaints(recipient)
        {
            return RecipientDecision::Local;
        }
        // Sent on, it would come back here.
        if self.is_of_list(recipient.domain()) {
            return refused(550, Enhanced(5, 1, 1), "there is no such mailbox");
        }
        let list = self.of_sender(sender);
        if !self.submitters.may_send(submitter, list, sender) {
            // RFC 6409 section 6.1; asked for each recipient, as mail to local addresses may come
            // from any client.
            return refused(550, Enhanced(5, 7, 1), &not_allowed(submitter, list, sender));
        }
        let Some(list) = list else { return RecipientDecision::Relay };
        match self.subscribers().barred(&list.bounces, recipient) {
            Ok(Some(Barred::Suspended(last))) => {
                let why = format!("delivery is suspended after bounces; last: {last}");
                refused(550, Enhanced(5, 2, 1), &why)
            }
            Ok(Some(Barred::Left)) => {
                refused(550, Enhanced(5, 7, 1), "the subscriber has unsubscribed")
            }
            Ok(None) => RecipientDecision::Relay,
            Err(_) => refused(451, Enhanced(4, 3, 0), "the book of bounces cannot be read"),
        }
    }

    fn postmaster(&self) -> Option<Address> {
        self.postmaster.clone()
    }
}

impl LocalDelivery for Lists {
    fn listening(&self) -> Option<Vec<IpAddr>> {
        Some(self.listening.clone())
    }

    fn largest(&self) -> u64 {
        self.largest
    }

    fn has(&self, address: &Address) -> bool {
        self.of_return(address).is_some()
    }

    fn failed(&self, sender: &Address, day: i64, failures: &[(Address, Reason)]) -> bool {
        self.enter_own(sender, day, failures, now()).is_ok()
    }

    fn ended(&self, sender: &Address, day: i64, ended: &Ended<'_>) {
        self.count_end(sender, day, ended, now());
    }

    fn has_heads(&self, sender: &Address) -> bool {
        self.of_sender(Some(sender)).is_some_and(|list| self.has_own_copies(list))
    }

    fn seven_bit(&self, sender: Option<&Address>, text: &[u8]) -> Vec<u8> {
        let text = seven_bit(text);
        let list = self.of_sender(sender).filter(|list| !self.has_own_copies(list));
        match list.filter(|list| self.signs(list)) {
            Some(list) => self.signed_again(list, &text),
            None => text,
        }
    }

    fn head(&self, copy: &Addressed, text: &[u8]) -> Vec<u8> {
        let Some(list) = self.of_sender(Some(&copy.sender)) else { return Vec::new() };
        let links =
            if self.has_own_links(list) { self.links(list, copy.claim) } else { Vec::new() };
        let own = list.own_fields(text, &copy.recipient, &links);
        let signatures = self.signatures(list, &[own.as_bytes(), text]);
        (signatures + &own).into_bytes()
    }
}

/// Why mail from `sender` is not sent on.
fn not_allowed(submitter: Submitter<'_>, list: Option<&List>, sender: Option<&Address>) -> String {
    let who = match submitter {
        Submitter::User(user) => format!("user {user}"),
        Submitter::Network(address) => format!("client {address}"),
        Submitter::Untrusted => "this client".to_owned(),
    };
    match (list, sender) {
        (Some(list), _) => format!("{who} may not send to the list of <{}>", list.bounces),
        (None, Some(sender)) => format!("{who} may not send as <{sender}>"),
        (None, None) => format!("{who} may not send without a return path"),
    }
}

/// The table by which replies show whose fault a failure is.
fn faults(rule: &Rule) -> Result<Arc<Faults>, SetupError> {
    let Some(path) = &rule.faults else { return Ok(Arc::new(Faults::built_in().clone())) };
    let path = Path::new(path);
    let text = String::from_utf8(read(path)?);
    let text = text.map_err(|_| SetupError::Faults(format!("{}: not UTF-8", path.display())))?;
    let table = Faults::parse(&text, &path.display().to_string())
        .map_err(|error| SetupError::Faults(error.to_string()))?;
    Ok(Arc::new(table.before_built_in()))
}

/// In seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

fn refused(code: u16, status: Enhanced, text: &str) -> RecipientDecision {
    // Other hosts' words are not limited to what a reply may have.
    let text: String = text.chars().map(|c| if c.is_ascii() { c } else { '?' }).take(400).collect();
    RecipientDecision::Refused(Reply::new(code, status, &text))
}

/// The text with `head` above it; nothing where the system has no memory for it.
pub(crate) fn under(head: &[u8], mut text: Text) -> Option<Text> {
    text.put_above(head).then_some(text)
}
