//! The devices of an array: how long an access takes, part by part, and in which order each serves.

mod exponential;
pub mod hdd;
mod measured;
pub mod scheduling;
mod service;

pub use exponential::{Exponential, Memoryless};
pub use measured::{Empirical, Measured};
pub use service::{Found, PositioningCost, ServiceModel, ServiceStart, Task};

use crate::Moments;
use hdd::{Atlas10K, Geometry, Hp97560, Platters, St39102Lw, St3500630Ns, Zoned};
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

/// The operation of an access or a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// What preparing a device needs: the study's other settings that it depends on.
pub struct DeviceContext<'a> {
    /// Bytes in a block of the array.
    pub block: u64,
    /// Opens a file that the study names.
    pub open: Open<'a>,
}

/// The longest time that an access may take.
pub(crate) const LONGEST_ACCESS: Span = Span::from_s(3600);

/// How long the parts of an access take where its place is random. Each is drawn as a chance, a share
/// of 2^32: the time at a chance is longer than this share of all times.
pub trait Drive {
    /// The time to transfer `blocks` blocks at a place. The place is a chance, drawn once for each
    /// request and disk: a request that comes back finds the time it had before (paper section 3.3:
    /// transfer times are remembered).
    fn transfer(&self, place: u32, op: Op, blocks: u32) -> Span;

    /// The positioning time to a random place, seek and rotation together; it does not fall as
    /// `chance` rises. Zero for devices without a head.
    #[inline]
    fn position(&self, _op: Op, _chance: u32) -> Span {
        Span::ZERO
    }

    /// The positioning time to a random place on the present track. Zero for devices without a head.
    #[inline]
    fn rotate(&self, _chance: u32) -> Span {
        Span::ZERO
    }

    /// An upper bound for the time of an access of `blocks` blocks, in picoseconds.
    fn longest(&self, blocks: u32) -> f64;

    /// The time of a full rotation. Zero for devices without a head.
    fn rotation(&self) -> Span {
        Span::ZERO
    }

    /// The number of accesses that the device serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// The service time of an access that takes `alone` by itself, when `others` are being served as
    /// it begins.
    fn slowed(&self, alone: Span, _others: impl FnOnce() -> usize) -> Span {
        alone
    }

    /// Whether accesses that are served together slow each other.
    fn depends_on_load(&self) -> bool {
        false
    }

    /// Whether the service times of accesses of one size are exponential.
    fn is_exponential(&self) -> bool {
        false
    }

    /// Mean and mean square of the service time of an access to a random place, in picoseconds
    /// (squared); `blocks` are those of its size.
    fn service(&self, op: Op, blocks: Moments) -> Moments;
}

/// A device, checked and ready to be accessed.
#[derive(Clone, Debug)]
pub enum Ready {
    /// A disk with platters and a head that moves.
    Platters(Platters),
    /// A device known by the service times that were measured of it.
    Measured(Measured),
    /// A textbook's device: exponential service times.
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
    /// Whether every access of `blocks` blocks takes at most [`LONGEST_ACCESS`].
    pub(crate) fn takes(&self, blocks: u32) -> bool {
        let longest = with_ready!(self, |drive| drive.longest(blocks));
        longest <= LONGEST_ACCESS.ps() as f64
    }
}

/// A kind of device, as a study sets it.
trait Kind {
    /// Checks everything that depends on other settings, and prepares the device.
    fn ready(&self, context: &DeviceContext<'_>) -> Result<Ready, Refusal>;

    /// The key and the value of the time that each further block of an access takes, where the study
    /// sets it.
    fn block_time(&self) -> Option<(&'static str, Span)> {
        None
    }

    /// The data sheet, if the device has platters.
    fn data_sheet(&self) -> Option<Zoned> {
        None
    }

    /// The names of the files that it reads.
    fn files(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
}

/// The capacity of a device without a data sheet, in bytes, as far as addresses go: 1 PiB.
const WITHOUT_END: u64 = 1 << 50;

impl Device {
    /// Checks everything that depends on other settings, and prepares the device.
    pub fn ready(&self, context: &DeviceContext<'_>) -> Result<Ready, Refusal> {
        with_device!(self, |params| params.ready(context))
    }

    /// The geometry of a disk with platters, for blocks of `block` bytes.
    pub fn geometry(&self, block: u64) -> Result<Geometry, Refusal> {
        match with_device!(self, |params| params.data_sheet()) {
            Some(sheet) => Geometry::new(&sheet, block),
            None => {
                let given = Value::Text(self.name().to_owned());
                Err(Refusal::value(&given, "a disk with platters, for mechanical positioning"))
            }
        }
    }

    /// The number of blocks of `block` bytes that the device holds.
    pub fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        match with_device!(self, |params| params.data_sheet()) {
            // Blocks that are no whole number of sectors cannot be placed, but they can be counted.
            Some(sheet) => match sheet.sector.0 {
                sector if block.is_multiple_of(sector) => {
                    Ok(Geometry::new(&sheet, block)?.blocks())
                }
                sector => Ok(Geometry::new(&sheet, sector)?.blocks() * sector / block),
            },
            None => Ok(WITHOUT_END / block),
        }
    }

    /// The key and the value of the time that each further block of an access takes, where the study
    /// sets it.
    pub(crate) fn block_time(&self) -> Option<(&'static str, Span)> {
        with_device!(self, |params| params.block_time())
    }

    /// Whether the device has no head to be positioned.
    pub(crate) fn has_no_head(&self) -> bool {
        with_device!(self, |params| params.data_sheet()).is_none()
    }

    /// The names of the files that it reads.
    pub fn files(&mut self) -> Vec<&mut String> {
        with_device!(self, |params| params.files())
    }
}
