//! Servers of the simulated world, each with its personality.

use sojourn_kernel::{Span, Time};
use sojourn_mail::engine::MessageId;
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
    /// Refuses connections.
    Refused,
    /// Refuses connections until a time.
    DownUntil(Time),
    /// Does not answer to connections.
    BlackHole,
    /// Refuses a recipient with 450 until so long after it was first tried.
    Greylist(Span),
    /// 452 after so many recipients in one transaction.
    TooMany(usize),
    /// 421 above so many connections.
    Busy(usize),
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
    pub(crate) connections: usize,
    pub(crate) most_connections: usize,
    /// Connections that were greeted.
    pub(crate) dialogues: usize,
    /// Connections that were tried, and those that got 421 for being too many.
    pub(crate) attempts: usize,
    pub(crate) turned_away: usize,
    resets: u32,
    seen: BTreeMap<String, Time>,
}

/// The server's side of one connection.
#[derive(Debug, Default)]
pub(crate) struct Server {
    line: Vec<u8>,
    mail: bool,
    recipients: Vec<String>,
    in_data: bool,
    ignoring: bool,
}

/// What a server does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reaction {
    Reply(String),
    Accept(MessageId, String),
    Close,
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
            connections: 0,
            most_connections: 0,
            dialogues: 0,
            attempts: 0,
            turned_away: 0,
            resets: 0,
            seen: BTreeMap::new(),
        }
    }

    /// How long it takes for an answer, beyond the round trip.
    pub(crate) fn thinking(&self) -> Span {
        if self.personality == Personality::Slow { Span::from_ms(1500) } else { Span::ZERO }
    }

    /// Whether a connection is accepted, refused, or left without an answer.
    pub(crate) fn answers(&self, now: Time) -> Option<bool> {
        match self.personality {
            Personality::BlackHole => None,
            Personality::Refused => Some(false),
            Personality::DownUntil(time) => Some(now >= time),
            _ => Some(true),
        }
    }

    /// A connection was made.
    pub(crate) fn greet(&mut self) -> Vec<Reaction> {
        self.connections += 1;
        self.most_connections = self.most_connections.max(self.connections);
        match self.personality {
            Personality::HungGreeting => vec![],
            Personality::Busy(most) if self.connections > most => {
                self.turned_away += 1;
                vec![Reaction::Reply("421 4.7.0 too many connections".into()), Reaction::Close]
            }
            Personality::Garbage => vec![Reaction::Reply("hello there".into())],
            _ => {
                self.dialogues += 1;
                vec![Reaction::Reply("220 ready".into())]
            }
        }
    }
}

impl Server {
    pub(crate) fn read(&mut self, host: &mut Host, now: Time, bytes: &[u8]) -> Vec<Reaction> {
        let mut reactions = Vec::new();
        for &byte in bytes {
            if self.ignoring {
                break;
            }
            self.line.push(byte);
            if self.line.ends_with(b"\r\n") {
                let line = String::from_utf8(std::mem::take(&mut self.line)).unwrap();
                reactions.extend(self.obey(host, now, line.trim_end()));
            }
        }
        reactions
    }

    fn obey(&mut self, host: &mut Host, now: Time, line: &str) -> Vec<Reaction> {
        let reply = |text: &str| vec![Reaction::Reply(text.into())];
        if self.in_data {
            // Without recipients nothing but the dot may follow.
            assert_eq!(line, ".");
            (self.in_data, self.mail) = (false, false);
            return reply("554 no valid recipients");
        }
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_uppercase();
        match verb.as_str() {
            "EHLO" if host.personality == Personality::Old => reply("502 what?"),
            "EHLO" => {
                let mut text = String::from("250-at your service\r\n250-SIZE 0\r\n");
                text += if host.pipelining { "250-PIPELINING\r\n" } else { "" };
                text += if host.chunking { "250-CHUNKING\r\n" } else { "" };
                reply(&(text + "250 8BITMIME"))
            }
            "HELO" => reply("250 hello"),
            "MAIL" => {
                assert!(!self.mail, "MAIL within a transaction");
                self.mail = true;
                self.recipients.clear();
                reply("250 2.1.0 ok")
            }
            "RCPT" => self.rcpt(host, now, line),
            "DATA" if self.recipients.is_empty() && host.chunking => reply("554 no recipients"),
            "DATA" => {
                self.in_data = true;
                reply("354 go on")
            }
            "BDAT" => vec![],
            "RSET" => {
                self.mail = false;
                reply("250 2.0.0 ok")
            }
            "QUIT" => vec![Reaction::Reply("221 2.0.0 bye".into()), Reaction::Close],
            _ => panic!("{line} is no command"),
        }
    }

    fn rcpt(&mut self, host: &mut Host, now: Time, line: &str) -> Vec<Reaction> {
        let reply = |text: &str| vec![Reaction::Reply(text.into())];
        assert!(self.mail, "RCPT before MAIL");
        let recipient = line.trim_start_matches("RCPT TO:<").trim_end_matches('>').to_owned();
        match host.personality {
            Personality::HungRcpt => {
                self.ignoring = true;
                return vec![];
            }
            Personality::Greylist(delay) => {
                let first = *host.seen.entry(recipient.clone()).or_insert(now);
                if now < first + delay {
                    return reply("450 4.7.1 greylisted, come back later");
                }
            }
            Personality::TooMany(most) if self.recipients.len() >= most => {
                return reply("452 4.5.3 too many recipients");
            }
            Personality::UnknownUsers if odd(&recipient) => {
                return reply("550 5.1.1 no such user");
            }
            _ => {}
        }
        self.recipients.push(recipient);
        reply("250 2.1.5 ok")
    }

    /// The whole text of a message has come.
    pub(crate) fn body(&mut self, host: &mut Host, message: MessageId) -> Vec<Reaction> {
        assert!(!self.recipients.is_empty(), "a message for nobody");
        self.in_data = false;
        self.mail = false;
        let accepted = self.recipients.drain(..).map(|it| Reaction::Accept(message, it));
        let mut reactions: Vec<Reaction> = accepted.collect();
        match host.personality {
            Personality::ResetInData(times) if host.resets < times => {
                host.resets += 1;
                return vec![Reaction::Close];
            }
            Personality::AcceptThenReset(times) if host.resets < times => host.resets += 1,
            Personality::OneMessage => {
                reactions.push(Reaction::Reply("250 2.0.0 taken".into()));
                reactions.push(Reaction::Reply("421 4.3.2 that was all".into()));
            }
            _ => {
                reactions.push(Reaction::Reply("250 2.0.0 taken".into()));
                return reactions;
            }
        }
        reactions.push(Reaction::Close);
        reactions
    }
}

/// Whether a recipient's name ends with an odd digit.
pub(crate) fn odd(recipient: &str) -> bool {
    let local = recipient.split('@').next().unwrap();
    local.bytes().last().is_some_and(|byte| byte % 2 == 1)
}
