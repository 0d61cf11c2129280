//! A log read from its bytes.

use crate::event::Event;
use crate::foreign;
use crate::framing::{Framing, Piece};
use crate::journal::{Entry, verbose_stamp};
use crate::json::{self, Json};
use crate::mailer::{Mailer, Said, of_program};
use crate::messages::{Delivery, Messages, Told};
use crate::problems::{Problems, Why};
use crate::stamp::Clock;
use crate::syslog_header::{SyslogHeader, may_be_stamp};
use crate::view::View;
use memchr::{memchr, memchr2_iter};

/// Octets at whose words a line of another log may begin.
const INNER_MAX: usize = 300;
/// Octets of an object of JSON in several lines.
const OBJECT_MAX: usize = 1 << 20;

/// Whose line it is, and what it says.
type Read<'a> = (&'static Mailer, Result<Said<'a>, Why>);

/// The time that a view covers, in microseconds since 1970; what is before is read all the same,
/// because messages begin there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first moment.
    pub since: i64,
    /// The first moment that does not belong to it.
    pub until: i64,
}

impl Default for Range {
    fn default() -> Range {
        Range { since: i64::MIN, until: i64::MAX }
    }
}

/// How a log is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The mailer whose lines they are, under whatever name; nothing where each line says so.
    pub mailer: Option<&'static Mailer>,
    /// The part of the log that the view covers.
    pub range: Range,
}

/// How many lines there were, of which kinds. A journal entry is a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All of them.
    pub lines: u64,
    /// Those that told something of a message's way, or of a probe.
    pub used: u64,
    /// Those of other programs, or of other things.
    pub passed: u64,
    /// Those that could not be read.
    pub malformed: u64,
    /// Those of the passed ones that look like deliveries.
    pub unread: u64,
    /// Recipients whose message came into a queue of the same machine again: no deliveries.
    pub passed_on: u64,
    /// Recipients who were not tried, as it was not yet time to.
    pub put_off: u64,
    /// The time of the first line and of the last.
    pub first: Option<i64>,
    /// The latest of all times.
    pub last: Option<i64>,
    /// Messages that were in the queue when the log ended.
    pub open: u64,
    /// Messages given up because too many were open at a time.
    pub given_up: u64,
}

/// Reads logs, and tells a view what happened.
#[derive(Debug)]
pub struct Reader<V> {
    settings: Settings,
    framing: Framing,
    log: Log<V>,
    entry: Entry,
}

/// What is read from, without the bytes.
#[derive(Debug)]
struct Log<V> {
    source: String,
    line: u64,
    clock: Clock,
    messages: Messages,
    problems: Problems,
    /// Lines that look like deliveries and were not read.
    unread: Problems,
    counts: Counts,
    view: V,
}

impl<V: View> Reader<V> {
    /// For this view.
    pub fn new(settings: Settings, view: V) -> Reader<V> {
        let log = Log {
            source: String::new(),
            line: 0,
            clock: Clock::new(0),
            messages: Messages::new(),
            problems: Problems::default(),
            unread: Problems::default(),
            counts: Counts::default(),
            view,
        };
        Reader { settings, framing: Framing::new(), log, entry: Entry::default() }
    }

    /// Begins a file: its name, and a time at about which its last line was written.
    ///
    /// Messages go on from one file to the next.
    pub fn begin(&mut self, source: &str, newest: i64) {
        self.finish();
        self.log.source = source.to_owned();
        self.log.line = 0;
        self.log.clock = Clock::new(newest);
    }

    /// Takes the file's next bytes, wherever they end.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Reader { settings, framing, log, entry } = self;
        framing.feed(bytes, |piece| log.piece(settings, entry, piece));
    }

    /// The file is at its end.
    pub fn finish(&mut self) {
        let Reader { settings, framing, log, entry } = self;
        framing.finish(|piece| log.piece(settings, entry, piece));
        log.entry(settings, entry);
    }

    /// What was read so far.
    pub fn counts(&self) -> Counts {
        let log = &self.log;
        Counts {
            malformed: log.problems.number,
            unread: log.unread.number,
            open: log.messages.open() as u64,
            given_up: log.messages.given_up(),
            ..log.counts
        }
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &Problems {
        &self.log.problems
    }

    /// What looks like a delivery and was not read so far.
    pub fn unread(&self) -> &Problems {
        &self.log.unread
    }

    /// What was made of it so far.
    pub fn view(&mut self) -> &mut V {
        &mut self.log.view
    }
}

