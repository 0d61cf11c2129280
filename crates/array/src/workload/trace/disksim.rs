//! Traces for DiskSim.

use super::{Access, Clock, Device, Epoch, Line, Lines, sectors, ticks, trace, whole, words};
use crate::device::Op;
use sojourn_core::Bytes;

trace! {
    /// A trace in DiskSim's ASCII format (Bucy et al., *The DiskSim Simulation Environment Version
    /// 4.0 Reference Manual*, CMU-PDL-08-101, *Traces*; `disksim_iotrace.c`): lines of arrival time in
    /// milliseconds, device, block, size in blocks, and flags in hexadecimal, separated by spaces. Bit
    /// 0 of the flags is set for a read.
    pub struct Disksim: "disksim" {
        /// Bytes in its blocks.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(sojourn_core::Span::from_ms(1), Epoch::Start)
}

impl Disksim {
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
        let [time, disk, first, bytes, flags] = words(line);
        let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok();
        let op = flags.map(|flags| if flags & 1 == 1 { Op::Read } else { Op::Write });
        let (first, bytes) = (sectors(first, self.sector), sectors(bytes, self.sector));
        match (ticks(time, self.tick), whole(disk), first, bytes, op) {
            (Some(at), Some(_), Some(first), Some(bytes), Some(op)) => {
                let device = Device::disk(disk);
                Ok(Line::Access(Access { device, at, op, first, bytes }))
            }
            _ => Err("arrival time in milliseconds, device, block, size in blocks, flags"),
        }
    }
}
