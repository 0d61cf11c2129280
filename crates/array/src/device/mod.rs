//! The devices of an array: how long an access takes, and in which order each serves.

mod chances;
mod exponential;
pub mod flash;
pub mod hdd;
mod measured;
mod quantiles;
mod service;

pub(crate) use chances::Chances;
pub use exponential::{Exponential, Memoryless};
pub use measured::{Empirical, Measured};
pub(crate) use service::PARTS;
pub use service::{
    Awaited, Found, InOrder, Plain, PositioningCost, Service, ServiceModel, ServiceStart,
    ServiceTimes, Task,
};

use flash::{D5P5336, Flash, M7300Pro, Pm9a3, S4500};
use hdd::scheduling::Scheduling;
use hdd::{Atlas10K, ExosX24, Hp97560, Hs760, Positioning, St39102Lw, St3500630Ns, Zoned};
use sojourn_core::parameters::{Refusal, Value};
use sojourn_core::{Span, variants};

variants! {
    /// The disks of an array, all alike.
    pub enum Device: "disk" => with_device {
        St3500630Ns(St3500630Ns),
        Hp97560(Hp97560),
        Atlas10K(Atlas10K),
        St39102Lw(St39102Lw),
        ExosX24(ExosX24),
        Hs760(Hs760),
        Zoned(Zoned),
        S4500(S4500),
        Pm9a3(Pm9a3),
        M7300Pro(M7300Pro),
        D5P5336(D5P5336),
        Flash(Flash),
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

impl Op {
    /// Both.
    pub const BOTH: [Op; 2] = [Op::Read, Op::Write];
}

/// What preparing a device needs: the study's other settings that it depends on.
pub struct DeviceContext<'a> {
    /// Bytes in a block of the array.
    pub block: u64,
    /// How hard disks get to the places of accesses.
    pub positioning: &'a Positioning,
    /// In which order they serve.
    pub scheduling: &'a Scheduling,
}

/// What follows with a device that is ready to be accessed, whichever it is.
pub trait WithDevice {
    /// The result.
    type Output;

    /// Goes on with a device.
    fn with<M: ServiceModel>(self, model: M) -> Self::Output;
}

/// The deepest queue of a device, NVMe or not, that a study may set.
const MOST_SERVERS: u16 = 1024;

/// The longest time that an access may take.
pub(crate) const LONGEST_ACCESS: Span = Span::from_s(3600);

/// A kind of device, as a study sets it.
trait Kind {
    /// Checks everything that depends on other settings, makes the device ready to be accessed, and
    /// goes on with it.
    fn ready<W: WithDevice>(
        &self,
        context: &DeviceContext<'_>,
        then: W,
    ) -> Result<W::Output, Refusal>;

    /// The number of blocks of `block` bytes that the device holds.
    fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        Ok(WITHOUT_END / block)
    }

    /// The key and the value of the time that each further block of an access takes, where the study
    /// sets it.
    fn block_time(&self) -> Option<(&'static str, Span)> {
        None
    }

    /// Whether it is a hard disk, which positions as the study says and serves in the order that the
    /// study says. Other devices serve in order of arrival.
    fn is_hard_disk(&self) -> bool {
        false
    }

    /// The number of accesses that it serves at once.
    fn servers(&self) -> usize {
        1
    }

    /// The number of arms that work by themselves, each with a part of the addresses.
    fn arms(&self) -> usize {
        1
    }
}

/// The capacity of a device without a data sheet, in bytes, as far as addresses go: 1 PiB.
const WITHOUT_END: u64 = 1 << 50;

impl Device {
    /// Checks everything that depends on other settings, makes the device ready to be accessed, and
    /// goes on with it.
    pub fn ready<W: WithDevice>(
        &self,
        context: &DeviceContext<'_>,
        then: W,
    ) -> Result<W::Output, Refusal> {
        if context.positioning.is_mechanical() && !self.is_hard_disk() {
            let given = Value::Text(self.name().to_owned());
            let expected = "a disk with platters, for mechanical positioning";
            return Err(Refusal::value(&given, expected));
        }
        with_device!(self, |params| params.ready(context, then))
    }

    /// The number of blocks of `block` bytes that the device holds.
    pub fn blocks(&self, block: u64) -> Result<u64, Refusal> {
        with_device!(self, |params| params.blocks(block))
    }

    /// The key and the value of the time that each further block of an access takes, where the study
    /// sets it.
    pub(crate) fn block_time(&self) -> Option<(&'static str, Span)> {
        with_device!(self, |params| params.block_time())
    }

    /// Whether it is a hard disk, whose positioning and order the study sets.
    pub(crate) fn is_hard_disk(&self) -> bool {
        with_device!(self, |params| params.is_hard_disk())
    }

    /// The number of accesses that it serves at once.
    pub(crate) fn servers(&self) -> usize {
        with_device!(self, |params| params.servers())
    }

    /// The number of arms that work by themselves, each with a part of the addresses.
    pub(crate) fn arms(&self) -> usize {
        with_device!(self, |params| params.arms())
    }
}
