//! Traces of Tencent Cloud's block service.

use super::{Access, Clock, Device, Epoch, Line, Lines, fields, sectors, ticks, trace, whole};
use crate::device::Op;

trace! {
    /// A trace in the format of Tencent's cloud block storage traces (README of SNIA IOTTA trace
    /// 27917; Zhang et al., *OSCA*, ATC 2020): lines of seconds since 1970, offset and size in
    /// sectors of 512 B, 0 for a read or 1 for a write, and volume, separated by commas. The device
    /// is the volume's number. Its times are whole seconds, so the requests of a second arrive
    /// together.
    pub struct Tencent: "tencent" {}
    clock = Clock::new(sojourn_core::Span::from_s(1), Epoch::Unix)
}

/// Bytes in a sector.
const SECTOR: u64 = 512;

impl Tencent {
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
    const IN_BYTES: bool = false;

    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let [time, first, bytes, op, volume] = fields(line, ',');
        if (time, first) == ("Timestamp", "Offset") {
            return Ok(Line::Header);
        }
        let op = match op {
            "0" => Some(Op::Read),
            "1" => Some(Op::Write),
            _ => None,
        };
        let (first, bytes) = (sectors(first, SECTOR), sectors(bytes, SECTOR));
        match (ticks(time, self.tick), first, bytes, op, whole(volume)) {
            (Some(at), Some(first), Some(bytes), Some(op), Some(_)) => {
                let device = Device::disk(volume);
                Ok(Line::Access(Access { device, at, op, first, bytes }))
            }
            _ => Err("seconds since 1970, offset and size in sectors, 0 or 1, volume"),
        }
    }
}
