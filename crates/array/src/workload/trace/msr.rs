//! Traces of Microsoft Research's servers in Cambridge.

use super::{Access, Action, Clock, Device, Epoch, Line, Lines, fields, ticks, trace, whole};

trace! {
    /// A trace in the format of the MSR Cambridge traces (Narayanan, Donnelly and Rowstron, *Write
    /// off-loading*, FAST 2008; README of SNIA IOTTA trace 387): lines of time, host, disk, `Read` or
    /// `Write`, offset, size and response time, separated by commas. Offset and size are in bytes,
    /// times in Windows' ticks of 100 ns since 1601. The device is the disk's number, or host and
    /// number together, `"usr_0"`. The recorded response times are not used.
    pub struct Msr: "msr" {}
    clock = Clock::new(sojourn_core::Span::from_ns(100), Epoch::Windows)
}

impl Msr {
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
        let [time, host, disk, action, first, bytes] = fields(line, ',');
        if (time, host) == ("Timestamp", "Hostname") {
            return Ok(Line::Header);
        }
        let action = Action::of(action)
            .ok_or("time, host, disk, Read or Write, offset, size, response time")?;
        match (ticks(time, self.tick), whole(first), whole(bytes)) {
            (Some(at), Some(first), Some(bytes)) => {
                let device = Device { host, disk };
                Ok(action.line(|op| Access { device, at, op, first, bytes }))
            }
            _ => Err("whole numbers as time, offset and size"),
        }
    }
}
