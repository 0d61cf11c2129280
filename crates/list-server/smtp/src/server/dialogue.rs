//! What each command does.

use super::auth;
use super::commands::{Argument, Command, Path, argument, bdat, is_name, mailbox};
use super::limits::AuthUse;
use super::recipient_policy::RecipientDecision;
use super::session::Session;
use super::state::{Busy, Hello, Output, State};
use super::transaction::{Arrival, Intake, Transaction};
use crate::address::Address;
use crate::header::fields;
use sojourn_core::Time;

/// Recipients of one message of an unauthenticated client: what a server has to take (RFC 5321 section
/// 4.5.3.1.8).
const STRANGERS: usize = 100;
/// Octets of a text in which `Received:` lines are counted: each server adds its own above all.
const TOP: usize = 1 << 20;

impl Session {
    pub(super) fn command(&mut self, now: Time, command: Command<'_>, out: &mut Vec<Output>) {
        if command.is_detour() {
            self.detours += 1;
            let bounds = &self.config.bounds;
            if self.detours > self.stress.count(bounds.detours, bounds.stressed.detours) {
                return self.end("421 4.7.0 this leads nowhere", out);
            }
        }
        match command {
            Command::Helo(name) if !self.is_lmtp() => self.hello(name, false, out),
            Command::Ehlo(name) if !self.is_lmtp() => self.hello(name, true, out),
            Command::Lhlo(name) if self.is_lmtp() => self.hello(name, true, out),
            Command::Mail(rest) => self.mail(rest, out),
            Command::Rcpt(rest) => self.rcpt(rest, out),
            Command::Data => self.data(now, out),
            Command::Bdat(rest) => self.bdat(now, rest, out),
            Command::Rset => {
                self.transaction = None;
                self.say("250 2.0.0 forgotten");
            }
            Command::Noop => self.say("250 2.0.0 here"),
            Command::Quit => self.end("221 2.0.0 bye", out),
            Command::Vrfy => self.say("252 2.0.0 RCPT will tell"),
            Command::Help => self.say("214 2.0.0 see RFC 5321"),
            Command::StartTls => self.start_tls(out),
            Command::Auth(rest) => self.auth(rest, out),
            Command::Foreign => self.end("421 4.7.0 this is not HTTP", out),
            Command::Unwanted => self.fault("501 5.5.4 the command stands alone", out),
            Command::Helo(_) | Command::Ehlo(_) | Command::Lhlo(_) | Command::Unknown => {
                self.fault("500 5.5.1 the command is not known", out);
            }
        }
    }

    fn hello(&mut self, name: &str, extended: bool, out: &mut Vec<Output>) {
        if !is_name(name) {
            return self.fault("501 5.5.4 a name is expected", out);
        }
        self.transaction = None;
        self.hello = Some(Hello { name: name.to_owned(), extended });
        let own = self.config.name.clone();
        if !extended {
            return self.say(&format!("250 {own}"));
        }
        let size = self.config.bounds.message.0;
        let mut lines = vec![own, "PIPELINING".into(), format!("SIZE {size}")];
        lines.extend(["8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"].map(String::from));
        if self.config.start_tls && !self.secured {
            lines.push("STARTTLS".into());
        }
        if self.may_log_in() {
            lines.push("AUTH PLAIN LOGIN".into());
        }
        for line in lines {
            self.say(&format!("250-{line}"));
        }
        self.say("250 CHUNKING");
    }

    fn may_log_in(&self) -> bool {
        self.user.is_none() && self.config.auth.allows(self.peer.address, self.secured)
    }

    fn start_tls(&mut self, out: &mut Vec<Output>) {
        if !self.config.start_tls || self.secured {
            return self.fault("502 5.5.1 STARTTLS is not offered", out);
        }
        self.say("220 2.0.0 go on");
        self.state = State::Busy(Busy::Handshake);
        self.act(Output::StartTls, out);
    }

