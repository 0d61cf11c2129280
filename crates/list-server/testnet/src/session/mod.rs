//! The server's side of an SMTP session (RFC 5321) without I/O.

mod command;

use crate::fault::{Act, Memory, SessionView, Step};
use crate::host::Host;
use crate::text::Text;
use crate::tls::Tls;
use command::{Command, parse};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A line of a command; RFC 5321 section 4.5.3.1.4 wants 512 octets, extensions want more.
const MOST_LINE: usize = 4096;

/// One session.
#[expect(clippy::struct_excessive_bools, reason = "they become a part of the state")]
#[derive(Debug)]
pub(crate) struct Session {
    client: IpAddr,
    pub(crate) secured: bool,
    greeted: bool,
    keep_texts: bool,
    line: Vec<u8>,
    state: State,
    sender: Arc<str>,
    in_transaction: bool,
    recipients: Vec<String>,
    text: Option<Text>,
    /// Nothing is answered any more.
    deaf: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Commands,
    /// A line that is too long, up to its end.
    Overlong,
    /// The text after DATA.
    Data,
    /// A chunk: what is left of it, and whether it is the last.
    Chunk(u64, bool),
}

/// What comes of it, in order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// These bytes are sent after so long beyond the round trip; one at a time where that is said.
    Reply { bytes: Vec<u8>, thinking: Duration, drip: Option<Duration> },
    /// A message is taken over.
    Taken(Taken),
    /// TLS begins when all replies are sent.
    StartTls,
    /// The connection is closed when all replies are sent.
    Close,
    /// The connection is reset.
    Reset,
    /// A line without an end.
    Endless,
}

/// A message that was taken over.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) message: Arc<str>,
    pub(crate) sender: Arc<str>,
    pub(crate) recipients: Vec<String>,
    pub(crate) text: Option<Vec<u8>>,
}

/// Where a session takes place.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    pub(crate) host: &'a Host,
    /// The domain that the host takes mail for.
    pub(crate) domain: &'a str,
    pub(crate) memory: &'a mut Memory,
    pub(crate) now: Duration,
}

type Outputs = VecDeque<Output>;

impl Session {
    pub(crate) fn new(client: IpAddr, keep_texts: bool) -> Session {
        Session {
            client,
            secured: false,
            greeted: false,
            keep_texts,
            line: Vec::new(),
            state: State::Commands,
            sender: "".into(),
            in_transaction: false,
            recipients: Vec::new(),
            text: None,
            deaf: false,
        }
    }

    /// The connection was made.
    pub(crate) fn greet(&mut self, place: &mut Place<'_>, out: &mut Outputs) {
        let greeting = format!("220 mx.{} ESMTP", place.domain);
        self.reply(Step::Greeting, &greeting, place, out);
    }

    /// The handshake of TLS is done: the client begins anew (RFC 3207 section 4.2).
    pub(crate) fn secured(&mut self) {
        (self.secured, self.greeted) = (true, false);
        self.line.clear();
        self.reset();
    }

    /// Bytes came.
    pub(crate) fn read(&mut self, mut bytes: &[u8], place: &mut Place<'_>, out: &mut Outputs) {
        while !bytes.is_empty() && !self.deaf {
            match self.state {
                State::Commands => self.commands(&mut bytes, place, out),
                State::Overlong => {
                    let end = memchr::memchr(b'\n', bytes);
                    bytes = &bytes[end.map_or(bytes.len(), |end| end + 1)..];
                    if end.is_some() {
                        self.state = State::Commands;
                        say("500 5.5.2 Line too long", Duration::ZERO, out);
                    }
                }
                State::Data => self.data(&mut bytes, place, out),
                State::Chunk(left, last) => self.chunk(&mut bytes, left, last, place, out),
            }
        }
    }

    fn commands(&mut self, bytes: &mut &[u8], place: &mut Place<'_>, out: &mut Outputs) {
        let end = memchr::memchr(b'\n', bytes);
        let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
        *bytes = rest;
        self.line.extend_from_slice(piece);
        if self.line.len() > MOST_LINE {
            self.line.clear();
            self.state = State::Overlong;
            if end.is_some() {
                self.state = State::Commands;
                say("500 5.5.2 Line too long", Duration::ZERO, out);
            }
        } else if end.is_some() {
            let line = std::mem::take(&mut self.line);
            self.command(parse(line.trim_ascii_end()), place, out);
            self.line = line;
            self.line.clear();
        }
    }

