//! Hosts of the simulated world, each with its personality.

use sojourn_core::{Span, Time};
use sojourn_mail_model::world::{Act, ConnectionAnswer, SessionView, Step};
use std::collections::BTreeMap;

/// How a host behaves, whatever its extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Personality {
    /// Answers at once.
    Fast,
    /// Takes 1.5 s for each answer.
    Slow,
    /// Accepts connections and says nothing.
    HungGreeting,
    /// Says nothing from RCPT on.
    HungRcpt,
    /// Takes the message and says nothing.
    HungDot,
    /// Refuses connections.
    Refused,
    /// Refuses connections until a time.
    DownUntil(Time),
    /// Does not answer to connections.
    BlackHole,
    /// Refuses a recipient with 450 until so long after it was first tried.
    Greylist(Span),
    /// 452 after so many recipients in one transaction.
    TooMany(u32),
    /// 421 above so many connections.
    Busy(u32),
    /// 451 4.7.1 for transactions above so many that it took or refused within a minute.
    Throttled(u32),
    /// 550 for recipients whose name ends with an odd digit.
    UnknownUsers,
    /// Closes the connection in mid-message, so many times.
    ResetInData(u32),
    /// Takes the message and closes the connection instead of an answer, so many times.
    AcceptThenReset(u32),
    /// Closes with 421 after each message.
    OneMessage,
    /// Says what is not SMTP.
    Garbage,
    /// Knows HELO only.
    Old,
}

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) personality: Personality,
    pub(crate) rtt: Span,
    pub(crate) pipelining: bool,
    pub(crate) chunking: bool,
    /// Connections that were greeted.
    pub(crate) dialogues: usize,
    /// Connections that were tried, and those that got 421 for being too many.
    pub(crate) attempts: usize,
    pub(crate) turned_away: usize,
    /// Recipients that were too many for a transaction.
    pub(crate) refusals: usize,
    resets: u32,
    seen: BTreeMap<String, Time>,
    /// When transactions began.
    pub(crate) begun: Vec<Time>,
    /// The most connections at a time.
    pub(crate) most_open: u32,
}

impl Host {
    pub(crate) fn new(
        personality: Personality,
        rtt: Span,
        pipelining: bool,
        chunking: bool,
    ) -> Host {
        Host {
            personality,
            rtt,
            pipelining,
            chunking,
            dialogues: 0,
            attempts: 0,
            turned_away: 0,
            refusals: 0,
            resets: 0,
            seen: BTreeMap::new(),
            begun: Vec::new(),
            most_open: 0,
        }
    }

    fn greet(&mut self, connections: u32) -> Act {
        self.most_open = self.most_open.max(connections);
        match self.personality {
            Personality::HungGreeting => return Act::Hang,
            Personality::Busy(most) if connections > most => {
                self.turned_away += 1;
                return Act::SayThenClose("421 4.7.0 too many connections");
            }
            Personality::Garbage => return Act::Say("hello there"),
            _ => self.dialogues += 1,
        }
        Act::Usual
    }

    fn mail(&mut self, now: Time) -> Act {
        self.begun.push(now);
        Act::Usual
    }

    fn rcpt(&mut self, recipient: &str, view: &SessionView) -> Act {
        match self.personality {
            Personality::HungRcpt => return Act::Hang,
            Personality::Greylist(delay) => {
                let first = *self.seen.entry(recipient.to_owned()).or_insert(view.now);
                if view.now < first + delay {
                    return Act::Say("450 4.7.1 greylisted, come back later");
                }
            }
            Personality::Throttled(most) => {
                let is_late = |it: &&Time| view.now - **it < Span::from_s(60);
                if self.begun.iter().rev().take_while(is_late).count() > most as usize {
                    return Act::Say("451 4.7.1 too many messages, slow down");
                }
            }
            Personality::TooMany(most) if view.recipients >= most => {
                self.refusals += 1;
                return Act::Say("452 4.5.3 too many recipients");
            }
            Personality::UnknownUsers if odd(recipient) => {
                return Act::Say("550 5.1.1 no such user");
            }
            _ => {}
        }
        Act::Usual
    }

    fn dot(&mut self) -> Act {
        match self.personality {
            Personality::ResetInData(times) if self.resets < times => {
                self.resets += 1;
                Act::Close
            }
            Personality::AcceptThenReset(times) if self.resets < times => {
                self.resets += 1;
                Act::TakeThenClose
            }
            Personality::HungDot => Act::Hang,
            Personality::OneMessage => Act::UsualThenClose("421 4.3.2 that was all"),
            _ => Act::Usual,
        }
    }
}

impl sojourn_mail_model::world::Host for Host {
    fn round_trip(&self) -> Span {
        self.rtt
    }

    fn thinking(&mut self) -> Span {
        if self.personality == Personality::Slow { Span::from_ms(1500) } else { Span::ZERO }
    }

    fn connection_answer(&mut self, now: Time) -> ConnectionAnswer {
        self.attempts += 1;
        match self.personality {
            Personality::BlackHole => ConnectionAnswer::Silent,
            Personality::Refused => ConnectionAnswer::Closed,
            Personality::DownUntil(time) if now < time => ConnectionAnswer::Closed,
            _ => ConnectionAnswer::Open,
        }
    }

    fn extensions(&self) -> &'static str {
        match (self.pipelining, self.chunking) {
            (false, false) => "250-at your service\r\n250-SIZE 0\r\n250 8BITMIME\r\n",
            (true, false) => {
                "250-at your service\r\n250-SIZE 0\r\n250-PIPELINING\r\n250 8BITMIME\r\n"
            }
            (false, true) => {
                "250-at your service\r\n250-SIZE 0\r\n250-CHUNKING\r\n250 8BITMIME\r\n"
            }
            (true, true) => {
                "250-at your service\r\n250-PIPELINING\r\n250-CHUNKING\r\n250 8BITMIME\r\n"
            }
        }
    }

    fn act(&mut self, step: Step<'_>, view: &SessionView) -> Act {
        match step {
            Step::Greeting => self.greet(view.connections),
            Step::Ehlo if self.personality == Personality::Old => Act::Say("502 what?"),
            Step::Rcpt(recipient) => self.rcpt(recipient, view),
            Step::Data if view.recipients == 0 && self.chunking => Act::Say("554 no recipients"),
            Step::Mail => self.mail(view.now),
            Step::Dot => self.dot(),
            _ => Act::Usual,
        }
    }
}

/// Whether a recipient's name ends with an odd digit.
pub(crate) fn odd(recipient: &str) -> bool {
    let local = recipient.split('@').next().unwrap();
    local.bytes().last().is_some_and(|byte| byte % 2 == 1)
}
