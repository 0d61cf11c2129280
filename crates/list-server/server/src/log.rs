//! The log, line by line as Postfix writes it.

use crate::event::{Observer, QueueId, ServerEvent, unix_ms};
use crate::hourly::{Amount, Window};
use crate::settings::host_name;
use sojourn_core::Span;
use sojourn_mail_engine::{Operation, Outcome, Relay};
use sojourn_smtp::{Address, plain};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{ErrorKind, Result, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Writes the events of delivery as Postfix's log has them, so that what reads that reads this:
/// `qmgr` for messages, `smtp` for attempts, one line a recipient. `delays` are Postfix's four; what
/// the attempt itself took, sendmail's `xdelay`, is the sum of the last two, and has no field of its
/// own, because readers of Postfix's logs (pflogsumm) know no lines with one. Times are UTC, as RFC
/// 3339 writes them.
///
/// When it cannot be written, that is said once on standard error, and delivery goes on. When it can be
/// again, a line of its own says since when lines may be missing.
pub struct Log<W: Write> {
    out: std::io::BufWriter<W>,
    port: u16,
    /// The machine's name, and this process.
    host: String,
    process: u32,
    /// Since when it cannot be written, in milliseconds since 1970.
    broken: Option<i64>,
}

impl<W: Write + Send + 'static> Log<W> {
    /// A log that is written to `out`, of a server whose hosts take mail on `port`.
    pub fn new(out: W, port: u16) -> Log<W> {
        let host = host_name();
        let out = std::io::BufWriter::new(out);
        Log { out, port, host, process: std::process::id(), broken: None }
    }

    fn write(&mut self, unix_ms: i64, daemon: &str, what: fmt::Arguments<'_>) {
        let (at, host, process) = (stamp(unix_ms), &self.host, self.process);
        let line = writeln!(
            self.out,
            "{at} {host} sojourn/{daemon}[{process}]: {}",
            plain(&what.to_string())
        );
        self.check(line);
    }

    /// An event of reception is a line of `smtpd`, written at once.
    fn write_reception(&mut self, unix_ms: i64, event: &ServerEvent<'_>) {
        if let Some(line) = event.reception_line() {
            self.write(unix_ms, "smtpd", format_args!("{line}"));
            self.pause();
        }
    }

    fn check(&mut self, written: std::io::Result<()>) {
        if let Err(error) = written
            && self.broken.is_none()
        {
            self.broken = Some(unix_ms());
            eprintln!("the log cannot be written: {error}");
        }
    }
}

