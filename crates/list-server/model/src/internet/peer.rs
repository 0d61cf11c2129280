//! A host as it is met on the internet: how far, how quick, and how often out.

use super::outages::Outages;
use crate::world::{Act, ConnectionAnswer, Host, SessionView, Step};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::random::mix;
use sojourn_core::{Distribution, LogNormal, Span, Stream, Streams, Time, choices, parameters};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU32;

parameters! {
    /// One host and the name servers of its domain. The host is up or down in turn, each for an
    /// exponential time.
    pub struct Peer: "peer" {
        /// Round-trip time to the host.
        pub round_trip: Span = Span::from_ms(40),
        /// Median time until the host replies. Commands that arrive together have one reply time.
        pub reply: Span = Span::ZERO,
        /// Standard deviation of the logarithm of that time (log-normal, at most a day).
        pub spread: f64 [0.0..=10.0] = 0.0,
        /// Time until its name servers answer.
        pub names: Span = Span::from_ms(50),
        /// Whether commands may follow each other without waiting (RFC 2920).
        pub pipelining: bool = true,
        /// Maximum simultaneous sessions. It replies 421 to a further one.
        pub sessions: Option<NonZeroU32>,
        /// Maximum recipients in any minute. To a further one it replies 450 and asks to slow down.
        /// Too few make a list wait that real hosts would accept at once. Without a number, or with
        /// too many, rates that real hosts refuse look possible.
        pub per_minute: Option<NonZeroU32>,
        /// Maximum recipients of one transaction. It replies 452 to a further one.
        pub recipients: Option<NonZeroU32>,
        /// Time from the first attempt until it accepts a recipient (greylisting).
        pub greylisting: Option<Span>,
        /// Share of unknown recipients, for which it replies 550.
        pub unknown: f64 [0.0..=1.0] = 0.0,
        /// Share of the time in which the host is down.
        pub down: f64 [0.0..=1.0] = 0.0,
        /// Mean duration of an outage.
        pub outage: Span = Span::from_s(6 * 3600),
        /// Behaviour of the host while it is down.
        pub way: Way = Way::Silent,
    }
}

choices! {
    /// What a host does that is out.
    pub enum Way: "way to be out" {
        /// Connections are not answered.
        Silent = "silent",
        /// Connections stand, and nothing is said on them.
        Hung = "hung",
        /// Connections are refused.
        Refused = "refused",
    }
}

impl Check for Peer {
    fn check(&self) -> Result<(), Refusal> {
        for (key, span) in
            [("round_trip", self.round_trip), ("reply", self.reply), ("names", self.names)]
        {
            if span > LONGEST_ANSWER {
                return Err(Refusal::of(&span, format!("at most {LONGEST_ANSWER}")).under(key));
            }
        }
        if self.outage < Span::from_s(1) {
            return Err(Refusal::of(&self.outage, "at least 1s").under("outage"));
        }
        Ok(())
    }
}

/// A host's answer comes within this time.
pub(super) const LONGEST_ANSWER: Span = Span::from_s(86_400);

/// A time of `law`, and at most [`LONGEST_ANSWER`].
pub(super) fn answered(law: &LogNormal, stream: &mut Stream) -> Span {
    Span::from_seconds(law.sample(stream)).min(LONGEST_ANSWER)
}

/// A peer in a replication.
#[derive(Debug)]
pub struct Met {
    peer: Peer,
    thoughts: LogNormal,
    stream: Stream,
    outages: Outages,
    /// The recipients that a greylist has seen, and when first.
    seen: BTreeMap<Box<str>, Time>,
    /// When it took the recipients of the last minute, where it counts them.
    taken: VecDeque<Time>,
}

/// The time in which a host counts recipients.
const MINUTE: Span = Span::from_s(60);

impl Met {
    /// The `number`-th host of a world.
    pub fn new(peer: Peer, streams: Streams, number: u64) -> Met {
        Met {
            thoughts: LogNormal { median: peer.reply.seconds(), spread: peer.spread },
            stream: streams.stream("thinking", number),
            outages: Outages::new(peer.down, peer.outage, streams.stream("outages", number)),
            peer,
            seen: BTreeMap::new(),
            taken: VecDeque::new(),
        }
    }

