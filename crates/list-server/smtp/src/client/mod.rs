//! The client's side of one session, without I/O: what was received goes in, what to send comes out.

mod command;
mod envelope;
mod extensions;
mod step;

pub use envelope::{Asked, Envelope, Verdict};
pub use extensions::Extensions;
pub use step::{Framing, Loss, Output, Step, Tls};

use crate::reply::{ReplyReader, Said};
use std::collections::VecDeque;
use std::sync::Arc;

/// The client's side of one session.
#[expect(clippy::struct_excessive_bools, reason = "they become an enum of states")]
#[derive(Debug)]
pub struct Client {
    hello: Arc<str>,
    tls: Tls,
    secured: bool,
    /// Whether STARTTLS was sent, and the server has neither declined nor spoken under TLS.
    turning: bool,
    extensions: Extensions,
    reader: ReplyReader,
    /// The replies that are awaited, in order.
    awaited: VecDeque<Awaited>,
    /// Those under way, in the order in which they are answered.
    transactions: VecDeque<Transaction>,
    /// How many of their messages, the last ones, are not wholly written.
    writing: usize,
    ended_early: bool,
    over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Greeting,
    Ehlo,
    Helo,
    StartTls,
    /// No reply but the end of the handshake.
    Handshake,
    Mail,
    Rcpt(usize),
    Data,
    Dot,
    Rset,
    Quit,
}

/// MAIL, a few RCPT and DATA.
const AWAITED: usize = 8;

#[derive(Debug)]
struct Transaction {
    envelope: Envelope,
    /// None: not refused so far.
    verdicts: Vec<Option<Verdict>>,
    accepted: usize,
    mail_accepted: bool,
    /// Whether it was begun before the one before it was answered.
    early: bool,
    /// Whether its message followed its commands at once.
    whole: bool,
}

impl Client {
    /// A session that will say `hello` for its own name, a domain or address literal.
    pub fn new(hello: Arc<str>, tls: Tls) -> Client {
        let mut awaited = VecDeque::with_capacity(AWAITED);
        awaited.push_back(Awaited::Greeting);
        Client {
            hello,
            tls,
            secured: false,
            turning: false,
            extensions: Extensions::default(),
            reader: ReplyReader::default(),
            awaited,
            transactions: VecDeque::new(),
            writing: 0,
            ended_early: false,
            over: false,
        }
    }

    /// What the session waits for.
    pub fn step(&self) -> Step {
        match self.awaited.front() {
            _ if self.is_writing_first() => Step::Block,
            None => Step::Idle,
            // The message is out with its commands: it is taken unless the server says otherwise.
            _ if self.transactions.front().is_some_and(|it| it.whole) => Step::Dot,
            Some(Awaited::Greeting) => Step::Greeting,
            Some(Awaited::Ehlo | Awaited::Helo | Awaited::StartTls | Awaited::Handshake) => {
                Step::Hello
            }
            Some(Awaited::Mail) => Step::Mail,
            Some(Awaited::Rcpt(_)) => Step::Rcpt,
            Some(Awaited::Data) => Step::Data,
            Some(Awaited::Dot) => Step::Dot,
            Some(Awaited::Rset) => Step::Rset,
            Some(Awaited::Quit) => Step::Quit,
        }
    }

    /// What the server can do, as it said last.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Whether the handshake of TLS is under way.
    pub fn is_securing(&self) -> bool {
        self.awaited.front() == Some(&Awaited::Handshake)
    }

    /// Whether the session is turning to TLS: a session that ends now may do without.
    pub fn is_turning_to_tls(&self) -> bool {
        self.turning
    }

    /// Whether a message is being sent, or was sent and is not answered.
    pub fn is_sending(&self) -> bool {
        self.writing > 0 || self.awaited.contains(&Awaited::Dot)
    }

    /// Whether a transaction may begin before those under way are answered, at most `window` of
    /// which go out whole. Behind one that does not, commands may follow when its message is
    /// written.
    pub fn can_begin_early(&self, window: usize) -> bool {
        match self.transactions.back() {
            None => false,
            Some(last) if last.whole => self.transactions.len() < window,
            Some(_) => {
                let sent = self.step() == Step::Dot && self.awaited.len() == 1;
                sent && self.extensions.pipelining
            }
        }
    }

