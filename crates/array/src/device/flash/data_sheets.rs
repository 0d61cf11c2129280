//! Known solid-state drives: what data sheets and reviews say of them as defaults.
//!
//! What none says is derived by these rules, and said where it is used: `read` is the latency of a small
//! random read less the latency of a small write; `overhead` the latter less `command`, which is one by the most
//! IOPS; `amplification` the sequential writes over the steady random writes, in bytes a second; `units` the
//! least number that programs at `write_rate`.

use super::{Flash, MOST_UNITS};
use crate::device::{DeviceContext, Kind, MOST_SERVERS, WithDevice};
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::{Bytes, Rate, Span, parameters};

/// Declares a drive: the parameters of [`Flash`], each with this drive's value.
macro_rules! drive {
    (
        $(#[doc = $doc:literal])+
        $type:ident: $name:literal {
            capacity: $capacity:expr,
            controller: $overhead:expr, $command:expr, $interface:expr, $depth:literal,
            read: $read:expr, $read_p99:expr, $unit_rate:expr,
            program: $program:expr, $suspend:expr,
            units: $units:literal, $page:expr,
            writes: $write_rate:expr, $amplification:literal, $indirection:expr,
        }
    ) => {
        parameters! {
            $(#[doc = $doc])+
            pub struct $type: $name {
                /// Name in tables, legends and plans. By default its kind.
                pub name: Option<Name> = None,
                /// Capacity of the drive.
                pub capacity: Bytes = $capacity,
                /// How long an access takes beside its times at the controller and at a unit.
                pub overhead: Span = $overhead,
                /// How long each access keeps the controller from all others.
                pub command: Span = $command,
                /// How fast bytes pass the interface.
                pub interface: Rate = $interface,
                /// How long a unit takes to read, but for handing over: the median.
                pub read: Span = $read,
                /// The time within which 99 of 100 such reads are done.
                pub read_p99: Option<Span> = $read_p99,
                /// How fast a unit hands over what it has read; by default at once.
                pub unit_rate: Option<Rate> = $unit_rate,
                /// Median time in which a unit programs a page.
                pub program: Span = $program,
                /// 99th percentile of that time. By default all programs take the median.
                pub program_p99: Option<Span> = None,
                /// The longest time that a read waits for a program under way; by default until its end.
                pub suspend: Option<Span> = $suspend,
                /// How many units of flash work at the same time.
                pub units: u16 [1..=MOST_UNITS] = $units,
                /// How many bytes a unit programs at a time.
                pub page: Bytes = $page,
                /// How many bytes are programmed a second at most.
                pub write_rate: Rate = $write_rate,
                /// How many bytes are programmed for each byte written; 1 for sequential writes.
                pub amplification: f64 [1.0..=100.0] = $amplification,
                /// The unit in which the drive maps addresses to flash.
                pub indirection: Bytes = $indirection,
                /// How much of what is written waits to be programmed; by default two pages a unit.
                pub cache: Option<Bytes> = None,
                /// How many accesses it takes in at once.
                pub depth: u16 [1..=MOST_SERVERS] = $depth,
            }
        }

        impl $type {
            fn sheet(&self) -> Flash {
                Flash {
                    name: self.name.clone(),
                    capacity: self.capacity,
                    overhead: self.overhead,
                    command: self.command,
                    interface: self.interface,
                    read: self.read,
                    read_p99: self.read_p99,
                    unit_rate: self.unit_rate,
                    program: self.program,
                    program_p99: self.program_p99,
                    suspend: self.suspend,
                    units: self.units,
                    page: self.page,
                    write_rate: self.write_rate,
                    amplification: self.amplification,
                    indirection: self.indirection,
                    cache: self.cache,
                    depth: self.depth,
                }
            }
        }

        impl Check for $type {
            fn check(&self) -> Result<(), Refusal> {
                self.sheet().check()
            }
        }

        impl Kind for $type {
            fn ready<W: WithDevice>(
                &self,
                context: &DeviceContext<'_>,
                then: W,
            ) -> Result<W::Output, Refusal> {
                self.sheet().ready(context, then)
            }

            fn blocks(&self, block: u64) -> Result<u64, Refusal> {
                self.sheet().blocks(block)
            }

            fn servers(&self) -> usize {
                self.sheet().servers()
            }
        }
    };
}

/// So many megabytes a second.
const fn mb_per_s(megabytes: u64) -> Rate {
    Rate::new(megabytes * 8_000_000).expect("a drive's rate is above zero")
}

const KIB: u64 = 1 << 10;

drive! {
    /// Intel SSD DC S4500, 3.84 TB, SATA 6 Gb/s, TLC. Its product specification: up to 72,000 random reads
    /// and 33,000 writes of 4 KiB a second at depth 32, 500 and 490 MB/s in sequence, typical latencies
    /// of 110 and 52 us, 99.9 % of reads within 300 us, a queue of 32. A lognormal law through 110 and
    /// 300 us has its 99th percentile 173 us above the write's latency. A page of 16 KiB and 700 us to
    /// program it are of 3D TLC in general (700 to 1000 us, lectures of the SAFARI group); 21 units are
    /// derived. An Intel D3-S4510, the next model, was measured at depth 1 with 101 and 37 us (Vitastor's
    /// documentation, raw drive performance).
    S4500: "S4500" {
        capacity: Bytes(3_840_000_000_000),
        controller: Span::from_ns(38_100), Span::from_ns(13_889), mb_per_s(500), 32,
        read: Span::from_us(58), Some(Span::from_us(173)), None,
        program: Span::from_us(700), None,
        units: 21, Bytes(16 * KIB),
        writes: mb_per_s(490), 3.63, Bytes(4 * KIB),
    }
}

drive! {
    /// Samsung PM9A3, 3.84 TB, PCIe 4.0 x4, TLC of 128 layers. Announced with 6,500 and 3,500 MB/s in
    /// sequence, 900,000 random reads and 200,000 writes of 4 KiB a second (heise online, ComputerBase,
    /// May 2020, its form U.2). Latencies of 80 and 30 us at depth 1 are of the data sheet of its model of 1.92 TB, as
    /// quoted by ublk-disksim. 450 us at most to program (AnandTech, August 2019, on this flash); the
    /// spread of reads follows TLC's three kinds of pages, 58, 78 and 107 us (Melded Pages, HotStorage
    /// 2020), scaled. Pages of 16 KiB, 96 units are derived.
    Pm9a3: "PM9A3" {
        capacity: Bytes(3_840_000_000_000),
        controller: Span::from_ns(28_889), Span::from_ns(1111), mb_per_s(6500), 1024,
        read: Span::from_us(50), Some(Span::from_us(69)), None,
        program: Span::from_us(450), None,
        units: 96, Bytes(16 * KIB),
        writes: mb_per_s(3500), 4.27, Bytes(4 * KIB),
    }
}

drive! {
    /// Micron 7300 PRO, 3.84 TB, PCIe 3.0 x4, TLC of 96 layers. Its data sheet: 3,000 and 1,550 MB/s,
    /// 520,000 random reads at depth 512 and 75,000 steady random writes of 4 KiB a second, 25 us for a
    /// write. ublk-disksim's validation quotes it, and has measured a drive alone at depth 1: 115 us in
    /// the median and 185 us at the 99th percentile for a read, programs of 2.7 ms that a read suspends
    /// within 24 us. 64 units are derived, of 64 KiB each, four planes of a die: as many dies of 512 Gb
    /// hold 4 TiB.
    M7300Pro: "7300PRO" {
        capacity: Bytes(3_840_000_000_000),
        controller: Span::from_ns(23_077), Span::from_ns(1923), mb_per_s(3000), 1024,
        read: Span::from_us(90), Some(Span::from_us(160)), None,
        program: Span::from_us(2700), Some(Span::from_us(24)),
        units: 64, Bytes(64 * KIB),
        writes: mb_per_s(1550), 5.05, Bytes(4 * KIB),
    }
}

drive! {
    /// Solidigm D5-P5336, 61.44 TB, PCIe 4.0 x4, QLC of 192 layers: 7,000 and 3,300 MB/s, 1,005,000 random
    /// reads of 4 KiB and 38,000 writes of 16 KiB a second (Architecting IT, *100TB SSD vendors*).
    /// Measured at depth 1 (StorageReview): reads of 4, 16 and 64 KiB take 102, 123 and 208 us, which is 82 us
    /// and 630 MB/s at a unit; a write of 16 KiB takes 15 us. The 99th percentile is derived from QLC
    /// whose reads take 85 us on average and 128 us at most, and its program of 1,630 us is from the same
    /// source (ComputerBase on ISSCC 2021, Intel's QLC of 144 layers). 512 dies of 1 Tb hold that much,
    /// each a unit of 64 KiB in four planes.
    D5P5336: "D5-P5336" {
        capacity: Bytes(61_440_000_000_000),
        controller: Span::from_ns(12_660), Span::from_ns(995), mb_per_s(7000), 1024,
        read: Span::from_us(82), Some(Span::from_us(123)), Some(mb_per_s(630)),
        program: Span::from_us(1630), None,
        units: 512, Bytes(64 * KIB),
        writes: mb_per_s(3300), 5.3, Bytes(16 * KIB),
    }
}
