//! What a sender infers from duplicate ACKs, and how it repairs losses: fast retransmit and fast
//! recovery (RFC 5681 section 3.2, RFC 6582), limited transmit (RFC 3042), and with SACK the rules of
//! RFC 6675, counted in packets.
//!
//! RFC 6582's variants: the "impatient" timer, which only the first partial ACK starts anew; at a
//! full ACK the window becomes min(ssthresh, max(FlightSize, 1) + 1). Its heuristics against missed
//! fast retransmits (section 4) are not modelled.
//!
//! An ACK is too small for blocks (RFC 2018): it tells of the one packet that caused it. While no
//! ACK is lost the sender so knows all that the receiver has, as if an ACK could carry any number of
//! blocks; three say the same in all but rare cases. What a lost ACK would have told it does not
//! learn before the cumulative acknowledgement covers it, where blocks would say it again: that
//! packet counts as in the network or as lost, as its neighbours say, and may be sent once more. The
//! scoreboard outlives a time-out (section 5.1), since receivers here never renege; what it holds is
//! then left out of what goes again.

use super::congestion::{CongestionControl, FastRetransmit};
use super::transmit::{Acting, Sender};

impl<C: CongestionControl> Acting<'_, C> {
    /// Takes in a duplicate ACK: without SACK one that repeats the last (RFC 5681, 2), with SACK one that
    /// tells of another packet (RFC 6675, 2).
    #[cold]
    pub(super) fn duplicate(&mut self, rule: FastRetransmit) {
        let sender = &mut *self.sender;
        if sender.recovery.active {
            if !self.rules.sack {
                sender.window.cwnd += 1.0;
            }
            return;
        }
        sender.recovery.duplicates += 1;
        let (duplicates, dupthresh) = (sender.recovery.duplicates, rule.dupthresh.get());
        let point = sender.recovery.recover;
        let lost = match self.rules.sack {
            // RFC 6675, 5: steps 1 and 2, and 5.1 after a time-out.
            true => {
                (duplicates >= dupthresh || sender.sacked.len() >= dupthresh)
                    && sender.snd_una >= point
            }
            // RFC 6582, 3.2, step 2: the ACK covers more than `recover`.
            false => duplicates == dupthresh && (sender.snd_una > point || point == 0),
        };
        if lost {
            self.recover(dupthresh);
        } else if rule.limited_transmit && duplicates < dupthresh {
            self.limited_transmit();
        }
    }

    /// Begins a recovery with a fast retransmit.
    fn recover(&mut self, dupthresh: u32) {
        let sender = &mut *self.sender;
        // RFC 5681, 3.2, step 2: what limited transmit sent does not count.
        let flight = sender.snd_nxt - sender.snd_una - sender.recovery.limited;
        self.control.lost(&mut sender.window, &mut sender.state, flight, self.outbox.now);
        if !self.rules.sack {
            sender.window.cwnd += f64::from(dupthresh);
        }
        let hole = sender.snd_una;
        sender.recovery.active = true;
        sender.recovery.partial = false;
        sender.recovery.recover = sender.snd_max;
        sender.recovery.high_rxt = hole + 1;
        sender.recovery.rescue_rxt = hole + 1;
        sender.trip.forget();
        self.emit(hole);
    }

    /// Sends a new packet for a duplicate ACK, which says that a packet has left the network (RFC 3042;
    /// RFC 6675, 5, step 3).
    fn limited_transmit(&mut self) {
        let sender = &mut *self.sender;
        let left = match self.rules.sack {
            true => sender.sacked.len(),
            false => sender.recovery.duplicates,
        };
        let outstanding = (sender.snd_nxt - sender.snd_una).saturating_sub(left);
        let room = f64::from(outstanding) + 1.0 <= sender.window.cwnd.max(1.0);
        if room && sender.snd_nxt == sender.snd_max && self.has_new() {
            self.sender.recovery.limited += 1;
            self.emit_new();
        }
    }

    /// Takes in an ACK of so many packets during a recovery, full or partial (RFC 6582, 3.2, step 3; RFC
    /// 6675, 5, steps A and B).
    #[cold]
    pub(super) fn advanced(&mut self, cumulative: u32) {
        let sender = &mut *self.sender;
        let window = &mut sender.window;
        if sender.snd_una >= sender.recovery.recover {
            sender.recovery.active = false;
            if !self.rules.sack {
                let flight = f64::from(sender.snd_nxt - sender.snd_una);
                window.cwnd = window.ssthresh.min(flight.max(1.0) + 1.0);
            }
            self.restart_timer();
            return;
        }
        let first = !std::mem::replace(&mut sender.recovery.partial, true);
        if !self.rules.sack {
            window.cwnd = (window.cwnd - f64::from(cumulative) + 1.0).max(1.0);
            let hole = sender.snd_una;
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
        let outstanding = f64::from(sender.snd_nxt - sender.snd_una);
        outstanding + 1.0 <= sender.window.cwnd.max(1.0) && self.has_new()
    }

    /// Whether there is a packet never sent, and the cap allows it: a window that duplicates have
    /// inflated may exceed that.
    pub(super) fn has_new(&self) -> bool {
        let sender = &*self.sender;
        let outstanding = f64::from(sender.snd_nxt - sender.snd_una);
        sender.snd_nxt < sender.end && outstanding + 1.0 <= self.rules.window_cap
    }

    /// Sends the next new packet.
    pub(super) fn emit_new(&mut self) {
        let sequence = self.sender.snd_nxt;
        self.sender.snd_nxt += 1;
        self.emit(sequence);
    }
}

