//! Traces for MQSim.

use super::{Access, Clock, Device, Epoch, Line, Lines, sectors, ticks, trace, whole, words};
use crate::device::Op;
use sojourn_core::Bytes;

trace! {
    /// A trace in MQSim's ASCII format (README of github.com/CMU-SAFARI/MQSim, *Defining a
    /// Trace-based Workload*): lines of arrival time, device, address and size in sectors, and 0 for
    /// a write or 1 for a read, separated by spaces. `tick` is the workload's `Time_Unit`, by default
    /// 1 ns.
    pub struct Mqsim: "mqsim" {
        /// Bytes in its sectors.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(sojourn_core::Span::from_ns(1), Epoch::Start)
}

impl Mqsim {
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
    const IN_BYTES: bool = false;

    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let [time, disk, first, bytes, op] = words(line);
        let op = match op {
            "0" => Some(Op::Write),
            "1" => Some(Op::Read),
            _ => None,
        };
        let (first, bytes) = (sectors(first, self.sector), sectors(bytes, self.sector));
        match (whole(time).and(ticks(time, self.tick)), whole(disk), first, bytes, op) {
            (Some(at), Some(_), Some(first), Some(bytes), Some(op)) => {
                let device = Device::disk(disk);
                Ok(Line::Access(Access { device, at, op, first, bytes }))
            }
            _ => Err("arrival time, device, address and size in sectors, 0 or 1"),
        }
    }
}
