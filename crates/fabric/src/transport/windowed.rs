//! The reliable, window-limited sender that the TCP family shares.
//!
//! Sequence numbers count packets. What differs between the members, the window and how it answers
//! to acknowledgements, marks and losses, is theirs ([`Control`]). Everything else follows RFC 5681
//! (dup-ACKs), 6582 (NewReno), 6298 (timer) and, with SACK, the pipe rule of RFC 6675 in a simple
//! form: an ACK tells of the one packet that caused it.

use super::control::{Acked, Control, Rules, Window};
use super::receiver::Receiver;
use super::scoreboard::Scoreboard;
use super::timer::RoundTrip;
use super::{End, Setup, Tally, Transport, Turn, Wake};
use crate::packet::{ECE, ECT, Kind, PROBE, Packet};
use sojourn_kernel::Time;

const DUPLICATES: u32 = 3;

/// One sender.
#[derive(Clone, Debug)]
struct Sender<S> {
    window: Window,
    /// First packet not yet acknowledged.
    acked: u32,
    /// Next packet to send; goes back to `acked` when the timer runs out.
    next: u32,
    /// One past the last packet ever sent.
    high: u32,
    /// One past the last packet of the flow; 0 before it starts.
    end: u32,
    /// Recovery ends when everything below this is acknowledged.
    recover: u32,
    recovering: bool,
    /// Whether a partial ACK has come in this recovery.
    partial: bool,
    duplicates: u8,
    /// One past the packet for which the timer ran out last; 0 for none.
    lapsed: u32,
    /// Time-outs since anything was heard.
    unheard: u32,
    /// In a recovery with SACK: holes below this were resent.
    resent: u32,
    /// One past the last packet known to have arrived.
    heard: u32,
    tally: Tally,
    sacked: Scoreboard,
    trip: RoundTrip,
    /// When the retransmission timer runs out.
    due: Time,
    /// Not before this may a paced packet leave.
    pace: Time,
    /// The earliest wake-up that is set.
    wake: Time,
    state: S,
}

/// A member of the TCP family at work on all flows.
#[derive(Debug)]
pub struct Windowed<C: Control> {
    control: C,
    rules: Rules,
    setup: Setup,
    senders: Vec<Sender<C::State>>,
    receivers: Vec<Receiver>,
}

impl<S> Sender<S> {
    /// The packet that caused `ack`, see [`Acked::cause`].
    fn cause(&self, ack: &Packet) -> Option<u32> {
        match ack.echo {
            0 => (self.acked..ack.sequence)
                .rev()
                .find(|&sequence| self.sacked.count(sequence, sequence + 1) == 0),
            above => Some(ack.sequence + u32::from(above)),
        }
    }
}

impl<C: Control> Windowed<C> {
    /// Takes up all flows of `setup` under the rules of `control`.
    pub fn new(control: &C, setup: Setup) -> Windowed<C> {
        let rules = control.rules();
        let sender = Sender {
            window: Window {
                size: rules.initial_window.min(rules.window_cap),
                threshold: rules.initial_threshold,
            },
            acked: 0,
            next: 0,
            high: 0,
            end: 0,
            recover: 0,
            recovering: false,
            partial: false,
            duplicates: 0,
            lapsed: 0,
            unheard: 0,
            resent: 0,
            heard: 0,
            tally: Tally::default(),
            sacked: Scoreboard::default(),
            trip: RoundTrip::default(),
            due: Time::NEVER,
            pace: Time::ZERO,
            wake: Time::NEVER,
            state: C::State::default(),
        };
        Windowed {
            control: control.clone(),
            rules,
            senders: vec![sender; setup.flows.len()],
            receivers: vec![Receiver::default(); setup.flows.len()],
            setup,
        }
    }

    /// The sender of `flow`, with all it needs to act.
    #[inline]
    fn act<'a>(&'a mut self, flow: u32, turn: &'a mut Turn) -> Acting<'a, C> {
        Acting {
            sender: &mut self.senders[flow as usize],
            flow,
            control: &self.control,
            rules: &self.rules,
            setup: &self.setup,
            turn,
        }
    }
}

impl<C: Control> Transport for Windowed<C> {
    fn start(&mut self, flow: u32, turn: &mut Turn) {
        let bytes = self.setup.flows[flow as usize].bytes;
        self.senders[flow as usize].end = self.setup.packets.count(bytes);
        let mut acting = self.act(flow, turn);
        acting.control.start(&mut acting.sender.state, flow, acting.setup);
        acting.send();
        acting.arm();
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, turn: &mut Turn) {
        match packet.kind {
            Kind::Ack => {
                let mut acting = self.act(packet.flow, turn);
                if acting.sender.acked < acting.sender.end {
                    acting.acknowledged(packet);
                    acting.arm();
                }
            }
            _ => self.receivers[packet.flow as usize].data(packet, &self.rules, &self.setup, turn),
        }
    }

