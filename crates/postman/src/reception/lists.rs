//! The lists at home here: whose mail is whose, what comes back, and who is suspended.

use super::happening::Attendant;
use super::returns::Readings;
use super::signing::Signer;
use super::submitters::Submitters;
use crate::book::Book;
use crate::home::Home;
use sojourn_mail::report::Rule;
use sojourn_mail::return_path::{Form, form};
use sojourn_mail::smtp::server::{House, Submitter, Welcome};
use sojourn_mail::smtp::{Enhanced, Reply};
use sojourn_mail::token::TokenKeys;
use sojourn_mail::{Address, List};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lists.
pub(super) struct Lists {
    pub(super) lists: Vec<List>,
    pub(super) signers: Vec<Signer>,
    pub(super) submitters: Submitters,
    pub(super) postmaster: Option<Address>,
    pub(super) rule: Rule,
    pub(super) book: Arc<Mutex<Book>>,
    /// Subscribers of all lists that there may be.
    pub(super) most: u64,
    /// What signs return paths and verifies them.
    pub(super) keys: Arc<RwLock<TokenKeys>>,
    /// For how many days a return path is good.
    pub(super) good_days: i64,
    /// Messages that a list's reader gets in an hour, and what each list's has had.
    pub(super) reader_hourly: u32,
    pub(super) readings: Mutex<Vec<Readings>>,
    pub(super) attendant: Arc<dyn Attendant>,
}

impl Lists {
    /// The list whose mail comes from `sender`, its return path in one of its forms.
    pub(super) fn of_sender(&self, sender: Option<&Address>) -> Option<&List> {
        let sender = sender?;
        self.lists.iter().find(|list| form(&list.bounces, sender).is_some())
    }

    /// The sender of a list's mail as the configuration has it: the case of a return path does not
    /// matter.
    pub(super) fn as_written(&self, list: &List, sender: Address) -> Address {
        match form(&list.bounces, &sender) {
            Some(Form::Plain) => list.bounces.clone(),
            _ => sender,
        }
    }

    /// Whether mail of `list` is signed.
    pub(super) fn signs(&self, list: &List) -> bool {
        self.signers.iter().any(|it| it.is_for(list.bounces.domain()))
    }

    /// The text of a list's mail with what its list adds: nothing of what is there is touched.
    pub(super) fn dressed(&self, list: &List, recipients: &[Address], text: Vec<u8>) -> Vec<u8> {
        let added = list.headers(&text, recipients);
        let text = if added.is_empty() { text } else { [added.into_bytes(), text].concat() };
        let signers = self.signers.iter().filter(|it| it.is_for(list.bounces.domain()));
        let signatures: String = signers.filter_map(|signer| signer.sign(&text)).collect();
        if signatures.is_empty() { text } else { [signatures.into_bytes(), text].concat() }
    }

    /// A book whose last user panicked is what the database says it is.
    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl House for Lists {
    fn receives(
        &self,
        submitter: Submitter<'_>,
        sender: Option<&Address>,
        recipient: &Address,
    ) -> Welcome {
        if self.of_return(recipient).is_some() || self.postmaster.as_ref() == Some(recipient) {
            return Welcome::Anybody;
        }
        // Sent on, it would come back here.
        if self.lists.iter().any(|list| list.bounces.domain() == recipient.domain()) {
            return nobody(550, Enhanced(5, 1, 1), "there is no such mailbox");
        }
        let list = self.of_sender(sender);
        if !self.submitters.may_send(submitter, list, sender) {
            // RFC 6409 section 6.1; asked for each recipient, as mail to what is at home may come
            // from anybody.
            return nobody(550, Enhanced(5, 7, 1), &not_allowed(submitter, list, sender));
        }
        let Some(list) = list else { return Welcome::Trusted };
        match self.book().member(&list.bounces, recipient) {
            Ok(Some(member)) if member.standing.suspended.is_some() => {
                let why = format!("delivery is suspended after bounces; last: {}", member.reason);
                nobody(550, Enhanced(5, 2, 1), &why)
            }
            Ok(_) => Welcome::Trusted,
            Err(_) => nobody(451, Enhanced(4, 3, 0), "the book of bounces cannot be read"),
        }
    }

    fn postmaster(&self) -> Option<Address> {
        self.postmaster.clone()
    }
}

impl Home for Lists {
    fn has(&self, address: &Address) -> bool {
        self.of_return(address).is_some()
    }

    fn receive(&self, address: &Address, report: &[u8]) -> bool {
        self.read_own(address, report, now())
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

/// In seconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

fn nobody(code: u16, status: Enhanced, text: &str) -> Welcome {
    // Other hosts' words are not limited to what a reply may have.
    let text: String = text.chars().map(|c| if c.is_ascii() { c } else { '?' }).take(400).collect();
    Welcome::Nobody(Reply { code, enhanced: Some(status), lines: vec![text] })
}
