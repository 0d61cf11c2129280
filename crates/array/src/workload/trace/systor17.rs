//! Traces of a virtual desktop infrastructure, of SYSTOR '17.

use super::{Access, Action, Clock, Device, Epoch, Line, Lines, fields, ticks, trace, whole};

trace! {
    /// A trace in the format of the SYSTOR '17 traces (README of SNIA IOTTA trace 4928; Lee et al.,
    /// *Understanding storage traffic characteristics on enterprise virtual desktop infrastructure*,
    /// SYSTOR 2017): lines of seconds since 1970, response time, `R` or `W`, logical unit, offset and
    /// size in bytes, separated by commas. The device is the logical unit's number. The recorded
    /// response times are not used. Lines without an operation, to which there was no response, are
    /// left out.
    pub struct Systor17: "systor17" {}
    clock = Clock::new(sojourn_core::Span::from_s(1), Epoch::Unix)
}

impl Systor17 {
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
        let [time, response, action, unit, first, bytes] = fields(line, ',');
        if (time, response) == ("Timestamp", "Response") {
            return Ok(Line::Header);
        }
        let action = if action.is_empty() { Some(Action::Other) } else { Action::of(action) };
        let parts = (ticks(time, self.tick), action, whole(unit), whole(first), whole(bytes));
        match parts {
            (Some(at), Some(action), Some(_), Some(first), Some(bytes)) => {
                let device = Device::disk(unit);
                Ok(action.line(|op| Access { device, at, op, first, bytes }))
            }
            _ => Err("seconds since 1970, response time, R or W, logical unit, offset, size"),
        }
    }
}
