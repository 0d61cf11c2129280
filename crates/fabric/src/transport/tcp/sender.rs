//! The reliable, window-limited sender that the TCP family shares.
//!
//! Sequence numbers count packets. What differs between the members, the window and how it answers
//! to acknowledgements, marks and losses, is theirs ([`CongestionControl`]). Here are the window and the timer
//! (RFC 5681, 6298); how losses are inferred and repaired is in `loss_recovery.rs`.

use super::congestion::{Acked, CongestionControl, Rules, Window};
use super::rack::flow::Rack;
use super::receiver::Receiver;
use super::rto::RoundTrip;
use super::transmit::{Acting, Recovery, Sender};
use super::{ECE, PROBE};
use crate::packet::{ECT, Kind, Packet};
use crate::transport::scoreboard::Scoreboard;
use crate::transport::{End, Outbox, Priority, Setup, Speed, Tally, Transport, Wake};
use sojourn_core::{CodeFailed, Span, Time};

/// A member of the TCP family at work on all flows.
#[derive(Debug)]
pub struct Windowed<C: CongestionControl> {
    control: C,
    rules: Rules,
    setup: Setup,
    senders: Vec<Sender<C::State>>,
    receivers: Vec<Receiver>,
}

impl<S> Sender<S> {
    /// Packets known to have arrived out of order.
    fn out_of_order(&self) -> u32 {
        self.rack.as_ref().map_or(self.sacked.len(), |rack| rack.arrived())
    }

    /// The packet that caused `ack`, see [`Acked::cause`].
    fn cause(&self, ack: &Packet) -> Option<u32> {
        match ack.echo {
            0 => {
                (self.snd_una..ack.sequence).rev().find(|&sequence| !self.sacked.contains(sequence))
            }
            above => Some(ack.sequence + u32::from(above)),
        }
    }
}

impl<C: CongestionControl> Windowed<C> {
    /// Senders and receivers for all flows of `setup`, under `control`.
    pub fn new(control: C, setup: Setup) -> Windowed<C> {
        let rules = control.rules();
        let probes = rules.rack.as_ref().is_some_and(|rack| rack.probes).then_some(0);
        let sender = || Sender {
            window: Window {
                cwnd: rules.initial_window.min(rules.window_cap),
                ssthresh: rules.initial_ssthresh,
            },
            snd_una: 0,
            snd_nxt: 0,
            snd_max: 0,
            end: 0,
            recovery: Recovery::default(),
            last_rto_snd_una: 0,
            connecting: rules.handshake,
            held: false,
            consecutive_timeouts: 0,
            tally: Tally { probes, ..Tally::default() },
            sacked: Scoreboard::default(),
            trip: RoundTrip::default(),
            rack: None,
            rto_deadline: Time::NEVER,
            pacing_release: Time::ZERO,
            idle_since: Time::ZERO,
            wake: Time::NEVER,
            state: C::State::default(),
        };
        Windowed {
            control,
            rules,
            senders: setup.flows.iter().map(|_| sender()).collect(),
            receivers: setup.flows.iter().map(|flow| Receiver::new(flow, &setup.packets)).collect(),
            setup,
        }
    }

    /// The sender of `flow`.
    #[cfg(test)]
    pub(super) fn sender(&self, flow: u32) -> &Sender<C::State> {
        &self.senders[flow as usize]
    }

    /// Has `wake` as the only wake-up of the sender of flow 0.
    #[cfg(test)]
    pub(super) fn wake_alone(&mut self, wake: Wake, outbox: &mut Outbox) {
        self.senders[0].wake = wake.at;
        self.wake(wake, outbox);
    }

    #[cfg(test)]
    pub(super) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The sender of `flow`, with all it needs to act.
    #[inline]
    fn act<'a>(&'a mut self, flow: u32, outbox: &'a mut Outbox) -> Acting<'a, C> {
        Acting {
            sender: &mut self.senders[flow as usize],
            flow,
            control: &self.control,
            rules: &self.rules,
            setup: &self.setup,
            outbox,
        }
    }
}

