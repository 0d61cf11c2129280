//! Solid state: flash behind a controller.

mod data_sheets;
mod drive;
mod unit;

pub use data_sheets::{D5P5336, M7300Pro, Pm9a3, S4500};
pub use drive::{Inside, Ssd};

use super::{DeviceContext, Kind, MOST_SERVERS, WithDevice};
use sojourn_core::parameters::{Check, Name, Refusal};
use sojourn_core::{Bytes, Rate, Span, parameters};

parameters! {
    /// A solid-state drive, as data sheets and reviews describe one. An access first takes its turn at
    /// the controller, for `command` or until its bytes have passed the interface, whichever is longer. Then a
    /// read goes to units of flash (dies, or planes that work by themselves), page by page to one after
    /// another from a random one on, and each unit serves its reads in order. A write is done when its
    /// bytes are in the cache, which is kept when power fails; pages that are full are programmed one
    /// after another, each on the next unit, where no read waits. Where the cache is full, writes wait.
    /// Every access also takes `overhead`, in which it keeps no other one waiting.
    /// Not modelled: garbage collection but for `amplification`, wear, heat, reads of what is still
    /// in the cache, flushes, and places: each read begins on a random unit, whatever its address.
    pub struct Flash: "flash" {
        /// Name in tables, legends and plans. By default its kind.
        pub name: Option<Name> = None,
        /// Capacity of the drive.
        pub capacity: Bytes,
        /// Time of an access besides its times at the controller and at a unit: a data sheet's
        /// latency of a small write, minus `command`.
        pub overhead: Span,
        /// Time for which each access occupies the controller: the inverse of the drive's maximum
        /// IOPS.
        pub command: Span,
        /// Speed of the interface: a data sheet's sequential reads.
        pub interface: Rate,
        /// Median time of a read at a unit, without the transfer: a data sheet's latency of a small
        /// random read, minus its latency of a small write.
        pub read: Span,
        /// 99th percentile of that time, at most 20 times the median. Times are lognormal. By
        /// default all reads take the median.
        pub read_p99: Option<Span> = None,
        /// Speed at which a unit transfers what it has read, while it does nothing else. By default
        /// the transfer takes no time. It makes large reads take longer, even alone. Each page of a
        /// read counts in full.
        pub unit_rate: Option<Rate> = None,
        /// Median time in which a unit programs a page.
        pub program: Span,
        /// 99th percentile of that time. By default all programs take the median.
        pub program_p99: Option<Span> = None,
        /// Longest time that a read waits for a program in progress, which is then suspended. By
        /// default a read waits for the end of the program.
        pub suspend: Option<Span> = None,
        /// Number of flash units that work at the same time. With too few, reads wait for each
        /// other at rates that the drive should reach.
        pub units: u16 [1..=MOST_UNITS],
        /// Bytes that a unit programs at a time, and reads in one piece.
        pub page: Bytes = Bytes(16 << 10),
        /// Maximum bytes programmed per second in all units together: a data sheet's sequential
        /// writes.
        pub write_rate: Rate,
        /// Bytes programmed for each byte written: 1 for sequential writes and on a fresh drive,
        /// more with garbage collection. It is a data sheet's sequential writes divided by its
        /// steady random writes, both in bytes per second.
        pub amplification: f64 [1.0..=100.0] = 1.0,
        /// Unit in which the drive maps addresses to flash. A smaller write programs a whole unit.
        pub indirection: Bytes = Bytes(4 << 10),
        /// Size of the cache for data that waits to be programmed. By default two pages per unit. A
        /// larger cache absorbs longer bursts, but does not raise the rate in the long run.
        pub cache: Option<Bytes> = None,
        /// Maximum accesses in the drive: 32 for SATA's queue, 1024 for an NVMe queue as Linux sets
        /// it up. Further accesses wait in the host.
        pub depth: u16 [1..=MOST_SERVERS] = 1024,
    }
}

