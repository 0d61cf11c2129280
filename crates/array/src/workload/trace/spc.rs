//! Traces in the Storage Performance Council's format.

use super::{Access, Action, Clock, Device, Epoch, Line, Lines, fields, sectors, ticks, trace, whole};
use sojourn_core::Bytes;

trace! {
    /// A trace in the format of the Storage Performance Council (*SPC Trace File Format
    /// Specification*, revision 1.0.1, 2002), which the UMass Financial and WebSearch traces have:
    /// lines of ASU (application-specific unit), address in sectors, size in bytes, `R` or `W`, and
    /// seconds since the trace's start, separated by commas. The device is the ASU. Further fields
    /// are ignored.
    pub struct Spc: "spc" {
        /// Bytes in its sectors. The UMass traces have 512.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(sojourn_core::Span::from_s(1), Epoch::Start)
}

impl Spc {
    fn lines(&self, tick: u128) -> Records {
        Records { tick, sector: self.sector.0 }
    }
}

/// Records that are being read.
#[derive(Clone, Debug)]
struct Records {
    tick: u128,
    sector: u64,
}

impl Lines for Records {
    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let [unit, first, bytes, action, time] = fields(line, ',');
        let expected = "ASU, address in sectors, size in bytes, R or W, seconds";
        let action = Action::of(action).ok_or(expected)?;
        match (whole(unit), sectors(first, self.sector), whole(bytes), ticks(time, self.tick)) {
            (Some(_), Some(first), Some(bytes), Some(at)) => {
                let device = Device::disk(unit);
                Ok(action.line(|op| Access { device, at, op, first, bytes }))
            }
            _ => Err(expected),
        }
    }
}
