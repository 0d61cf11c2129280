//! What is known of a running server.

use super::late::{Stragglers, Why};
use super::pace::Paces;
use super::queue::Queue;
use super::series::Series;
use crate::event::unix_ms;
use crate::event::{Observer, ServerEvent};
use crate::lists::alarms::Alarm;
use sojourn_core::Span;
use sojourn_mail_engine::bounce::{Fault, KINDS};
use sojourn_mail_engine::{Outcome, Reason, Relay};
use sojourn_smtp::{Address, plain};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of a running server. Clones share it: one observes, others are read.
#[derive(Clone, Debug)]
pub(crate) struct Board(Arc<Mutex<Known>>);

#[derive(Debug)]
pub(super) struct Known {
    pub(super) started_ms: i64,
    pub(super) totals: Totals,
    pub(super) delays: Delays,
    pub(super) seconds: Series,
    pub(super) minutes: Series,
    pub(super) queue: Queue,
    pub(super) stragglers: Stragglers,
    pub(super) paces: Paces,
    /// Hosts and domains that are left alone: until when, and why.
    pub(super) down: BTreeMap<String, (i64, String)>,
    /// The last ones, the latest last.
    pub(super) errors: VecDeque<Error>,
    /// The last ones, the latest last, each with its time in milliseconds since 1970.
    pub(super) alarms: VecDeque<(i64, Alarm)>,
}

/// Sums since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub(super) messages: u64,
    pub(super) recipients: u64,
    pub(super) delivered: u64,
    pub(super) deferred: u64,
    pub(super) failed: u64,
    pub(super) bounced: u64,
    /// Failures for good, by whose fault they are.
    pub(super) faults: BTreeMap<Fault, u64>,
    pub(super) alarms: u64,
    pub(super) probed: u64,
    pub(super) unverified: u64,
    /// By their place among [`KINDS`].
    pub(super) came_back: [u64; KINDS.len()],
    pub(super) suspended: u64,
    pub(super) left: u64,
    pub(super) not_taken: u64,
    pub(super) wrong_passwords: u64,
    pub(super) refused_passwords: u64,
    pub(super) turned_away: u64,
    pub(super) gave_way: u64,
    pub(super) page_full: u64,
    /// What was taken of each hourly bound, and what was refused.
    pub(super) taken: BTreeMap<&'static str, u64>,
    pub(super) refused: BTreeMap<&'static str, u64>,
}

/// How long after their message was accepted recipients had it: how many within each bound.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delays {
    pub(super) within: [u64; BOUNDS_S.len()],
    pub(super) sum_s: f64,
}

/// In seconds.
pub(super) const BOUNDS_S: [f64; 10] =
    [0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 300.0, 3600.0, 14_400.0, 86_400.0];

/// Something that went wrong.
#[derive(Clone, Debug)]
pub(super) struct Error {
    pub(super) at_ms: i64,
    /// What came of it: `deferred`, `failed`, `trouble`, `not taken`.
    pub(super) kind: &'static str,
    pub(super) recipient: Option<String>,
    pub(super) why: Why,
}

/// A quarter of an hour by the second, a day by the minute.
const SECONDS: usize = 900;
const MINUTES: usize = 1440;
/// Errors, and alarms, that are remembered.
const ERRORS: usize = 30;
/// Hosts and domains left alone that are remembered.
const DOWN: usize = 10_000;
/// Characters of others' words that are remembered.
const WORDS: usize = 300;

impl Default for Board {
    fn default() -> Board {
        Board(Arc::new(Mutex::new(Known {
            started_ms: unix_ms(),
            totals: Totals::default(),
            delays: Delays::default(),
            seconds: Series::new(1000, SECONDS),
            minutes: Series::new(60_000, MINUTES),
            queue: Queue::default(),
            stragglers: Stragglers::default(),
            paces: Paces::default(),
            down: BTreeMap::new(),
            errors: VecDeque::new(),
            alarms: VecDeque::new(),
        })))
    }
}

impl Board {
    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn error(&mut self, error: Error) {
        if self.errors.len() == ERRORS {
            self.errors.pop_front();
        }
        self.errors.push_back(error);
    }

    fn down(&mut self, now: i64, name: String, until: i64, reason: &Reason) {
        if self.down.len() >= DOWN {
            self.down.retain(|_, (until, _)| *until > now);
        }
        if self.down.len() < DOWN || self.down.contains_key(&name) {
            self.down.insert(name, (until, words(&reason.text)));
        }
    }

