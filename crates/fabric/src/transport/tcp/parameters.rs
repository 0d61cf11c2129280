//! Parameters that the members of the TCP family share, declared once and flattened into each.

use super::congestion::{ABC_LIMIT, DUPTHRESH, FastRetransmit, Growth, RackRules, Rules};
use super::rto::{TimeOutRule, Timer};
use crate::transport::check_timer;
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// What bounds the congestion window from outside.
    pub struct WindowLimits: "window-limits" {
        /// Packets that a flow may send before the first ACK (RFC 6928: 10). Fewer cost short flows
        /// round trips; more fill queues when many flows start together.
        pub initial_window: NonZeroU32 = NonZeroU32::new(10).expect("10"),
        /// Largest window, in packets. If it is less than the bandwidth-delay product, a flow
        /// cannot fill its path.
        pub window_cap: Option<NonZeroU32> = None,
    }
}

impl Check for WindowLimits {}

impl WindowLimits {
    /// The cap as a window counts it, in packets.
    pub(super) fn cap(&self) -> f64 {
        cap(self.window_cap)
    }
}

/// A cap as a window counts it, in packets.
pub(super) fn cap(window_cap: Option<NonZeroU32>) -> f64 {
    window_cap.map_or(f64::INFINITY, |cap| cap.get().into())
}

parameters! {
    /// Retransmission, acknowledgements and the begin of a connection.
    pub struct TcpOptions: "tcp-options" {
        /// Shortest retransmission time-out. If it is shorter than the delay of a full queue,
        /// time-outs are spurious; if it is long, a lost tail waits for it.
        pub min_rto: Span = Span::from_ms(200),
        /// Retransmission time-out before a round trip is measured. By default it is `min_rto`,
        /// because the connection is open and has measured a round trip. If the flow opens its
        /// connection first, it is 1 s (RFC 6298 section 2.1), or `min_rto` if that is more.
        pub initial_rto: Option<Span> = None,
        /// Whether duplicate ACKs mean a loss. Schemes that spray packets over paths disable it.
        pub fast_retransmit: bool = true,
        /// Number of duplicate ACKs that mean a loss (DupThresh; RFC 5681 section 3.2: 3).
        pub dupthresh: NonZeroU32 = DUPTHRESH,
        /// Whether each earlier duplicate ACK lets the sender send one new packet (limited
        /// transmit, RFC 3042).
        pub limited_transmit: bool = true,
        /// Whether ACKs say which packets have arrived, so that those are not resent. Losses are
        /// then repaired by RFC 6675, and otherwise by RFC 6582.
        pub sack: bool = true,
        /// Longest time that the receiver delays the ACK of every other packet (RFC 5681 section
        /// 4.2: at most 500 ms).
        pub ack_delay: Option<Span> = None,
        /// Maximum packets by which an ACK opens the window in slow start, which then counts
        /// acknowledged data (RFC 3465 section 2.3: 2). With none, slow start counts ACKs.
        pub abc_limit: Option<NonZeroU32> = Some(ABC_LIMIT),
        /// Whether a flow first opens its connection, so that its first byte leaves a round trip
        /// later (RFC 9293 section 3.5).
        pub handshake: bool = false,
        /// What hosts with Linux do about losses, beyond these RFCs.
        pub linux: LinuxRecovery [flatten],
    }
}

parameters! {
    /// Losses found by time, and timers as Linux has them. All of it is off by default, and on in the schemes whose
    /// names begin with Linux.
    pub struct LinuxRecovery: "linux-recovery" {
        /// Whether losses are detected by time (RACK, RFC 8985): a packet is lost if a later one
        /// has arrived and it is late by a quarter of the shortest round trip. This also detects
        /// the loss of a retransmission. Without it duplicate ACKs are counted, and a lost
        /// retransmission waits for the time-out.
        pub rack: bool = false,
        /// Whether a probe is sent two round trips after the last packet, so that the loss of the
        /// last packets of a flight is detected without a time-out (RFC 8985 section 7). Only with
        /// `rack`.
        pub tail_loss_probe: bool = false,
        /// Whether the window shrinks gradually with arriving data while losses are repaired (PRR,
        /// RFC 6937). Otherwise it shrinks at once. Only with `rack`.
        pub prr: bool = false,
        /// Whether spurious time-outs are detected and reverted (F-RTO, RFC 5682). Only with
        /// `rack`.
        pub f_rto: bool = false,
        /// How the time-out is computed from the round trip.
        pub timeout_rule: TimeOutRule = TimeOutRule::Rfc6298,
        /// Whether a flow knows the round trip of its idle path at its start, as if a handshake had
        /// measured it. Without it the first time-out is `initial_rto`, and no probe is sent for a
        /// second.
        pub known_round_trip: bool = false,
        /// Time between ticks of the timers' clock (Linux with HZ = 250: 4 ms). Timers expire at
        /// ticks, one tick late; without it they are exact. A long tick delays short time-outs, and
        /// makes hosts resend together.
        pub clock_tick: Option<Span> = None,
        /// Number of packets that are acknowledged at once, despite `ack_delay`, at the start of a
        /// flow and after each pause of `min_rto` (Linux: 16). With fewer, small windows wait for
        /// delayed ACKs. Without `ack_delay` it has no effect.
        pub quick_acks: u32 = 0,
        /// Whether the window of a connection halves for each time-out of a pause between two
        /// messages, down to the initial window (RFC 2861; `tcp_slow_start_after_idle`). Without it
        /// a message after a long pause is sent as one burst. It matters only to connections of
        /// ranks, and not to BBR.
        pub restart_after_idle: bool = false,
    }
}