    fn command(&mut self, command: Command<'_>, place: &mut Place<'_>, out: &mut Outputs) {
        let thinking = place.host.personality.thinking(&mut place.memory.stream);
        let open = !self.secured && place.host.tls == Tls::Required;
        match command {
            Command::Hello { extended } => {
                self.reset();
                self.greeted = true;
                let reply = if extended { self.extensions(place) } else { "250 hello".into() };
                self.reply(Step::Hello(extended), &reply, place, out);
            }
            Command::StartTls if self.secured || !place.host.tls.is_offered() => {
                say("503 5.5.1 Not now", thinking, out);
            }
            Command::StartTls if place.host.tls == Tls::Refused => {
                say("454 4.7.0 TLS not available", thinking, out);
            }
            Command::StartTls => {
                say("220 2.0.0 Go ahead", thinking, out);
                out.push_back(Output::StartTls);
            }
            Command::Mail { .. } if open => say("530 5.7.0 STARTTLS first", thinking, out),
            Command::Mail { .. } if !self.greeted || self.in_transaction => {
                say("503 5.5.1 Not now", thinking, out);
            }
            Command::Mail { size, .. } if place.host.size > 0 && size > place.host.size => {
                say("552 5.3.4 Too large", thinking, out);
            }
            Command::Mail { sender, .. } => {
                self.reset();
                self.sender = sender.into();
                self.in_transaction = self.reply(Step::Mail, "250 2.1.0 Ok", place, out);
            }
            Command::Rcpt { .. } if !self.in_transaction => {
                say("503 5.5.1 MAIL first", thinking, out);
            }
            Command::Rcpt { recipient } => self.rcpt(recipient, place, out),
            Command::Data if self.text.is_some() => say("503 5.5.1 Not now", thinking, out),
            Command::Data if self.recipients.is_empty() => {
                say("554 5.5.1 No valid recipients", thinking, out);
            }
            Command::Data => {
                if self.reply(Step::Data, "354 Go ahead", place, out) {
                    self.state = State::Data;
                    self.text = Some(Text::new(self.keep_texts));
                }
            }
            Command::Bdat { size, last } => self.state = State::Chunk(size, last),
            Command::Rset => {
                self.reset();
                say("250 2.0.0 Ok", thinking, out);
            }
            Command::Noop => say("250 2.0.0 Ok", thinking, out),
            Command::Quit => {
                say("221 2.0.0 Bye", thinking, out);
                self.close(out);
            }
            Command::Unknown => say("500 5.5.2 What?", thinking, out),
        }
        if let State::Chunk(0, last) = self.state {
            self.chunk(&mut &b""[..], 0, last, place, out);
        }
    }

    fn rcpt(&mut self, recipient: &str, place: &mut Place<'_>, out: &mut Outputs) {
        let domain = recipient.rsplit('@').next().unwrap_or_default();
        if !domain.eq_ignore_ascii_case(place.domain) {
            return say("550 5.7.1 Relaying denied", Duration::ZERO, out);
        }
        if self.reply(Step::Rcpt(recipient), "250 2.1.5 Ok", place, out) {
            self.recipients.push(recipient.to_owned());
        }
    }

    fn extensions(&self, place: &Place<'_>) -> String {
        let host = place.host;
        let size = format!("SIZE {}", host.size);
        let all = [
            (true, size.as_str()),
            (host.pipelining, "PIPELINING"),
            (host.chunking, "CHUNKING"),
            (host.eight_bit, "8BITMIME"),
            (host.utf8, "SMTPUTF8"),
            (!self.secured && host.tls.is_offered(), "STARTTLS"),
        ];
        let mut reply = format!("250-mx.{}\r\n", place.domain);
        for (_, name) in all.iter().filter(|(offered, _)| *offered) {
            reply += &format!("250-{name}\r\n");
        }
        reply + "250 ENHANCEDSTATUSCODES"
    }

    fn data(&mut self, bytes: &mut &[u8], place: &mut Place<'_>, out: &mut Outputs) {
        let text = self.text.as_mut().expect("its text has begun");
        let ended = text.until_dot(bytes);
        let octets = text.octets;
        if ended {
            self.state = State::Commands;
            self.whole_text(true, place, out);
        } else {
            self.act(Step::Text(octets), "", place, out);
        }
    }

