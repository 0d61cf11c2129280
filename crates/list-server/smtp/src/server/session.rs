//! The session: bytes and times in, outputs out.

use super::auth::{Turn, Verdict};
use super::commands::{BadLine, Command, Lines};
use super::limits::{Peer, Protocol, SessionConfig, Stress};
use super::recipient_policy::Submitter;
use super::state::{Busy, Hello, Output, Stage, State};
use super::transaction::{Trace, Transaction, protocol};
use crate::reply::Reply;
use sojourn_core::{Span, Time};
use std::sync::Arc;

/// The server's side of one session.
pub struct Session {
    pub(super) config: Arc<SessionConfig>,
    pub(super) peer: Peer,
    pub(super) secured: bool,
    pub(super) user: Option<String>,
    pub(super) hello: Option<Hello>,
    pub(super) state: State,
    pub(super) transaction: Option<Transaction>,
    lines: Lines,
    /// What came while the driver was busy for this session.
    held: Vec<u8>,
    /// What is to be sent.
    replies: Vec<u8>,
    errors: u32,
    logins: u32,
    /// Commands since the last message that lead to none.
    pub(super) detours: u32,
    began: Time,
    /// The last reply, or the last octet of a text.
    since: Time,
    /// When the last message ended, or the session began.
    message_ended: Time,
    pub(super) stress: Stress,
    /// What it says at its end, when that is near.
    stopping: Option<&'static str>,
}

const STOPS: &str = "421 4.3.2 the server stops";

impl Session {
    /// A session that greets `peer`.
    pub fn new(
        config: Arc<SessionConfig>,
        peer: Peer,
        now: Time,
        out: &mut Vec<Output>,
    ) -> Session {
        let mut session = Session {
            config,
            peer,
            secured: peer.secured,
            user: None,
            hello: None,
            state: State::Command,
            transaction: None,
            lines: Lines::default(),
            held: Vec::new(),
            replies: Vec::new(),
            errors: 0,
            logins: 0,
            detours: 0,
            began: now,
            since: now,
            message_ended: now,
            stress: Stress::NONE,
            stopping: None,
        };
        let protocol = if session.is_lmtp() { "LMTP" } else { "ESMTP" };
        session.say(&format!("220 {} {protocol}", session.config.name));
        session.flush(out);
        session
    }

    /// Bytes have come. While the session is [busy](Session::is_busy) nothing should be read for
    /// it: what comes is held.
    pub fn received(&mut self, now: Time, bytes: &[u8], out: &mut Vec<Output>) {
        self.work(now, bytes, out);
        self.flush(out);
    }

    /// Whether it waits for its driver.
    pub fn is_busy(&self) -> bool {
        matches!(self.state, State::Busy(_))
    }

    /// Octets that it holds of its client's: text, recipients, commands.
    pub fn occupied(&self) -> usize {
        self.held.len() + self.transaction.as_ref().map_or(0, Transaction::occupied)
    }

