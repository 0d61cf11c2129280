//! What all sessions share: who may enter, what is at home here, and the way of a message from its
//! session to the spool.

use super::login::Passwords;
use super::message_memory::{Memory, Occupied};
use super::not_taken::NotTaken;
use super::quota::{Amount, Share};
use super::relay::Outgoing;
use super::submitters::User;
use crate::delivery::server::DeliveryServer;
use crate::event::QueueId;
use crate::event::{ServerEvent, SharedObserver};
use crate::lists::bounces_in::CameBack;
use crate::lists::leaving::Request;
use crate::lists::{Lists, now};
use sojourn_mail_engine::list::outgoing::is_changed;
use sojourn_mail_engine::prefix;
use sojourn_mail_engine::report::date;
use sojourn_smtp::server::{Arrival, RecipientPolicy, Submitter, Text, Trace};
use sojourn_smtp::{Address, Enhanced, Reply};
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
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

/// What is to be done with a message against which nothing is held.
struct Looked {
    came_back: CameBack,
    requests: Vec<Request>,
    /// That for those to whom it is sent on comes first.
    messages: Vec<Outgoing>,
    /// Memory for a text that is there twice.
    _second: Occupied,
}

impl Lists {
    /// All that refuses a message for what it is, on a thread that may wait: texts are long. What it
    /// occupies beside its text, and beside a head of so many octets, is reserved in `memory`.
    fn look_at(
        &self,
        submitter: Submitter<'_>,
        sender: Option<Address>,
        Sorted { back, mut leaving, on }: Sorted,
        text: Text,
        (memory, head): (&Arc<Memory>, usize),
        now: i64,
    ) -> Result<Looked, NotTaken> {
        if sender.is_none() {
            // A report or an automatic answer is no request.
            leaving.clear();
        }
        let size = text.len();
        let came_back = self.look(&back, &text, now)?;
        let requests = self.requests(&leaving, &text);
        let readers = came_back.readers();
        // Where others want it too, there are two for a while.
        let copies = usize::from(!on.is_empty()) + usize::from(!readers.is_empty());
        let second = memory.reserve(if copies > 1 { size + head } else { 0 });
        let second = second.ok_or_else(NotTaken::no_memory)?;
        let mut messages = Vec::with_capacity(copies);
        let mut texts = std::iter::repeat_n(text, copies);
        if !on.is_empty()
            && let Some(text) = texts.next()
        {
            messages.push(self.outgoing(submitter, sender, on, text)?);
        }
        if let Some(text) = texts.next() {
            messages.push(Outgoing::to_people(readers, text));
        }
        if messages.iter().any(|it| self.was_here(it)) {
            let why = "the message goes round in circles: it was sent on from here before";
            return Err(NotTaken::refused(554, Enhanced(5, 4, 6), why));
        }
        Ok(Looked { came_back, requests, messages, _second: second })
    }
}

/// What all sessions share.
pub(crate) struct ReceptionContext {
    pub(crate) name: String,
    pub(crate) postman: DeliveryServer,
    pub(crate) lists: Arc<Lists>,
    pub(crate) users: Arc<[User]>,
    pub(crate) passwords: Arc<Passwords>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) observer: SharedObserver,
    /// What messages may occupy, all sessions together.
    pub(crate) memory: Arc<Memory>,
    /// The part of it for clients who may not send on.
    pub(crate) strangers_memory: Arc<Memory>,
}

impl ReceptionContext {
    pub(crate) fn tell(&self, event: &ServerEvent<'_>) {
        self.observer.notice(event);
    }

    pub(crate) fn house(&self) -> Arc<dyn RecipientPolicy> {
        Arc::<Lists>::clone(&self.lists)
    }

    /// Whether a network speaks for a client.
    pub(crate) fn trusts(&self, peer: SocketAddr) -> bool {
        self.lists.submitters.network(peer.ip()).is_some()
    }

    /// The hash of a user's password.
    pub(crate) fn password(&self, user: &str) -> Option<&str> {
        self.users.iter().find(|it| it.name == user).map(|it| &*it.password)
    }

    /// Takes a message over: when the reply is positive, all of it is on stable storage. Its caller
    /// holds the memory of the one copy of its text; of another one this is the only owner.
    pub(crate) async fn take(
        &self,
        arrival: Arrival,
        trace: &Trace,
        peer: SocketAddr,
        submitter: Submitter<'_>,
    ) -> Reply {
        let taken = self.take_or_not(arrival, trace, peer, submitter).await;
        taken.unwrap_or_else(|NotTaken { reply, told }| {
            if let Some(why) = told {
                self.tell(&ServerEvent::NotTaken { peer, why: &why });
            }
            reply
        })
    }

