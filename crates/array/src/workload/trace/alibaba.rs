//! Traces of Alibaba Cloud's block service.

use super::{Access, Action, Clock, Device, Epoch, Line, Lines, fields, ticks, trace, whole};

trace! {
    /// A trace in the format of Alibaba's block traces (README of github.com/alibaba/block-traces,
    /// *Schema*; Li et al., *An In-Depth Analysis of Cloud Block Storage Workloads*, IISWC 2020):
    /// lines of device, `R` or `W`, offset and length in bytes, and microseconds since 1970,
    /// separated by commas. The device is the virtual disk's number.
    pub struct Alibaba: "alibaba" {}
    clock = Clock::new(sojourn_core::Span::from_us(1), Epoch::Unix)
}

impl Alibaba {
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
        let [disk, action, first, bytes, time] = fields(line, ',');
        if (disk, action) == ("device_id", "opcode") {
            return Ok(Line::Header);
        }
        let expected = "device, R or W, offset, length, microseconds since 1970";
        let action = Action::of(action).ok_or(expected)?;
        match (whole(first), whole(bytes), ticks(time, self.tick)) {
            (Some(first), Some(bytes), Some(at)) => {
                let device = Device::disk(disk);
                Ok(action.line(|op| Access { device, at, op, first, bytes }))
            }
            _ => Err(expected),
        }
    }
}