/// The most units of a drive.
const MOST_UNITS: u16 = 4096;
/// The longest time of a part of an access.
const LONGEST: Span = Span::from_s(1);
/// How many times the median the 99th percentile of reads or programs may be.
const WIDEST: u64 = 20;
/// The smallest page, and the largest: 1 MiB.
const SMALLEST_PAGE: Bytes = Bytes(512);
const LARGEST_PAGE: Bytes = Bytes(1 << 20);
/// The slowest rate: 1 Mb/s.
const SLOWEST: Rate = Rate::new(1_000_000).expect("a million is not zero");

impl Check for Flash {
    fn check(&self) -> Result<(), Refusal> {
        let spans = [
            ("overhead", self.overhead, Span::ZERO),
            ("read", self.read, Span::from_ps(1)),
            ("program", self.program, Span::from_ps(1)),
            ("command", self.command, Span::ZERO),
        ];
        for (key, span, least) in spans {
            if !(least..=LONGEST).contains(&span) {
                let expected = match least {
                    Span::ZERO => format!("at most {LONGEST}"),
                    _ => format!("a time above zero, at most {LONGEST}"),
                };
                return Err(Refusal::of(&span, expected).under(key));
            }
        }
        for (key, tail, median) in [
            ("read_p99", self.read_p99, self.read),
            ("program_p99", self.program_p99, self.program),
        ] {
            let most = median.saturating_mul(WIDEST).min(LONGEST);
            if tail.is_some_and(|tail| tail < median || tail > most) {
                let expected = format!("at least the median, {median}, and at most {most}");
                return Err(Refusal::of(&tail, expected).under(key));
            }
        }
        for (key, size) in [("page", self.page), ("indirection", self.indirection)] {
            if !(SMALLEST_PAGE.0..=LARGEST_PAGE.0).contains(&size.0) {
                let expected = format!("a size from \"{SMALLEST_PAGE}\" to \"{LARGEST_PAGE}\"");
                return Err(Refusal::of(&size, expected).under(key));
            }
        }
        let rates = [
            ("interface", Some(self.interface)),
            ("unit_rate", self.unit_rate),
            ("write_rate", Some(self.write_rate)),
        ];
        for (key, rate) in rates {
            if rate.is_some_and(|rate| rate < SLOWEST) {
                return Err(Refusal::of(&rate, format!("at least {SLOWEST}")).under(key));
            }
        }
        let (_, program) = drive::lognormal(self.program, self.program_p99);
        let together = self.page.0 as f64 * f64::from(self.units) / program.seconds();
        // A unit more or less is no contradiction.
        if self.write_rate.bits_per_second() as f64 / 8.0 > together * 1.1 {
            let expected = format!(
                "at most {:.3}MB/s, as fast as units = {} program pages of {} in {program} on average",
                together / 1e6,
                self.units,
                self.page,
            );
            return Err(Refusal::of(&self.write_rate, expected).under("write_rate"));
        }
        if self.cache() < self.all_units() {
            let expected = format!("at least a page for each unit, {}", self.all_units());
            return Err(Refusal::of(&self.cache, expected).under("cache"));
        }
        match self.capacity.0 {
            0 => Err(Refusal::of(&self.capacity, "a size above zero").under("capacity")),
            _ => Ok(()),
        }
    }
}

impl Flash {
    /// A page for each unit.
    fn all_units(&self) -> Bytes {
        Bytes(self.page.0 * u64::from(self.units))
    }

    /// The bytes that the cache holds.
    fn cache(&self) -> Bytes {
        self.cache.unwrap_or(Bytes(2 * self.all_units().0))
    }
}

impl Kind for Flash {
    fn ready<W: WithDevice>(
        &self,
        context: &DeviceContext<'_>,
        then: W,
    ) -> Result<W::Output, Refusal> {
        Ok(then.with(Ssd::new(self, context.block)))
    }

    fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        match self.capacity.0 / block {
            0 => {
                let expected = format!("at least a block of {}", Bytes(block));
                Err(Refusal::of(&self.capacity, expected).under("capacity"))
            }
            blocks => Ok(blocks),
        }
    }

    fn servers(&self) -> usize {
        self.depth.into()
    }
}