impl<C: CongestionControl> Transport for Windowed<C> {
    const ESTIMABLE_BY_LINK: bool = C::ESTIMABLE_BY_LINK;

    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.extend(flow, self.setup.count(flow), outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        let mut acting = self.act(flow, outbox);
        let before = std::mem::replace(&mut acting.sender.end, end);
        let begins = before == 0;
        if !begins && acting.sender.snd_una == before {
            acting.go_on_after_pause();
        }
        if begins {
            let Sender { window, state, .. } = acting.sender;
            acting.control.start(window, state, flow, acting.setup);
            acting.begin();
        }
        match acting.sender.connecting {
            true if begins => acting.connect(),
            true => {}
            false => acting.send(),
        }
        acting.arm();
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.receivers[flow as usize].first_missing()
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        match packet.kind {
            Kind::ACK => {
                let mut acting = self.act(packet.flow, outbox);
                if acting.sender.snd_una < acting.sender.end {
                    acting.acknowledged(packet);
                    acting.arm();
                }
            }
            _ => {
                self.receivers[packet.flow as usize].data(packet, &self.rules, &self.setup, outbox)
            }
        }
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        match wake.end {
            End::Sender => {
                let mut acting = self.act(wake.flow, outbox);
                if acting.sender.wake == wake.at {
                    acting.sender.wake = Time::NEVER;
                    acting.woken();
                    acting.arm();
                }
            }
            End::Receiver => {
                self.receivers[wake.flow as usize].wake(wake, &self.setup, outbox);
            }
        }
    }

    fn speed(&self, flow: u32, _: Time) -> Speed {
        let packets = self.senders[flow as usize].window.cwnd;
        Speed { window: Some(packets * self.setup.packets.payload.0 as f64), rate: None }
    }

    fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
        let mut acting = self.act(flow, outbox);
        acting.sender.held = false;
        if acting.sender.snd_una < acting.sender.end {
            acting.send();
            acting.arm();
        }
    }

    fn urgency(&self, flow: u32, now: Time) -> Option<u32> {
        let (setup, sender) = (&self.setup, &self.senders[flow as usize]);
        if matches!(setup.priority, Priority::None(_)) {
            return None;
        }
        let (next, arrived) =
            (sender.snd_nxt.min(sender.end - 1), sender.snd_una + sender.out_of_order());
        Some(setup.number(flow, next, arrived, now))
    }

    fn tally(&self, flow: u32) -> Tally {
        let sender = &self.senders[flow as usize];
        let pending = match sender.consecutive_timeouts {
            0 => Span::ZERO,
            _ => sender.trip.time_out(self.rules.timer),
        };
        let longest_timeout = sender.tally.longest_timeout.max(pending);
        Tally { acknowledged: sender.snd_una, longest_timeout, ..sender.tally }
    }

    fn begin_watch(&mut self, flow: u32) {
        self.senders[flow as usize].tally.longest_timeout = Span::ZERO;
    }

    fn received(&self, flow: u32) -> u64 {
        let bytes = self.setup.flows[flow as usize].bytes;
        self.receivers[flow as usize].received(bytes, &self.setup.packets)
    }

    fn failure(&self) -> Option<&CodeFailed> {
        self.control.failure()
    }
}