impl<V: View> Log<V> {
    /// Takes a line or field; whether it is the name of a field whose value follows.
    fn piece(&mut self, settings: &Settings, entry: &mut Entry, piece: Piece<'_>) -> bool {
        match piece {
            Piece::Line(line) => {
                self.line += 1;
                return self.line(settings, entry, line);
            }
            Piece::Field(name, value) => entry.take(name, value),
            Piece::TooLong => {
                self.line += 1;
                self.counts.lines += 1;
                self.malformed("it is longer than 64 KiB", b"");
            }
        }
        false
    }

    fn line(&mut self, settings: &Settings, entry: &mut Entry, line: &[u8]) -> bool {
        if entry.is_object(line) {
            entry.object.extend_from_slice(line);
            if line == b"}" || entry.object.len() > OBJECT_MAX {
                let object = std::mem::take(&mut entry.object);
                self.text_line(settings, &object);
            }
            return false;
        }
        if entry.is_verbose {
            if let Some(field) = line.strip_prefix(b"    ") {
                if let Some(equals) = memchr(b'=', field) {
                    entry.take(&field[..equals], &field[equals + 1..]);
                }
                return false;
            }
            self.entry(settings, entry);
        }
        if let Some(stamp) = verbose_stamp(line) {
            entry.at = self.clock.iso(stamp).ok().map(|(at, _)| at);
            (entry.begun, entry.is_verbose) = (true, true);
            return false;
        }
        if entry.begun || line.starts_with(b"__") || line.starts_with(b"_BOOT_ID=") {
            return self.field(settings, entry, line);
        }
        self.text_line(settings, line);
        false
    }

    fn malformed(&mut self, why: Why, text: &[u8]) {
        self.problems.add(&self.source, self.line, why, text);
    }

    fn text_line(&mut self, settings: &Settings, line: &[u8]) {
        // JSON lines of journalctl --output=json-seq and json-sse
        let object = line.strip_prefix(b"\x1e").or(line.strip_prefix(b"data: ")).unwrap_or(line);
        if object.starts_with(b"{") {
            return self.json(settings, object);
        }
        if line.is_empty() {
            return;
        }
        self.counts.lines += 1;
        let header = SyslogHeader::read(line, &mut self.clock);
        let said = header.as_ref().map(|header| settings.read(header)).unwrap_or(None);
        // A mailer's line has no other line in it, but Exim's has no name by which to know it.
        let may_have_inner = match &header {
            Ok(header) => said.is_none() || header.host.is_empty(),
            Err(_) => true,
        };
        if may_have_inner
            && !matches!(said, Some((_, Ok(Some(_)))))
            && let Some(inner) = self.inner(settings, line)
        {
            let said = settings.read(&inner);
            return self.header(settings, &inner, said, line);
        }
        match header {
            Ok(header) => self.header(settings, &header, said, line),
            Err(why) => match foreign::of(line) {
                Some(why) => self.malformed(why, line),
                // of another program in a container, or of no interest
                None => match self.inner_with(line, |_| true) {
                    Some(inner) => self.header(settings, &inner, settings.read(&inner), line),
                    None => self.malformed(why, line),
                },
            },
        }
    }

