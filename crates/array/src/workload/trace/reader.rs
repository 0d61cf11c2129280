//! The accesses of a trace, read line by line: memory does not grow with its length.

use super::{Access, Line, Lines};
use crate::device::Op;
use std::io::{BufRead, Read};

/// The longest line, in bytes.
const LONGEST_LINE: usize = 1 << 16;
/// The number of characters of a line that messages show.
const SHOWN: usize = 100;

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
    pub(super) other_actions: u64,
    pub(super) other_devices: u64,
    pub(super) without_length: u64,
    pub(super) out_of_order: u64,
}

/// Reads the accesses of one device.
pub(super) struct Reader<L> {
    from: Box<dyn BufRead>,
    lines: L,
    /// The device that is chosen; else that of the first access.
    device: Option<String>,
    is_chosen: bool,
    /// The first other device, if one is chosen.
    pub(super) other: Option<String>,
    /// The line that was read last, and its number.
    line: Vec<u8>,
    number: u64,
    latest: u128,
    pub(super) counts: Counts,
}

impl<L: Lines> Reader<L> {
    /// Reads the lines of `from` about `device`; without a device the trace may have only one.
    pub(super) fn new(from: Box<dyn BufRead>, lines: L, device: Option<&str>) -> Reader<L> {
        Reader {
            from,
            lines,
            device: device.map(str::to_owned),
            is_chosen: device.is_some(),
            other: None,
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
            let expected = |what| {
                format!("a trace, but its line {number} is {:?}, not {what}", shortened(text))
            };
            let access = match self.lines.read(text).map_err(expected)? {
                Line::Access(access) => access,
                Line::Other => {
                    self.counts.other_actions += 1;
                    continue;
                }
                Line::NoEvent => continue,
            };
            match &self.device {
                Some(device) if device == access.device => {}
                Some(_) if self.is_chosen => {
                    self.counts.other_devices += 1;
                    self.other.get_or_insert_with(|| access.device.to_owned());
                    continue;
                }
                Some(first) => {
                    let other = access.device;
                    return Err(format!(
                        "a trace of one device, but its line {number} is of another; device = \
                         {first:?} or {other:?} chooses one"
                    ));
                }
                None => self.device = Some(access.device.to_owned()),
            }
            let Access { at, op, first, bytes, .. } = access;
            if bytes == 0 {
                self.counts.without_length += 1;
                continue;
            }
            if first.checked_add(bytes).is_none() {
                return Err(expected("an address that a device can have"));
            }
            self.counts.out_of_order += u64::from(at < self.latest);
            self.latest = at.max(self.latest);
            return Ok(Some(DeviceAccess { at, op, first, bytes, line: number }));
        }
        Ok(None)
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
