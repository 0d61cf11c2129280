//! Traces of Microsoft Research's servers in Cambridge.

use super::{Access, Line, Lines, trace, whole};
use crate::device::Op;
use sojourn_core::Span;

trace! {
    /// A trace in the format of the MSR Cambridge traces (Narayanan, Donnelly and Rowstron, *Write
    /// off-loading*, FAST 2008): lines of time, host, disk, `Read` or `Write`, offset, size and
    /// response time, separated by commas; offset and size are in bytes. The device is the disk's
    /// number. The recorded response times are not used. Requests are rounded out to whole blocks.
    pub struct Msr: "msr" {
        /// The unit of its times: Windows counts tenths of a microsecond.
        pub tick: Span = Span::from_ns(100),
    }
}

impl Msr {
    fn lines(&self) -> Records {
        Records { tick: self.tick.ps().into() }
    }
}

/// Records that are being read.
#[derive(Clone, Debug)]
struct Records {
    tick: u128,
}

impl Lines for Records {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let mut fields = line.split(',').map(str::trim_ascii);
        let [time, _, device, op, first, bytes] =
            std::array::from_fn(|_| fields.next().unwrap_or_default());
        if time == "Timestamp" {
            return Ok(Line::NoEvent);
        }
        let op = match op {
            "Read" | "read" => Op::Read,
            "Write" | "write" => Op::Write,
            _ => return Err("time, host, disk, Read or Write, offset, size, response time"),
        };
        match (whole(time), whole(first), whole(bytes)) {
            (Some(time), Some(first), Some(bytes)) => {
                let at = u128::from(time) * self.tick;
                Ok(Line::Access(Access { device, at, op, first, bytes }))
            }
            _ => Err("whole numbers as time, offset and size"),
        }
    }
}
