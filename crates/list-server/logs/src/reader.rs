//! A log read from its bytes.

use crate::event::Event;
use crate::framing::{Framing, Piece};
use crate::mailer::{Mailer, of_program};
use crate::messages::Messages;
use crate::problems::{Problems, Why};
use crate::stamp::Clock;
use crate::syslog_header::{SyslogHeader, number};
use crate::view::View;

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
    /// Those that told something of a message's way.
    pub used: u64,
    /// Those of other programs, or of other things.
    pub passed: u64,
    /// Those that could not be read.
    pub malformed: u64,
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
    counts: Counts,
    view: V,
}

/// The journal entry at hand.
#[derive(Debug, Default)]
struct Entry {
    at: Option<i64>,
    host: Vec<u8>,
    program: Vec<u8>,
    process: u32,
    text: Vec<u8>,
    begun: bool,
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
            open: log.messages.open() as u64,
            given_up: log.messages.given_up(),
            ..log.counts
        }
    }

    /// What could not be read so far.
    pub fn problems(&self) -> &Problems {
        &self.log.problems
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
                if entry.begun || line.starts_with(b"__") || line.starts_with(b"_BOOT_ID=") {
                    return self.field(settings, entry, line);
                }
                self.text_line(settings, line);
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

    fn malformed(&mut self, why: Why, text: &[u8]) {
        self.problems.add(&self.source, self.line, why, text);
    }

    fn text_line(&mut self, settings: &Settings, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        self.counts.lines += 1;
        match SyslogHeader::read(line, &mut self.clock) {
            Ok(header) => self.header(settings, &header, line),
            Err(why) => self.malformed(why, line),
        }
    }

    /// A line of a journal entry: a field, or with nothing in it the entry's end.
    fn field(&mut self, settings: &Settings, entry: &mut Entry, line: &[u8]) -> bool {
        if line.is_empty() {
            self.entry(settings, entry);
            return false;
        }
        entry.begun = true;
        match memchr::memchr(b'=', line) {
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
        self.header(settings, &header, &entry.text);
    }

    fn header(&mut self, settings: &Settings, header: &SyslogHeader<'_>, line: &[u8]) {
        let at = header.at;
        self.counts.first = Some(self.counts.first.map_or(at, |first| first.min(at)));
        self.counts.last = Some(self.counts.last.map_or(at, |last| last.max(at)));
        let mailer = settings.mailer.or_else(|| of_program(header.program));
        let read = mailer.map(|mailer| ((mailer.read)(header.text), mailer));
        match read {
            Some((Ok(Some((id, event))), mailer)) => {
                self.counts.used += 1;
                self.event(settings.range, header, mailer, id, &event);
            }
            None | Some((Ok(None), _)) => self.counts.passed += 1,
            Some((Err(why), _)) => self.malformed(why, line),
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
        let told = (range.since..range.until).contains(&header.at);
        let Log { messages, view, .. } = self;
        match event {
            Event::MessageInfo(info) => {
                if messages.update(header, id, info) && told {
                    view.arrived(header.at);
                }
            }
            Event::More(recipients) => messages.list(id, recipients),
            Event::Attempt(attempt) => messages.attempt(header, mailer, id, attempt, |delivery| {
                if told {
                    view.tried(delivery);
                }
            }),
            Event::Removed => {
                messages.removed(header, id);
                if told {
                    view.removed(id);
                }
            }
        }
    }
}

impl Entry {
    /// The fields of systemd.journal-fields(7) that make a line.
    fn take(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"__REALTIME_TIMESTAMP" => {
                self.at = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            }
            b"_HOSTNAME" => self.host = value.to_vec(),
            b"SYSLOG_IDENTIFIER" => self.program = value.to_vec(),
            b"SYSLOG_PID" | b"_PID" => self.process = number(value).unwrap_or(self.process),
            b"MESSAGE" => self.text = value.to_vec(),
            _ => {}
        }
    }
}