    /// Begins a transaction, which goes out `whole` where the server takes that. The session has to
    /// be [`Step::Idle`] after it was ready, or [ready for one more](Client::can_begin_early).
    pub fn begin(&mut self, envelope: Envelope, whole: bool, out: &mut Vec<Output>) {
        let early = self.can_begin_early(usize::MAX);
        let whole = whole && self.extensions.pipelining && self.extensions.chunking;
        assert!((early || self.step() == Step::Idle) && !envelope.recipients.is_empty());
        let mut bytes = command::mail(&envelope, &self.extensions);
        if early && self.extensions.chunking {
            // A BDAT that fails leaves the server unsettled (RFC 3030 section 2).
            bytes.insert_str(0, command::RSET);
            self.awaited.push_back(Awaited::Rset);
        }
        self.awaited.push_back(Awaited::Mail);
        if self.extensions.pipelining {
            let lengths = envelope.recipients.iter().map(command::rcpt_length);
            bytes.reserve(lengths.sum::<usize>() + command::DATA.len());
            for (i, recipient) in envelope.recipients.iter().enumerate() {
                command::rcpt(recipient, &mut bytes);
                self.awaited.push_back(Awaited::Rcpt(i));
            }
            if !self.extensions.chunking {
                bytes += command::DATA;
                self.awaited.push_back(Awaited::Data);
            }
        }
        let verdicts = vec![None; envelope.recipients.len()];
        self.transactions.push_back(Transaction {
            envelope,
            verdicts,
            accepted: 0,
            mail_accepted: false,
            early,
            whole,
        });
        out.push(Output::Send(bytes.into_bytes()));
        if whole {
            self.write(Framing::Chunk, out);
        }
    }

    /// Ends the session; only when it is [`Step::Idle`].
    pub fn quit(&mut self, out: &mut Vec<Output>) {
        assert!(self.step() == Step::Idle);
        self.send("QUIT\r\n".into(), Awaited::Quit, out);
    }

    /// A message is wholly written, the first of those that were not.
    pub fn written(&mut self) {
        self.writing = self.writing.saturating_sub(1);
    }

    /// Whether the message of the first transaction is being written.
    fn is_writing_first(&self) -> bool {
        self.writing > 0 && self.writing == self.transactions.len()
    }

    /// The handshake is done. What was said before is forgotten, half a reply too, and the server's
    /// extensions are asked for anew (RFC 3207 section 4.2).
    pub fn secured(&mut self, out: &mut Vec<Output>) {
        assert!(self.is_securing());
        self.awaited.clear();
        self.reader = ReplyReader::default();
        self.secured = true;
        self.extensions = Extensions::default();
        self.send(format!("EHLO {}\r\n", self.hello), Awaited::Ehlo, out);
    }

    /// Bytes have come.
    pub fn received(&mut self, mut bytes: &[u8], out: &mut Vec<Output>) {
        let mut reader = std::mem::take(&mut self.reader);
        while !self.over && !bytes.is_empty() {
            match reader.read(&mut bytes) {
                None => break,
                Some(Ok(said)) => self.answered(said, !bytes.is_empty(), out),
                Some(Err(bad)) => self.lose(Loss::Garbage(bad), out),
            }
        }
        self.reader = reader;
    }

    /// The connection is gone: the verdicts of the first transaction that was under way. Of those
    /// that were begun behind it nothing was said.
    pub fn closed(&mut self) -> Vec<Verdict> {
        self.over = true;
        let first = self.transactions.pop_front();
        self.transactions.clear();
        self.ended_early = first.as_ref().is_some_and(|it| it.early && !it.mail_accepted);
        first.map_or_else(Vec::new, |transaction| {
            let known = |verdict: Option<Verdict>| verdict.unwrap_or(Verdict::Unsettled);
            transaction.verdicts.into_iter().map(known).collect()
        })
    }

    /// Whether the session ended after a message was answered, and before anything was heard of the
    /// transaction that had begun by then.
    pub fn is_early_unheard(&self) -> bool {
        self.ended_early
    }

