//! Logs of fio.

use super::{Access, Clock, Device, Epoch, Line, Lines, trace, whole};
use crate::device::Op;

trace! {
    /// A log that fio writes with `write_iolog` or `log_io`, version 2 or 3 (fio's documentation,
    /// *Trace file format*). In version 3 each line has a time; version 2 has `wait` lines, each
    /// relative to the one before, and without any of them is refused. Times are in microseconds. The
    /// device is a file's name. Trims and syncs are left out.
    pub struct Fio: "fio" {}
    clock = Clock::new(sojourn_core::Span::from_us(1), Epoch::Start);
}

impl Fio {
    fn lines(&self, tick: u128) -> Log {
        Log { tick, version: None, waited: None, first: true }
    }
}

/// A log that is being read.
#[derive(Clone, Debug)]
struct Log {
    tick: u128,
    version: Option<u8>,
    /// Version 2: the sum of its `wait` lines.
    waited: Option<u128>,
    /// Version 2: whether no access has come yet.
    first: bool,
}

impl Lines for Log {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let Some(version) = self.version else {
            self.version = match line {
                "fio version 2 iolog" => Some(2),
                "fio version 3 iolog" => Some(3),
                _ => return Err("\"fio version 3 iolog\", or 2"),
            };
            return Ok(Line::Header);
        };
        let mut words = line.split_ascii_whitespace();
        let time = match version {
            3 => Some(words.next().and_then(whole).ok_or("a time and what was done then")?),
            _ => None,
        };
        let (Some(device), Some(action)) = (words.next(), words.next()) else {
            return Err("a file and what was done with it");
        };
        if matches!(action, "add" | "open" | "close") {
            return Ok(Line::NoEvent);
        }
        let mut number = || words.next().and_then(whole);
        let first = number().ok_or("an action with its offset and length")?;
        if action == "wait" && version == 2 {
            let waited = self.waited.get_or_insert(0);
            *waited = waited.saturating_add(u128::from(first) * self.tick);
            return Ok(Line::NoEvent);
        }
        let op = match action {
            "read" => Op::Read,
            "write" => Op::Write,
            "trim" => return Ok(Line::Discard),
            "sync" | "datasync" | "sync_file_range" => return Ok(Line::Other),
            _ => return Err("an action such as read, write, trim, sync"),
        };
        let bytes = number().ok_or("an action with its offset and length")?;
        let at = match (time, self.waited) {
            (Some(time), _) => u128::from(time) * self.tick,
            (None, Some(waited)) => waited,
            (None, None) if self.first => 0,
            (None, None) => return Err("behind a wait: a log of version 2 has no other times"),
        };
        self.first = false;
        let device = Device::disk(device);
        Ok(Line::Access(Access { device, at, op, first, bytes }))
    }
}