    /// The head of a line of a mailer that is part of this line, as containers' logs have them.
    fn inner<'a>(&mut self, settings: &Settings, line: &'a [u8]) -> Option<SyslogHeader<'a>> {
        self.inner_with(line, |header| {
            of_program(header.program).is_some()
                && matches!(settings.read(header), Some((_, Ok(Some(_)))))
        })
    }

    fn inner_with<'a>(
        &mut self,
        line: &'a [u8],
        is_wanted: impl Fn(&SyslogHeader<'a>) -> bool,
    ) -> Option<SyslogHeader<'a>> {
        // behind a colon too, as grep writes a file's name
        let starts = memchr2_iter(b' ', b':', &line[..line.len().min(INNER_MAX)]).map(|at| at + 1);
        let starts = std::iter::once(0).chain(starts);
        for rest in starts.rev().map(|start| &line[start..]).filter(|rest| may_be_stamp(rest)) {
            let mut clock = self.clock.clone();
            if let Ok(header) = SyslogHeader::read(rest, &mut clock)
                && is_wanted(&header)
            {
                self.clock = clock;
                return Some(header);
            }
        }
        None
    }

    fn json(&mut self, settings: &Settings, object: &[u8]) {
        match json::read(object) {
            Some(Json::Line(line)) => return self.text_line(settings, &line),
            Some(Json::Entry(fields)) => {
                let mut entry = Entry { begun: true, ..Entry::default() };
                fields.iter().for_each(|(name, value)| entry.take(name.as_bytes(), value));
                return self.entry(settings, &mut entry);
            }
            Some(Json::Kumo(seconds)) => {
                let at = seconds * 1_000_000;
                let program = &b"kumomta"[..];
                let header = SyslogHeader { at, host: b"", program, process: 0, text: object };
                self.header(settings, &header, settings.read(&header), object);
            }
            Some(Json::Other) => {
                self.counts.passed += 1;
                self.unread_if_delivery(object, object);
            }
            None => self.malformed("an object of JSON that is damaged", object),
        }
        self.counts.lines += 1;
    }

    /// A line of a journal entry: a field, or with nothing in it the entry's end.
    fn field(&mut self, settings: &Settings, entry: &mut Entry, line: &[u8]) -> bool {
        if line.is_empty() {
            self.entry(settings, entry);
            return false;
        }
        entry.begun = true;
        match memchr(b'=', line) {
            Some(equals) => entry.take(&line[..equals], &line[equals + 1..]),
            None => return true,
        }
        false
    }

    fn entry(&mut self, settings: &Settings, entry: &mut Entry) {
        if !entry.begun {
            return;
        }
        let entry = std::mem::take(entry);
        self.counts.lines += 1;
        let Some(at) = entry.at else {
            self.malformed("a journal entry without __REALTIME_TIMESTAMP", &entry.text);
            return;
        };
        let header = SyslogHeader {
            at,
            host: &entry.host,
            program: &entry.program,
            process: entry.process,
            text: &entry.text,
        };
        let said = settings.read(&header);
        // a container's line, which the journal has from the container's driver
        if said.is_none()
            && let Some(inner) = self.inner(settings, &entry.text)
        {
            let said = settings.read(&inner);
            return self.header(settings, &inner, said, &entry.text);
        }
        self.header(settings, &header, said, &entry.text);
    }

    fn header(
        &mut self,
        settings: &Settings,
        header: &SyslogHeader<'_>,
        said: Option<Read<'_>>,
        line: &[u8],
    ) {
        let at = header.at;
        self.counts.first = Some(self.counts.first.map_or(at, |first| first.min(at)));
        self.counts.last = Some(self.counts.last.map_or(at, |last| last.max(at)));
        match said {
            Some((mailer, Ok(Some((id, event))))) => {
                self.counts.used += 1;
                self.event(settings.range, header, mailer, id, &event);
            }
            Some((_, Err(why))) => self.malformed(why, line),
            None if let Some(why) = foreign::of(line) => self.malformed(why, line),
            None | Some((_, Ok(None))) => {
                self.counts.passed += 1;
                self.unread_if_delivery(header.text, line);
            }
        }
    }

    fn unread_if_delivery(&mut self, text: &[u8], line: &[u8]) {
        if foreign::looks_like_delivery(text) {
            self.unread.add(&self.source, self.line, "it is not read", line);
        }
    }

    fn event(
        &mut self,
        range: Range,
        header: &SyslogHeader<'_>,
        mailer: &'static Mailer,
        id: &[u8],
        event: &Event<'_>,
    ) {
        let is_told = (range.since..range.until).contains(&header.at);
        let Log { messages, view, counts, .. } = self;
        let tell = |told: Told, delivery: &Delivery<'_>| match told {
            _ if !is_told => {}
            Told::Tried => view.tried(delivery),
            Told::PutOff => {
                counts.put_off += 1;
                view.put_off(delivery);
            }
            Told::PassedOn => {
                counts.passed_on += 1;
                view.ended_untried(delivery);
            }
            Told::Deleted => view.ended_untried(delivery),
        };
        match event {
            Event::MessageInfo(info) => {
                if messages.update(header, id, info) && is_told {
                    view.arrived(header.at);
                }
            }
            Event::More(recipients) => messages.list(id, recipients),
            Event::Attempt(attempt) => {
                messages.attempt(header, mailer, id, attempt, Told::Tried, tell);
            }
            Event::PutOff(attempt) => {
                messages.attempt(header, mailer, id, attempt, Told::PutOff, tell);
            }
            Event::Deleted(attempt) => {
                messages.attempt(header, mailer, id, attempt, Told::Deleted, tell);
            }
            Event::Expired(text) => messages.expired(header, mailer, id, text, tell),
            Event::Removed => {
                messages.removed(header, id);
                if is_told {
                    view.removed(id);
                }
            }
            Event::NoDelivery => {}
        }
    }
}

impl Settings {
    /// What a line says, and whose it is; nothing where it is no mailer's.
    fn read<'a>(&self, header: &SyslogHeader<'a>) -> Option<Read<'a>> {
        let mailer = self.mailer.or_else(|| of_program(header.program))?;
        let said = match (mailer.read)(header.text) {
            Ok(Some((_, Event::Attempt(attempt)))) if attempt.recipients.is_empty() => {
                Err("an attempt without a recipient")
            }
            said => said,
        };
        Some((mailer, said))
    }
}
