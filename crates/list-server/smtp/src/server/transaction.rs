//! One transaction: from MAIL to the end of the message.

use super::text::Text;
use crate::address::Address;
use crate::stuffing::{Canonical, Unstuffer};
use sojourn_core::Time;
use std::net::IpAddr;

/// A message that came whole, to be put on stable storage before it is answered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The address to which failures are reported; none for a report itself.
    pub sender: Option<Address>,
    /// The recipients, in the order given.
    pub recipients: Vec<Address>,
    /// Its text as given, in lines that end with CRLF.
    pub text: Text,
    /// Whether the client said that it needs SMTPUTF8 (RFC 6531).
    pub utf8: bool,
}

impl Arrival {
    /// Octets of memory that it occupies, with the copies of its envelope that are made on the way
    /// to stable storage.
    pub fn occupied(&self) -> usize {
        self.text.occupied() + self.recipients.iter().map(of_address).sum::<usize>()
    }
}

/// Octets of memory for a recipient: its address, what an allocator has around it, and the copies
/// for the delivery and the spool.
fn of_address(address: &Address) -> usize {
    const COPIES: usize = 3;
    const AROUND: usize = 16;
    COPIES * (address.as_str().len() + size_of::<Address>() + AROUND)
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub(super) sender: Option<Address>,
    pub(super) recipients: Vec<Address>,
    /// Octets of memory for the recipients.
    pub(super) octets: usize,
    pub(super) utf8: bool,
    /// Whether the server has no memory for more recipients.
    pub(super) full: bool,
    /// There from DATA or the first BDAT on.
    pub(super) intake: Option<Intake>,
    /// When the text began, and when the last octet of it came.
    pub(super) began: Time,
    pub(super) came: Time,
}

impl Transaction {
    pub(super) fn new(sender: Option<Address>, utf8: bool) -> Transaction {
        Transaction {
            sender,
            recipients: Vec::new(),
            octets: 0,
            utf8,
            full: false,
            intake: None,
            began: Time::ZERO,
            came: Time::ZERO,
        }
    }

    pub(super) fn add(&mut self, recipient: Address) {
        self.octets += of_address(&recipient);
        self.recipients.push(recipient);
    }

    /// The server needs its memory: a text that is coming is passed over, and else no recipient is
    /// added.
    pub(super) fn shed(&mut self) {
        match &mut self.intake {
            Some(intake) => intake.shed(),
            None => self.full = true,
        }
    }

    /// Octets of its text that have come.
    pub(super) fn octets(&self) -> usize {
        self.intake.as_ref().map_or(0, Intake::octets)
    }

    /// Octets occupied.
    pub(super) fn occupied(&self) -> usize {
        self.octets + self.intake.as_ref().map_or(0, Intake::occupied)
    }
}

/// Text so far. What it holds is bounded.
#[derive(Debug)]
pub(super) struct Intake {
    text: Text,
    most: usize,
    result: IntakeResult,
    unstuffer: Unstuffer,
    /// What brings line ends into order; without it, a text with a CR or LF that stands alone is
    /// refused.
    repair: Option<Canonical>,
    /// Chunks are looked at for bare CR and LF as they come.
    after_cr: bool,
    bare: bool,
}

/// Whether the text can still be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntakeResult {
    Good,
    TooLarge,
    /// The server needs its memory for others.
    Shed,
}

/// Why a text is not taken: a reply.
const TOO_LARGE: &str = "552 5.3.4 the message is too large";
const SHED: &str = "452 4.3.1 too many messages at once, try again later";
const BARE: &str = "554 5.6.0 a CR or LF stands alone (RFC 5321 section 2.3.8)";

impl Intake {
    pub(super) fn new(most: u64, repair: bool) -> Intake {
        Intake {
            text: Text::default(),
            most: usize::try_from(most).unwrap_or(usize::MAX),
            result: IntakeResult::Good,
            unstuffer: Unstuffer::default(),
            repair: repair.then(Canonical::default),
            after_cr: false,
            bare: false,
        }
    }

    /// Octets occupied.
    pub(super) fn occupied(&self) -> usize {
        self.text.occupied()
    }

    /// Octets of the text that have come and are kept.
    pub(super) fn octets(&self) -> usize {
        self.text.len()
    }

