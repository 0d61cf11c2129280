//! What is kept of a replication.

use crate::arrivals::Mailing;
use crate::internet::Domain;
use crate::series::{Attempt, Series};
use crate::world::{Line, WorldObserver};
use sojourn_core::{Keep, Span, Time};
use sojourn_mail_engine::{Delays, Entry, Event, MessageId, Outcome, Submission};
use sojourn_smtp::Address;
use std::net::IpAddr;

/// Shares of a list whose time is kept, in per cent.
pub(super) const SHARES: [u64; 3] = [50, 95, 99];

/// What is kept of a replication: counts of each message, and if wanted a record of each delivery.
#[derive(Debug)]
pub(super) struct DeliveryRecorder {
    pub(super) list: Vec<(Address, u32)>,
    sender: Address,
    mailings: Vec<Mailing>,
    /// The place of each message's first delivery, then the place after the last delivery.
    firsts: Vec<usize>,
    pub(super) messages: Vec<Message>,
    /// By message and its recipients; empty if they are not kept.
    pub(super) deliveries: Vec<Delivery>,
    pub(super) totals: Totals,
    /// Attempts by time, if they are kept.
    pub(super) series: Option<Series>,
    /// The least time for each place in the list.
    pub(super) ideals: Vec<Span>,
}

/// What became of a message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) delivered: u64,
    /// When it had reached each of [`SHARES`] of the list.
    pub(super) reached: [Time; SHARES.len()],
    /// When it had come to its end: each recipient has it, or its failure was reported.
    pub(super) finished: Time,
}

/// What became of one delivery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    pub(super) outcome: Option<Outcome>,
    pub(super) attempts: u32,
    /// When it was delivered.
    pub(super) finished: Time,
    /// Where its time has gone.
    pub(super) delays: Delays,
}

/// Totals, of messages without rows too.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) delivered: u64,
    pub(super) failed: u64,
    /// Attempts that were made at a host.
    pub(super) attempts: u64,
    pub(super) sessions: u64,
    pub(super) came: u32,
}

const UNTRIED: Delivery = Delivery {
    outcome: None,
    attempts: 0,
    finished: Time::NEVER,
    delays: Delays {
        before: Span::ZERO,
        queued: Span::ZERO,
        setup: Span::ZERO,
        sending: Span::ZERO,
    },
};

impl DeliveryRecorder {
    pub(super) fn new(
        domains: &[Domain],
        who: Vec<(Address, u32)>,
        mailings: Vec<Mailing>,
        keep: Keep,
        series: Option<Series>,
    ) -> DeliveryRecorder {
        let mut firsts = vec![0];
        for mailing in &mailings {
            firsts.push(firsts[firsts.len() - 1] + mailing.to.len());
        }
        let rows = match keep {
            Keep::Rows => firsts[mailings.len()],
            Keep::Totals => 0,
        };
        let untold =
            Message { delivered: 0, reached: [Time::NEVER; SHARES.len()], finished: Time::NEVER };
        // A transaction on an open session: its commands, then the text.
        let ideal = |&(_, domain): &(Address, u32)| {
            let peer = &domains[domain as usize].peer;
            peer.round_trip * if peer.pipelining { 2 } else { 4 }
        };
        DeliveryRecorder {
            ideals: who.iter().map(ideal).collect(),
            list: who,
            sender: "list-bounces@lists.example".parse().expect("a constant that is an address"),
            messages: vec![untold; mailings.len()],
            mailings,
            firsts,
            deliveries: vec![UNTRIED; rows],
            totals: Totals::default(),
            series,
        }
    }

    /// When the last message comes.
    pub(super) fn last(&self) -> Time {
        self.mailings.last().expect("a case has a message").at
    }

    pub(super) fn times(&self) -> impl Iterator<Item = Time> + '_ {
        self.mailings.iter().map(|mailing| mailing.at)
    }

    pub(super) fn all_came(&self) -> bool {
        self.totals.came as usize == self.mailings.len()
    }

    /// How many deliveries there are to be made.
    pub(super) fn all(&self) -> usize {
        self.firsts[self.mailings.len()]
    }

    /// For each delivery from the `warmup`-th message on: its place, its message, and its
    /// recipient's place in the list.
    pub(super) fn places(&self, warmup: usize) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let of_message = move |message: usize| {
            let first = self.firsts[message];
            let to = self.mailings[message].to.iter().enumerate();
            to.map(move |(nth, &place)| (first + nth, message, place as usize))
        };
        (warmup..self.mailings.len()).flat_map(of_message)
    }

    /// When a message comes, how large it is, and how many recipients it has.
    pub(super) fn mailing(&self, message: usize) -> &Mailing {
        &self.mailings[message]
    }

    pub(super) fn delivered(&self) -> u64 {
        self.totals.delivered
    }

    fn delivered_to(&mut self, now: Time, message: MessageId) {
        self.totals.delivered += 1;
        let all = self.mailings[message.0 as usize].to.len() as u64;
        let message = &mut self.messages[message.0 as usize];
        message.delivered += 1;
        for (share, reached) in SHARES.iter().zip(&mut message.reached) {
            if *reached == Time::NEVER && message.delivered * 100 >= all * share {
                *reached = now;
            }
        }
    }
}

impl WorldObserver for DeliveryRecorder {
    type Due = u32;

    fn due(&mut self, _: Time, number: u32) -> Event {
        self.totals.came += 1;
        let Mailing { size, to, .. } = &self.mailings[number as usize];
        Event::Submitted(Submission {
            id: MessageId(number.into()),
            sender: Some(self.sender.clone()),
            size: *size,
            eight_bit: false,
            utf8: false,
            subscribers: Vec::new(),
            day: 0,
            recipients: to.iter().map(|&place| self.list[place as usize].0.clone()).collect(),
        })
    }

    fn size(&self, message: MessageId) -> u64 {
        self.mailings[message.0 as usize].size
    }

    fn log(&mut self, now: Time, entry: &Entry) {
        let &Entry::Attempt { task, ref relay, delays, outcome, .. } = entry else { return };
        self.totals.attempts += u64::from(relay.is_some());
        match outcome {
            Outcome::Delivered => self.delivered_to(now, task.message),
            Outcome::Failed => self.totals.failed += 1,
            Outcome::Deferred => {}
        }
        if let Some(series) = &mut self.series {
            let host = relay.as_ref().map(|relay| relay.address);
            series.add(Attempt { at: now, message: task.message, host, outcome });
        }
        let place = self.firsts[task.message.0 as usize] + task.recipient.index();
        if let Some(delivery) = self.deliveries.get_mut(place) {
            delivery.attempts += u32::from(relay.is_some());
            delivery.outcome = Some(outcome);
            delivery.delays = delays;
            if outcome == Outcome::Delivered {
                delivery.finished = now;
            }
        }
    }

    fn finished(&mut self, now: Time, message: MessageId) {
        self.messages[message.0 as usize].finished = now;
    }

    fn opens(&mut self, _: Time, _: Line, _: IpAddr) {
        self.totals.sessions += 1;
    }
}