    fn auth(&mut self, rest: &str, out: &mut Vec<Output>) {
        if self.config.auth == AuthUse::Never {
            self.fault("502 5.5.1 AUTH is not offered", out);
        } else if self.user.is_some() || self.transaction.is_some() || self.hello.is_none() {
            self.fault("503 5.5.1 once, after EHLO and before MAIL", out);
        } else if !self.may_log_in() {
            self.fault("538 5.7.11 a password needs TLS", out);
        } else {
            self.turn(auth::begin(rest), out);
        }
    }

    fn mail(&mut self, rest: &str, out: &mut Vec<Output>) {
        if self.hello.is_none() {
            return self.fault("503 5.5.1 say who you are first", out);
        }
        if self.transaction.is_some() {
            return self.fault("503 5.5.1 a message is under way", out);
        }
        match self.read_mail(rest) {
            Ok(transaction) => {
                self.transaction = Some(transaction);
                self.say("250 2.1.0 ok");
            }
            Err(fault) => self.fault(fault, out),
        }
    }

    fn read_mail(&self, rest: &str) -> Result<Transaction, &'static str> {
        const SENDER: &str = "501 5.1.7 that is no address";
        let Argument { path, parameters } = argument(rest, "FROM")?;
        let sender = match path {
            Path::Null => None,
            Path::Postmaster => return Err(SENDER),
            Path::Mailbox(text) => Some(mailbox(text, SENDER)?),
        };
        let mut utf8 = false;
        for (keyword, value) in parameters {
            match (keyword.as_str(), value) {
                ("SIZE", Some(size)) if size.bytes().all(|b| b.is_ascii_digit()) => {
                    if size.parse::<u64>().unwrap_or(u64::MAX) > self.config.bounds.message.0 {
                        return Err("552 5.3.4 the message is too large");
                    }
                }
                ("BODY", Some(kind)) if is_one_of(kind, &["7BIT", "8BITMIME"]) => {}
                ("SMTPUTF8", None) => utf8 = true,
                // Who wrote the message first (RFC 4954 section 5): nothing here uses it.
                ("AUTH", Some(_)) if self.config.auth != AuthUse::Never => {}
                ("SIZE" | "BODY" | "SMTPUTF8", _) => {
                    return Err("501 5.5.4 the parameter has another value");
                }
                _ => return Err("555 5.5.4 a parameter is not known"),
            }
        }
        if !utf8 && sender.as_ref().is_some_and(Address::is_international) {
            return Err("553 5.6.7 the address needs SMTPUTF8");
        }
        Ok(Transaction::new(sender, utf8))
    }

    fn rcpt(&mut self, rest: &str, out: &mut Vec<Output>) {
        let Some(transaction) = self.transaction.as_ref().filter(|it| it.intake.is_none()) else {
            return self.fault("503 5.5.1 after MAIL, before the text", out);
        };
        let recipient = match self.read_rcpt(rest, transaction.utf8) {
            Ok(recipient) => recipient,
            Err(fault) => return self.fault(fault, out),
        };
        let submitter = self.submitter();
        let known = submitter.is_known();
        let most = if known { self.config.bounds.recipients.get() as usize } else { STRANGERS };
        let too_many = match transaction.full {
            true => Some("452 4.3.1 too many messages at once, try again later"),
            false if transaction.recipients.len() < most => None,
            false => Some("452 4.5.3 too many recipients in one message"),
        };
        if let Some(reply) = too_many {
            return if known { self.say(reply) } else { self.fault(reply, out) };
        }
        match self.config.recipient_policy.receives(
            submitter,
            transaction.sender.as_ref(),
            &recipient,
        ) {
            RecipientDecision::Local => {}
            RecipientDecision::Relay if known => {}
            RecipientDecision::Refused(reply) if known => return self.say(&reply.to_string()),
            RecipientDecision::Relay | RecipientDecision::Refused(_) if self.may_log_in() => {
                return self.fault("530 5.7.0 a password is needed", out);
            }
            RecipientDecision::Relay | RecipientDecision::Refused(_) => {
                return self.fault("554 5.7.1 mail is not sent on for you", out);
            }
        }
        self.transaction
            .as_mut()
            .expect("a command of a transaction comes within one")
            .add(recipient);
        self.say("250 2.1.5 ok");
    }

    fn read_rcpt(&self, rest: &str, utf8: bool) -> Result<Address, &'static str> {
        const RECIPIENT: &str = "501 5.1.3 that is no address";
        let Argument { path, parameters } = argument(rest, "TO")?;
        if !parameters.is_empty() {
            return Err("555 5.5.4 a parameter is not known");
        }
        let recipient = match path {
            Path::Null => return Err(RECIPIENT),
            Path::Postmaster => self
                .config
                .recipient_policy
                .postmaster()
                .ok_or("550 5.1.1 that address has no reader here")?,
            Path::Mailbox(text) => mailbox(text, RECIPIENT)?,
        };
        match recipient.is_international() && !utf8 {
            true => Err("553 5.6.7 the address needs SMTPUTF8"),
            false => Ok(recipient),
        }
    }

    /// Why no text can come now.
    fn no_text(&self, chunks: bool) -> Option<&'static str> {
        match &self.transaction {
            None => Some("503 5.5.1 MAIL comes first"),
            Some(it) if it.recipients.is_empty() => Some("503 5.5.1 there is no recipient"),
            Some(it) if it.intake.is_some() && !chunks => Some("503 5.5.1 BDAT has begun"),
            Some(_) => None,
        }
    }

    fn begin_text(&mut self, now: Time) {
        let most = self.config.bounds.message.0;
        let repair = self.config.repair && self.submitter().is_known();
        let transaction =
            self.transaction.as_mut().expect("a command of a transaction comes within one");
        if transaction.intake.is_none() {
            transaction.intake = Some(Intake::new(most, repair));
            (transaction.began, transaction.came) = (now, now);
        }
    }

    fn data(&mut self, now: Time, out: &mut Vec<Output>) {
        if let Some(refusal) = self.no_text(false) {
            return self.fault(refusal, out);
        }
        self.begin_text(now);
        self.state = State::Text;
        self.say("354 up to a line with a dot");
    }

    fn bdat(&mut self, now: Time, rest: &str, out: &mut Vec<Output>) {
        let Some((left, last)) = bdat(rest) else {
            // Where the next command begins is not known.
            self.say("501 5.5.4 a size is expected");
            return self.end("421 4.7.0 lost count", out);
        };
        let refusal = self.no_text(true);
        if refusal.is_none() {
            self.begin_text(now);
        }
        self.state = State::Chunk { left, last, refusal };
        if left == 0 {
            self.chunk_ended(out);
        }
    }

    pub(super) fn chunk_ended(&mut self, out: &mut Vec<Output>) {
        let state = std::mem::replace(&mut self.state, State::Command);
        let State::Chunk { last, refusal, .. } = state else { panic!("no chunk was coming") };
        if let Some(refusal) = refusal {
            return self.fault(refusal, out);
        }
        let intake = self.transaction.as_ref().and_then(|it| it.intake.as_ref());
        match intake.and_then(Intake::lost) {
            // The chunks that follow are refused: the transaction is over (RFC 3030 section 2).
            Some(lost) if !last => {
                self.transaction = None;
                self.say(lost);
            }
            _ if last => self.text_ended(out),
            _ => self.say("250 2.0.0 ok"),
        }
    }

    /// The text is there whole: it is taken over, or refused.
    pub(super) fn text_ended(&mut self, out: &mut Vec<Output>) {
        self.state = State::Command;
        let transaction = self.transaction.take().expect("a text belongs to a transaction");
        let Transaction { sender, recipients, utf8, intake, .. } = transaction;
        self.detours = 0;
        let taken =
            intake.expect("a transaction in DATA has begun its text").finish().and_then(|text| {
                let top = &text[..text.len().min(TOP)];
                match fields(top, "Received") > self.config.bounds.hops.get() as usize {
                    true => Err("554 5.4.6 the message goes round in circles"),
                    false => Ok(text),
                }
            });
        match taken {
            Ok(text) => {
                self.state = State::Busy(Busy::Taking(recipients.len()));
                self.act(Output::Deliver(Arrival { sender, recipients, text, utf8 }), out);
            }
            Err(refusal) => self.answer_text(recipients.len(), refusal),
        }
    }
}

fn is_one_of(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| text.eq_ignore_ascii_case(name))
}
