//! Losses as Linux finds and repairs them: by time, with RACK and its probes (RFC 8985), PRR (RFC 6937) and F-RTO
//! (RFC 5682).
//!
//! What Linux's source calls `tcp_ca_state` is a [`Stage`] here, and `high_seq` its `point`. ACKs say of one packet
//! only that it arrived out of order (see `loss_recovery.rs`), and nothing of packets that came twice (DSACK).

pub(super) mod flow;
mod outstanding;

use super::ECE;
use super::congestion::{Acked, CongestionControl, RackRules};
use super::transmit::{Acting, Sender};
use crate::packet::Packet;
use flow::{Alarm, News, Probe, Rack, Reduction, Resend, Stage};
use sojourn_core::{Span, Time};

/// What Linux adds to the times of probes and of the timer for reordering (`TCP_TIMEOUT_MIN_US`).
const SLACK: Span = Span::from_ms(2);

impl<C: CongestionControl> Acting<'_, C> {
    /// The rules of [`Rack`].
    fn rack_rules(&self) -> &RackRules {
        self.rules.rack.as_ref().expect("a sender with this state has its rules")
    }

    /// Calls `act` with the state of a sender that repairs losses by time; it is gone when the flow ends.
    #[inline]
    pub(super) fn by_time(&mut self, act: impl FnOnce(&mut Self, &mut Rack)) {
        let mut rack = self.sender.rack.take().expect("a sender that repairs losses by time");
        act(self, &mut rack);
        let Sender { snd_una, end, .. } = *self.sender;
        if snd_una < end || !self.setup.is_last(self.flow, end) {
            self.sender.rack = Some(rack);
        }
    }

    /// Takes in an ACK.
    pub(super) fn hear_by_time(&mut self, rack: &mut Rack, ack: &Packet) {
        let now = self.outbox.now;
        let news = rack.hear(ack, self.sender.snd_una, now, self.rack_rules());
        let sender = &mut *self.sender;
        if news.advanced {
            sender.snd_una = ack.sequence;
            sender.consecutive_timeouts = 0;
            if sender.snd_una == sender.end {
                sender.idle_since = now;
                if self.setup.is_last(self.flow, sender.end) {
                    return self.end();
                }
            }
        }
        if let Some(sample) = news.sample {
            sender.trip.sample(sample, self.rules.timer, sender.snd_una, sender.snd_max);
        }
        let losses = rack.packets.losses();
        self.probe_answered(rack, ack.sequence, news);
        let mut set_timer = news.advanced || news.overtakes;
        let is_plain = rack.stage == Stage::Open && news.advanced && !news.sacked;
        let resend = match is_plain {
            true => Resend::Nothing,
            false => self.judge(rack, news, &mut set_timer),
        };
        if set_timer && !self.schedule_probe(rack, true) {
            self.rearm(rack);
        }
        self.control_window(rack, ack, news, rack.packets.losses() - losses);
        if resend == Resend::New {
            self.send_new(rack);
            if self.sender.snd_max <= rack.point {
                rack.f_rto = false;
                self.resend(rack);
            }
        } else if resend == Resend::Lost {
            self.resend(rack);
        }
        self.send_new(rack);
    }

    /// Shrinks the window, where it does, or hands the ACK to congestion control.
    #[inline]
    fn control_window(&mut self, rack: &mut Rack, ack: &Packet, news: News, lost: u32) {
        let shrinks = matches!(rack.stage, Stage::Reducing | Stage::Recovery);
        if shrinks {
            self.reduce(rack, news.delivered, lost, news.advanced);
            if !C::HEARS_RECOVERY {
                return;
            }
        }
        let sender = &mut *self.sender;
        // Slow start goes to its threshold and no further, however much has arrived at once.
        let room = (sender.window.ssthresh - sender.window.cwnd).ceil();
        let counted = if room > 0.0 { news.delivered.min(room as u32) } else { news.delivered };
        let acked = Acked {
            cumulative: if news.advanced { counted } else { 0 },
            arrived: news.delivered,
            marked: ack.marks & ECE != 0,
            snd_una: sender.snd_una,
            snd_nxt: sender.snd_nxt,
            repairing: false,
            lost,
            after_time_out: rack.stage == Stage::Loss,
            cause: match ack.echo {
                0 => sender.snd_una.checked_sub(1).filter(|_| news.advanced),
                above => Some(ack.sequence + u32::from(above)),
            },
            in_flight: rack.packets.in_flight(),
            sample: news.latest,
            rtt: sender.trip.smoothed(),
            now: self.outbox.now,
        };
        match shrinks {
            true => self.control.recovering(&mut sender.window, &mut sender.state, &acked),
            false => self.control.acked(&mut sender.window, &mut sender.state, &acked),
        }
        sender.window.cwnd = sender.window.cwnd.min(self.rules.window_cap);
        if self.setup.digest_windows {
            sender.tally.window_digest = sender.window.mixed_into(sender.tally.window_digest);
        }
    }

    /// Moves between the stages, and says what goes again.
    #[cold]
    fn judge(&mut self, rack: &mut Rack, news: News, set_timer: &mut bool) -> Resend {
        let snd_una = self.sender.snd_una;
        if rack.stage == Stage::Recovery && snd_una >= rack.point
            || rack.stage == Stage::Reducing && snd_una > rack.point
        {
            self.end_reduction(rack);
        }
        let mut resend = Resend::Nothing;
        match rack.stage {
            Stage::Recovery => {
                self.find_losses(rack, set_timer);
                return Resend::Lost;
            }
            Stage::Loss => {
                resend = self.after_time_out(rack, news);
                let again = self.find_losses(rack, set_timer);
                if rack.stage == Stage::Loss && !again {
                    return resend;
                }
            }
            _ => drop(self.find_losses(rack, set_timer)),
        }
        if rack.packets.lost() > 0 {
            self.recover_by_time(rack);
            return Resend::Lost;
        }
        self.calm(rack);
        resend
    }

    /// Goes back to an open window, or to disorder while a packet is out of its place.
    fn calm(&mut self, rack: &mut Rack) {
        if rack.stage == Stage::Reducing {
            return;
        }
        let out_of_place = rack.packets.arrived() + rack.packets.lost() > 0
            || rack.packets.head().is_some_and(|head| head.again)
            || rack.packets.is_mending();
        let stage = if out_of_place { Stage::Disorder } else { Stage::Open };
        if stage != rack.stage {
            (rack.stage, rack.point) = (stage, self.sender.snd_max);
        }
    }

    /// Looks for losses (RFC 8985, 6.2, step 5), and says whether a packet was lost that had been sent again.
    fn find_losses(&mut self, rack: &mut Rack, set_timer: &mut bool) -> bool {
        if !std::mem::take(&mut rack.fresh) {
            return false;
        }
        let (again, rest) = self.look_for_losses(rack);
        if let Some(rest) = rest {
            *set_timer = false;
            rack.alarm = Alarm::Reordering;
            self.sender.rto_deadline =
                self.rules.deadline(self.outbox.now, rest.saturating_add(SLACK));
        }
        again
    }

    fn look_for_losses(&self, rack: &mut Rack) -> (bool, Option<Span>) {
        let patience = rack.patience(self.sender.trip.smoothed());
        let wait = rack.round_trip.saturating_add(patience);
        rack.packets.overtaken(rack.latest, wait, self.outbox.now)
    }

    /// The window as Linux counts it, in whole packets.
    fn whole_window(&self) -> u32 {
        self.sender.window.whole()
    }

    /// Starts to repair losses.
    fn recover_by_time(&mut self, rack: &mut Rack) {
        if rack.stage != Stage::Reducing {
            self.begin_reduction(rack);
        }
        rack.stage = Stage::Recovery;
    }

    fn begin_reduction(&mut self, rack: &mut Rack) {
        let prior = self.whole_window();
        rack.reduction = Reduction { prior, ..Reduction::default() };
        rack.point = self.sender.snd_max;
        rack.probe = None;
        let sender = &mut *self.sender;
        self.control.lost(&mut sender.window, &mut sender.state, prior, self.outbox.now);
        if self.is_proportional() {
            self.sender.window.cwnd = prior.into();
        }
    }

    /// Whether the window shrinks with what arrives.
    fn is_proportional(&self) -> bool {
        self.rack_rules().proportional && !self.control.decides_recovery()
    }

    /// Shrinks the window with what arrives (RFC 6937, with the slow start part of its successor).
    fn reduce(&mut self, rack: &mut Rack, delivered: u32, lost: u32, advanced: bool) {
        if !self.is_proportional() || delivered == 0 {
            return;
        }
        let in_flight = rack.packets.in_flight();
        let threshold = self.sender.window.ssthresh as u32;
        let Reduction { prior, delivered: all, sent } = &mut rack.reduction;
        *all += delivered;
        let mut send = match threshold.checked_sub(in_flight) {
            None => {
                let due = (u64::from(threshold) * u64::from(*all)).div_ceil(u64::from(*prior));
                (due as u32).saturating_sub(*sent)
            }
            Some(room) => {
                let more = all.saturating_sub(*sent).max(delivered);
                room.min(more + u32::from(advanced && lost == 0))
            }
        };
        if *sent == 0 {
            send = send.max(1);
        }
        self.sender.window.cwnd = (in_flight + send).into();
    }

    fn end_reduction(&mut self, rack: &mut Rack) {
        let window = &mut self.sender.window;
        if window.ssthresh.is_finite() && !self.control.decides_recovery() {
            window.cwnd = window.ssthresh;
        }
        rack.stage = Stage::Open;
    }

    /// Goes on after a time-out; F-RTO (RFC 5682, 3.1) finds out whether it was too early.
    fn after_time_out(&mut self, rack: &mut Rack, news: News) -> Resend {
        let recovered = self.sender.snd_una >= rack.point;
        if rack.f_rto {
            if news.original {
                self.undo(rack);
                return Resend::Nothing;
            }
            if self.sender.snd_max > rack.point {
                // New packets were sent, and what comes is out of order: the loss was real.
                rack.f_rto &= !news.sacked && news.advanced;
            } else if news.advanced && !recovered {
                rack.point = self.sender.snd_max;
                if self.has_new_by_time() {
                    return Resend::New;
                }
                rack.f_rto = false;
            }
        }
        if recovered {
            rack.stage = Stage::Open;
            return Resend::Nothing;
        }
        Resend::Lost
    }

    /// Takes back a time-out that came too early.
    fn undo(&mut self, rack: &mut Rack) {
        rack.packets.revive();
        if let Some(prior) = rack.prior.take() {
            let window = &mut self.sender.window;
            window.cwnd = window.cwnd.max(prior.cwnd);
            window.ssthresh = window.ssthresh.max(prior.ssthresh);
        }
        rack.fresh = true;
        rack.stage = Stage::Open;
    }

    /// The timer runs out, for what it was set.
    pub(super) fn woken_by_time(&mut self, rack: &mut Rack) {
        if self.sender.rto_deadline <= self.outbox.now {
            match rack.alarm {
                Alarm::Retransmission => self.time_out(rack),
                Alarm::Probe => self.probe_by_time(rack),
                Alarm::Reordering => self.wait_is_over(rack),
            }
        }
        self.go_on_by_time(rack);
    }

    /// Sends all that may be sent.
    pub(super) fn go_on_by_time(&mut self, rack: &mut Rack) {
        if rack.stage >= Stage::Recovery {
            self.resend(rack);
        }
        self.send_new(rack);
    }

    fn time_out(&mut self, rack: &mut Rack) {
        let now = self.outbox.now;
        let sender = &mut *self.sender;
        sender.tally.timed_out(sender.trip.time_out(self.rules.timer));
        rack.packets.time_out(rack.round_trip, now);
        let is_new = rack.stage < Stage::Recovery;
        let shrinks = rack.stage <= Stage::Disorder
            || rack.point <= sender.snd_una
            || (rack.stage == Stage::Loss && sender.consecutive_timeouts == 0);
        if shrinks {
            rack.prior = Some(sender.window);
            let flight = sender.window.whole();
            self.control.timed_out(&mut sender.window, &mut sender.state, flight, now);
        }
        sender.window.cwnd = f64::from(rack.packets.in_flight() + 1);
        (rack.stage, rack.point, rack.probe) = (Stage::Loss, sender.snd_max, None);
        let f_rto = self.rules.rack.as_ref().is_some_and(|rules| rules.f_rto);
        rack.f_rto = f_rto && (is_new || sender.consecutive_timeouts > 0);
        sender.consecutive_timeouts += 1;
        if self.takes_more() {
            self.emit_by_time(rack, self.sender.snd_una);
        }
        self.sender.trip.timed_out();
        self.restart(rack);
    }

    /// Sends a probe for the loss of the last packets (RFC 8985, 7.3): a new packet, else the last one again.
    fn probe_by_time(&mut self, rack: &mut Rack) {
        if rack.probe.is_none() && self.takes_more() {
            let again = !self.has_new_by_time();
            match again {
                false => self.emit_new_by_time(rack),
                true => {
                    let last = self.sender.snd_max - 1;
                    self.emit_by_time(rack, last);
                }
            }
            rack.probe = Some(Probe { until: self.sender.snd_max, again });
            self.sender.tally.probes = self.sender.tally.probes.map(|probes| probes + 1);
            self.restart(rack);
            return;
        }
        self.rearm(rack);
    }

    /// Ends a probe at its answer (RFC 8985, 7.4): if it has repaired a loss, the window shrinks.
    #[inline]
    fn probe_answered(&mut self, rack: &mut Rack, sequence: u32, news: News) {
        let Some(probe) = rack.probe.filter(|probe| sequence >= probe.until) else { return };
        if probe.again && sequence > probe.until {
            self.begin_reduction(rack);
            self.end_reduction(rack);
            self.calm(rack);
        } else if !probe.again || !(news.advanced || news.sacked) {
            rack.probe = None;
        }
    }

    /// Packets that may have been late are lost.
    fn wait_is_over(&mut self, rack: &mut Rack) {
        let in_flight = rack.packets.in_flight();
        let (_, rest) = self.look_for_losses(rack);
        rack.alarm = Alarm::Retransmission;
        if let Some(rest) = rest {
            rack.alarm = Alarm::Reordering;
            self.sender.rto_deadline =
                self.rules.deadline(self.outbox.now, rest.saturating_add(SLACK));
        }
        if rack.packets.in_flight() != in_flight {
            if rack.stage != Stage::Recovery {
                self.recover_by_time(rack);
                self.reduce(rack, 1, 0, false);
            }
            self.resend(rack);
        }
        if rest.is_none() {
            rack.alarm = Alarm::Reordering;
            self.rearm(rack);
        }
    }

    /// Sets the timer for a probe (RFC 8985, 7.2), if one may be sent.
    #[inline]
    fn schedule_probe(&mut self, rack: &mut Rack, advances: bool) -> bool {
        let probes = self.rack_rules().probes;
        let may = matches!(rack.stage, Stage::Open | Stage::Reducing);
        let Some(head) = rack.packets.head().filter(|_| probes && may) else { return false };
        let now = self.outbox.now;
        let time_out = self.sender.trip.time_out(self.rules.timer);
        let mut wait = match self.sender.trip.smoothed() {
            Span::ZERO => Span::from_s(1),
            smoothed => {
                let late = if rack.packets.len() == 1 { self.rules.timer.min() } else { SLACK };
                smoothed.saturating_mul(2).saturating_add(late)
            }
        };
        let latest = if advances { now + time_out } else { head.left + time_out };
        if latest > now {
            wait = wait.min(latest - now);
        }
        rack.alarm = Alarm::Probe;
        self.sender.rto_deadline = self.rules.deadline(now, wait);
        true
    }

    /// Starts the retransmission timer again.
    fn restart(&mut self, rack: &mut Rack) {
        rack.alarm = Alarm::Retransmission;
        let time_out = self.sender.trip.time_out(self.rules.timer);
        self.sender.rto_deadline = self.rules.deadline(self.outbox.now, time_out);
    }

    /// Sets the retransmission timer; after another one it runs since the first packet left.
    fn rearm(&mut self, rack: &mut Rack) {
        let Some(head) = rack.packets.head() else {
            self.sender.rto_deadline = Time::NEVER;
            return;
        };
        if rack.alarm == Alarm::Retransmission {
            return self.restart(rack);
        }
        rack.alarm = Alarm::Retransmission;
        let now = self.outbox.now;
        let due = head.left + self.sender.trip.time_out(self.rules.timer);
        let rest = if due > now { due - now } else { Span::from_us(1) };
        self.sender.rto_deadline = self.rules.deadline(now, rest);
    }

    /// Sends what is lost, while the window has room.
    #[cold]
    fn resend(&mut self, rack: &mut Rack) {
        let mut restarts = false;
        while rack.packets.in_flight() < self.whole_window()
            && !self.held_back()
            && let Some(lost) = rack.packets.next_lost()
            && self.takes_more()
        {
            self.emit_by_time(rack, lost);
            rack.reduction.sent += u32::from(rack.stage == Stage::Recovery);
            restarts |= lost == self.sender.snd_una && rack.alarm != Alarm::Reordering;
        }
        if restarts {
            self.restart(rack);
        }
    }

    /// Whether there is a packet never sent, and the window's cap allows it.
    fn has_new_by_time(&self) -> bool {
        let sender = &*self.sender;
        let outstanding = f64::from(sender.snd_max - sender.snd_una);
        sender.snd_max < sender.end && outstanding + 1.0 <= self.rules.window_cap
    }

    /// Whether the window has room for a packet that is there to be sent.
    pub(super) fn may_send_by_time(&self, rack: &Rack) -> bool {
        rack.packets.in_flight() < self.whole_window()
            && (self.has_new_by_time() || rack.packets.lost() > 0)
    }

    /// Sends new packets, while the window has room.
    #[inline]
    fn send_new(&mut self, rack: &mut Rack) {
        let mut sent = false;
        let window = self.whole_window();
        while rack.packets.in_flight() < window
            && !self.held_back()
            && self.has_new_by_time()
            && self.takes_more()
        {
            if rack.packets.len() == 0 {
                self.restart(rack);
            }
            self.emit_new_by_time(rack);
            sent = true;
        }
        if sent && !self.schedule_probe(rack, false) && rack.alarm == Alarm::Probe {
            self.rearm(rack);
        }
    }

    fn emit_new_by_time(&mut self, rack: &mut Rack) {
        let sequence = self.sender.snd_max;
        self.sender.snd_max += 1;
        self.sender.snd_nxt = self.sender.snd_max;
        rack.packets.sent(self.outbox.now);
        rack.reduction.sent += u32::from(rack.stage == Stage::Recovery);
        self.hand_over(sequence, self.sender.snd_una + rack.packets.arrived());
    }

    /// Sends a packet again.
    fn emit_by_time(&mut self, rack: &mut Rack, sequence: u32) {
        self.sender.tally.retransmits += 1;
        rack.packets.sent_again(sequence, self.outbox.now);
        self.hand_over(sequence, self.sender.snd_una + rack.packets.arrived());
    }
}
