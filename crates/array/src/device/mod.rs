//! Disks: how long an access takes, part by part.

mod exponential;
pub mod hdd;
mod measured;
pub mod scheduling;
mod service;

pub use exponential::{Exponential, Memoryless};
pub use hdd::{
    Arm, Atlas10K, Geometry, Hp97560, IndependentService, MechanicalService, Platters, Positioning,
    Rotation, Spindles, Spot, St39102Lw, St3500630Ns, Track, Zoned,
};
pub use measured::{Empirical, Measured};
pub use service::{Found, Motion, ServiceModel, ServiceStart, Task};

use crate::Moments;
use sojourn_core::files::Open;
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, variants};

variants! {
    /// The disks of an array, all alike.
    pub enum Device: "disk" => with_device {
        St3500630Ns(St3500630Ns),
        Hp97560(Hp97560),
        Atlas10K(Atlas10K),
        St39102Lw(St39102Lw),
        Zoned(Zoned),
        Empirical(Empirical),
        Exponential(Exponential),
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It reads.
    Read,
    /// It writes.
    Write,
}

/// What a disk is made ready with: the study's other settings that it depends on.
pub struct DeviceContext<'a> {
    /// Bytes in a block of the array.
    pub block: u64,
    /// Opens a file that the study names.
    pub open: Open<'a>,
}

/// No access takes longer.
pub(crate) const LONGEST_ACCESS: Span = Span::from_s(3600);

/// How long the parts of an access take where its place is random. What is drawn is a chance, a
/// share of 2^32: the time at it is longer than this share of all times.
pub trait Drive {
    /// How long the transfer of `blocks` blocks takes at a place, which is a chance that stays the
    /// same whenever a request comes back to it (paper section 3.3: transfer times are remembered).
    fn transfer(&self, place: u32, op: Op, blocks: u32) -> Span;

    /// How long the head takes to a place anywhere: seek, then rotation. It does not fall as
    /// `chance` rises. No time where there is no head.
    #[inline]
    fn position(&self, _op: Op, _chance: u32) -> Span {
        Span::ZERO
    }

    /// How long the head takes to a place on the track that it is on.
    #[inline]
    fn rotate(&self, _chance: u32) -> Span {
        Span::ZERO
    }

    /// What no access of `blocks` blocks takes longer than, in picoseconds.
    fn longest(&self, blocks: u32) -> f64;

    /// A full rotation.
    fn rotation(&self) -> Span {
        Span::ZERO
    }

    /// How many accesses it serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// How long an access takes that takes so long alone, beside others that are served.
    fn slowed(&self, alone: Span, _others: impl FnOnce() -> usize) -> Span {
        alone
    }

    /// Whether an access takes longer beside others.
    fn depends_on_load(&self) -> bool {
        false
    }

    /// Whether an access of any one size takes an exponential time.
    fn is_exponential(&self) -> bool {
        false
    }

    /// Mean and mean square, in picoseconds, of an access to a place anywhere, of so many blocks.
    fn service(&self, op: Op, blocks: Moments) -> Moments;
}

/// A disk, ready to be accessed.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A disk with a head that moves.
    Platters(Platters),
    /// A disk that is known by what was measured.
    Measured(Measured),
    /// A disk of a textbook.
    Memoryless(Memoryless),
}

/// Evaluates an expression with the device that a [`Ready`] holds.
macro_rules! with_ready {
    ($ready:expr, |$drive:ident| $then:expr) => {
        match $ready {
            $crate::device::Ready::Platters($drive) => $then,
            $crate::device::Ready::Measured($drive) => $then,
            $crate::device::Ready::Memoryless($drive) => $then,
        }
    };
}
pub(crate) use with_ready;

impl Ready {
    /// Whether every access of so many blocks takes at most [`LONGEST_ACCESS`].
    pub(crate) fn takes(&self, blocks: u32) -> bool {
        let longest = with_ready!(self, |drive| drive.longest(blocks));
        longest <= LONGEST_ACCESS.ps() as f64
    }
}

/// A kind of disk.
trait Kind {
    /// Makes it ready. Everything is checked here.
    fn ready(&self, context: &DeviceContext<'_>) -> Result<Ready, Refusal>;

    /// Its data sheet, if it has platters.
    fn data_sheet(&self) -> Option<Zoned> {
        None
    }

    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

/// What a disk without a data sheet holds as far as addresses go: 1 PiB.
const WITHOUT_END: u64 = 1 << 50;

impl Device {
    /// Makes it ready.
    pub fn ready(&self, context: &DeviceContext<'_>) -> Result<Ready, Refusal> {
        with_device!(self, |params| params.ready(context))
    }

    /// Where its sectors are, for blocks of `block` bytes.
    pub fn geometry(&self, block: u64) -> Result<Geometry, Refusal> {
        match with_device!(self, |params| params.data_sheet()) {
            Some(sheet) => Geometry::new(&sheet, block),
            None => {
                let given = Value::Text(self.name().to_owned());
                Err(Refusal::value(&given, "a disk with platters, for mechanical positioning"))
            }
        }
    }

    /// How many blocks of `block` bytes it holds.
    pub fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        match with_device!(self, |params| params.data_sheet()) {
            // Blocks that are no whole number of sectors have no place, and yet a number.
            Some(sheet) => match sheet.sector.0 {
                sector if block.is_multiple_of(sector) => {
                    Ok(Geometry::new(&sheet, block)?.blocks())
                }
                sector => Ok(Geometry::new(&sheet, sector)?.blocks() * sector / block),
            },
            None => Ok(WITHOUT_END / block),
        }
    }

    /// Whether there is nothing to be positioned.
    pub(crate) fn has_no_head(&self) -> bool {
        with_device!(self, |params| params.data_sheet()).is_none()
    }

    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        with_device!(self, |params| params.files())
    }
}
