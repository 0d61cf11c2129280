//! Lines of columns: the formats whose every line has the same fields in the same order.

use super::{Access, Action, Clock, Device, Epoch, Line, Lines, sectors, ticks, trace, whole};
use crate::device::Op;
use sojourn_core::{Bytes, Span};

/// What a field of a line is.
#[derive(Clone, Copy, Debug)]
enum Column {
    /// The time, in units of the format's clock; with decimals or without.
    Time,
    /// The time as a whole number of units.
    WholeTime,
    /// The host, in any characters.
    Host,
    /// The device, in any characters.
    Disk,
    /// The device, a whole number.
    DiskNumber,
    /// The address, in units of this many bytes.
    First(u64),
    /// The length in bytes.
    Bytes,
    /// The length in sectors of this many bytes.
    Sectors(u64),
    /// What was done: the function that knows its names or codes.
    Action(fn(&str) -> Option<Action>),
    /// A number from 1 to this.
    UpTo(u64),
    /// Ignored.
    Ignored,
}

/// Reads lines of columns.
#[derive(Clone, Debug)]
struct Columns {
    /// Picoseconds in a unit of the clock.
    tick: u128,
    /// Stands between the fields; a space stands for any number of them.
    separator: char,
    /// The first two fields of a line that names the columns; empty where there is no such line.
    header: [&'static str; 2],
    columns: Vec<Column>,
    /// The columns in words, for messages.
    expected: &'static str,
}

impl Columns {
    /// The access of a line and what was done; nothing where a field is not what its column says.
    /// Fields behind the last column are ignored, and missing ones are empty.
    fn row<'a>(&self, mut fields: impl Iterator<Item = &'a str>) -> Option<(Action, Access<'a>)> {
        let device = Device { host: "", disk: "0" };
        let mut access = Access { device, at: 0, op: Op::Read, first: 0, bytes: 0 };
        let mut action = Action::Other;
        for column in &self.columns {
            let field = fields.next().unwrap_or_default();
            match *column {
                Column::Time => access.at = ticks(field, self.tick)?,
                Column::WholeTime => access.at = u128::from(whole(field)?) * self.tick,
                Column::Host => access.device.host = field,
                Column::Disk => access.device.disk = field,
                Column::DiskNumber => {
                    whole(field)?;
                    access.device.disk = field;
                }
                Column::First(unit) => access.first = sectors(field, unit)?,
                Column::Bytes => access.bytes = whole(field)?,
                Column::Sectors(sector) => access.bytes = sectors(field, sector)?,
                Column::Action(known) => action = known(field)?,
                Column::UpTo(most) => {
                    whole(field).filter(|number| (1..=most).contains(number))?;
                }
                Column::Ignored => {}
            }
        }
        Some((action, access))
    }

    fn is_header(&self, line: &str) -> bool {
        let mut fields = line.split(self.separator).map(str::trim_ascii);
        !self.header[0].is_empty() && self.header.iter().all(|name| fields.next() == Some(name))
    }
}

impl Lines for Columns {
    fn in_bytes(&self) -> bool {
        self.columns.iter().any(|column| matches!(column, Column::Bytes))
    }

    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, &'static str> {
        let row = match self.separator {
            ' ' => self.row(line.split_ascii_whitespace()),
            separator => self.row(line.split(separator).map(str::trim_ascii)),
        };
        match row {
            Some((Action::Access(op), access)) => Ok(Line::Access(Access { op, ..access })),
            Some((Action::Discard, _)) => Ok(Line::Discard),
            Some((Action::Other, _)) => Ok(Line::Other),
            None if self.is_header(line) => Ok(Line::Header),
            None => Err(self.expected),
        }
    }
}

/// Bytes in a sector, where a format says nothing else.
const SECTOR: u64 = 512;

trace! {
    /// A trace in the format of Alibaba's block traces (README of github.com/alibaba/block-traces,
    /// *Schema*; Li et al., *An In-Depth Analysis of Cloud Block Storage Workloads*, IISWC 2020):
    /// lines of device, `R` or `W`, offset and length in bytes, and microseconds since 1970,
    /// separated by commas. The device is the virtual disk's number.
    pub struct Alibaba: "alibaba" {}
    clock = Clock::new(Span::from_us(1), Epoch::Unix);
    columns = ',', ["device_id", "opcode"], |_| [
        Column::Disk, Column::Action(Action::of), Column::First(1), Column::Bytes, Column::Time,
    ];
    expected = "device, R or W, offset, length, microseconds since 1970";
}

trace! {
    /// A trace of CloudPhysics as libCacheSim has it in CSV (github.com/1a1a11a/libCacheSim,
    /// `data/cloudPhysicsIO.csv` and `FAQ.md`, *What are the units in a trace?*; Waldspurger et al.,
    /// *Efficient MRC Construction with SHARDS*, FAST 2015): lines of version, seconds, SCSI operation
    /// code in decimal, size in bytes, and address in sectors of 512 B, separated by commas. It is of
    /// one device. Its times are whole seconds, so the requests of a second arrive together.
    /// Operations other than READ and WRITE are left out.
    pub struct Cloudphysics: "cloudphysics" {}
    clock = Clock::new(Span::from_s(1), Epoch::Start);
    columns = ',', ["version", "time"], |_| [
        Column::UpTo(2), Column::Time, Column::Action(scsi_action), Column::Bytes,
        Column::First(SECTOR),
    ];
    expected = "version, seconds, SCSI operation code, size in bytes, address in sectors";
}

/// What was done: READ and WRITE with command blocks of 6, 10, 12 and 16 bytes (SBC-3, section 5), and
/// UNMAP and WRITE SAME, which discard.
fn scsi_action(code: &str) -> Option<Action> {
    match whole(code)? {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Action::Access(Op::Read)),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Action::Access(Op::Write)),
        0x42 | 0x41 | 0x93 => Some(Action::Discard),
        code => (code <= 255).then_some(Action::Other),
    }
}