    fn answered(&mut self, said: Said<'_>, more: bool, out: &mut Vec<Output>) {
        let Some(awaited) = self.awaited.pop_front() else {
            let closing = said.code == 421;
            let loss = if closing { Loss::Unavailable(said.reply()) } else { Loss::OutOfTurn };
            return self.lose(loss, out);
        };
        if said.code == 421 && awaited != Awaited::Quit {
            return self.lose(Loss::Unavailable(said.reply()), out);
        }
        match awaited {
            Awaited::Greeting if said.is_positive() => {
                self.send(format!("EHLO {}\r\n", self.hello), Awaited::Ehlo, out);
            }
            Awaited::Greeting => self.lose(Loss::Unavailable(said.reply()), out),
            Awaited::Ehlo if said.is_positive() => {
                self.extensions = Extensions::read(said.texts());
                self.greeted(out);
            }
            // RFC 5321 section 4.1.4: the older command is tried where EHLO is not understood.
            Awaited::Ehlo if said.is_permanent() => {
                self.send(format!("HELO {}\r\n", self.hello), Awaited::Helo, out);
            }
            Awaited::Helo if said.is_positive() => self.greeted(out),
            Awaited::Ehlo | Awaited::Helo => self.lose(Loss::NoHello(said.reply()), out),
            // Plain text after this reply could pass for the server's under TLS.
            Awaited::StartTls if said.is_positive() && more => self.lose(Loss::OutOfTurn, out),
            Awaited::StartTls if said.is_positive() => {
                self.awaited.push_back(Awaited::Handshake);
                out.push(Output::StartTls);
            }
            Awaited::StartTls if self.tls == Tls::Required => self.lose(Loss::NoTls, out),
            Awaited::StartTls => {
                self.turning = false;
                out.push(Output::Ready);
            }
            Awaited::Handshake => self.lose(Loss::OutOfTurn, out),
            Awaited::Mail => self.mail_answered(said, out),
            Awaited::Rcpt(i) => self.rcpt_answered(i, said, out),
            Awaited::Data => self.data_answered(said, out),
            Awaited::Dot => self.dot_answered(said, out),
            Awaited::Rset if said.is_positive() && !self.transactions.is_empty() => {}
            Awaited::Rset if said.is_positive() => out.push(Output::Ready),
            Awaited::Rset => self.lose(Loss::Unavailable(said.reply()), out),
            Awaited::Quit => {
                self.over = true;
                out.push(Output::Close);
            }
        }
    }

    fn greeted(&mut self, out: &mut Vec<Output>) {
        self.turning = !self.secured && self.tls != Tls::Never && self.extensions.start_tls;
        if self.secured || self.tls == Tls::Never {
            out.push(Output::Ready);
        } else if self.turning {
            self.send("STARTTLS\r\n".into(), Awaited::StartTls, out);
        } else if self.tls == Tls::Required {
            self.lose(Loss::NoTls, out);
        } else {
            out.push(Output::Ready);
        }
    }

    fn mail_answered(&mut self, said: Said<'_>, out: &mut Vec<Output>) {
        let transaction = self.transactions.front_mut().expect("MAIL was sent in one");
        transaction.mail_accepted = said.is_positive();
        if !transaction.mail_accepted {
            // A server that wants transactions apart may mean only that it comes too soon.
            let early = transaction.early;
            let verdict = || Verdict::negative(Arc::new(said.reply()), Asked::Mail);
            let verdict = if early { Verdict::Unsettled } else { verdict() };
            transaction.verdicts.fill(Some(verdict));
            if self.awaited.is_empty() {
                self.settle(false, out);
            }
        } else if self.awaited.is_empty() {
            let command = command::rcpt_alone(&transaction.envelope.recipients[0]);
            self.send(command, Awaited::Rcpt(0), out);
        }
    }

