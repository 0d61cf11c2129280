//! The accesses of a trace, read line by line: memory does not grow with its length.

use super::clock::Clock;
use super::guess::looks_like;
use super::{Access, Device, Line, Lines};
use crate::device::Op;
use std::io::{BufRead, Read};

/// The longest line, in bytes.
const LONGEST_LINE: usize = 1 << 16;
/// The number of characters of a line that messages show.
const SHOWN: usize = 100;
/// The number of characters of the first line that are kept.
const LONGEST_START: usize = 1000;

/// An access to the device that was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceAccess {
    /// In picoseconds after any fixed time.
    pub(super) at: u128,
    pub(super) op: Op,
    /// Its first byte and its length in bytes; their sum fits into 64 bits.
    pub(super) first: u64,
    pub(super) bytes: u64,
    /// The number of its line.
    pub(super) line: u64,
}

/// Counts of the lines of a trace that were read so far, by what they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) lines: u64,
    pub(super) discards: u64,
    pub(super) other_actions: u64,
    pub(super) other_devices: u64,
    pub(super) without_length: u64,
    pub(super) out_of_order: u64,
}

/// Reads the accesses of one device.
pub(super) struct Reader<L> {
    from: Box<dyn BufRead>,
    lines: L,
    clock: Clock,
    /// The device that is chosen, if one is.
    chosen: Option<String>,
    /// Host and disk of the first access that is taken.
    device: Option<(String, String)>,
    /// The first other device, if one is chosen.
    pub(super) other: Option<String>,
    /// The first line that says something, shortened.
    start: String,
    /// The line that was read last, and its number.
    line: Vec<u8>,
    number: u64,
    latest: u128,
    pub(super) counts: Counts,
}

impl<L: Lines> Reader<L> {
    /// Reads the lines of `from` about `device`; without a device the trace may have only one.
    pub(super) fn new(
        from: Box<dyn BufRead>,
        lines: L,
        clock: Clock,
        chosen: Option<&str>,
    ) -> Reader<L> {
        Reader {
            from,
            lines,
            clock,
            chosen: chosen.map(str::to_owned),
            device: None,
            other: None,
            start: String::new(),
            line: Vec::new(),
            number: 0,
            latest: 0,
            counts: Counts::default(),
        }
    }

    /// The next access, if there is one more; or what was expected of the trace.
    pub(super) fn next(&mut self) -> Result<Option<DeviceAccess>, String> {
        while self.read_line()? {
            let number = self.number;
            let text = std::str::from_utf8(&self.line)
                .map_err(|_| format!("UTF-8 text, but its line {number} is none"))?;
            let marked = text.strip_prefix('\u{feff}').filter(|_| number == 1);
            let text = marked.unwrap_or(text).trim_ascii();
            if text.is_empty() {
                continue;
            }
            self.counts.lines += 1;
            if self.counts.lines == 1 {
                self.start = shortened(text, LONGEST_START);
            }
            let expected = |what: &str| {
                let shown = shortened(text, SHOWN);
                format!("a trace, but its line {number} is {shown:?}, not {what}")
            };
            let access = match self.lines.read(text) {
                Ok(Line::Access(access)) => access,
                Ok(Line::Discard) => {
                    self.counts.discards += 1;
                    continue;
                }
                Ok(Line::Other) => {
                    self.counts.other_actions += 1;
                    continue;
                }
                Ok(Line::Header | Line::NoEvent) => continue,
                Err(what) if self.counts.lines == 1 => {
                    return Err(format!("{}; {}", expected(what), looks_like(text)));
                }
                Err(what) => return Err(expected(what)),
            };
            let Access { device, at, op, first, bytes } = access;
            if !chooses(&mut self.device, self.chosen.as_deref(), device, number)? {
                self.counts.other_devices += 1;
                self.other.get_or_insert_with(|| device.to_string());
                continue;
            }
            if bytes == 0 {
                self.counts.without_length += 1;
                continue;
            }
            if first.checked_add(bytes).is_none() {
                return Err(expected("an address that a device can have"));
            }
            self.clock.check(at).map_err(|why| format!("{why} (line {number})"))?;
            self.counts.out_of_order += u64::from(at < self.latest);
            self.latest = at.max(self.latest);
            return Ok(Some(DeviceAccess { at, op, first, bytes, line: number }));
        }
        Ok(None)
    }

    /// Whether its format has sizes in bytes.
    pub(super) fn in_bytes(&self) -> bool {
        self.lines.in_bytes()
    }

    /// What is said of a trace without any access that can be replayed.
    pub(super) fn without_access(&self, format: &str) -> String {
        let lines = self.counts.lines;
        let start = "a trace with at least one read or write;";
        if let Some(why) = self.lines.without_access() {
            return format!("{start} its {lines} lines have {why}");
        }
        let is_other = self.counts.discards + self.counts.other_actions == 0;
        match is_other && self.counts.without_length == 0 && lines > 0 {
            true => {
                let guess = looks_like(&self.start);
                format!("{start} no line ({lines} in all) is one of a {format} trace: {guess}")
            }
            false => format!("{start} its {lines} lines have none of a length above zero"),
        }
    }

    /// Reads a line; whether there was one.
    fn read_line(&mut self) -> Result<bool, String> {
        self.line.clear();
        self.number += 1;
        let mut limited = (&mut self.from).take(LONGEST_LINE as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.line);
        read.map_err(|why| format!("a file to read: {why}"))?;
        match self.line.len() {
            0 => Ok(false),
            1..=LONGEST_LINE => Ok(true),
            _ => Err(format!(
                "lines of at most {LONGEST_LINE} bytes, but its line {} is longer",
                self.number
            )),
        }
    }
}

/// Whether an access to `device`, in a line of this number, is to be taken; `first` is the device of the
/// first one that was. Refuses a second device where none is `chosen`, and one of another host where
/// only its disk is.
fn chooses(
    first: &mut Option<(String, String)>,
    chosen: Option<&str>,
    device: Device<'_>,
    line: u64,
) -> Result<bool, String> {
    if chosen.is_some_and(|name| !device.is(name)) {
        return Ok(false);
    }
    let (host, disk) =
        first.get_or_insert_with(|| (device.host.to_owned(), device.disk.to_owned()));
    let before = Device { host, disk };
    if before == device {
        return Ok(true);
    }
    let names = match before.host == device.host {
        true => [before.disk.to_owned(), device.disk.to_owned()],
        false => [before.to_string(), device.to_string()],
    };
    let other = if before.host == device.host { "another" } else { "another host" };
    let [before, device] = names;
    Err(format!(
        "a trace of one device, but its line {line} is of {other}; device = {before:?} or {device:?} \
         chooses one"
    ))
}

fn shortened(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