    fn wake(&mut self, wake: Wake, turn: &mut Turn) {
        match wake.end {
            End::Sender => {
                let mut acting = self.act(wake.flow, turn);
                if acting.sender.wake == wake.at {
                    acting.sender.wake = Time::NEVER;
                    acting.woken();
                    acting.arm();
                }
            }
            End::Receiver => {
                self.receivers[wake.flow as usize].wake(wake, &self.setup, turn);
            }
        }
    }

    fn tally(&self, flow: u32) -> Tally {
        let sender = &self.senders[flow as usize];
        Tally { acknowledged: sender.acked, ..sender.tally }
    }
}

/// One sender in one turn.
struct Acting<'a, C: Control> {
    sender: &'a mut Sender<C::State>,
    flow: u32,
    control: &'a C,
    rules: &'a Rules,
    setup: &'a Setup,
    turn: &'a mut Turn,
}

impl<C: Control> Acting<'_, C> {
    /// An ACK has come.
    #[inline]
    fn acknowledged(&mut self, ack: &Packet) {
        if self.sender.unheard > 0 {
            self.heard_again();
        }
        let sender = &mut *self.sender;
        let cumulative = ack.sequence.saturating_sub(sender.acked);
        let known = sender.sacked.len();
        let cause = if C::ASKS_FOR_CAUSE { sender.cause(ack) } else { None };
        if self.rules.sack && ack.echo > 0 {
            let sequence = ack.sequence + u32::from(ack.echo);
            if sequence >= sender.acked {
                sender.sacked.insert(sequence);
                sender.heard = sender.heard.max(sequence + 1);
            }
        }
        if cumulative > 0 {
            sender.acked = ack.sequence;
            sender.next = sender.next.max(sender.acked);
            sender.sacked.advance(sender.acked);
            sender.trip.acknowledged(sender.acked, self.turn.now);
            if sender.acked == sender.end {
                sender.due = Time::NEVER;
                sender.state = C::State::default();
                self.turn.finished.push(self.flow);
                return;
            }
        }
        let acked = Acked {
            cumulative,
            arrived: (cumulative + sender.sacked.len()).saturating_sub(known),
            marked: ack.marks & ECE != 0,
            upto: sender.acked,
            next: sender.next,
            cause,
            now: self.turn.now,
        };
        if !sender.recovering {
            self.control.acked(&mut sender.window, &mut sender.state, &acked);
            sender.window.size = sender.window.size.min(self.rules.window_cap);
        }
        if cumulative == 0 {
            if self.rules.fast_retransmit && sender.next > sender.acked {
                self.duplicate();
            }
        } else {
            sender.duplicates = 0;
            match sender.recovering {
                true => self.recovered(cumulative),
                false => self.restart_timer(),
            }
        }
        self.send();
    }

    /// A cumulative ACK during a recovery: full or partial (RFC 6582, 3.2).
    fn recovered(&mut self, cumulative: u32) {
        let sender = &mut *self.sender;
        let window = &mut sender.window;
        if sender.acked >= sender.recover {
            sender.recovering = false;
            let flight = f64::from(sender.next - sender.acked);
            window.size = match self.rules.sack {
                true => window.threshold,
                false => window.threshold.min(flight.max(1.0) + 1.0),
            };
            self.restart_timer();
            return;
        }
        let first = !std::mem::replace(&mut sender.partial, true);
        if !self.rules.sack {
            window.size = (window.size - f64::from(cumulative) + 1.0).max(1.0);
            let hole = sender.acked;
            self.emit(hole);
        }
        if first || self.rules.sack {
            self.restart_timer();
        }
    }

    /// A duplicate ACK (RFC 5681, 3.2).
    fn duplicate(&mut self) {
        let sender = &mut *self.sender;
        if sender.recovering {
            if !self.rules.sack {
                sender.window.size += 1.0;
            }
            return;
        }
        sender.duplicates = sender.duplicates.saturating_add(1);
        if u32::from(sender.duplicates) != DUPLICATES || sender.acked < sender.recover {
            return;
        }
        let flight = sender.next - sender.acked;
        self.control.lost(&mut sender.window, &mut sender.state, flight, self.turn.now);
        sender.recovering = true;
        sender.partial = false;
        sender.recover = sender.high;
        sender.resent = sender.acked;
        sender.trip.forget();
        if !self.rules.sack {
            sender.window.size += f64::from(DUPLICATES);
        }
        // The first hole goes at once (RFC 5681, 3.2; RFC 6675, 5, step 4.3).
        sender.resent += 1;
        let hole = sender.acked;
        self.emit(hole);
        self.restart_timer();
    }

    /// The wake-up that was set has come.
    fn woken(&mut self) {
        let sender = &mut *self.sender;
        if sender.acked < sender.end {
            let lapsed = sender.due <= self.turn.now;
            if lapsed {
                sender.tally.timeouts += 1;
                // The flight is what is still outstanding: not what is known to have arrived.
                let flight = (sender.next - sender.acked).saturating_sub(sender.sacked.len());
                let threshold = sender.window.threshold;
                let now = self.turn.now;
                self.control.timed_out(&mut sender.window, &mut sender.state, flight, now);
                if sender.lapsed > sender.acked {
                    // RFC 5681, 3.1: held when the same packet runs out of time again.
                    sender.window.threshold = threshold;
                }
                sender.lapsed = sender.acked + 1;
                sender.trip.timed_out();
                sender.recovering = false;
                sender.recover = sender.high;
                sender.duplicates = 0;
                sender.next = sender.acked;
                sender.due = Time::NEVER;
                sender.unheard += 1;
            }
            match self.probing() {
                true if lapsed => self.probe(),
                true => {}
                false => self.send(),
            }
        }
    }

    /// Whether it only probes: nothing has been heard for too many time-outs.
    fn probing(&self) -> bool {
        self.control.probe_after().is_some_and(|after| self.sender.unheard >= after.get())
    }

    /// Asks whether anything gets through, with a packet of one byte; the timer runs for it.
    fn probe(&mut self) {
        let sender = &mut *self.sender;
        let now = self.turn.now;
        let arrived = sender.acked + sender.sacked.len();
        let packet = self.setup.data(self.flow, sender.acked, arrived, now);
        let marks = if self.rules.ecn { ECT | PROBE } else { PROBE };
        let size = self.setup.packets.wire(1);
        self.turn.packets.push(Packet { size, marks, ..packet });
        sender.due = now + sender.trip.time_out(self.rules.timer);
    }

    /// Something was heard after time-outs: who probed sends again, and the timer runs for that.
    fn heard_again(&mut self) {
        if self.probing() {
            self.sender.due = Time::NEVER;
        }
        self.sender.unheard = 0;
    }

    /// Sends all that may be sent now.
    #[inline]
    fn send(&mut self) {
        if self.sender.recovering && self.rules.sack {
            self.send_into_the_pipe();
            return;
        }
        while let Some(sequence) = self.may_send() {
            if self.rules.paced && self.turn.now < self.sender.pace {
                return;
            }
            self.sender.next = sequence + 1;
            self.emit(sequence);
        }
    }

    /// The next packet the window allows, those that have arrived left out.
    #[inline]
    fn may_send(&self) -> Option<u32> {
        let sender = &*self.sender;
        let sequence = sender.sacked.first_missing(sender.next);
        let inside = f64::from(sequence - sender.acked) + 1.0 <= sender.window.size.max(1.0);
        (sequence < sender.end && inside).then_some(sequence)
    }

    /// In a recovery with SACK: holes first, then new packets, while the pipe has room. What lies
    /// below the last packet heard of, was not resent and has not arrived counts as lost.
    fn send_into_the_pipe(&mut self) {
        loop {
            let sender = &mut *self.sender;
            sender.resent = sender.resent.max(sender.acked);
            let heard = sender.heard;
            let lost =
                heard.saturating_sub(sender.resent) - sender.sacked.count(sender.resent, heard);
            let pipe = (sender.next - sender.acked) - sender.sacked.len() - lost;
            if f64::from(pipe) + 1.0 > sender.window.size.max(1.0) {
                return;
            }
            let hole = sender.sacked.first_missing(sender.resent);
            if hole < heard {
                sender.resent = hole + 1;
                self.emit(hole);
            } else if sender.next < sender.end {
                sender.next += 1;
                let sequence = sender.next - 1;
                self.emit(sequence);
            } else {
                return;
            }
        }
    }

    /// Hands one packet to the host's port.
    #[inline]
    fn emit(&mut self, sequence: u32) {
        let sender = &mut *self.sender;
        let now = self.turn.now;
        if sequence < sender.high {
            sender.tally.retransmits += 1;
            sender.trip.forget();
        } else {
            sender.high = sequence + 1;
            sender.trip.sent(sequence, now);
        }
        let packet = self.setup.data(self.flow, sequence, sender.acked + sender.sacked.len(), now);
        self.control.sent(&mut sender.state, sequence, now);
        let marks = if self.rules.ecn { ECT } else { 0 };
        self.turn.packets.push(Packet { marks, ..packet });
        if sender.due == Time::NEVER {
            sender.due = now + sender.trip.time_out(self.rules.timer);
        }
        if self.rules.paced {
            let from = self.setup.flows[self.flow as usize].from;
            let wire = self.setup.nic[usize::from(from)].span(packet.size.into());
            sender.pace = now + self.control.gap(&sender.window, &sender.state, wire);
        }
    }

    fn restart_timer(&mut self) {
        let sender = &mut *self.sender;
        sender.due = match sender.high > sender.acked {
            true => self.turn.now + sender.trip.time_out(self.rules.timer),
            false => Time::NEVER,
        };
    }

    /// Sets a wake-up if none is set that comes early enough.
    #[inline]
    fn arm(&mut self) {
        let mut at = self.sender.due;
        if self.rules.paced && self.may_send().is_some() {
            at = at.min(self.sender.pace);
        }
        if at < self.sender.wake {
            self.sender.wake = at;
            self.turn.wakes.push(Wake { at, flow: self.flow, end: End::Sender });
        }
    }
}
