//! Priority flow control (PFC, IEEE 802.1Qbb): switches that stop the port before them instead of dropping.
//!
//! A switch counts the bytes that came in by each port and wait (`memory.rs`). Above XOFF it sends a pause
//! frame back over the link, which stops the port at the other end, a host's too; below XON it sends another
//! one, which lets that port go on. What arrives between XOFF and the pause taking effect fits into the
//! headroom (`plan.rs`), so nothing is lost. When frames are sent is up to the engine (`engine/pfc.rs`).

mod memory;
mod plan;

pub(crate) use memory::{Arrival, Ingress, Memory};
pub(crate) use plan::FRAME;
pub use plan::PausePlan;

use crate::packet::{Kind, Packet};
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Bytes, Span, choices, nested, parameters, variants};

parameters! {
    /// Priority flow control (IEEE 802.1Qbb): a switch stops the port before it when too much of what came in
    /// by one of its ports waits. Nothing is lost as long as the headroom takes what is under way until the
    /// pause takes effect. A packet counts from its arrival until its port begins to send it.
    pub struct Pfc: "pfc" {
        /// The memory of each switch. It has to hold the thresholds and the headroom of all ports together.
        pub size: Bytes = Bytes(32_000_000),
        /// When a switch stops the port before it, and when it lets it go on.
        pub thresholds: Thresholds = Thresholds::Fixed(defaults()),
        /// Room for what arrives by a port after it was to be stopped. By default what the link can bring:
        /// its delay both ways, two full packets, a pause frame and the packet that crosses the threshold.
        /// With less, packets are dropped; more only takes memory.
        pub headroom: Option<Bytes> = None,
        /// Which packets a pause stops.
        pub acks: Acks = Acks::OwnClass,
        /// How long a pause lasts, in times of 512 bits on the link (IEEE 802.1Qbb has 16 bits for it). With
        /// less than a round trip of the link takes, ports go on although they were stopped, unless pauses are
        /// refreshed; with more, a lost frame that should end a pause stops the port for longer.
        pub quanta: u32 [1..=65_535] = 65_535,
        /// Whether a switch sends the pause again, after half of its time, while it holds too much. Without,
        /// a pause that runs out lets packets in that the headroom may not take.
        pub refresh: bool = true,
        /// Time after which a stopped port drops the packets that wait there, and all that arrive until it may send: the
        /// PFC watchdog of switches. By default there is none, and a deadlock lasts. A time below the
        /// pauses that congestion makes drops packets without a deadlock.
        pub watchdog: Option<Span> = None,
    }
}
nested!(Pfc);

variants! {
    /// When a switch stops the port before it.
    pub enum Thresholds: "thresholds" {
        Fixed(Fixed),
        Dynamic(Dynamic),
    }
}

parameters! {
    /// The same at each port, whatever the others hold.
    pub struct Fixed: "fixed" {
        /// More bytes than this that came in by one port and wait stop the port before it (uet-htsim: 15
        /// packets of 4000 B). Too little stops ports for bursts that would have passed, and leaves
        /// links idle; more takes memory.
        pub xoff: Bytes = Bytes(60_000),
        /// Fewer bytes than this let it go on (uet-htsim: 12 packets of 4000 B). Less than a round trip of the
        /// link below XOFF is not needed; much less lets a link run dry.
        pub xon: Bytes = Bytes(48_000),
    }
}

parameters! {
    /// A share of the free memory, as in the switches of HPCC's authors (HPCC, SIGCOMM 2019, their ns-3): a port
    /// stops the one before it when it holds more of the shared memory than `alpha` times what is free there.
    pub struct Dynamic: "dynamic" {
        /// The share of the free memory. More lets a port keep more before it stops the one before it, and
        /// leaves less to other ports.
        pub alpha: f64 = 0.125,
        /// Memory that each port has for itself, before it takes of the shared one.
        pub reserve: Bytes = Bytes(4_000),
        /// How far below the threshold a port has to be to let the one before it go on. With 0B pauses end
        /// and begin with single packets.
        pub gap: Bytes = Bytes(3_000),
    }
}

choices! {
    /// Which packets a pause stops.
    pub enum Acks: "class of ACKs" {
        /// Data alone: ACKs and control packets have a class of their own, which goes first, is never stopped
        /// and takes no memory.
        OwnClass = "own-class",
        /// All packets, as where a port has one class (uet-htsim).
        WithData = "with-data",
    }
}

impl Acks {
    /// Whether a pause stops `packet`, which then counts in a switch's memory.
    #[inline]
    pub(crate) fn stops(self, packet: &Packet) -> bool {
        self == Acks::WithData || packet.kind == Kind::DATA
    }
}

/// The largest thresholds and memory: a port counts in 32 bits.
const MOST_BYTES: Bytes = Bytes(1 << 30);

impl Check for Pfc {
    fn check(&self) -> Result<(), Refusal> {
        let sizes = [("size", Some(self.size)), ("headroom", self.headroom)];
        if let Some((key, size)) = sizes.iter().find(|(_, size)| *size > Some(MOST_BYTES)) {
            let expected = format!("at most {MOST_BYTES}");
            return Err(Refusal::of(&size.expect("it is large"), expected).under(key));
        }
        match self.watchdog.filter(|time| *time < SHORTEST_WATCHDOG) {
            Some(time) => {
                let expected = format!("at least {SHORTEST_WATCHDOG}, or \"none\"");
                Err(Refusal::of(&time, expected).under("watchdog"))
            }
            None => Ok(()),
        }
    }
}

/// Longer than a window of the engine, so that a watchdog never acts in the window in which its pause begins.
const SHORTEST_WATCHDOG: Span = Span::from_ms(1);

impl Check for Fixed {
    fn check(&self) -> Result<(), Refusal> {
        if self.xon > self.xoff {
            let expected = format!("at most xoff, {}", self.xoff);
            return Err(Refusal::of(&self.xon, expected).under("xon"));
        }
        if self.xon.0 == 0 {
            return Err(Refusal::of(&self.xon, "at least \"1B\"").under("xon"));
        }
        Ok(())
    }
}

impl Check for Dynamic {
    fn check(&self) -> Result<(), Refusal> {
        if !(0.001..=1024.0).contains(&self.alpha) {
            return Err(Refusal::of(&self.alpha, "0.001 to 1024").under("alpha"));
        }
        Ok(())
    }
}
