//! The server's side of a session, line by line.

mod chunks;
mod dialogues;
mod limits;
mod relaying;

use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};
use sojourn_smtp::server::{
    Arrival, AuthUse, Output, Peer, Protocol, RecipientDecision, RecipientPolicy, Session,
    SessionConfig, Submitter, Verdict,
};
use sojourn_smtp::{Address, Enhanced, Reply};
use std::sync::Arc;

/// A server with the mailbox `bounces@here.example`, beside a domain that gets no mail.
struct Here;

impl RecipientPolicy for Here {
    fn receives(
        &self,
        submitter: Submitter<'_>,
        _: Option<&Address>,
        recipient: &Address,
    ) -> RecipientDecision {
        match recipient.as_str() {
            "users@there.example" => RecipientDecision::Refused(match submitter {
                Submitter::User(user) => reply(550, &format!("not as {user}")),
                _ => reply(550, "no user"),
            }),
            "bounces@here.example" => RecipientDecision::Local,
            "off@there.example" => RecipientDecision::Refused(reply(550, "suspended")),
            _ if recipient.domain() == "here.example" => {
                RecipientDecision::Refused(reply(550, "unknown"))
            }
            _ => RecipientDecision::Relay,
        }
    }

    fn postmaster(&self) -> Option<Address> {
        Some("bounces@here.example".parse().unwrap())
    }
}

fn reply(code: u16, text: &str) -> Reply {
    let enhanced = Some(Enhanced((code / 100) as u8, 1, 1));
    Reply { code, enhanced, lines: vec![text.into()] }
}

fn config() -> SessionConfig {
    SessionConfig {
        name: "here.example".into(),
        protocol: Protocol::Smtp,
        auth: AuthUse::Tls,
        submission: false,
        start_tls: true,
        repair: false,
        bounds: defaults(),
        recipient_policy: Arc::new(Here),
    }
}

fn lmtp() -> SessionConfig {
    SessionConfig { protocol: Protocol::Lmtp, ..config() }
}

/// A session with its driver, which stores at once and knows the password "right".
struct Talk {
    session: Session,
    now: Time,
    arrivals: Vec<Arrival>,
    said: String,
    closed: bool,
    /// Whether it answers for what it is given, or is slow.
    prompt: bool,
}

impl Talk {
    fn new(config: SessionConfig, trusted: bool) -> Talk {
        let peer = Peer { address: [192, 0, 2, 7].into(), trusted, secured: false };
        Talk::with(config, peer)
    }

    fn with(config: SessionConfig, peer: Peer) -> Talk {
        let (now, mut out) = (Time::ZERO, Vec::new());
        let session = Session::new(Arc::new(config), peer, now, &mut out);
        let (arrivals, said) = (Vec::new(), String::new());
        let mut talk = Talk { session, now, arrivals, said, closed: false, prompt: true };
        talk.obey(out);
        talk
    }

    /// A session that has said EHLO or LHLO.
    fn greeted(config: SessionConfig, trusted: bool) -> Talk {
        let hello = if config.protocol == Protocol::Lmtp { "LHLO" } else { "EHLO" };
        let mut talk = Talk::new(config, trusted);
        talk.say(&format!("{hello} client.example"));
        talk
    }

    fn hear(&mut self, bytes: &[u8]) {
        let mut out = Vec::new();
        self.session.received(self.now, bytes, &mut out);
        self.obey(out);
    }

    /// Says a line; what is answered.
    fn say(&mut self, line: &str) -> String {
        self.send(&format!("{line}\r\n"))
    }

    fn send(&mut self, text: &str) -> String {
        self.said.clear();
        self.hear(text.as_bytes());
        self.said.trim_end_matches("\r\n").replace("\r\n", "|")
    }

    fn obey(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            assert!(!self.closed, "nothing follows the end");
            let mut out = Vec::new();
            match output {
                Output::Send(bytes) => {
                    assert!(bytes.ends_with(b"\r\n"));
                    self.said += std::str::from_utf8(&bytes).unwrap();
                }
                Output::StartTls => self.session.secured(self.now, &mut out),
                Output::Verify(it) => {
                    let right = it.password.0 == "right";
                    let verdict = if right { Verdict::Right } else { Verdict::Wrong };
                    self.session.verified(self.now, verdict, &mut out);
                }
                Output::Deliver(arrival) => {
                    self.arrivals.push(arrival);
                    if self.prompt {
                        self.session.taken(self.now, &reply(250, "taken"), &mut out);
                    }
                }
                Output::Close => self.closed = true,
            }
            self.obey(out);
        }
    }

    /// So much time passes.
    fn wait(&mut self, span: Span) -> String {
        self.said.clear();
        self.now += span;
        let mut out = Vec::new();
        self.session.late(self.now, &mut out);
        self.obey(out);
        self.said.trim_end().into()
    }
}