    /// The memory is needed for others: the rest of the text is passed over.
    pub(super) fn shed(&mut self) {
        self.lose(IntakeResult::Shed);
    }

    /// The reply that says why the text cannot be taken any more.
    pub(super) fn lost(&self) -> Option<&'static str> {
        match self.result {
            IntakeResult::Good => None,
            IntakeResult::TooLarge => Some(TOO_LARGE),
            IntakeResult::Shed => Some(SHED),
        }
    }

    /// What follows DATA; whether the end was there.
    pub(super) fn stuffed(&mut self, bytes: &mut &[u8]) -> bool {
        let mut unstuffer = self.unstuffer;
        let ended = unstuffer.read(bytes, |piece| self.keep(piece));
        self.unstuffer = unstuffer;
        ended
    }

    /// A piece of a chunk.
    pub(super) fn chunk(&mut self, piece: &[u8]) {
        for &byte in piece {
            let was_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            self.bare |= was_cr != (byte == b'\n');
        }
        self.keep(piece);
    }

    /// The text, every line of it ended; or the reply that says why not.
    pub(super) fn finish(mut self) -> Result<Text, &'static str> {
        let bare = self.bare || self.unstuffer.bare || self.after_cr;
        if self.result == IntakeResult::Good && bare && self.repair.is_none() {
            return Err(BARE);
        }
        let ends = self.text.is_empty() || self.text.ends_with(b"\r\n");
        if !ends && !self.text.push(b"\r\n", self.most) {
            self.lose(IntakeResult::Shed);
        }
        self.lost().map_or(Ok(self.text), Err)
    }

    fn keep(&mut self, piece: &[u8]) {
        match self.repair.take() {
            None => self.append(piece),
            Some(mut canonical) => {
                canonical.each(piece, |piece| self.append(piece));
                self.repair = Some(canonical);
            }
        }
    }

    fn append(&mut self, piece: &[u8]) {
        if self.result != IntakeResult::Good {
            return;
        }
        if self.text.len() + piece.len() > self.most {
            return self.lose(IntakeResult::TooLarge);
        }
        if !self.text.push(piece, self.most) {
            self.lose(IntakeResult::Shed);
        }
    }

    fn lose(&mut self, result: IntakeResult) {
        if self.result == IntakeResult::Good {
            self.result = result;
        }
        self.text = Text::default();
    }
}

/// Who sent a message and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// What the client calls itself.
    pub hello: String,
    /// Its address.
    pub address: IpAddr,
    /// The protocol by its name (RFC 3848; RFC 6531 section 4.3).
    pub protocol: &'static str,
}

impl Trace {
    /// The `Received:` line by the server `name`, at `date` as RFC 5322 writes it. It names no
    /// recipient: list mail has many, who need not know of each other.
    pub fn received(&self, name: &str, date: &str) -> String {
        let Trace { hello, address, protocol } = self;
        let literal = match address.to_canonical() {
            IpAddr::V4(v4) => format!("[{v4}]"),
            IpAddr::V6(v6) => format!("[IPv6:{v6}]"),
        };
        format!(
            "Received: from {hello} ({literal})\r\n\tby {name} with {protocol};\r\n\t{date}\r\n"
        )
    }
}

/// The protocol's name: `UTF8` for SMTPUTF8, `E` for EHLO, `S` under TLS, `A` with a password.
#[expect(clippy::fn_params_excessive_bools, reason = "a letter of the name for each")]
pub(super) fn protocol(
    lmtp: bool,
    extended: bool,
    secured: bool,
    user: bool,
    utf8: bool,
) -> &'static str {
    let place = usize::from(secured) + 2 * usize::from(user);
    match (lmtp, extended, utf8) {
        (true, _, false) => ["LMTP", "LMTPS", "LMTPA", "LMTPSA"][place],
        (true, _, true) => ["UTF8LMTP", "UTF8LMTPS", "UTF8LMTPA", "UTF8LMTPSA"][place],
        (false, true, false) => ["ESMTP", "ESMTPS", "ESMTPA", "ESMTPSA"][place],
        (false, true, true) => ["UTF8SMTP", "UTF8SMTPS", "UTF8SMTPA", "UTF8SMTPSA"][place],
        (false, false, _) => "SMTP",
    }
}
