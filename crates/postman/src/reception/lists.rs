//! The lists at home here: whose mail is whose, what comes back, and who is suspended.

use super::happening::{Attendant, Happening};
use super::signing::Signer;
use crate::book::{Book, BookError};
use crate::home::Home;
use sojourn_mail::report::verp::{self, Reading};
use sojourn_mail::report::{Bounce, Rule, bounces};
use sojourn_mail::smtp::server::{House, Welcome};
use sojourn_mail::smtp::{Enhanced, Reply};
use sojourn_mail::{Address, List};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// The lists.
pub(super) struct Lists {
    pub(super) lists: Vec<List>,
    pub(super) signers: Vec<Signer>,
    pub(super) postmaster: Option<Address>,
    pub(super) rule: Rule,
    pub(super) book: Mutex<Book>,
    pub(super) attendant: Arc<dyn Attendant>,
}

impl Lists {
    /// The list whose mail comes from `sender`, its return path in one of its forms.
    pub(super) fn of_sender(&self, sender: Option<&Address>) -> Option<&List> {
        let sender = sender?;
        self.lists.iter().find(|list| verp::decode(&list.bounces, sender).is_some())
    }

    /// The list to whose return path mail comes, and whom the path names.
    pub(super) fn of_return(&self, recipient: &Address) -> Option<(&List, Reading)> {
        let mut all = self.lists.iter();
        all.find_map(|list| Some((list, verp::decode(&list.bounces, recipient)?)))
    }

    /// The text of a list's mail with what its list adds: nothing of what is there is touched.
    pub(super) fn dressed(&self, list: &List, recipients: &[Address], text: Vec<u8>) -> Vec<u8> {
        let added = list.headers(&text, recipients);
        let text = if added.is_empty() { text } else { [added.into_bytes(), text].concat() };
        let signers = self.signers.iter().filter(|it| it.is_for(list.bounces.domain()));
        let signatures: String = signers.filter_map(|signer| signer.sign(&text)).collect();
        if signatures.is_empty() { text } else { [signatures.into_bytes(), text].concat() }
    }

    /// Enters what came back to `recipients`, at `now` in seconds since 1970; who is to read it, as
    /// no program can.
    pub(super) fn enter(
        &self,
        recipients: &[Address],
        text: &[u8],
        now: i64,
    ) -> Result<Vec<Address>, BookError> {
        let mut readers = Vec::new();
        for recipient in recipients {
            let Some((list, reading)) = self.of_return(recipient) else { continue };
            let Some(found) = bounces(&reading, text) else {
                readers.extend(list.reader.clone());
                continue;
            };
            let list = &list.bounces;
            let suspended = self.book().enter(list, &found, now, &self.rule)?;
            for Bounce { subscriber, reason, .. } in &found {
                self.attendant.notice(&Happening::Bounced { list, subscriber, reason });
            }
            for subscriber in &suspended {
                self.attendant.notice(&Happening::Suspended { list, subscriber });
            }
        }
        Ok(readers)
    }

    /// A book whose last user panicked is what the database says it is.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl House for Lists {
    fn receives(&self, sender: Option<&Address>, recipient: &Address) -> Welcome {
        if self.of_return(recipient).is_some() || self.postmaster.as_ref() == Some(recipient) {
            return Welcome::Anybody;
        }
        // Sent on, it would come back here.
        if self.lists.iter().any(|list| list.bounces.domain() == recipient.domain()) {
            return nobody(550, Enhanced(5, 1, 1), "there is no such mailbox");
        }
        let Some(list) = self.of_sender(sender) else { return Welcome::Trusted };
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
        self.enter(std::slice::from_ref(address), report, now()).is_ok()
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
