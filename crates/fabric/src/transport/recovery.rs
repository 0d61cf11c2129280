//! What a sender infers from duplicate ACKs, and how it mends a loss without SACK: fast retransmit
//! and fast recovery (RFC 5681 section 3.2, RFC 6582), limited transmit (RFC 3042). With SACK the
//! holes are found by `sack.rs`.
//!
//! RFC 6582's variants: the "impatient" timer, which only the first partial ACK starts anew; at a
//! full ACK the window becomes min(ssthresh, max(FlightSize, 1) + 1). Its heuristics against missed
//! fast retransmits (section 4) are not modelled.

use super::control::{CongestionControl, FastRetransmit};
use super::windowed::Acting;

/// What a sender keeps about losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) active: bool,
    /// One past the highest packet sent when the last recovery began or the timer last ran out
    /// (`recover`, `RecoveryPoint`); 0 before.
    pub(super) point: u32,
    /// Whether a partial ACK has come in this recovery.
    partial: bool,
    /// Duplicate ACKs since the cumulative one last moved.
    duplicates: u32,
    /// New packets that these let go.
    limited: u32,
    /// With SACK: one past the last packet known to have arrived.
    pub(super) heard: u32,
    /// With SACK: holes below this were resent in this recovery (`HighRxt`).
    pub(super) resent: u32,
    /// With SACK: a rescue waits until more than this is acknowledged (`RescueRxt`).
    pub(super) rescued: u32,
}

impl Recovery {
    /// The cumulative acknowledgement has moved.
    #[inline]
    pub(super) fn calm(&mut self) {
        self.duplicates = 0;
        self.limited = 0;
    }

    /// The timer ran out; all below `high` had been sent.
    pub(super) fn timed_out(&mut self, high: u32) {
        self.active = false;
        self.point = high;
        self.calm();
    }
}

impl<C: CongestionControl> Acting<'_, C> {
    /// A duplicate ACK has come: without SACK one that repeats the last (RFC 5681, 2), with SACK one
    /// that tells of another packet (RFC 6675, 2).
    #[cold]
    pub(super) fn duplicate(&mut self, rule: FastRetransmit) {
        let sender = &mut *self.sender;
        if sender.recovery.active {
            if !self.rules.sack {
                sender.window.size += 1.0;
            }
            return;
        }
        sender.recovery.duplicates += 1;
        let (duplicates, dupthresh) = (sender.recovery.duplicates, rule.dupthresh.get());
        let point = sender.recovery.point;
        let lost = match self.rules.sack {
            // RFC 6675, 5: steps 1 and 2, and 5.1 after a time-out.
            true => {
                (duplicates >= dupthresh || sender.sacked.len() >= dupthresh)
                    && sender.acked >= point
            }
            // RFC 6582, 3.2, step 2: the ACK covers more than `recover`.
            false => duplicates == dupthresh && (sender.acked > point || point == 0),
        };
        if lost {
            self.recover(dupthresh);
        } else if rule.limited_transmit && duplicates < dupthresh {
            self.limited_transmit();
        }
    }

    /// Fast retransmit: a recovery begins.
    fn recover(&mut self, dupthresh: u32) {
        let sender = &mut *self.sender;
        // RFC 5681, 3.2, step 2: what limited transmit sent does not count.
        let flight = sender.next - sender.acked - sender.recovery.limited;
        self.control.lost(&mut sender.window, &mut sender.state, flight, self.outbox.now);
        if !self.rules.sack {
            sender.window.size += f64::from(dupthresh);
        }
        let hole = sender.acked;
        sender.recovery.active = true;
        sender.recovery.partial = false;
        sender.recovery.point = sender.high;
        sender.recovery.resent = hole + 1;
        sender.recovery.rescued = hole + 1;
        sender.trip.forget();
        self.emit(hole);
    }

    /// RFC 3042, and RFC 6675 (5, step 3): each duplicate says that a packet has left the network.
    fn limited_transmit(&mut self) {
        let sender = &mut *self.sender;
        let left = match self.rules.sack {
            true => sender.sacked.len(),
            false => sender.recovery.duplicates,
        };
        let outstanding = (sender.next - sender.acked).saturating_sub(left);
        let room = f64::from(outstanding) + 1.0 <= sender.window.size.max(1.0);
        if room && sender.next == sender.high && self.has_new() {
            self.sender.recovery.limited += 1;
            self.emit_new();
        }
    }

    /// A cumulative ACK during a recovery, of so many packets: full or partial (RFC 6582, 3.2, step
    /// 3; RFC 6675, 5, steps A and B).
    #[cold]
    pub(super) fn advanced(&mut self, cumulative: u32) {
        let sender = &mut *self.sender;
        let window = &mut sender.window;
        if sender.acked >= sender.recovery.point {
            sender.recovery.active = false;
            if !self.rules.sack {
                let flight = f64::from(sender.next - sender.acked);
                window.size = window.threshold.min(flight.max(1.0) + 1.0);
            }
            self.restart_timer();
            return;
        }
        let first = !std::mem::replace(&mut sender.recovery.partial, true);
        if !self.rules.sack {
            window.size = (window.size - f64::from(cumulative) + 1.0).max(1.0);
            let hole = sender.acked;
            self.emit(hole);
        }
        if first || self.rules.sack {
            self.restart_timer();
        }
    }

    /// Sends all that may be sent in a recovery.
    #[cold]
    pub(super) fn send_in_recovery(&mut self) {
        if self.rules.sack {
            return self.send_into_the_pipe();
        }
        while self.may_send_new() && !self.held_back() && self.takes_more() {
            self.emit_new();
        }
    }

    /// Whether the window, inflated by duplicates, allows a new packet (RFC 5681, 3.2, step 5).
    pub(super) fn may_send_new(&self) -> bool {
        let sender = &*self.sender;
        let outstanding = f64::from(sender.next - sender.acked);
        outstanding + 1.0 <= sender.window.size.max(1.0) && self.has_new()
    }

    /// Whether there is a packet never sent, and the cap allows it: a window that duplicates have
    /// inflated may exceed that.
    pub(super) fn has_new(&self) -> bool {
        let sender = &*self.sender;
        let outstanding = f64::from(sender.next - sender.acked);
        sender.next < sender.end && outstanding + 1.0 <= self.rules.window_cap
    }

    /// Sends it.
    pub(super) fn emit_new(&mut self) {
        let sequence = self.sender.next;
        self.sender.next += 1;
        self.emit(sequence);
    }
}
