//! Which packets go in a recovery with SACK (RFC 6675), counted in packets.
//!
//! An ACK is too small for blocks (RFC 2018): it tells of the one packet that caused it. While no
//! ACK is lost the sender so knows all that the receiver has, as if there were room for any number of
//! blocks; three say the same in all but rare cases. What a lost ACK would have told it does not
//! learn before the cumulative acknowledgement covers it, where blocks would say it again: that
//! packet counts as in the network or as lost, as its neighbours say, and may be sent once more. The
//! scoreboard outlives a time-out (section 5.1), since receivers here never renege; what it holds is
//! then left out of what goes again.

use super::control::CongestionControl;
use super::windowed::{Acting, Sender};

impl<S> Sender<S> {
    /// What lies below this and has not arrived is lost: `dupthresh` packets above it have arrived
    /// (section 4, IsLost).
    fn lost_below(&self, dupthresh: u32) -> u32 {
        match self.sacked.len() < dupthresh {
            true => self.acked,
            false => self.sacked.nth_highest(self.recovery.heard, dupthresh),
        }
    }

    /// How many packets are in the network (section 4, SetPipe): those neither arrived nor lost, and
    /// those resent that have not arrived.
    fn pipe(&self, lost_below: u32) -> u32 {
        let missing = |from: u32, to: u32| (to - from) - self.sacked.count(from, to);
        missing(lost_below, self.next) + missing(self.acked, self.recovery.resent)
    }
}

/// What a sender in a recovery sends next.
enum Segment {
    /// One that is lost, or may be.
    Hole(u32),
    /// One never sent before.
    New,
    /// The last one outstanding, once in a recovery.
    Rescue,
}

impl<C: CongestionControl> Acting<'_, C> {
    /// Section 5, step C.
    pub(super) fn send_into_the_pipe(&mut self) {
        let sender = &mut *self.sender;
        sender.recovery.resent = sender.recovery.resent.max(sender.acked);
        let dupthresh = self.rules.fast_retransmit.expect("it recovers").dupthresh.get();
        let lost_below = sender.lost_below(dupthresh);
        let mut pipe = sender.pipe(lost_below);
        while f64::from(pipe) + 1.0 <= self.sender.window.size.max(1.0) {
            let Some(next) = self.next_segment(lost_below) else { return };
            if !self.takes_more() {
                return;
            }
            self.send_segment(next);
            pipe += 1;
        }
    }

    /// What is next (section 4, NextSeg, rules 1 to 4), if there is something.
    fn next_segment(&self, lost_below: u32) -> Option<Segment> {
        let sender = &*self.sender;
        let hole = sender.sacked.first_missing(sender.recovery.resent);
        if hole < lost_below {
            Some(Segment::Hole(hole))
        } else if self.has_new() {
            Some(Segment::New)
        } else if hole < sender.recovery.heard {
            Some(Segment::Hole(hole))
        } else if sender.acked > sender.recovery.rescued {
            Some(Segment::Rescue)
        } else {
            None
        }
    }

    fn send_segment(&mut self, segment: Segment) {
        match segment {
            Segment::Hole(hole) => {
                self.sender.recovery.resent = hole + 1;
                self.emit(hole);
            }
            Segment::New => self.emit_new(),
            Segment::Rescue => {
                let sender = &mut *self.sender;
                let mut outstanding = (sender.acked..sender.next).rev();
                let last = outstanding.find(|&sequence| !sender.sacked.contains(sequence));
                let last = last.expect("what is next to be acknowledged has not arrived");
                sender.recovery.rescued = sender.recovery.point;
                self.emit(last);
            }
        }
    }
}