    /// All that refuses a message is looked at before anything is done with it: its client comes
    /// again.
    async fn take_or_not(
        &self,
        arrival: Arrival,
        trace: &Trace,
        peer: SocketAddr,
        submitter: Submitter<'_>,
    ) -> Result<Reply, NotTaken> {
        let now = now();
        let received = trace.received(&self.name, &date(now));
        let Arrival { sender, recipients, text, utf8 } = arrival;
        let (size, sorted) = (text.len(), self.sort(recipients));
        let count = sorted.on.len();
        let memory = Arc::clone(match submitter {
            Submitter::Untrusted => &self.strangers_memory,
            Submitter::Network(_) | Submitter::User(_) => &self.memory,
        });
        // A text that is changed is there twice meanwhile. That is asked before another message is
        // looked at: of several that find no room together, one gives its own back to the next.
        let changed = if is_changed(&text) { size + size / 128 } else { 0 };
        let _changed = memory.reserve(changed).ok_or_else(NotTaken::no_memory)?;
        let head = received.len();
        let by_password = submitter.user().map(str::to_owned);
        let by_network = match submitter {
            Submitter::Network(address) => Submitter::Network(address),
            Submitter::User(_) | Submitter::Untrusted => Submitter::Untrusted,
        };
        let looked = self.help(move |lists| {
            let submitter = by_password.as_deref().map_or(by_network, Submitter::User);
            lists.look_at(submitter, sender, sorted, text, (&memory, head), now)
        });
        let Looked { came_back, requests, messages, _second } = looked.await??;
        // All that is sent on for a stranger is for the postmaster or abuse.
        let for_roles = if submitter == Submitter::Untrusted { count } else { 0 };
        self.count_for_people(&came_back, for_roles, size, peer, now)?;
        let done = self.help(move |lists| {
            let ready = |message| lists.ready(message, &received, utf8, now);
            let mut mails = messages.into_iter().map(ready).collect::<Result<Vec<_>, _>>()?;
            lists.enter(&came_back, peer, now)?;
            for request in requests {
                mails.extend(lists.leave(request, now)?);
            }
            lists.expire(now);
            Ok::<_, NotTaken>(mails)
        });
        // What is for most goes first: it is the most likely to find no room.
        let mut mails = done.await??.into_iter();
        let sent_on = if count > 0 { mails.next() } else { None };
        let reply = match sent_on {
            None => Reply::new(250, Enhanced(2, 0, 0), "taken"),
            Some(mail) => {
                let sender = mail.sender.clone();
                let message = self.postman.submit(mail).await?;
                let (user, sender) = (submitter.user(), sender.as_ref());
                let taken =
                    ServerEvent::Taken { message, peer, user, sender, size, recipients: count };
                self.tell(&taken);
                let text = format!("taken as {}", QueueId(message));
                Reply::new(250, Enhanced(2, 0, 0), &text)
            }
        };
        for mail in mails {
            self.postman.submit(mail).await?;
        }
        Ok(reply)
    }

    /// Recipients by what is to be done with mail for them. Who reads for several has one copy.
    fn sort(&self, recipients: Vec<Address>) -> Sorted {
        let (mut sorted, mut readers) = (Sorted::default(), Vec::new());
        for recipient in recipients {
            if self.lists.of_return(&recipient).is_some() {
                sorted.back.push(recipient);
            } else if self.lists.of_leave(&recipient).is_some() {
                sorted.leaving.push(recipient);
            } else if let Some(reader) = self.lists.of_role(&recipient) {
                if !readers.contains(&reader) {
                    readers.push(reader);
                    sorted.on.push(reader.clone());
                }
            } else {
                sorted.on.push(recipient);
            }
        }
        sorted
    }

    /// Counts a message of `size` octets for `roles` readers of the lists' domains and for those of
    /// what came back, if they may have it in this hour.
    fn count_for_people(
        &self,
        came_back: &CameBack,
        roles: usize,
        size: usize,
        peer: SocketAddr,
        now: i64,
    ) -> Result<(), NotTaken> {
        let lists = &self.lists;
        let mut wanted: Vec<_> = came_back
            .read_for()
            .map(|list| {
                let share = Share::Reader(lists.lists[list].bounces.clone());
                (share, Amount::of(1, size), lists.most_for_reader)
            })
            .collect();
        if roles > 0 {
            let (more, most) = (Amount::of(roles, size), lists.most_for_roles);
            let network = Share::Neighbours(prefix(peer.ip(), 24, 48));
            wanted.extend([(network, more, most.tenth()), (Share::Roles, more, most)]);
        }
        let mut hour = lists.hour.lock().unwrap_or_else(PoisonError::into_inner);
        hour.take(now, &wanted)
    }

    /// Does `work` on a thread that may wait.
    async fn help<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Lists) -> T + Send + 'static,
    ) -> Result<T, NotTaken> {
        let lists = Arc::clone(&self.lists);
        Ok(spawn_blocking(move || work(&lists)).await?)
    }
}
