//! What all sessions share: who may enter, what is at home here, and the way of a message from its
//! session to the spool.

use super::happening::{Attendant, Happening};
use super::lists::{Lists, now};
use super::memory::Memory;
use super::passwords::Passwords;
use super::returns::NotRead;
use super::submission::outgoing;
use super::users::User;
use crate::book::{BookError, NotEntered};
use crate::handle::{Postman, Refused};
use crate::log::QueueId;
use crate::mail::{Mail, octets};
use sojourn_mail::Address;
use sojourn_mail::header::header;
use sojourn_mail::outgoing::{is_changed, wrapped};
use sojourn_mail::report::date;
use sojourn_mail::smtp::server::{Arrival, House, Submitter, Text, Trace};
use sojourn_mail::smtp::{Enhanced, Reply};
use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::task::spawn_blocking;
use tokio_rustls::TlsAcceptor;

/// A message's recipients by what is to be done with it.
#[derive(Default)]
struct Sorted {
    /// Return paths.
    back: Vec<Address>,
    /// Addresses for leaving a list.
    leaving: Vec<Address>,
    /// Those to whom it is sent on.
    on: Vec<Address>,
}

/// What all sessions share.
pub(super) struct Hall {
    pub(super) name: String,
    pub(super) postman: Postman,
    pub(super) lists: Arc<Lists>,
    pub(super) users: Arc<[User]>,
    pub(super) passwords: Arc<Passwords>,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) attendant: Arc<dyn Attendant>,
    /// What messages may occupy, all sessions together.
    pub(super) memory: Arc<Memory>,
    /// The part of it for clients who may not send on.
    pub(super) strangers_memory: Arc<Memory>,
}

impl Hall {
    pub(super) fn tell(&self, happening: &Happening<'_>) {
        self.attendant.notice(happening);
    }

    pub(super) fn house(&self) -> Arc<dyn House> {
        Arc::<Lists>::clone(&self.lists)
    }

    /// Whether a network speaks for a client.
    pub(super) fn trusts(&self, peer: SocketAddr) -> bool {
        self.lists.submitters.network(peer.ip()).is_some()
    }