    fn chunk(
        &mut self,
        bytes: &mut &[u8],
        left: u64,
        last: bool,
        place: &mut Place<'_>,
        out: &mut Outputs,
    ) {
        if self.recipients.is_empty() {
            // It has to be read all the same (RFC 3030 section 2).
            let skipped = left.min(bytes.len() as u64);
            *bytes = &bytes[skipped as usize..];
            self.state = State::Chunk(left - skipped, last);
            if left == skipped {
                self.state = State::Commands;
                say("554 5.5.1 No valid recipients", Duration::ZERO, out);
            }
            return;
        }
        if self.text.is_none() {
            self.text = Some(Text::new(self.keep_texts));
            if self.act(Step::Data, "", place, out).is_some() {
                return;
            }
        }
        let text = self.text.as_mut().expect("its text has begun");
        let left = left - text.chunk(bytes, left);
        let octets = text.octets;
        self.state = State::Chunk(left, last);
        if left > 0 {
            self.act(Step::Text(octets), "", place, out);
        } else {
            self.state = State::Commands;
            if last {
                self.whole_text(false, place, out);
            } else {
                say("250 2.0.0 Ok", Duration::ZERO, out);
            }
        }
    }

    fn whole_text(&mut self, dotted: bool, place: &mut Place<'_>, out: &mut Outputs) {
        let text = self.text.take().expect("its text has begun");
        let mark = out.len();
        let taken = self.reply(Step::Dot, "250 2.0.0 Taken over", place, out);
        if taken {
            let message = text.message_id();
            let sender = self.sender.clone();
            let recipients = std::mem::take(&mut self.recipients);
            let text = text.whole(dotted);
            out.insert(mark, Output::Taken(Taken { message, sender, recipients, text }));
        }
        self.reset();
    }

    fn reset(&mut self) {
        self.in_transaction = false;
        self.recipients.clear();
        self.text = None;
    }

    fn close(&mut self, out: &mut Outputs) {
        self.deaf = true;
        out.push_back(Output::Close);
    }

    fn break_off(&mut self, out: &mut Outputs) {
        self.deaf = true;
        out.push_back(Output::Reset);
    }

    /// Does what the personality wants at this step, or else says `usual`. Whether what the client
    /// wants was done.
    fn reply(
        &mut self,
        step: Step<'_>,
        usual: &str,
        place: &mut Place<'_>,
        out: &mut Outputs,
    ) -> bool {
        self.act(step, usual, place, out).unwrap_or(true)
    }

    /// Whether what the client wants was done; nothing when all went as usual.
    fn act(
        &mut self,
        step: Step<'_>,
        usual: &str,
        place: &mut Place<'_>,
        out: &mut Outputs,
    ) -> Option<bool> {
        let personality = &place.host.personality;
        let thinking = personality.thinking(&mut place.memory.stream);
        let mut view = SessionView {
            now: place.now,
            client: self.client,
            sender: &self.sender,
            recipients: self.recipients.len(),
            memory: place.memory,
        };
        let act = personality.act(step, &mut view);
        let say = |text: &str, drip, out: &mut Outputs| {
            if !text.is_empty() {
                let bytes = format!("{text}\r\n").into_bytes();
                out.push_back(Output::Reply { bytes, thinking, drip });
            }
        };
        match act {
            Act::Usual => {
                say(usual, None, out);
                return None;
            }
            Act::Trickle(every) => {
                say(usual, Some(every), out);
                return None;
            }
            Act::Say(text) => {
                say(&text, None, out);
                return Some(text.starts_with('2'));
            }
            Act::UsualThenClose(text) => {
                say(usual, None, out);
                say(&text, None, out);
                self.close(out);
                return Some(true);
            }
            Act::SayThenClose(text) => {
                say(&text, None, out);
                self.close(out);
            }
            Act::Hang => self.deaf = true,
            Act::Reset => self.break_off(out),
            Act::TakeThenReset => {
                self.break_off(out);
                return Some(true);
            }
            Act::Raw(bytes) => out.push_back(Output::Reply { bytes, thinking, drip: None }),
            Act::Endless => {
                self.deaf = true;
                out.push_back(Output::Endless);
            }
        }
        Some(false)
    }
}

fn say(text: &str, thinking: Duration, out: &mut Outputs) {
    let bytes = format!("{text}\r\n").into_bytes();
    out.push_back(Output::Reply { bytes, thinking, drip: None });
}