    /// Counts an event of reception.
    fn reception(&mut self, now: i64, event: &ServerEvent<'_>) {
        match event {
            ServerEvent::NotTaken { why, .. } => {
                self.totals.not_taken += 1;
                self.error(Error::of("not taken", now, why));
            }
            ServerEvent::Bounced { .. } => self.totals.bounced += 1,
            ServerEvent::Probed { .. } => self.totals.probed += 1,
            ServerEvent::Failure { fault } => *self.totals.faults.entry(*fault).or_default() += 1,
            ServerEvent::Alarm(alarm) => {
                self.totals.alarms += 1;
                if self.alarms.len() == ERRORS {
                    self.alarms.pop_front();
                }
                self.alarms
                    .push_back((now, Alarm { reply: words(&alarm.reply), ..(*alarm).clone() }));
            }
            ServerEvent::Unverified { number, .. } => self.totals.unverified += number,
            ServerEvent::CameBack { kind, .. } => {
                let place = KINDS.iter().position(|it| it == kind);
                self.totals.came_back[place.expect("KINDS has all kinds")] += 1;
            }
            ServerEvent::Suspended { .. } => self.totals.suspended += 1,
            ServerEvent::Left { .. } => self.totals.left += 1,
            ServerEvent::WrongPassword { .. } => self.totals.wrong_passwords += 1,
            ServerEvent::PasswordRefused { .. } => self.totals.refused_passwords += 1,
            ServerEvent::NotReloaded { why } => self.error(Error::of("trouble", now, why)),
            ServerEvent::GaveWay { .. } => self.totals.gave_way += 1,
            ServerEvent::TooMany { .. } => self.totals.turned_away += 1,
            ServerEvent::PageFull { .. } => self.totals.page_full += 1,
            ServerEvent::Bounded { bound, number, taken } => {
                let totals = &mut self.totals;
                let of = if *taken { &mut totals.taken } else { &mut totals.refused };
                *of.entry(bound).or_default() += number;
            }
            // Those of delivery, and those that the log has.
            _ => {}
        }
    }
}

impl Observer for Board {
    fn notice(&mut self, now: i64, event: &ServerEvent<'_>) {
        let mut guard = self.known();
        let known = &mut *guard;
        match event {
            ServerEvent::Accepted { message, sender, size, recipients, accepted_ms } => {
                let sender = sender.map(Address::to_string);
                known.queue.accepted(*message, sender, *size, *accepted_ms, *recipients);
                // What is found at the start arrived before.
                if *accepted_ms >= known.started_ms {
                    known.totals.messages += 1;
                    known.totals.recipients += *recipients as u64;
                    for bin in [known.seconds.at(now), known.minutes.at(now)] {
                        bin.messages += 1;
                        bin.arrived += *recipients as u32;
                    }
                }
            }
            ServerEvent::Attempt { task, recipient, relay, delays, took, outcome, reason } => {
                let delivered = *outcome == Outcome::Delivered;
                known.paces.add(now, recipient.domain(), *took, delivered);
                for bin in [known.seconds.at(now), known.minutes.at(now)] {
                    bin.attempted += 1;
                    bin.delivered += u32::from(delivered);
                }
                let why = || Why::of(*relay, reason);
                let error = |kind| Error {
                    at_ms: now,
                    kind,
                    recipient: Some(recipient.to_string()),
                    why: why(),
                };
                match outcome {
                    Outcome::Delivered => {
                        known.totals.delivered += 1;
                        known.delays.add(delays.total());
                    }
                    Outcome::Deferred => {
                        known.totals.deferred += 1;
                        known.stragglers.deferred(now, *task, recipient.as_str(), why());
                        return known.error(error("deferred"));
                    }
                    Outcome::Failed => {
                        known.totals.failed += 1;
                        known.error(error("failed"));
                    }
                }
                known.queue.ended(task.message, delivered);
                known.stragglers.ended(*task);
            }
            ServerEvent::Operated { .. } => {}
            ServerEvent::Deleted { task, .. } => {
                known.queue.deleted(task.message);
                known.stragglers.ended(*task);
            }
            ServerEvent::Finished { message } => {
                known.queue.finished(*message);
                known.stragglers.finished(*message);
            }
            ServerEvent::HostDown(host, until, reason) => {
                known.down(now, host.to_string(), *until, reason);
            }
            ServerEvent::DomainDown(domain, until, reason) => {
                known.down(now, (*domain).to_owned(), *until, reason);
            }
            ServerEvent::Trouble(what) => known.error(Error::of("trouble", now, what)),
            _ => known.reception(now, event),
        }
    }
}

impl Delays {
    fn add(&mut self, delay: Span) {
        let seconds = delay.seconds();
        self.sum_s += seconds;
        if let Some(place) = BOUNDS_S.iter().position(|&bound| seconds <= bound) {
            self.within[place] += 1;
        }
    }
}

impl Why {
    fn of(relay: Option<&Relay>, reason: &Reason) -> Why {
        let relay = relay.map(|it| format!("{}[{}]", it.name, it.address));
        Why { relay, status: reason.status.to_string(), text: words(&reason.text) }
    }
}

impl Error {
    fn of(kind: &'static str, at_ms: i64, what: &str) -> Error {
        let why = Why { relay: None, status: String::new(), text: words(what) };
        Error { at_ms, kind, recipient: None, why }
    }
}

fn words(text: &str) -> String {
    plain(&text.chars().take(WORDS).collect::<String>()).into_owned()
}
