//! The log, line by line as Postfix writes it.

use crate::news::{News, Observer};
use crate::reception::{Attendant, Happening};
use sojourn_core::Span;
use sojourn_mail_engine::{MessageId, Operation, Outcome, Relay};
use sojourn_smtp::{Address, plain};
use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Writes what a postman tells as Postfix's log has it, so that whatever reads that reads this:
/// `qmgr` for messages, `smtp` for attempts, one line a recipient. `delays` are Postfix's four; what
/// the attempt itself took, sendmail's `xdelay`, is the sum of the last two, and has no field of its
/// own, because readers of Postfix's logs (pflogsumm) know no lines with one. Times are UTC, as RFC
/// 3339 writes them.
///
/// When it cannot be written, that is said once on standard error, and delivery goes on.
pub struct Log<W: Write> {
    out: std::io::BufWriter<W>,
    port: u16,
    /// The machine's name, and this process.
    host: String,
    process: u32,
    broken: bool,
}

impl<W: Write + Send + 'static> Log<W> {
    /// A log that is written to `out`, of a server whose hosts take mail on `port`.
    pub fn new(out: W, port: u16) -> Log<W> {
        let host = gethostname::gethostname().to_string_lossy().into_owned();
        let out = std::io::BufWriter::new(out);
        Log { out, port, host, process: std::process::id(), broken: false }
    }

    fn write(&mut self, unix_ms: i64, daemon: &str, what: fmt::Arguments<'_>) {
        if self.broken {
            return;
        }
        let (at, host, process) = (stamp(unix_ms), &self.host, self.process);
        let line = writeln!(
            self.out,
            "{at} {host} sojourn/{daemon}[{process}]: {}",
            plain(&what.to_string())
        );
        self.check(line);
    }

    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written {
            self.broken = true;
            eprintln!("the log cannot be written: {error}");
        }
    }
}

impl<W: Write + Send + 'static> Observer for Log<W> {
    #[expect(clippy::too_many_lines, reason = "a line for each kind of news")]
    fn notice(&mut self, unix_ms: i64, news: &News<'_>) {
        match news {
            News::Accepted { message, sender, size, recipients, .. } => {
                let (id, from) = (QueueId(*message), sender.map_or("", Address::as_str));
                self.write(
                    unix_ms,
                    "qmgr",
                    format_args!(
                        "{id}: from=<{from}>, size={size}, nrcpt={recipients} (queue active)"
                    ),
                );
            }
            News::Attempt { task, recipient, relay, delays, outcome, reason, .. } => {
                let (id, port) = (QueueId(task.message), self.port);
                let relay = At(*relay, port);
                let [a, b, c, d] =
                    [delays.before, delays.queued, delays.setup, delays.sending].map(Seconds);
                let delay = Seconds(delays.total());
                let status = match outcome {
                    Outcome::Delivered => "sent",
                    Outcome::Deferred => "deferred",
                    Outcome::Failed => "bounced",
                };
                let (dsn, text) = (reason.status, &reason.text);
                self.write(
                    unix_ms,
                    "smtp",
                    format_args!(
                        "{id}: to=<{recipient}>, relay={relay}, delay={delay}, \
                         delays={a}/{b}/{c}/{d}, dsn={dsn}, status={status} ({text})"
                    ),
                );
            }
            News::Operated { operation, message, recipients } => {
                let did = match operation {
                    Operation::Hold => "held",
                    Operation::Release => "released",
                    Operation::Requeue => "requeued",
                    Operation::Count | Operation::Flush | Operation::Delete => return,
                };
                let id = QueueId(*message);
                self.write(
                    unix_ms,
                    "qmgr",
                    format_args!("{id}: {did} by the operator, nrcpt={recipients}"),
                );
            }
            News::Deleted { task, recipient } => {
                let id = QueueId(task.message);
                self.write(
                    unix_ms,
                    "qmgr",
                    format_args!(
                        "{id}: to=<{recipient}>, relay=none, status=deleted (by the operator)"
                    ),
                );
            }
            News::Finished { message } => {
                self.write(unix_ms, "qmgr", format_args!("{}: removed", QueueId(*message)));
            }
            News::HostDown(host, until, reason) => {
                let until = stamp(*until);
                self.write(
                    unix_ms,
                    "qmgr",
                    format_args!("host {host} left alone until {until} ({reason})"),
                );
            }
            News::DomainDown(domain, until, reason) => {
                let until = stamp(*until);
                self.write(
                    unix_ms,
                    "qmgr",
                    format_args!("domain {domain} left alone until {until} ({reason})"),
                );
            }
            News::Trouble(what) => self.write(unix_ms, "qmgr", format_args!("warning: {what}")),
        }
    }

    fn pause(&mut self) {
        if !self.broken {
            let flushed = self.out.flush();
            self.check(flushed);
        }
    }
}

/// What a reception tells is said by `smtpd`.
impl<W: Write + Send + 'static> Attendant for Mutex<Log<W>> {
    fn notice(&self, happening: &Happening<'_>) {
        let mut log = self.lock().unwrap_or_else(PoisonError::into_inner);
        log.write(unix_ms(), "smtpd", format_args!("{happening}"));
        log.pause();
    }
}

pub(crate) fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

/// A message's number as queue identifiers look.
pub(crate) struct QueueId(pub(crate) MessageId);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010X}", self.0.0)
    }
}

/// A host with its port; `none` where none was reached.
struct At<'a>(Option<&'a Relay>, u16);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(relay) => write!(f, "{}[{}]:{}", relay.name, relay.address, self.1),
            None => f.write_str("none"),
        }
    }
}

/// Seconds with four digits, below 1 s tenths of milliseconds; no zeros at the end. Postfix has two;
/// what is learnt from a log of near hosts needs more.
struct Seconds(Span);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.seconds();
        let digits = match seconds {
            _ if seconds < 1.0 => 4,
            _ if seconds < 10.0 => 3,
            _ if seconds < 100.0 => 2,
            _ if seconds < 1000.0 => 1,
            _ => 0,
        };
        let text = format!("{seconds:.digits$}");
        let text = match digits {
            0 => &text,
            _ => text.trim_end_matches('0').trim_end_matches('.'),
        };
        f.write_str(text)
    }
}

fn stamp(unix_ms: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000);
    at.ok().and_then(|at| at.format(&Rfc3339).ok()).unwrap_or_else(|| unix_ms.to_string())
}
