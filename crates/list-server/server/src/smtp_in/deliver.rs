//! The way of a message from its session to the spool: sorted by recipients, examined, counted
//! against the quotas of people, entered into the register, and submitted for delivery.

use super::context::ReceptionContext;
use super::message_memory::{Memory, Occupied};
use super::not_taken::NotTaken;
use super::relay::Outgoing;
use crate::delivery::mail::Mail;
use crate::event::{QueueId, ServerEvent};
use crate::hourly::{Amount, Bound};
use crate::lists::bounces_in::{CameBack, LocalRecipients};
use crate::lists::leaving::Request;
use crate::lists::{Lists, now};
use sojourn_mail_engine::list::outgoing::is_changed;
use sojourn_mail_engine::report::date;
use sojourn_smtp::server::{Arrival, Submitter, Text, Trace};
use sojourn_smtp::{Address, Enhanced, Reply};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// A message's recipients by what happens to mail for them.
#[derive(Default)]
struct Sorted {
    /// Return paths, and addresses for complaints.
    home: LocalRecipients,
    /// Addresses for leaving a list.
    leaving: Vec<Address>,
    /// Those to which it is sent on.
    on: Vec<Address>,
}

/// A message that nothing refuses, and what follows from it.
struct Examined {
    came_back: CameBack,
    requests: Vec<Request>,
    /// That for those to which it is sent on comes first.
    messages: Vec<Outgoing>,
    /// Memory for a text that is there twice.
    _second: Occupied,
}

/// The client, and when its message came, in seconds since 1970.
#[derive(Clone, Copy)]
struct Client<'a> {
    peer: SocketAddr,
    submitter: Submitter<'a>,
    now: i64,
}

impl Client<'_> {
    /// Its address, where it is not authenticated.
    fn untrusted(&self) -> Option<IpAddr> {
        (self.submitter == Submitter::Untrusted).then_some(self.peer.ip())
    }
}

impl Lists {
    /// All that refuses a message for what it is, on a thread that may wait: texts are long. What it
    /// occupies beside its text, and beside a head of so many octets, is reserved in `memory`.
    fn examine(
        &self,
        submitter: Submitter<'_>,
        sender: Option<Address>,
        Sorted { home, mut leaving, on }: Sorted,
        text: Text,
        (memory, head): (&Arc<Memory>, usize),
        now: i64,
    ) -> Result<Examined, NotTaken> {
        if sender.is_none() {
            // A report or an automatic answer is no request.
            leaving.clear();
        }
        let size = text.len();
        let came_back = self.look(&home, sender.is_none(), &text, now)?;
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
        Ok(Examined { came_back, requests, messages, _second: second })
    }
}

impl ReceptionContext {
    /// Takes a message over: when the reply is positive, all of it is on stable storage. Its caller
    /// holds the memory of the one copy of its text; of another one this is the only owner.
    pub(crate) async fn take(
        &self,
        arrival: Arrival,
        trace: &Trace,
        peer: SocketAddr,
        submitter: Submitter<'_>,
    ) -> Reply {
        let client = Client { peer, submitter, now: now() };
        let taken = self.take_or_not(arrival, trace, client).await;
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
        client: Client<'_>,
    ) -> Result<Reply, NotTaken> {
        let received = trace.received(&self.name, &date(client.now));
        let Arrival { sender, recipients, text, utf8 } = arrival;
        self.delivery.admit(text.len(), recipients.len())?;
        let (size, sorted) = (text.len(), self.sort(recipients));
        let relayed = sorted.on.len();
        let _changed = self.reserve_change(client.submitter, &text)?;
        let examined = self.examine(sender, sorted, text, received.len(), client).await?;
        // All that is sent on for an unknown client is for the postmaster or abuse.
        let for_roles = if client.submitter == Submitter::Untrusted { relayed } else { 0 };
        self.charge(&examined, for_roles, size, client)?;
        let Examined { came_back, requests, messages, _second } = examined;
        let mails = self.enter(came_back, requests, messages, (received, utf8), client).await?;
        self.submit(mails, relayed, size, client).await
    }

