//! Traces of CloudPhysics, as text.

use super::{Access, Clock, Device, Epoch, Line, Lines, fields, sectors, ticks, trace, whole};
use crate::device::Op;

trace! {
    /// A trace of CloudPhysics as libCacheSim has it in CSV (github.com/1a1a11a/libCacheSim,
    /// `data/cloudPhysicsIO.csv` and `FAQ.md`, *What are the units in a trace?*; Waldspurger et al.,
    /// *Efficient MRC Construction with SHARDS*, FAST 2015): lines of version, seconds, SCSI operation
    /// code in decimal, size in bytes, and address in sectors of 512 B, separated by commas. It is of
    /// one device. Its times are whole seconds, so the requests of a second arrive together.
    /// Operations other than READ and WRITE are left out.
    pub struct Cloudphysics: "cloudphysics" {}
    clock = Clock::new(sojourn_core::Span::from_s(1), Epoch::Start)
}

/// Bytes in a sector.
const SECTOR: u64 = 512;

impl Cloudphysics {
    fn lines(&self, tick: u128) -> Records {
        Records { tick }
    }
}

/// Records that are being read.
#[derive(Clone, Debug)]
struct Records {
    tick: u128,
}

impl Lines for Records {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let [version, time, code, bytes, first] = fields(line, ',');
        if (version, time) == ("version", "time") {
            return Ok(Line::Header);
        }
        let parts = (whole(version), ticks(time, self.tick), whole(code), whole(bytes));
        let (Some(1..=2), Some(at), Some(code @ 0..=255), Some(bytes), Some(first)) =
            (parts.0, parts.1, parts.2, parts.3, sectors(first, SECTOR))
        else {
            return Err("version, seconds, SCSI operation code, size in bytes, address in sectors");
        };
        // READ and WRITE with command blocks of 6, 10, 12 and 16 bytes (SBC-3, section 5), and
        // UNMAP and WRITE SAME, which discard.
        let op = match code {
            0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
            0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
            0x42 | 0x41 | 0x93 => return Ok(Line::Discard),
            _ => return Ok(Line::Other),
        };
        Ok(Line::Access(Access { device: Device::disk("0"), at, op, first, bytes }))
    }
}