    /// Whether it has taken as many recipients as it takes in a minute; if not, it takes one more.
    fn is_throttled(&mut self, now: Time) -> bool {
        let Some(most) = self.peer.per_minute else { return false };
        while self.taken.front().is_some_and(|&at| now - at >= MINUTE) {
            self.taken.pop_front();
        }
        if self.taken.len() >= most.get() as usize {
            return true;
        }
        self.taken.push_back(now);
        false
    }

    fn rcpt(&mut self, recipient: &str, view: &SessionView) -> Act {
        if self.peer.unknown > 0.0 && share_of(recipient) < self.peer.unknown {
            return Act::Say("550 5.1.1 no such user");
        }
        if let Some(wait) = self.peer.greylisting {
            let first = match self.seen.get(recipient) {
                Some(&first) => first,
                None => {
                    self.seen.insert(recipient.into(), view.now);
                    view.now
                }
            };
            if view.now < first + wait {
                return Act::Say("450 4.7.1 greylisted, come back later");
            }
        }
        if self.peer.recipients.is_some_and(|most| view.recipients >= most.get()) {
            return Act::Say("452 4.5.3 too many recipients");
        }
        if self.is_throttled(view.now) {
            return Act::Say("450 4.7.28 too many messages in a minute, slow down");
        }
        Act::Usual
    }
}

impl Host for Met {
    fn round_trip(&self) -> Span {
        self.peer.round_trip
    }

    fn thinking(&mut self) -> Span {
        match self.peer.spread {
            0.0 => self.peer.reply,
            _ => answered(&self.thoughts, &mut self.stream),
        }
    }

    fn connection_answer(&mut self, now: Time) -> ConnectionAnswer {
        match self.peer.way {
            _ if !self.outages.is_out(now) => ConnectionAnswer::Open,
            Way::Silent => ConnectionAnswer::Silent,
            Way::Hung => ConnectionAnswer::Open,
            Way::Refused => ConnectionAnswer::Closed,
        }
    }

    fn extensions(&self) -> &'static str {
        match self.peer.pipelining {
            true => "250-hi\r\n250-PIPELINING\r\n250 8BITMIME\r\n",
            false => "250-hi\r\n250 8BITMIME\r\n",
        }
    }

    fn act(&mut self, step: Step<'_>, view: &SessionView) -> Act {
        if self.outages.is_out(view.now) {
            return match self.peer.way {
                Way::Silent | Way::Hung => Act::Hang,
                Way::Refused => Act::Close,
            };
        }
        match step {
            Step::Greeting if self.peer.sessions.is_some_and(|it| view.connections > it.get()) => {
                Act::SayThenClose("421 4.7.0 too many connections")
            }
            Step::Rcpt(recipient) => self.rcpt(recipient, view),
            _ => Act::Usual,
        }
    }
}

/// Where a recipient stands between 0 and 1, by its name alone.
fn share_of(recipient: &str) -> f64 {
    let key = recipient.bytes().fold(0, |key, byte| mix(key ^ u64::from(byte)));
    (key >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_core::parameters::defaults;

    /// Three in any minute: one more as soon as the first is a minute old, and not before.
    #[test]
    fn a_minute_has_so_many_recipients_and_no_more() {
        let peer = Peer { per_minute: NonZeroU32::new(3), ..defaults() };
        let mut host = Met::new(peer, Streams::new(1, 0), 0);
        let mut takes = |ms: u64| {
            let now = Time::ZERO + Span::from_ms(ms);
            let view = SessionView { now, connections: 1, recipients: 1 };
            host.act(Step::Rcpt("a@x.example"), &view) == Act::Usual
        };
        let times = [0, 10_000, 20_000, 30_000, 59_999, 60_000, 60_001, 69_999, 70_000, 79_999];
        let taken = times.map(&mut takes);
        assert_eq!(taken, [true, true, true, false, false, true, false, false, true, false]);
    }
}