impl Check for LinuxRecovery {
    fn check(&self) -> Result<(), Refusal> {
        for (key, is_on) in
            [("tail_loss_probe", self.tail_loss_probe), ("prr", self.prr), ("f_rto", self.f_rto)]
        {
            if is_on && !self.rack {
                return Err(Refusal::of(&true, "false, or rack = true too").under(key));
            }
        }
        match self.clock_tick {
            Some(tick) if !(SHORTEST_TICK..=LONGEST_TICK).contains(&tick) => {
                let expected = format!("a time from {SHORTEST_TICK} to {LONGEST_TICK}, or none");
                Err(Refusal::of(&tick, expected).under("clock_tick"))
            }
            _ => Ok(()),
        }
    }
}

/// Clocks of 1 MHz to 10 Hz; kernels have 100 to 1000 Hz.
const SHORTEST_TICK: Span = Span::from_us(1);
const LONGEST_TICK: Span = Span::from_ms(100);

impl Check for TcpOptions {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("min_rto", self.min_rto)?;
        self.initial_rto.map_or(Ok(()), |span| check_timer("initial_rto", span))?;
        if self.linux.rack {
            for (key, is_on) in [
                ("sack", self.sack),
                ("fast_retransmit", self.fast_retransmit),
                ("limited_transmit", self.limited_transmit),
            ] {
                if !is_on {
                    return Err(Refusal::of(&false, "true, as rack = true has it").under(key));
                }
            }
        }
        if self.handshake && self.linux.known_round_trip {
            let expected = "false, as the flow's own handshake measures the round trip";
            return Err(Refusal::of(&true, expected).under("known_round_trip"));
        }
        check_ack_delay(self.ack_delay)
    }
}

impl TcpOptions {
    /// What a host with Linux does, with a clock of 250 Hz.
    pub fn linux() -> TcpOptions {
        TcpOptions {
            // Linux counts all that is acknowledged.
            abc_limit: Some(NonZeroU32::MAX),
            linux: LinuxRecovery {
                rack: true,
                tail_loss_probe: true,
                prr: true,
                f_rto: true,
                timeout_rule: TimeOutRule::Linux,
                known_round_trip: true,
                clock_tick: Some(Span::from_ms(4)),
                quick_acks: QUICK_ACKS,
                restart_after_idle: true,
            },
            ..defaults()
        }
    }

    /// How a window grows by what an ACK covers.
    #[inline]
    pub(super) fn growth(&self) -> Growth {
        Growth { limit: self.abc_limit, in_whole_packets: self.linux.rack }
    }

    /// The rules of a sender within these limits, without marks and pacing.
    pub(super) fn rules(&self, window: &WindowLimits) -> Rules {
        Rules {
            initial_window: window.initial_window.get().into(),
            initial_ssthresh: f64::INFINITY,
            window_cap: window.cap(),
            timer: Timer::estimated(
                self.min_rto,
                self.initial_rto,
                self.handshake,
                self.linux.timeout_rule,
            ),
            fast_retransmit: self.fast_retransmit.then_some(FastRetransmit {
                dupthresh: self.dupthresh,
                limited_transmit: self.limited_transmit,
            }),
            sack: self.sack,
            ack_delay: self.ack_delay,
            ecn: false,
            paced: false,
            handshake: self.handshake,
            known_round_trip: self.linux.known_round_trip,
            restart_after_idle: self.linux.restart_after_idle,
            tick: self.linux.clock_tick,
            quick_acks: self.linux.quick_acks,
            rack: self.linux.rack.then_some(RackRules {
                dupthresh: self.dupthresh,
                max_reordering: MAX_REORDERING,
                probes: self.linux.tail_loss_probe,
                proportional: self.linux.prr,
                f_rto: self.linux.f_rto,
            }),
        }
    }
}

/// Linux's `TCP_MAX_QUICKACKS`.
const QUICK_ACKS: u32 = 16;

/// Linux's `tcp_max_reordering`, in packets.
const MAX_REORDERING: u32 = 300;

/// Refuses to hold an ACK back for longer than RFC 5681 (4.2) allows.
fn check_ack_delay(delay: Option<Span>) -> Result<(), Refusal> {
    const LONGEST: Span = Span::from_ms(500);
    match delay {
        Some(delay) if delay == Span::ZERO || delay > LONGEST => {
            let expected = format!("a time above zero, at most {LONGEST}, or none");
            Err(Refusal::of(&delay, expected).under("ack_delay"))
        }
        _ => Ok(()),
    }
}