    fn rcpt_answered(&mut self, i: usize, said: Said<'_>, out: &mut Vec<Output>) {
        let transaction = self.transactions.front_mut().expect("RCPT was sent in one");
        if said.is_positive() && transaction.mail_accepted {
            transaction.accepted += 1;
        } else if transaction.mail_accepted {
            let reply = said.reply();
            let full = reply.is_too_many_recipients() && transaction.accepted > 0;
            let refused = || Verdict::negative(Arc::new(reply), Asked::Rcpt);
            let verdict = if full { Verdict::Again } else { refused() };
            transaction.verdicts[i] = Some(verdict);
        }
        if !self.awaited.is_empty() {
            return;
        }
        if let Some(next) = transaction.envelope.recipients.get(i + 1) {
            let command = command::rcpt_alone(next);
            self.send(command, Awaited::Rcpt(i + 1), out);
        } else if transaction.accepted == 0 {
            let reset = transaction.mail_accepted;
            self.settle(reset, out);
        } else if self.extensions.chunking {
            self.write(Framing::Chunk, out);
        } else {
            self.send(command::DATA.into(), Awaited::Data, out);
        }
    }

    fn data_answered(&mut self, said: Said<'_>, out: &mut Vec<Output>) {
        let transaction = self.transactions.front_mut().expect("DATA was sent in one");
        let reset = transaction.mail_accepted;
        match (said.code, transaction.accepted) {
            // A pipelined DATA that is accepted though no recipient was: nothing but the dot
            // (RFC 2920 section 3.1).
            (354, 0) => self.send(".\r\n".into(), Awaited::Dot, out),
            (354, _) => self.write(Framing::Dots, out),
            _ if said.is_positive() => self.lose(Loss::OutOfTurn, out),
            _ => {
                let reply = Arc::new(said.reply());
                transaction.decide_accepted(&Verdict::negative(reply, Asked::Data));
                self.settle(reset, out);
            }
        }
    }

    fn dot_answered(&mut self, said: Said<'_>, out: &mut Vec<Output>) {
        let early = self.is_writing_first();
        let positive = said.is_positive();
        if early && positive {
            return self.lose(Loss::OutOfTurn, out);
        }
        let transaction = self.transactions.front_mut().expect("the message was sent in one");
        let reply = Arc::new(said.reply());
        let verdict = match positive {
            true => Verdict::Delivered(reply),
            false => Verdict::negative(reply, Asked::Text),
        };
        transaction.decide_accepted(&verdict);
        if early {
            // It answers in mid-message: what follows would be taken for commands.
            self.lose(Loss::Unavailable(said.reply()), out);
        } else {
            // A BDAT that failed leaves the server unsettled (RFC 3030 section 2).
            self.settle(!positive && self.extensions.chunking, out);
        }
    }

    /// Sends the message after what has been said; the reply to its end is awaited.
    fn write(&mut self, framing: Framing, out: &mut Vec<Output>) {
        self.writing += 1;
        self.awaited.push_back(Awaited::Dot);
        out.push(Output::Body(framing));
    }

    fn settle(&mut self, reset: bool, out: &mut Vec<Output>) {
        let transaction = self.transactions.pop_front().expect("a reply settles a transaction");
        let verdicts = transaction.verdicts.into_iter();
        out.push(Output::Settled(verdicts.map(|it| it.unwrap_or(Verdict::Unsettled)).collect()));
        if !self.transactions.is_empty() {
            return;
        }
        if reset {
            self.send(command::RSET.into(), Awaited::Rset, out);
        } else {
            out.push(Output::Ready);
        }
    }

    fn send(&mut self, command: String, awaited: Awaited, out: &mut Vec<Output>) {
        self.awaited.push_back(awaited);
        out.push(Output::Send(command.into_bytes()));
    }

    fn lose(&mut self, loss: Loss, out: &mut Vec<Output>) {
        // A server that says in one breath that it has the message and leaves: nothing more begins.
        out.pop_if(|last| *last == Output::Ready);
        let verdicts = self.closed();
        out.push(Output::Lost(loss, verdicts));
    }
}

impl Transaction {
    /// What holds from now on for every recipient that RCPT did not refuse.
    fn decide_accepted(&mut self, verdict: &Verdict) {
        for undecided in self.verdicts.iter_mut().filter(|verdict| verdict.is_none()) {
            *undecided = Some(verdict.clone());
        }
    }
}
