//! The personalities: what each is called, its parameters, and what it does.
//!
//! A new one is an entry in the table, and an arm in one of the functions below it.

use super::{Act, At, ConnectionAnswer, SessionView, Step, duration, log_normal};
use crate::kinds::kinds;
use sojourn_core::{Span, Stream, Streams};
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::time::Duration;

kinds! {
    /// How a mail server behaves.
    pub enum FaultKind: "personality";

    /// An honest server that answers at once.
    Fast: "fast" {}

    /// An honest server that takes its time for each answer.
    Slow: "slow" {
        /// Half of all answers take less than this.
        pub median: Span = Span::from_s(1),
        /// The standard deviation of the logarithm of what they take (log-normal).
        pub spread: f64 = 0.5,
    }

    /// Its answers come one octet at a time.
    Trickle: "trickle" {
        /// From one octet to the next.
        pub every: Span = Span::from_s(1),
    }

    /// Takes connections, and says nothing from one step on.
    Hung: "hung" {
        /// The step.
        pub at: At = At::Greeting,
    }

    /// Refuses connections: its address has no listener.
    Refused: "refused" {}

    /// Does not answer to connections: its listener's queue is full, and Linux drops
    /// further connections.
    BlackHole: "black-hole" {}

    /// Refuses connections at first; an honest server later.
    Late: "late" {
        /// How long after the start.
        pub after: Span = Span::from_s(30),
    }

    /// Refuses a recipient for now until so long after it was first tried from the same network by
    /// the same sender. Postgrey's key: the first 24 bits of an IPv4 address, 64 of an IPv6
    /// address, the sender, the recipient.
    Greylist: "greylist" {
        /// How long (Postgrey: 300 s).
        pub wait: Span = Span::from_s(60),
        /// Whether its answer says how long.
        pub named: bool = false,
    }

    /// Answers 452 to further recipients of a transaction (RFC 5321 section 4.5.3.1.10).
    FewRecipients: "few-recipients" {
        /// After so many.
        pub most: NonZeroU32 = NonZeroU32::new(10).expect("above 0"),
    }

    /// Greets with 421 above a number of sessions.
    Busy: "busy" {
        /// The number.
        pub sessions: NonZeroU32 = NonZeroU32::new(5).expect("above 0"),
    }

    /// Refuses messages for now above a number within a time, from all clients and to all recipients,
    /// as large providers do. Refused messages do not count. It may greylist besides.
    Throttle: "throttle" {
        /// The number.
        pub messages: NonZeroU32 = NonZeroU32::new(20).expect("above 0"),
        /// The time.
        pub within: Span = Span::from_s(60),
        /// The step at which it counts and refuses.
        pub at: At = At::Dot,
        /// Whether it refuses with 421 and closes, not with 450.
        pub closes: bool = false,
        /// How long it greylists besides, as a `greylist` does.
        pub greylisting: Option<Span> = None,
    }

    /// Answers 550 for a share of all recipients, always the same ones.
    UnknownUsers: "unknown-users" {
        /// The share.
        pub share: f64 [0.0..=1.0] = 0.2,
    }

    /// Closes with 421 after each message.
    OneMessage: "one-message" {}

    /// Knows HELO only (RFC 821).
    Old: "old" {}

    /// Resets the connection in mid-message, or at its end where it is shorter; then behaves.
    ResetInData: "reset-in-data" {
        /// After so many octets of the text.
        pub after: u64 = 100,
        /// How many times.
        pub times: u32 = u32::MAX,
    }

    /// Resets the connection when the whole message is there, instead of an answer; then behaves.
    AcceptThenReset: "accept-then-reset" {
        /// Whether it has taken the message over by then: if so, it gets it again.
        pub recorded: bool = true,
        /// How many times.
        pub times: u32 = 1,
    }

    /// At one step it answers with what is no SMTP.
    Garbage: "garbage" {
        /// The step.
        pub at: At = At::Greeting,
    }

    /// At one step it answers with a line that never ends, as fast as it is read.
    Endless: "endless" {
        /// The step.
        pub at: At = At::Greeting,
    }
}

impl FaultKind {
    /// Whether connections are answered.
    pub fn connection_answer(&self) -> ConnectionAnswer {
        match self {
            FaultKind::Refused(_) => ConnectionAnswer::Closed,
            FaultKind::BlackHole(_) => ConnectionAnswer::Silent,
            FaultKind::Late(late) => ConnectionAnswer::OpensAfter(duration(late.after)),
            _ => ConnectionAnswer::Open,
        }
    }

