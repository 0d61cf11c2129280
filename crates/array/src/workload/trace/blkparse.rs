//! What Linux's block layer did, as blkparse prints it.

use super::{Access, Line, Lines, trace, whole};
use crate::device::Op;
use sojourn_core::Bytes;

trace! {
    /// The text that `blkparse` prints by default from a `blktrace` (Linux; blkparse(1), *Default
    /// output*): `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`. The device is its numbers,
    /// `"8,0"`. One request is on several lines, one for each thing that happened to it; one of
    /// these counts. What is printed below the events is passed over. Requests are rounded out to
    /// whole blocks.
    pub struct Blkparse: "blkparse" {
        /// Which event is the arrival: `Q` when a request is queued, `D` when it is issued to the
        /// device (merged with others, scheduled).
        pub action: String = "Q".to_owned(),
        /// Bytes in its sectors.
        pub sector: Bytes = Bytes(512),
    }
}

impl Blkparse {
    fn lines(&self) -> Events {
        Events { action: self.action.clone(), sector: self.sector.0 }
    }
}

/// Events that are being read.
#[derive(Clone, Debug)]
struct Events {
    action: String,
    sector: u64,
}

/// Seconds and their decimals as picoseconds.
fn picoseconds(text: &str) -> Option<u128> {
    let (seconds, decimals) = text.split_once('.').unwrap_or((text, "0"));
    if !decimals.is_ascii() {
        return None;
    }
    let decimals = &decimals[..decimals.len().min(12)];
    let scale = 10u128.pow(12 - decimals.len() as u32);
    Some(u128::from(whole(seconds)?) * 1_000_000_000_000 + u128::from(whole(decimals)?) * scale)
}

fn is_device(text: &str) -> bool {
    let numbers = |(major, minor)| whole(major).and(whole(minor)).is_some();
    text.split_once(',').is_some_and(numbers)
}

impl Lines for Events {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let mut words = line.split_ascii_whitespace();
        let device = words.next().unwrap_or_default();
        if !is_device(device) {
            return Ok(Line::NoEvent);
        }
        let [_, _, time, _, action, what] =
            std::array::from_fn(|_| words.next().unwrap_or_default());
        let at = picoseconds(time).ok_or("an event with its time in seconds")?;
        if action.is_empty() || what.is_empty() {
            return Err("an event with its action and what it is about");
        }
        if action != self.action || what.contains('D') {
            return Ok(Line::Other);
        }
        let op = match (what.contains('R'), what.contains('W')) {
            (true, false) => Op::Read,
            (false, true) => Op::Write,
            _ => return Ok(Line::Other),
        };
        let (first, plus, sectors) = (words.next(), words.next(), words.next());
        let bytes = |sectors: Option<&str>| whole(sectors?)?.checked_mul(self.sector);
        let (first, bytes) = match plus {
            Some("+") => (bytes(first), bytes(sectors)),
            // A flush has neither address nor length.
            _ => (Some(0), Some(0)),
        };
        match (first, bytes) {
            (Some(first), Some(bytes)) => Ok(Line::Access(Access { device, at, op, first, bytes })),
            _ => Err("an event with its sector and how many there are, 223490 + 8"),
        }
    }
}
