//! Sizes of flows and messages in whole bytes, drawn from a table.

mod advice;
mod columns;
mod header;
mod published;
mod text;

use crate::{BadRow, Empirical, Reading, Stream};
use std::fmt;

pub use header::TableError;
pub use published::{WORKLOADS, Workload};

/// The unit of a table's size column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A byte.
    Byte,
    /// A packet that carries so many payload bytes, above zero.
    Packet(u32),
}

/// A distribution of sizes in bytes.
///
/// A size is drawn as a real number of the table's units and rounded up to a whole unit, as the ns-2
/// scripts of pFabric and PIAS do: with a table in packets every flow is whole full packets.
/// [`mean`](SizeTable::mean) is the exact mean of the sizes *so drawn*, with which loads are set.
/// (Those scripts set theirs with 1138 packets for the web search table, whose exact means are 1141.0
/// before rounding up and 1141.4 after it.)
#[derive(Clone, Debug)]
pub struct SizeTable {
    curve: Empirical,
    unit: Unit,
    mean: f64,
}

impl Unit {
    /// Bytes in one unit.
    pub const fn bytes(self) -> u64 {
        match self {
            Unit::Byte => 1,
            Unit::Packet(payload) => payload as u64,
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Byte => f.write_str("bytes"),
            Unit::Packet(payload) => write!(f, "packets of {payload} B payload"),
        }
    }
}

impl SizeTable {
    /// The sizes whose rows are `(size in units, P(X <= size))`.
    ///
    /// Refuses what [`Empirical::new`] refuses, mass on the size zero, and sizes above 2^53 bytes.
    pub fn new(rows: &[(f64, f64)], unit: Unit, reading: Reading) -> Result<SizeTable, BadRow> {
        let curve = Empirical::new(rows, reading)?;
        let bad = |index, expected| Err(BadRow { index, expected });
        if let Some(index) = rows.iter().position(|&(size, p)| size == 0.0 && p > 0.0) {
            return bad(index, "a size above zero where the probability is");
        }
        if let Some(index) = rows.iter().position(|row| row.0 * unit.bytes() as f64 > MAX_BYTES) {
            return bad(index, "a size of at most 2^53 bytes");
        }
        let mean = curve.mean_of_ceiling() * unit.bytes() as f64;
        Ok(SizeTable { curve, unit, mean })
    }

    /// Draws a size in bytes, never zero. One uniform, no allocation.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        self.quantile(stream.uniform())
    }

    /// The smallest size in bytes that a share `p` of all drawn sizes does not pass, for `p` above
    /// 0 and at most 1.
    #[inline]
    pub fn quantile(&self, p: f64) -> u64 {
        (self.curve.quantile(p).ceil() as u64).max(1) * self.unit.bytes()
    }

    /// The exact mean of the drawn sizes, in bytes.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The mean of a power of the sizes, in bytes to that power, before they are rounded up.
    pub fn moment(&self, power: i32) -> f64 {
        self.curve.moment(power) * (self.unit.bytes() as f64).powi(power)
    }

    /// The mean number of packets of at most `payload` bytes that carry one drawn size. Exact when
    /// the table is in bytes or in packets of that payload, otherwise within one packet.
    pub fn mean_packets(&self, payload: u64) -> f64 {
        if self.unit.bytes() == payload {
            return self.mean / payload as f64;
        }
        self.curve.scaled(self.unit.bytes() as f64 / payload as f64).mean_of_ceiling()
    }

    /// The largest size in bytes.
    pub fn max(&self) -> u64 {
        self.quantile(1.0)
    }

    /// The unit of the table.
    pub const fn unit(&self) -> Unit {
        self.unit
    }

    /// The table's own curve, in units and before rounding up: what published shares and means of
    /// these tables are about.
    pub const fn curve(&self) -> &Empirical {
        &self.curve
    }
}

/// Whole numbers up to here are exact in 64-bit floats.
const MAX_BYTES: f64 = (1u64 << 53) as f64;
