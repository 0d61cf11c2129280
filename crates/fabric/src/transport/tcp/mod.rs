//! The TCP family: one reliable, window-limited sender and its receiver, and a file for each way to
//! control congestion.

mod bbr;
mod congestion;
mod cubic;
mod dctcp;
mod delivery;
mod hystart;
mod line_rate;
mod loss_recovery;
mod min_tcp;
mod new_reno;
mod parameters;
mod python;
mod rack;
mod receiver;
mod rto;
mod sender;
mod swift;
#[cfg(test)]
mod tests;
mod transmit;

pub use bbr::Bbr;
pub use congestion::{Acked, CongestionControl, FastRetransmit, RackRules, Rules, Window};
pub use cubic::{Cubic, cube_root};
pub use dctcp::Dctcp;
pub use delivery::Delivery;
pub use line_rate::LineRate;
pub use min_tcp::MinTcp;
pub use new_reno::NewReno;
pub use parameters::{LinuxRecovery, TcpOptions, WindowLimits};
pub use python::{PythonControl, PythonTransport};
pub use rto::{TimeOutRule, Timer};
pub use sender::Windowed;
pub use swift::Swift;

use crate::packet::TRANSPORT_MARKS;

/// An ACK echoes a congestion mark (RFC 3168, section 6.1).
const ECE: u8 = TRANSPORT_MARKS[0];
/// The sender only asks whether anything gets through: the packet carries nothing of its flow.
const PROBE: u8 = TRANSPORT_MARKS[1];