    /// The server needs its memory: the message under way is refused for now, or takes no more
    /// recipients.
    pub fn shed(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.shed();
        }
    }

    /// When [`late`](Session::late) is due, if nothing happens before.
    pub fn deadline(&self) -> Time {
        let (bounds, stress) = (&self.config.bounds, self.stress);
        let stressed = &bounds.stressed;
        let after = |time: Time, span: Span| Time::from_ps(time.ps().saturating_add(span.ps()));
        let step = match &self.state {
            State::Busy(_) | State::Over => return Time::NEVER,
            State::Command | State::Exchange(_) => {
                after(self.since, stress.span(bounds.command, stressed.command))
            }
            State::Text | State::Chunk { .. } => {
                let began = self.transaction.as_ref().map_or(self.since, |it| it.began);
                let block = stress.span(bounds.block, stressed.command);
                after(self.since, block).min(after(began, bounds.text))
            }
        };
        let octets = self.transaction.as_ref().map_or(0, Transaction::octets);
        let message = stress.span(bounds.session, stressed.message(octets));
        let login = stress.span(bounds.command, stressed.command).min(bounds.session);
        let whole = if self.has_yet_to_log_in() { login } else { bounds.session };
        step.min(after(self.began, whole)).min(after(self.message_ended, message))
    }

    /// How scarce connections are from now on: its bounds follow.
    pub fn set_stress(&mut self, stress: Stress) {
        self.stress = stress;
    }

    /// What it is at, and since when it has come to nothing: its beginning, the end of its last message,
    /// or the last octet of the text that is coming.
    pub fn stage(&self) -> (Stage, Time) {
        let stage = match (&self.state, &self.transaction) {
            (State::Busy(Busy::Taking(_) | Busy::Verifying(_)), _) => Stage::Busy,
            // Whatever its client says.
            _ if self.has_yet_to_log_in() => Stage::Idle,
            (_, None) => Stage::Idle,
            (_, Some(_)) if self.submitter().is_known() => Stage::Busy,
            (_, Some(it)) if it.intake.is_some() => return (Stage::Text, it.came),
            (_, Some(_)) => Stage::Begun,
        };
        (stage, self.message_ended)
    }

    fn has_yet_to_log_in(&self) -> bool {
        self.config.submission && !self.submitter().is_known()
    }

    /// What it goes by.
    pub fn config(&self) -> &SessionConfig {
        &self.config
    }

    /// Goes by other terms from now on, unless a transaction is under way; whether it does.
    pub fn renew(&mut self, config: Arc<SessionConfig>, trusted: bool) -> bool {
        let between = self.transaction.is_none();
        if between {
            (self.config, self.peer.trusted) = (config, trusted);
        }
        between
    }

    /// Its time is over.
    pub fn late(&mut self, now: Time, out: &mut Vec<Output>) {
        if now >= self.deadline() {
            self.end("421 4.4.2 this takes too long", out);
        }
    }

    /// The server stops. A message that is coming may still come whole; nothing else is taken.
    pub fn stop(&mut self, out: &mut Vec<Output>) {
        self.stop_for(STOPS, out);
    }

    /// What its client logged in with is not valid any more: as [`stop`](Session::stop).
    pub fn disown(&mut self, out: &mut Vec<Output>) {
        self.stop_for("421 4.7.0 the password is not valid any more", out);
    }

    fn stop_for(&mut self, reply: &'static str, out: &mut Vec<Output>) {
        self.stopping = Some(reply);
        if matches!(self.state, State::Command | State::Exchange(_)) {
            self.abandon(out);
        }
    }

    /// The server stops and waits no longer.
    pub fn abandon(&mut self, out: &mut Vec<Output>) {
        if !matches!(self.state, State::Over) {
            self.end(self.stopping.unwrap_or(STOPS), out);
        }
    }

    /// The handshake is done. What was said before counts no more, nor what came behind the
    /// command in plain text (RFC 3207 section 4.2).
    pub fn secured(&mut self, now: Time, out: &mut Vec<Output>) {
        assert!(matches!(self.state, State::Busy(Busy::Handshake)));
        self.secured = true;
        (self.hello, self.user, self.transaction) = (None, None, None);
        self.lines.clear();
        self.held.clear();
        self.go_on(now, out);
    }

    /// What came of the password. A [`Verdict::Later`] counts as a wrong one.
    pub fn verified(&mut self, now: Time, verdict: Verdict, out: &mut Vec<Output>) {
        let State::Busy(Busy::Verifying(user)) = &self.state else { panic!("nothing to verify") };
        if verdict == Verdict::Right {
            self.user = Some(user.clone());
            self.say("235 2.7.0 welcome");
        } else {
            self.say(match verdict {
                Verdict::Later => "454 4.7.0 too many wrong passwords, try again later",
                _ => "535 5.7.8 the name or the password is wrong",
            });
            self.logins += 1;
            if self.logins >= self.config.bounds.logins.get() {
                return self.end("421 4.7.0 too many wrong passwords", out);
            }
        }
        self.go_on(now, out);
    }

    /// What became of the message: the answer to its sender, the same for each recipient.
    pub fn taken(&mut self, now: Time, reply: &Reply, out: &mut Vec<Output>) {
        let State::Busy(Busy::Taking(recipients)) = self.state else { panic!("nothing was taken") };
        self.answer_text(recipients, &reply.to_string());
        self.message_ended = now;
        self.go_on(now, out);
    }

    /// Who sent the message that is being taken.
    pub fn trace(&self, utf8: bool) -> Trace {
        let (name, extended) =
            self.hello.as_ref().map_or(("unknown", false), |it| (it.name.as_str(), it.extended));
        let protocol = protocol(self.is_lmtp(), extended, self.secured, self.user.is_some(), utf8);
        Trace { hello: name.to_owned(), address: self.peer.address, protocol }
    }

    /// Who it is, when a password said so.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    pub(super) fn is_lmtp(&self) -> bool {
        self.config.protocol == Protocol::Lmtp
    }

    /// Who hands over mail. A password says more than a network does.
    pub fn submitter(&self) -> Submitter<'_> {
        match &self.user {
            Some(user) => Submitter::User(user),
            None if self.peer.trusted => Submitter::Network(self.peer.address),
            None => Submitter::Untrusted,
        }
    }

    /// The driver has answered: on with what came meanwhile.
    fn go_on(&mut self, now: Time, out: &mut Vec<Output>) {
        self.state = State::Command;
        self.since = now;
        if self.stopping.is_some() {
            return self.abandon(out);
        }
        let held = std::mem::take(&mut self.held);
        self.work(now, &held, out);
        self.flush(out);
    }

    fn work(&mut self, now: Time, mut bytes: &[u8], out: &mut Vec<Output>) {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Over => return,
                State::Busy(_) => return self.held.extend_from_slice(bytes),
                State::Text => {
                    self.since = now;
                    let transaction =
                        self.transaction.as_mut().expect("a text belongs to a transaction");
                    let intake = transaction
                        .intake
                        .as_mut()
                        .expect("a transaction in DATA has begun its text");
                    transaction.came = now;
                    if intake.stuffed(&mut bytes) {
                        self.text_ended(out);
                    }
                }
                State::Chunk { left, refusal, .. } => {
                    self.since = now;
                    let here = bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                    let (piece, rest) = bytes.split_at(here);
                    (bytes, *left) = (rest, *left - here as u64);
                    let done = *left == 0;
                    if refusal.is_none()
                        && let Some(transaction) = &mut self.transaction
                    {
                        transaction.came = now;
                        transaction
                            .intake
                            .as_mut()
                            .expect("a transaction in DATA has begun its text")
                            .chunk(piece);
                    }
                    if done {
                        self.chunk_ended(out);
                    }
                }
                State::Command | State::Exchange(_) => {
                    let Some(line) = self.lines.read(&mut bytes) else { return };
                    self.since = now;
                    self.line(now, line, out);
                }
            }
            if let Some(reply) = self.stopping {
                self.stop_for(reply, out);
            }
        }
    }

    fn line(&mut self, now: Time, line: Result<String, BadLine>, out: &mut Vec<Output>) {
        let state = std::mem::replace(&mut self.state, State::Command);
        match (state, line) {
            // Its end may never come, so it is not read.
            (_, Err(BadLine::TooLong)) => {
                self.say("500 5.5.6 the line is too long");
                self.end("421 4.7.0 the session ends", out);
            }
            (_, Err(BadLine::NotText)) => {
                self.fault("500 5.5.2 a line is text in UTF-8 that ends with CRLF", out);
            }
            (State::Exchange(exchange), Ok(line)) => self.turn(exchange.go_on(&line), out),
            (_, Ok(line)) => self.command(now, Command::read(&line), out),
        }
    }

    /// The next turn of AUTH.
    pub(super) fn turn(&mut self, turn: Turn, out: &mut Vec<Output>) {
        match turn {
            Turn::Ask(exchange, challenge) => {
                self.state = State::Exchange(exchange);
                self.say(&format!("334 {challenge}"));
            }
            Turn::Verify(credentials) => {
                self.state = State::Busy(Busy::Verifying(credentials.user.clone()));
                self.act(Output::Verify(credentials), out);
            }
            Turn::Cancelled => self.fault("501 5.7.0 cancelled", out),
            Turn::Garbled => self.fault("501 5.5.2 no answer to that challenge", out),
            Turn::Unknown => self.fault("504 5.5.4 PLAIN and LOGIN are known", out),
        }
    }

    /// Queues a reply of one line.
    pub(super) fn say(&mut self, text: &str) {
        self.replies.extend_from_slice(text.as_bytes());
        self.replies.extend_from_slice(b"\r\n");
    }

    /// One reply for each recipient (LMTP, RFC 2033 section 4.2), or one in all (RFC 5321).
    pub(super) fn answer_text(&mut self, recipients: usize, reply: &str) {
        let times = if self.is_lmtp() { recipients } else { 1 };
        (0..times).for_each(|_| self.say(reply));
    }

    /// A reply to something that was wrong; too many of them end the session.
    pub(super) fn fault(&mut self, reply: &str, out: &mut Vec<Output>) {
        self.say(reply);
        self.errors += 1;
        let bounds = &self.config.bounds;
        if self.errors >= self.stress.count(bounds.errors, bounds.stressed.errors) {
            self.end("421 4.7.0 too many errors", out);
        }
    }

    /// The session is over.
    pub(super) fn end(&mut self, reply: &str, out: &mut Vec<Output>) {
        self.say(reply);
        self.state = State::Over;
        self.transaction = None;
        self.held = Vec::new();
        self.act(Output::Close, out);
    }

    /// Wants something done, after what is to be sent.
    pub(super) fn act(&mut self, output: Output, out: &mut Vec<Output>) {
        self.flush(out);
        out.push(output);
    }

    fn flush(&mut self, out: &mut Vec<Output>) {
        if !self.replies.is_empty() {
            out.push(Output::Send(std::mem::take(&mut self.replies)));
        }
    }
}