    /// How long it takes for an answer, beyond the round trip.
    pub fn thinking(&self, stream: &mut Stream) -> Duration {
        match self {
            FaultKind::Slow(slow) => duration(log_normal(slow.median, slow.spread, stream)),
            _ => Duration::ZERO,
        }
    }

    /// What is done at a step.
    pub fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        use FaultKind as Kind;
        match (self, step) {
            (Kind::Trickle(trickle), _) => Act::Trickle(duration(trickle.every)),
            (Kind::Hung(hung), _) if step.is(hung.at) => Act::Hang,
            (Kind::Garbage(garbage), _) if step.is(garbage.at) => {
                Act::Raw(b"hello\0\xff\xfe there\r\n".to_vec())
            }
            (Kind::Endless(endless), _) if step.is(endless.at) => Act::Endless,
            (Kind::Old(_), Step::Hello(true)) => Act::Say("500 What?".into()),
            (Kind::Busy(busy), Step::Greeting) if view.memory.sessions > busy.sessions.get() => {
                Act::SayThenClose("421 4.7.0 Too many connections".into())
            }
            (Kind::FewRecipients(few), Step::Rcpt(_))
                if view.recipients >= few.most.get() as usize =>
            {
                Act::Say("452 4.5.3 Too many recipients".into())
            }
            (Kind::UnknownUsers(unknown), Step::Rcpt(recipient))
                if Streams::new(0, 0).stream(recipient, 0).uniform() < unknown.share =>
            {
                Act::Say("550 5.1.1 No such user".into())
            }
            (Kind::Greylist(greylist), _) => greylist.act(step, view),
            (Kind::Throttle(throttle), _) => throttle.act(step, view),
            (Kind::OneMessage(_), Step::Dot) => {
                Act::UsualThenClose("421 4.3.2 One message a connection".into())
            }
            (Kind::ResetInData(reset), Step::Text(octets)) if octets >= reset.after => {
                view.memory.at_most(reset.times, Act::Reset)
            }
            (Kind::ResetInData(reset), Step::Dot) => view.memory.at_most(reset.times, Act::Reset),
            (Kind::AcceptThenReset(reset), Step::Dot) => {
                let act = if reset.recorded { Act::TakeThenReset } else { Act::Reset };
                view.memory.at_most(reset.times, act)
            }
            _ => Act::Usual,
        }
    }
}

impl Greylist {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        let Step::Rcpt(recipient) = step else { return Act::Usual };
        let network = match view.client {
            IpAddr::V4(address) => u64::from(u32::from(address) >> 8),
            IpAddr::V6(address) => (u128::from(address) >> 64) as u64,
        };
        let triplet = format!("{network:x} {} {recipient}", view.sender);
        let first = *view.memory.seen.entry(triplet).or_insert(view.now);
        let due = first + duration(self.wait);
        match due.checked_sub(view.now).filter(|left| !left.is_zero()) {
            None => Act::Usual,
            Some(left) if self.named => {
                let seconds = left.as_secs_f64().ceil();
                Act::Say(format!("450 4.2.0 Greylisted, try again in {seconds} seconds"))
            }
            Some(_) => Act::Say("450 4.2.0 Greylisted, try again later".into()),
        }
    }
}

impl Throttle {
    fn act(&self, step: Step<'_>, view: &mut SessionView<'_>) -> Act {
        if let Some(wait) = self.greylisting {
            let act = Greylist { wait, named: false }.act(step, view);
            if act != Act::Usual {
                return act;
            }
        }
        if !step.is(self.at) {
            return Act::Usual;
        }
        let (now, within) = (view.now, duration(self.within));
        let counted = &mut view.memory.counted;
        while counted.front().is_some_and(|&at| now - at >= within) {
            counted.pop_front();
        }
        if counted.len() < self.messages.get() as usize {
            counted.push_back(now);
            return Act::Usual;
        }
        match self.closes {
            true => Act::SayThenClose("421 4.7.28 Unusual rate of messages, slow down".into()),
            false => Act::Say("450 4.7.28 Unusual rate of messages, slow down".into()),
        }
    }
}