impl<W: Write + Send + 'static> Observer for Log<W> {
    fn notice(&mut self, unix_ms: i64, event: &ServerEvent<'_>) {
        match *event {
            ServerEvent::Accepted { message, sender, size, recipients, .. } => {
                let (id, from) = (QueueId(message), sender.map_or("", Address::as_str));
                let what = format_args!(
                    "{id}: from=<{from}>, size={size}, nrcpt={recipients} (queue active)"
                );
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::Attempt { task, recipient, relay, delays, outcome, reason, .. } => {
                let (id, relay) = (QueueId(task.message), At(relay, self.port));
                let [a, b, c, d] =
                    [delays.before, delays.queued, delays.setup, delays.sending].map(Seconds);
                let delay = Seconds(delays.total());
                let status = match outcome {
                    Outcome::Delivered => "sent",
                    Outcome::Deferred => "deferred",
                    Outcome::Failed => "bounced",
                };
                let (dsn, text) = (reason.status, &reason.text);
                let what = format_args!(
                    "{id}: to=<{recipient}>, relay={relay}, delay={delay}, \
                     delays={a}/{b}/{c}/{d}, dsn={dsn}, status={status} ({text})"
                );
                self.write(unix_ms, "smtp", what);
            }
            ServerEvent::Operated { operation, message, recipients } => {
                let did = match operation {
                    Operation::Hold => "held",
                    Operation::Release => "released",
                    Operation::Requeue => "requeued",
                    Operation::Count | Operation::Flush | Operation::Delete => return,
                };
                let id = QueueId(message);
                let what = format_args!("{id}: {did} by the operator, nrcpt={recipients}");
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::Deleted { task, recipient } => {
                let id = QueueId(task.message);
                let what = format_args!(
                    "{id}: to=<{recipient}>, relay=none, status=deleted (by the operator)"
                );
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::Finished { message } => {
                self.write(unix_ms, "qmgr", format_args!("{}: removed", QueueId(message)));
            }
            ServerEvent::HostDown(host, until, reason) => {
                let until = stamp(until);
                let what = format_args!("host {host} left alone until {until} ({reason})");
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::DomainDown(domain, until, reason) => {
                let until = stamp(until);
                let what = format_args!("domain {domain} left alone until {until} ({reason})");
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::Slowed { provider, per_minute, reason } => {
                let what =
                    format_args!("provider {provider} slowed to {per_minute}/min ({reason})");
                self.write(unix_ms, "qmgr", what);
            }
            ServerEvent::Trouble(what) => {
                self.write(unix_ms, "qmgr", format_args!("warning: {what}"));
            }
            _ => self.write_reception(unix_ms, event),
        }
    }

    fn pause(&mut self) {
        let flushed = self.out.flush();
        if flushed.is_ok()
            && let Some(since) = self.broken.take()
        {
            let since = stamp(since);
            let what = format_args!("warning: the log could not be written from {since} on");
            self.write(unix_ms(), "qmgr", what);
            return self.pause();
        }
        self.check(flushed);
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

/// One of those who write lines to the same file: each line stays whole. What cannot be written waits, up
/// to 64 KiB, and lines beyond are lost; only a flush says so.
#[derive(Debug)]
pub struct Lines<W> {
    shared: Arc<Mutex<Shared<W>>>,
    /// What has no end yet.
    rest: Vec<u8>,
}

#[derive(Debug)]
struct Shared<W> {
    out: W,
    /// Lines that could not be written; of the first one the rest, where it was cut.
    waiting: Vec<u8>,
}

/// Octets of lines that wait until they can be written.
const WAITING: usize = 64 << 10;

impl<W: Write> Shared<W> {
    /// Writes these lines behind those that wait.
    fn put(&mut self, lines: &[u8]) -> Result<()> {
        let written = self.drain();
        if self.waiting.is_empty() || self.waiting.len() + lines.len() <= WAITING {
            self.waiting.extend_from_slice(lines);
        }
        written.and_then(|()| self.drain())
    }

    /// Writes what waits.
    fn drain(&mut self) -> Result<()> {
        while !self.waiting.is_empty() {
            match self.out.write(&self.waiting) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => drop(self.waiting.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl<W: Write> Lines<W> {
    /// The first of them.
    pub fn new(out: W) -> Lines<W> {
        Lines {
            shared: Arc::new(Mutex::new(Shared { out, waiting: Vec::new() })),
            rest: Vec::new(),
        }
    }

    /// All of them go on there, with the next whole line.
    pub fn redirect(&self, out: W) {
        self.lock().out = out;
    }

    fn lock(&self) -> MutexGuard<'_, Shared<W>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One more of them.
impl<W> Clone for Lines<W> {
    fn clone(&self) -> Lines<W> {
        Lines { shared: Arc::clone(&self.shared), rest: Vec::new() }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.rest.extend_from_slice(bytes);
        if let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') {
            // The lines are taken over, so that nobody writes them again.
            let _ = self.lock().put(&self.rest[..=end]);
            self.rest.drain(..=end);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        let mut shared = self.lock();
        shared.drain()?;
        shared.out.flush()
    }
}

/// Passes on at most [`MOST`] events a minute of each kind that any client can cause, a tenth of them
/// from one network, and then how many more there were.
pub(crate) struct EventLimiter<O> {
    inner: O,
    minute: Window<&'static str>,
    /// What was left out of it, by kind.
    left_out: BTreeMap<&'static str, u64>,
}

const MOST: usize = 100;
const MINUTE: i64 = 60;

/// The kind and the client of an event that any client can cause; what an operator's lists and
/// submitters cause is passed on whole.
fn kind(event: &ServerEvent<'_>) -> Option<(&'static str, SocketAddr)> {
    match *event {
        ServerEvent::NotTaken { peer, .. } => Some(("not taken", peer)),
        ServerEvent::PasswordRefused { peer, .. } => Some(("password not verified", peer)),
        ServerEvent::WrongPassword { peer, .. } => Some(("wrong password", peer)),
        ServerEvent::GaveWay { peer } => Some(("gave way", peer)),
        ServerEvent::TooMany { peer } => Some(("too many sessions", peer)),
        ServerEvent::Unverified { peer, .. } => Some(("not verified", peer)),
        ServerEvent::CameBack { peer, is_told: false, .. } => Some(("came back", peer)),
        ServerEvent::PageFull { peer } => Some(("page to unsubscribe full", peer)),
        // Those of delivery; those whose lines are limited where they are made, once a subscriber and
        // day or in time; and those that only submitters and operators cause.
        _ => None,
    }
}

impl<O: Observer> EventLimiter<O> {
    pub(crate) fn new(inner: O) -> EventLimiter<O> {
        EventLimiter { inner, minute: Window::of_seconds(MINUTE), left_out: BTreeMap::new() }
    }

    /// Reports what was left out of a minute that is over.
    fn turn(&mut self, unix_ms: i64) {
        if self.minute.turn(unix_ms / 1000) {
            for (what, count) in std::mem::take(&mut self.left_out) {
                self.inner.notice(unix_ms, &ServerEvent::LeftOut { what, count });
            }
        }
    }
}

impl<O: Observer> Observer for EventLimiter<O> {
    fn notice(&mut self, unix_ms: i64, event: &ServerEvent<'_>) {
        self.turn(unix_ms);
        if let Some((kind, peer)) = kind(event) {
            let wanted = [(kind, Amount::of(1, 0), Amount::of(MOST, 0))];
            if self.minute.take(unix_ms / 1000, Some(peer.ip()), &wanted).is_err() {
                *self.left_out.entry(kind).or_default() += 1;
                return;
            }
        }
        self.inner.notice(unix_ms, event);
    }

    fn pause(&mut self) {
        self.turn(unix_ms());
        self.inner.pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Recorded;

    #[test]
    fn ten_a_minute_from_one_network_and_how_many_more() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let mut limiter = EventLimiter::new(Recorded(Arc::clone(&heard)));
        let peer = |network: u8| SocketAddr::from(([192, 0, network, 1], 25));
        let lines = || std::mem::take(&mut *heard.lock().unwrap());
        for n in 0..4221 {
            limiter.notice(n * 14, &ServerEvent::TooMany { peer: peer(2) });
        }
        assert_eq!(lines(), ["too many sessions: client=[192.0.2.1]"; 10]);
        // Other kinds and other networks have theirs, up to the bound of all.
        limiter.notice(0, &ServerEvent::GaveWay { peer: peer(2) });
        for network in 3..20 {
            (0..11).for_each(|_| limiter.notice(0, &ServerEvent::TooMany { peer: peer(network) }));
        }
        assert_eq!(lines().len(), 1 + 90);
        limiter.notice(60_000, &ServerEvent::TooMany { peer: peer(2) });
        assert_eq!(
            lines(),
            [
                "too many sessions: and 4,308 more in the last minute",
                "too many sessions: client=[192.0.2.1]"
            ]
        );
        // Where nothing follows, time itself ends a minute.
        (0..10).for_each(|_| limiter.notice(60_000, &ServerEvent::TooMany { peer: peer(2) }));
        limiter.pause();
        limiter.pause();
        let lines = lines();
        assert_eq!(lines.len(), 10);
        assert_eq!(lines[9], "too many sessions: and 1 more in the last minute");
    }
}