impl<S> Sender<S> {
    /// The bound below which packets that have not arrived are lost: `dupthresh` packets above it have
    /// arrived (RFC 6675, 4, IsLost).
    fn lost_below(&self, dupthresh: u32) -> u32 {
        match self.sacked.len() < dupthresh {
            true => self.snd_una,
            false => self.sacked.nth_highest(self.recovery.heard, dupthresh),
        }
    }

    /// Packets in the network (RFC 6675, 4, SetPipe): those neither arrived nor lost, and those sent again
    /// that have not arrived.
    fn pipe(&self, lost_below: u32) -> u32 {
        let missing = |from: u32, to: u32| (to - from) - self.sacked.count(from, to);
        missing(lost_below, self.snd_nxt) + missing(self.snd_una, self.recovery.high_rxt)
    }
}

/// The next segment of a recovery.
enum Segment {
    /// A packet that is lost, or may be.
    Hole(u32),
    /// A packet never sent before.
    New,
    /// The last packet outstanding, once in a recovery.
    Rescue,
}

impl<C: CongestionControl> Acting<'_, C> {
    /// Sends while `cwnd` is larger than the pipe (RFC 6675, 5, step C).
    pub(super) fn send_into_the_pipe(&mut self) {
        let sender = &mut *self.sender;
        sender.recovery.high_rxt = sender.recovery.high_rxt.max(sender.snd_una);
        let dupthresh = self
            .rules
            .fast_retransmit
            .expect("a sender that recovers has fast retransmit")
            .dupthresh
            .get();
        let lost_below = sender.lost_below(dupthresh);
        let mut pipe = sender.pipe(lost_below);
        while f64::from(pipe) + 1.0 <= self.sender.window.cwnd.max(1.0) {
            let Some(next) = self.next_segment(lost_below) else { return };
            if !self.takes_more() {
                return;
            }
            self.send_segment(next);
            pipe += 1;
        }
    }

    /// The next segment, if there is one (RFC 6675, 4, NextSeg, rules 1 to 4).
    fn next_segment(&self, lost_below: u32) -> Option<Segment> {
        let sender = &*self.sender;
        let hole = sender.sacked.first_missing(sender.recovery.high_rxt);
        if hole < lost_below {
            Some(Segment::Hole(hole))
        } else if self.has_new() {
            Some(Segment::New)
        } else if hole < sender.recovery.heard {
            Some(Segment::Hole(hole))
        } else if sender.snd_una > sender.recovery.rescue_rxt {
            Some(Segment::Rescue)
        } else {
            None
        }
    }

    fn send_segment(&mut self, segment: Segment) {
        match segment {
            Segment::Hole(hole) => {
                self.sender.recovery.high_rxt = hole + 1;
                self.emit(hole);
            }
            Segment::New => self.emit_new(),
            Segment::Rescue => {
                let sender = &mut *self.sender;
                let mut outstanding = (sender.snd_una..sender.snd_nxt).rev();
                let last = outstanding.find(|&sequence| !sender.sacked.contains(sequence));
                let last = last.expect("what is next to be acknowledged has not arrived");
                sender.recovery.rescue_rxt = sender.recovery.recover;
                self.emit(last);
            }
        }
    }
}