    /// The hash of a user's password.
    pub(super) fn password(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|it| it.name == user).map(|it| &*it.password)
    }

    /// Takes a message over: when the reply is positive, all of it is on stable storage. Its caller
    /// holds the memory of the one copy of its text; of another one this is the only owner.
    pub(super) async fn take(
        &self,
        arrival: Arrival,
        trace: &Trace,
        peer: SocketAddr,
        submitter: Submitter<'_>,
    ) -> Reply {
        let now = now();
        let received = trace.received(&self.name, &date(now)).into_bytes();
        let Arrival { sender, recipients, text, utf8 } = arrival;
        let is_report = sender.is_none();
        let size = text.len();
        let Sorted { back, leaving, on } = self.sort(recipients);
        let later = |why: &str| {
            self.tell(&Happening::NotTaken { peer, why });
            reply(451, Enhanced(4, 3, 0), "it cannot be taken now, try again later")
        };
        // RFC 5321 section 4.2.3 for storage that does not suffice, RFC 3463 for a full system.
        let refused = |refused: Refused| {
            self.tell(&Happening::NotTaken { peer, why: &refused.to_string() });
            let full = |text| reply(452, Enhanced(4, 3, 1), text);
            match refused {
                Refused::Full(_) => full("too much mail is waiting, try again later"),
                Refused::Now(_) => full("it cannot be stored now, try again later"),
                Refused::Stopped => reply(451, Enhanced(4, 3, 2), "the server stops"),
            }
        };
        let full = |why: &dyn Display| {
            self.tell(&Happening::NotTaken { peer, why: &why.to_string() });
            reply(452, Enhanced(4, 3, 1), &format!("{why}, try again later"))
        };
        // All that is sent on for a stranger is for the postmaster or abuse.
        if submitter == Submitter::Untrusted
            && !on.is_empty()
            && !self.lists.count_for_postmaster(now)
        {
            return full(&"the postmaster has had too much mail in this hour");
        }
        // A text that is changed is there twice meanwhile.
        let changed = if is_changed(&text) { text.len() + text.len() / 128 } else { 0 };
        let memory = match submitter {
            Submitter::Untrusted => &self.strangers_memory,
            Submitter::Network(_) | Submitter::User(_) => &self.memory,
        };
        let Some(_changed) = memory.reserve(changed) else { return no_memory() };
        let (mut text, mut sender, mut list) = (text, sender, None);
        if !on.is_empty() {
            let sent_on = match outgoing(&self.lists, submitter, sender, text) {
                Ok(sent_on) => sent_on,
                Err(refusal) => return refusal,
            };
            (text, sender) = (sent_on.text, sent_on.sender);
            list = sent_on.list.cloned();
        }
        if !back.is_empty() {
            let readers;
            (text, readers) = match self.came_back(back, text, now).await {
                Ok((text, Ok(readers))) => (text, readers),
                Ok((_, Err(why @ NotRead::ReaderFull(_)))) => return full(&why),
                Ok((_, Err(why))) => return later(&why.to_string()),
                Err(why) => return later(why),
            };
            if !readers.is_empty() {
                // Where others want it too, there are two for a while.
                let second = if on.is_empty() { 0 } else { text.len() + received.len() };
                let Some(_second) = memory.reserve(second) else { return no_memory() };
                let text = match second {
                    0 => std::mem::replace(&mut text, Vec::new().into()),
                    _ => text.clone(),
                };
                let text = under(&received, wrapped(text).text);
                let Some(text) = text else { return no_memory() };
                let mail = mail(None, readers, text, utf8, Vec::new());
                if let Err(why) = self.postman.submit(mail).await {
                    return refused(why);
                }
            }
        }
        // A report or an automatic answer is no request.
        if !leaving.is_empty() && !is_report {
            let asked;
            (text, asked) = match self.leave(leaving, text, now).await {
                Ok((text, Ok(asked))) => (text, asked),
                Ok((_, Err(why))) => return later(&why.to_string()),
                Err(why) => return later(why),
            };
            for question in asked {
                if let Err(why) = self.postman.submit(question).await {
                    return refused(why);
                }
            }
        }
        if on.is_empty() {
            return reply(250, Enhanced(2, 0, 0), "taken");
        }
        let count = on.len();
        let (lists, from) = (Arc::clone(&self.lists), sender.clone());
        // A signature takes a millisecond of a processor, a new subscriber some microseconds.
        let dressed = spawn_blocking(move || {
            let Some(list) = &list else {
                return Ok(under(&received, text).map(|it| mail(from, on, it, utf8, Vec::new())));
            };
            let subscribers = lists.numbers(list, &on, now)?;
            lists.expire(now);
            let text = lists.dressed(list, text).and_then(|text| under(&received, text));
            let sender = from.map(|from| lists.as_written(list, from));
            Ok(text.map(|text| mail(sender, on, text, utf8, subscribers)))
        });
        let mail = match dressed.await {
            Ok(Ok(Some(mail))) => mail,
            Ok(Ok(None)) => return no_memory(),
            Ok(Err(NotEntered::Full)) => return full(&"there are as many subscribers as may be"),
            Ok(Err(NotEntered::Book(error))) => return later(&error.to_string()),
            Err(_) => return later("signing it failed"),
        };
        match self.postman.submit(mail).await {
            Ok(message) => {
                let user = match submitter {
                    Submitter::User(user) => Some(user),
                    Submitter::Network(_) | Submitter::Untrusted => None,
                };
                let sender = sender.as_ref();
                let taken =
                    Happening::Taken { message, peer, user, sender, size, recipients: count };
                self.tell(&taken);
                reply(250, Enhanced(2, 0, 0), &format!("taken as {}", QueueId(message)))
            }
            Err(why) => refused(why),
        }
    }

    /// Recipients by what is to be done with mail for them.
    fn sort(&self, recipients: Vec<Address>) -> Sorted {
        let mut sorted = Sorted::default();
        for recipient in recipients {
            if self.lists.of_return(&recipient).is_some() {
                sorted.back.push(recipient);
            } else if self.lists.of_leave(&recipient).is_some() {
                sorted.leaving.push(recipient);
            } else {
                sorted.on.push(self.lists.of_role(&recipient).cloned().unwrap_or(recipient));
            }
        }
        sorted
    }

    /// Takes a request to leave; its text again, and what asks to confirm it.
    async fn leave(
        &self,
        recipients: Vec<Address>,
        text: Text,
        now: i64,
    ) -> Result<(Text, Result<Vec<Mail>, BookError>), &'static str> {
        let lists = Arc::clone(&self.lists);
        let work = spawn_blocking(move || {
            let requests = recipients.iter().filter_map(|it| lists.of_leave(it));
            let asked = requests
                .filter_map(|(list, request)| lists.leave(list, &request, &text, now).transpose());
            let asked = asked.collect();
            (text, asked)
        });
        work.await.map_err(|_| "reading a request to leave failed")
    }

    /// Enters what came back; its text again, and who is to read it.
    async fn came_back(
        &self,
        back: Vec<Address>,
        text: Text,
        now: i64,
    ) -> Result<(Text, Result<Vec<Address>, NotRead>), &'static str> {
        let lists = Arc::clone(&self.lists);
        let work = spawn_blocking(move || {
            let readers = lists.read(&back, &text, now);
            lists.expire(now);
            (text, readers)
        });
        work.await.map_err(|_| "reading a bounce failed")
    }
}

/// A message in canonical form. Who says that it needs SMTPUTF8 may do so for its addresses only.
fn mail(
    sender: Option<Address>,
    recipients: Vec<Address>,
    text: Text,
    utf8: bool,
    subscribers: Vec<u32>,
) -> Mail {
    let utf8 = utf8 && !header(&text).is_ascii();
    let eight_bit = !text.is_ascii();
    let text = octets(text);
    Mail { sender, recipients, text, eight_bit, utf8, subscribers }
}

/// The text with `head` above it; nothing where the system has no memory for it.
pub(super) fn under(head: &[u8], mut text: Text) -> Option<Text> {
    text.put_above(head).then_some(text)
}

/// There is no memory for the message now (RFC 3463 for a full system).
fn no_memory() -> Reply {
    reply(452, Enhanced(4, 3, 1), "too many messages at once, try again later")
}

fn reply(code: u16, status: Enhanced, text: &str) -> Reply {
    Reply { code, enhanced: Some(status), lines: vec![text.to_owned()] }
}
