//! A journal entry, as its fields come.

use crate::fields::cut;
use crate::syslog_header::number;

/// The journal entry at hand.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) at: Option<i64>,
    pub(crate) host: Vec<u8>,
    pub(crate) program: Vec<u8>,
    pub(crate) process: u32,
    pub(crate) text: Vec<u8>,
    pub(crate) begun: bool,
    /// Whether its fields have four spaces before them.
    pub(crate) is_verbose: bool,
    /// An object of JSON as far as it was read.
    pub(crate) object: Vec<u8>,
}

impl Entry {
    /// Whether this line is part of an object of JSON in several lines.
    pub(crate) fn is_object(&self, line: &[u8]) -> bool {
        !self.object.is_empty() || line == b"{" && !self.begun
    }

    /// The fields of systemd.journal-fields(7) that make a line.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
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

/// The stamp of an entry's first line with journalctl --output=verbose: `Sat 2026-11-28 07:41:25.5
/// UTC [s=...;i=...]`, to whose fields four spaces are added.
pub(crate) fn verbose_stamp(line: &[u8]) -> Option<&[u8]> {
    let is_dated = line.get(8) == Some(&b'-') && line[3] == b' ' && line.ends_with(b"]");
    (is_dated && cut(line, b" [s=").is_some()).then(|| &line[4..])
}