impl<C: CongestionControl> Acting<'_, C> {
    /// Begins, with what is known of the round trip.
    fn begin(&mut self) {
        let sender = &mut *self.sender;
        let idle = self.rules.known_round_trip.then(|| self.setup.idle_round_trip(self.flow));
        if let Some(idle) = idle {
            sender.trip.sample(idle, self.rules.timer, 0, 0);
        }
        let rack = |rules| Box::new(Rack::new(rules, idle));
        sender.rack = self.rules.rack.as_ref().map(rack);
    }

    /// Takes in an ACK.
    #[inline]
    fn acknowledged(&mut self, ack: &Packet) {
        if self.sender.connecting {
            return self.connected();
        }
        match self.sender.rack {
            None => self.hear(ack),
            Some(_) => self.by_time(|acting, rack| acting.hear_by_time(rack, ack)),
        }
    }

    /// Takes in an ACK where losses are counted.
    #[inline(always)]
    fn hear(&mut self, ack: &Packet) {
        if self.sender.consecutive_timeouts > 0 {
            self.heard_again();
        }
        let sender = &mut *self.sender;
        let cumulative = ack.sequence.saturating_sub(sender.snd_una);
        let known = sender.sacked.len();
        let cause = if C::ASKS_FOR_MORE { sender.cause(ack) } else { None };
        let mut duplicate = false;
        if self.rules.sack {
            if ack.echo > 0 {
                let sequence = ack.sequence + u32::from(ack.echo);
                if sequence >= sender.snd_una {
                    duplicate = sender.sacked.insert(sequence);
                    sender.recovery.heard = sender.recovery.heard.max(sequence + 1);
                }
            }
        } else {
            duplicate = ack.sequence == sender.snd_una && sender.snd_nxt > sender.snd_una;
        }
        if cumulative > 0 {
            sender.snd_una = ack.sequence;
            sender.snd_nxt = sender.snd_nxt.max(sender.snd_una);
            sender.sacked.advance(sender.snd_una);
            let (timer, now) = (self.rules.timer, self.outbox.now);
            sender.trip.acknowledged(sender.snd_una, sender.snd_max, timer, now);
            if sender.snd_una == sender.end {
                sender.idle_since = now;
                if self.setup.is_last(self.flow, sender.end) {
                    return self.end();
                }
            }
        }
        let acked = Acked {
            cumulative,
            arrived: (cumulative + sender.sacked.len()).saturating_sub(known),
            marked: ack.marks & ECE != 0,
            snd_una: sender.snd_una,
            snd_nxt: sender.snd_nxt,
            repairing: sender.snd_una - cumulative < sender.recovery.recover,
            cause,
            in_flight: match C::ASKS_FOR_MORE {
                true => (sender.snd_nxt - sender.snd_una).saturating_sub(sender.sacked.len()),
                false => 0,
            },
            rtt: sender.trip.smoothed(),
            now: self.outbox.now,
            ..Acked::default()
        };
        if C::HEARS_RECOVERY && sender.recovery.active {
            self.control.recovering(&mut sender.window, &mut sender.state, &acked);
            sender.window.cwnd = sender.window.cwnd.min(self.rules.window_cap);
        }
        if !sender.recovery.active {
            self.control.acked(&mut sender.window, &mut sender.state, &acked);
            sender.window.cwnd = sender.window.cwnd.min(self.rules.window_cap);
            if self.setup.digest_windows {
                sender.tally.window_digest = sender.window.mixed_into(sender.tally.window_digest);
            }
        }
        if cumulative > 0 {
            match sender.recovery.active {
                true => self.advanced(cumulative),
                false => self.restart_timer(),
            }
            self.sender.recovery.calm();
        }
        if duplicate && let Some(rule) = self.rules.fast_retransmit {
            self.duplicate(rule);
        }
        self.send_by_count();
    }

    /// Ends the flow, all of which has arrived.
    pub(super) fn end(&mut self) {
        self.sender.rto_deadline = Time::NEVER;
        self.sender.state = C::State::default();
        self.outbox.over(self.flow, End::Sender);
    }

    /// Goes on after a pause in which nothing was to be sent.
    fn go_on_after_pause(&mut self) {
        let Sender { window, state, trip, idle_since, .. } = &mut *self.sender;
        let pause = self.outbox.now - *idle_since;
        self.control.paused(window, state, pause);
        if self.rules.restart_after_idle && !self.control.decides_recovery() {
            let time_out = trip.time_out(self.rules.timer);
            window.restart(pause, time_out, self.rules.initial_window);
        }
    }

    /// Handles the wake-up that was set: a time-out, the release of a paced packet, or the control's own.
    fn woken(&mut self) {
        let sender = &mut *self.sender;
        if C::HAS_TIMER && self.control.timer(&sender.state) <= self.outbox.now {
            let now = self.outbox.now;
            self.control.timer_ran_out(&mut sender.window, &mut sender.state, now);
            sender.window.cwnd = sender.window.cwnd.min(self.rules.window_cap);
        }
        if sender.connecting {
            // RFC 5681, 3.1: after a lost request a flow begins with one packet.
            if sender.rto_deadline <= self.outbox.now {
                sender.tally.timed_out(sender.trip.time_out(self.rules.timer));
                sender.window.cwnd = 1.0;
                sender.trip.timed_out();
                self.connect();
            }
        } else if sender.rack.is_some() {
            self.by_time(Acting::woken_by_time);
        } else if sender.snd_una < sender.end {
            let timed_out = sender.rto_deadline <= self.outbox.now;
            if timed_out {
                sender.tally.timed_out(sender.trip.time_out(self.rules.timer));
                // The flight is what is still outstanding: not what is known to have arrived.
                let flight = (sender.snd_nxt - sender.snd_una).saturating_sub(sender.sacked.len());
                let ssthresh = sender.window.ssthresh;
                let now = self.outbox.now;
                self.control.timed_out(&mut sender.window, &mut sender.state, flight, now);
                if sender.last_rto_snd_una > sender.snd_una {
                    // RFC 5681, 3.1: held when the same packet runs out of time again.
                    sender.window.ssthresh = ssthresh;
                }
                sender.last_rto_snd_una = sender.snd_una + 1;
                sender.trip.timed_out();
                sender.recovery.timed_out(sender.snd_max);
                sender.snd_nxt = sender.snd_una;
                sender.rto_deadline = Time::NEVER;
                sender.consecutive_timeouts += 1;
            }
            match self.probing() {
                true if timed_out => self.probe(),
                true => {}
                false => self.send_by_count(),
            }
        }
    }

    /// Asks for a connection (SYN), with a packet as large as an acknowledgement, and starts the timer.
    fn connect(&mut self) {
        let sender = &mut *self.sender;
        let now = self.outbox.now;
        let (packet, size) = (self.setup.data(self.flow, 0, 0, now), self.setup.packets.ack.0);
        self.outbox.packets.push(Packet { size: size as u16, marks: PROBE, ..packet });
        if sender.tally.timeouts == 0 {
            sender.trip.sent(0, now);
        }
        sender.rto_deadline = self.rules.deadline(now, sender.trip.time_out(self.rules.timer));
    }

    /// Opens the connection, as its request is answered, and sends.
    fn connected(&mut self) {
        let sender = &mut *self.sender;
        sender.connecting = false;
        sender.rto_deadline = Time::NEVER;
        sender.trip.acknowledged(1, 0, self.rules.timer, self.outbox.now);
        if let Some(rack) = &mut sender.rack {
            rack.connected(sender.trip.smoothed());
        }
        self.send();
    }

    /// Whether it only probes: no ACK has come for too many time-outs.
    fn probing(&self) -> bool {
        self.control
            .probe_after()
            .is_some_and(|after| self.sender.consecutive_timeouts >= after.get())
    }

    /// Sends a probe of one byte, and starts the timer.
    fn probe(&mut self) {
        let sender = &mut *self.sender;
        let now = self.outbox.now;
        let arrived = sender.snd_una + sender.sacked.len();
        let packet = self.setup.data(self.flow, sender.snd_una, arrived, now);
        let marks = if self.rules.ecn { ECT | PROBE } else { PROBE };
        let size = self.setup.packets.wire(1);
        self.outbox.packets.push(Packet { size, marks, ..packet });
        sender.rto_deadline = self.rules.deadline(now, sender.trip.time_out(self.rules.timer));
    }

    /// Ends a row of time-outs at an ACK. A sender that probed sends again, with a new timer.
    fn heard_again(&mut self) {
        if self.probing() {
            self.sender.rto_deadline = Time::NEVER;
        }
        self.sender.consecutive_timeouts = 0;
    }

    /// Sends all that may be sent now.
    fn send(&mut self) {
        match self.sender.rack {
            None => self.send_by_count(),
            Some(_) => self.by_time(Acting::go_on_by_time),
        }
    }

    /// The same, where losses are counted.
    #[inline(always)]
    fn send_by_count(&mut self) {
        if self.sender.recovery.active {
            self.send_in_recovery();
            return;
        }
        while !self.held_back()
            && let Some(sequence) = self.may_send()
            && self.takes_more()
        {
            self.sender.snd_nxt = sequence + 1;
            self.emit(sequence);
        }
    }

    /// The next packet that the window allows, without those that have arrived.
    #[inline]
    fn may_send(&self) -> Option<u32> {
        let sender = &*self.sender;
        let sequence = sender.sacked.first_missing(sender.snd_nxt);
        let inside = f64::from(sequence - sender.snd_una) + 1.0 <= sender.window.cwnd.max(1.0);
        (sequence < sender.end && inside).then_some(sequence)
    }

    /// Whether pacing alone holds a packet back.
    fn waits_for_its_pace(&self) -> bool {
        if let Some(rack) = &self.sender.rack {
            return self.may_send_by_time(rack);
        }
        match self.sender.recovery.active {
            false => self.may_send().is_some(),
            true => !self.rules.sack && self.may_send_new(),
        }
    }

    /// Sets a wake-up if none is set that comes early enough.
    #[inline(always)]
    fn arm(&mut self) {
        let mut at = self.sender.rto_deadline;
        if C::HAS_TIMER {
            at = at.min(self.control.timer(&self.sender.state));
        }
        if self.held_back() && self.waits_for_its_pace() {
            at = at.min(self.sender.pacing_release);
        }
        if at < self.sender.wake {
            self.sender.wake = at;
            self.outbox.wake(at, self.flow, End::Sender);
        }
    }
}