trace! {
    /// A trace in DiskSim's ASCII format (Bucy et al., *The DiskSim Simulation Environment Version
    /// 4.0 Reference Manual*, CMU-PDL-08-101, *Traces*; `disksim_iotrace.c`): lines of arrival time in
    /// milliseconds, device, block, size in blocks, and flags in hexadecimal, separated by spaces. Bit
    /// 0 of the flags is set for a read.
    pub struct Disksim: "disksim" {
        /// Bytes in its blocks.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(Span::from_ms(1), Epoch::Start);
    columns = ' ', ["", ""], |trace| [
        Column::Time, Column::DiskNumber, Column::First(trace.sector.0),
        Column::Sectors(trace.sector.0), Column::Action(flagged_action),
    ];
    expected = "arrival time in milliseconds, device, block, size in blocks, flags";
}

/// What was done, by its flags.
fn flagged_action(flags: &str) -> Option<Action> {
    let flags = u32::from_str_radix(flags.trim_start_matches("0x"), 16).ok()?;
    Some(Action::Access(if flags & 1 == 1 { Op::Read } else { Op::Write }))
}

trace! {
    /// A trace in MQSim's ASCII format (README of github.com/CMU-SAFARI/MQSim, *Defining a
    /// Trace-based Workload*): lines of arrival time, device, address and size in sectors, and 0 for
    /// a write or 1 for a read, separated by spaces. `tick` is the workload's `Time_Unit`, by default
    /// 1 ns.
    pub struct Mqsim: "mqsim" {
        /// Bytes in its sectors.
        pub sector: Bytes = Bytes(512),
    }
    clock = Clock::new(Span::from_ns(1), Epoch::Start);
    columns = ' ', ["", ""], |trace| [
        Column::WholeTime, Column::DiskNumber, Column::First(trace.sector.0),
        Column::Sectors(trace.sector.0), Column::Action(read_is_one),
    ];
    expected = "arrival time, device, address and size in sectors, 0 or 1";
}

/// What was done, by its number.
fn read_is_one(number: &str) -> Option<Action> {
    match number {
        "0" => Some(Action::Access(Op::Write)),
        "1" => Some(Action::Access(Op::Read)),
        _ => None,
    }
}

trace! {
    /// A trace in the format of the MSR Cambridge traces (Narayanan, Donnelly and Rowstron, *Write
    /// off-loading*, FAST 2008; README of SNIA IOTTA trace 387): lines of time, host, disk, `Read` or
    /// `Write`, offset, size and response time, separated by commas. Offset and size are in bytes,
    /// times in Windows' ticks of 100 ns since 1601. The device is the disk's number, or host and
    /// number together, `"usr_0"`. The recorded response times are not used.
    pub struct Msr: "msr" {}
    clock = Clock::new(Span::from_ns(100), Epoch::Windows);
    columns = ',', ["Timestamp", "Hostname"], |_| [
        Column::Time, Column::Host, Column::Disk, Column::Action(Action::of), Column::First(1),
        Column::Bytes,
    ];
    expected = "time, host, disk, Read or Write, offset, size, response time";
}

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
    clock = Clock::new(Span::from_s(1), Epoch::Start);
    columns = ',', ["", ""], |trace| [
        Column::DiskNumber, Column::First(trace.sector.0), Column::Bytes,
        Column::Action(Action::of), Column::Time,
    ];
    expected = "ASU, address in sectors, size in bytes, R or W, seconds";
}

trace! {
    /// A trace in the format of the SYSTOR '17 traces (README of SNIA IOTTA trace 4928; Lee et al.,
    /// *Understanding storage traffic characteristics on enterprise virtual desktop infrastructure*,
    /// SYSTOR 2017): lines of seconds since 1970, response time, `R` or `W`, logical unit, offset and
    /// size in bytes, separated by commas. The device is the logical unit's number. The recorded
    /// response times are not used. Lines without an operation, to which there was no response, are
    /// left out.
    pub struct Systor17: "systor17" {}
    clock = Clock::new(Span::from_s(1), Epoch::Unix);
    columns = ',', ["Timestamp", "Response"], |_| [
        Column::Time, Column::Ignored, Column::Action(answered_action), Column::DiskNumber,
        Column::First(1), Column::Bytes,
    ];
    expected = "seconds since 1970, response time, R or W, logical unit, offset, size";
}

/// What was done, by its name; nothing where there was no response.
fn answered_action(name: &str) -> Option<Action> {
    if name.is_empty() { Some(Action::Other) } else { Action::of(name) }
}

trace! {
    /// A trace in the format of Tencent's cloud block storage traces (README of SNIA IOTTA trace
    /// 27917; Zhang et al., *OSCA*, ATC 2020): lines of seconds since 1970, offset and size in
    /// sectors of 512 B, 0 for a read or 1 for a write, and volume, separated by commas. The device
    /// is the volume's number. Its times are whole seconds, so the requests of a second arrive
    /// together.
    pub struct Tencent: "tencent" {}
    clock = Clock::new(Span::from_s(1), Epoch::Unix);
    columns = ',', ["Timestamp", "Offset"], |_| [
        Column::Time, Column::First(SECTOR), Column::Sectors(SECTOR), Column::Action(read_is_zero),
        Column::DiskNumber,
    ];
    expected = "seconds since 1970, offset and size in sectors, 0 or 1, volume";
}

/// What was done, by its number.
fn read_is_zero(number: &str) -> Option<Action> {
    match number {
        "0" => Some(Action::Access(Op::Read)),
        "1" => Some(Action::Access(Op::Write)),
        _ => None,
    }
}