    /// Recipients by what happens to mail for them. Each mailbox gets one copy, and so does who reads
    /// for several.
    fn sort(&self, recipients: Vec<Address>) -> Sorted {
        let (mut sorted, mut readers) = (Sorted::default(), Vec::new());
        for recipient in Address::distinct(recipients) {
            sorted.home.abuse |= self.lists.is_abuse(&recipient);
            if self.lists.of_return(&recipient).is_some() {
                sorted.home.back.push(recipient);
            } else if self.lists.is_for_complaints(&recipient) {
                sorted.home.complaints = true;
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

    /// Reserves memory for a text that is changed, and is there twice meanwhile. That comes before
    /// another message is examined: of several that find no memory together, one gives its part back
    /// to the next.
    fn reserve_change(&self, submitter: Submitter<'_>, text: &Text) -> Result<Occupied, NotTaken> {
        let size = text.len();
        let changed = if is_changed(text) { size + size / 128 } else { 0 };
        self.memory_of(submitter).reserve(changed).ok_or_else(NotTaken::no_memory)
    }

    fn memory_of(&self, submitter: Submitter<'_>) -> &Arc<Memory> {
        match submitter {
            Submitter::Untrusted => &self.untrusted_memory,
            Submitter::Network(_) | Submitter::User(_) => &self.memory,
        }
    }

    /// [`Lists::examine`] on a thread that may wait.
    async fn examine(
        &self,
        sender: Option<Address>,
        sorted: Sorted,
        text: Text,
        head: usize,
        client: Client<'_>,
    ) -> Result<Examined, NotTaken> {
        let memory = Arc::clone(self.memory_of(client.submitter));
        let by_password = client.submitter.user().map(str::to_owned);
        let by_network = match client.submitter {
            Submitter::Network(address) => Submitter::Network(address),
            Submitter::User(_) | Submitter::Untrusted => Submitter::Untrusted,
        };
        let now = client.now;
        let examined = self.help(move |lists| {
            let submitter = by_password.as_deref().map_or(by_network, Submitter::User);
            lists.examine(submitter, sender, sorted, text, (&memory, head), now)
        });
        examined.await?
    }

    /// Counts a message of `size` octets, which `roles` readers of the lists' domains get, if there may
    /// be what follows from it in this hour.
    fn charge(
        &self,
        examined: &Examined,
        roles: usize,
        size: usize,
        client: Client<'_>,
    ) -> Result<(), NotTaken> {
        let mut wanted = examined.came_back.wanted(&self.lists, roles, size);
        let questions = examined.requests.iter().filter(|it| it.is_by_author()).count();
        wanted.extend([
            (Bound::Questions, Amount::of(questions, 0)),
            (Bound::Requests, Amount::of(examined.requests.len() - questions, 0)),
        ]);
        Ok(self.lists.charge(client.now, client.untrusted(), &wanted)?)
    }

    /// Makes what is submitted of the messages, below the line `received`, and enters what came back
    /// and the requests to leave; what the latter are answered with is submitted too.
    async fn enter(
        &self,
        came_back: CameBack,
        requests: Vec<Request>,
        messages: Vec<Outgoing>,
        (received, utf8): (String, bool),
        client: Client<'_>,
    ) -> Result<Vec<Mail>, NotTaken> {
        let (now, from) = (client.now, (client.peer, client.untrusted()));
        let done = self.help(move |lists| {
            let ready = |message| lists.ready(message, &received, utf8, now);
            let mut mails = messages.into_iter().map(ready).collect::<Result<Vec<_>, _>>()?;
            lists.enter(&came_back, from, now)?;
            for request in requests {
                mails.extend(lists.leave(request, now)?);
            }
            lists.expire(now);
            Ok::<_, NotTaken>(mails)
        });
        done.await?
    }

    /// Submits all for delivery. What goes to most recipients, `relayed` of them, is first in `mails`:
    /// it is the most likely to find the queue full.
    async fn submit(
        &self,
        mails: Vec<Mail>,
        relayed: usize,
        size: usize,
        Client { peer, submitter, .. }: Client<'_>,
    ) -> Result<Reply, NotTaken> {
        let mut mails = mails.into_iter();
        let sent_on = if relayed > 0 { mails.next() } else { None };
        let reply = match sent_on {
            None => Reply::new(250, Enhanced(2, 0, 0), "taken"),
            Some(mail) => {
                let sender = mail.sender.clone();
                let message = self.delivery.submit(mail).await?;
                let (user, sender) = (submitter.user(), sender.as_ref());
                self.tell(&ServerEvent::Taken {
                    message,
                    peer,
                    user,
                    sender,
                    size,
                    recipients: relayed,
                });
                let text = format!("taken as {}", QueueId(message));
                Reply::new(250, Enhanced(2, 0, 0), &text)
            }
        };
        for mail in mails {
            self.delivery.submit(mail).await?;
        }
        Ok(reply)
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
