//! What Linux's block layer did, as blkparse prints it.

use super::{Access, Clock, Device, Epoch, Line, Lines, sectors, ticks, trace, whole, words};
use crate::device::Op;
use sojourn_core::{Bytes, Span};
use std::collections::BTreeMap;

trace! {
    /// The text that `blkparse` prints by default from a `blktrace` (Linux; blkparse(1), *Default
    /// output*): `8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]`. The device is its numbers,
    /// `"8,0"`. One request is on several lines, one for each thing that happened to it; one of
    /// these counts. Discards and flushes are left out, and so is what is printed below the events.
    pub struct Blkparse: "blkparse" {
        /// Event that counts as the arrival: `Q` when a request is queued, `D` when it is issued to
        /// the device (merged with others, scheduled).
        pub action: String = "Q".to_owned(),
        /// Bytes in its sectors.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(Span::from_s(1), Epoch::Start);
}

impl Blkparse {
    fn lines(&self, tick: u128) -> Events {
        let (action, sector) = (self.action.clone(), self.sector.0);
        Events { action, sector, tick, others: BTreeMap::new() }
    }
}

/// Events that are being read.
#[derive(Clone, Debug)]
struct Events {
    action: String,
    sector: u64,
    tick: u128,
    /// Counts of reads and writes of other actions, by action.
    others: BTreeMap<String, u64>,
}

/// The most other actions that are counted: blkparse(1) has 17.
const MOST_ACTIONS: usize = 32;

fn is_device(text: &str) -> bool {
    let numbers = |(major, minor)| whole(major).and(whole(minor)).is_some();
    text.split_once(',').is_some_and(numbers)
}

impl Events {
    /// Counts an access of another action.
    fn count(&mut self, action: &str) {
        if let Some(count) = self.others.get_mut(action) {
            *count += 1;
        } else if self.others.len() < MOST_ACTIONS {
            self.others.insert(action.to_owned(), 1);
        }
    }
}

impl Lines for Events {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let [disk, _, _, time, _, action, what, first, plus, count] = words(line);
        if !is_device(disk) {
            return Ok(Line::NoEvent);
        }
        let at = ticks(time, self.tick).ok_or("an event with its time in seconds")?;
        if action.is_empty() || what.is_empty() {
            return Err("an event with its action and what it is about");
        }
        let op = match (what.contains('R'), what.contains('W')) {
            (true, false) => Some(Op::Read),
            (false, true) => Some(Op::Write),
            _ => None,
        };
        if action != self.action {
            if op.is_some() && plus == "+" {
                self.count(action);
            }
            return Ok(Line::NoEvent);
        }
        let Some(op) = op.filter(|_| !what.contains('D')) else {
            return Ok(if what.contains('D') { Line::Discard } else { Line::Other });
        };
        let (first, bytes) = match plus {
            "+" => (sectors(first, self.sector), sectors(count, self.sector)),
            // A flush has neither address nor length.
            _ => (Some(0), Some(0)),
        };
        match (first, bytes) {
            (Some(first), Some(bytes)) => {
                Ok(Line::Access(Access { device: Device::disk(disk), at, op, first, bytes }))
            }
            _ => Err("an event with its sector and how many there are, 223490 + 8"),
        }
    }

    fn without_access(&self) -> Option<String> {
        let (most, _) = self.others.iter().max_by_key(|(_, count)| **count)?;
        let counts: Vec<String> =
            self.others.iter().map(|(action, count)| format!("{count} of {action}")).collect();
        let (action, counts) = (&self.action, counts.join(", "));
        Some(format!("no event {action}, but {counts}; action = {most:?} takes these"))
    }
}
