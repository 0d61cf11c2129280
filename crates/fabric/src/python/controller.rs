//! Classes in Python files that control congestion.

use super::class::PythonClass;
use crate::transport::{Acked, Delivery, Window};
use sojourn_core::{CodeFailed, Rate, Span, Time};
use std::fmt::Debug;

/// A class that controls congestion, with values of its parameters.
pub trait ControllerClass: PythonClass {
    /// The hooks that it has.
    fn hooks(&self) -> Hooks;

    /// Creates the controller of a flow, and starts it.
    fn start(&self, flow: &Begin, window: &mut Window) -> Result<Box<dyn Controller>, CodeFailed>;
}

/// Which hooks a class has; the others are those of NewReno.
#[expect(clippy::struct_excessive_bools, reason = "a class may have any of them")]
#[derive(Clone, Copy, Debug, Default)]
pub struct Hooks {
    /// Reacts to an ACK.
    pub acked: bool,
    /// Reacts to an ACK in a recovery, in which the window is its own.
    pub recovering: bool,
    /// Reacts to a loss inferred from duplicate ACKs.
    pub lost: bool,
    /// Reacts to a time-out.
    pub timed_out: bool,
    /// Notes that a packet leaves.
    pub sent: bool,
    /// Says how far apart packets leave.
    pub gap: bool,
    /// Reacts to a timer of its own.
    pub timer_ran_out: bool,
    /// Whether any of them looks at the round trip of the packet that caused an ACK.
    pub reads_delay: bool,
    /// Whether any of them looks at what was delivered, and how fast.
    pub reads_delivery: bool,
}

/// What the controller of a flow knows when the flow starts.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Switches on its path.
    pub hops: u32,
    /// Its size.
    pub bytes: u64,
    /// Bytes that a full packet carries.
    pub payload: u64,
    /// The rate of its host's link.
    pub rate: Rate,
    /// The limit of appropriate byte counting (RFC 3465), 0 for none.
    pub abc_limit: u32,
}

/// The controller of one flow.
pub trait Controller: Debug + Send {
    /// Reacts to an ACK outside of a recovery; `delivery` has what the class reads of it.
    fn acked(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed>;

    /// Reacts to an ACK in a recovery.
    fn recovering(
        &mut self,
        window: &mut Window,
        acked: &Acked,
        delivery: &Delivery,
    ) -> Result<(), CodeFailed>;

    /// Reacts to a loss inferred from duplicate ACKs while `flight` packets were unacknowledged.
    fn lost(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed>;

    /// Reacts to a time-out while `flight` packets were unacknowledged.
    fn timed_out(&mut self, window: &mut Window, flight: u32, now: Time) -> Result<(), CodeFailed>;

    /// Notes that packet `sequence` leaves.
    fn sent(&mut self, window: &mut Window, sequence: u32, now: Time) -> Result<(), CodeFailed>;

    /// When its timer runs out; none while it is not set.
    fn timer(&self) -> Option<Time>;

    /// Reacts to its timer, which is no longer set.
    fn timer_ran_out(&mut self, window: &mut Window, now: Time) -> Result<(), CodeFailed>;

    /// The time from a packet to the next one of a paced flow.
    fn gap(&mut self, window: &mut Window, wire: Span) -> Result<Span, CodeFailed>;
}
