//! The sending end: which packet goes next, and when.

use super::control::Control;
use crate::packet::{ECT, Packet};
use crate::transport::{End, Outbox, Setup, Tally};
use sojourn_core::{Rate, Span, Time};

/// The sending end of one flow.
#[derive(Clone, Debug)]
pub(super) struct Sender<O> {
    /// The first packet that is not known to have arrived, the one that is sent next, the first that was never
    /// sent, and one past the last of the flow.
    first: u32,
    next: u32,
    fresh: u32,
    end: u32,
    /// What the rules for its speed keep of it.
    pub(super) own: O,
    /// When the next packet may go by these.
    ready: Time,
    /// Whether it waits for its host's link.
    held: bool,
    /// When a packet was acknowledged last, or the first of those under way was sent.
    active: Time,
    /// The wake-ups that are set: for the next packet, and for the time-out.
    pace: Option<Time>,
    timer: Option<Time>,
    cnps: u32,
    tally: Tally,
}

impl<O> Sender<O> {
    /// A flow that has sent nothing.
    pub(super) fn new(own: O) -> Sender<O> {
        Sender {
            first: 0,
            next: 0,
            fresh: 0,
            end: 0,
            own,
            ready: Time::ZERO,
            held: false,
            active: Time::ZERO,
            pace: None,
            timer: None,
            cnps: 0,
            tally: Tally::default(),
        }
    }

    /// Resends, time-outs and progress so far; CNPs where there are any.
    pub(super) fn tally(&self, has_cnps: bool) -> Tally {
        Tally { acknowledged: self.first, cnps: has_cnps.then_some(self.cnps), ..self.tally }
    }

    /// Forgets the longest time-out so far.
    pub(super) fn begin_watch(&mut self) {
        self.tally.longest_timeout = Span::ZERO;
    }
}

/// One sender with all it needs to act at one time.
pub(super) struct Acting<'a, C: Control> {
    pub(super) sender: &'a mut Sender<C::Own>,
    pub(super) flow: u32,
    pub(super) control: &'a C,
    pub(super) setup: &'a Setup,
    pub(super) outbox: &'a mut Outbox,
}

impl<C: Control> Acting<'_, C> {
    /// Goes on to packet `end`.
    pub(super) fn extend(&mut self, end: u32) {
        self.sender.end = end;
        self.send_what_may_go();
    }

    /// An ACK has come: all packets before the one that it names have arrived.
    #[inline]
    pub(super) fn acknowledged(&mut self, ack: &Packet) {
        let next = ack.sequence;
        self.control.acknowledged(&mut self.sender.own, ack, self.sender.next);
        if next <= self.sender.first {
            return;
        }
        self.advance(next);
        self.send_what_may_go();
    }

    /// Packet `sequence` is missing, and all before it have arrived.
    #[cold]
    pub(super) fn missing(&mut self, sequence: u32) {
        if sequence < self.sender.first {
            return;
        }
        self.advance(sequence);
        self.sender.next = self.sender.first;
        self.sender.active = self.outbox.now;
        self.send_what_may_go();
    }

    fn advance(&mut self, next: u32) {
        let sender = &mut *self.sender;
        if next > sender.first {
            sender.first = next;
            sender.next = sender.next.max(next);
            sender.active = self.outbox.now;
            if sender.first == sender.end && self.setup.is_last(self.flow, sender.end) {
                self.outbox.over(self.flow, End::Sender);
            }
        }
    }

    /// A CNP has come.
    pub(super) fn notified(&mut self) {
        self.sender.cnps += 1;
        self.control.notified(&mut self.sender.own, self.outbox.now);
    }

    /// Goes on as the host's link is free.
    pub(super) fn resume(&mut self) {
        self.sender.held = false;
        self.send_what_may_go();
    }

    /// Handles a wake-up, if it is one of those that are set.
    pub(super) fn wake(&mut self, at: Time) {
        if self.sender.pace == Some(at) {
            self.sender.pace = None;
            self.send_what_may_go();
        }
        if self.sender.timer == Some(at) {
            self.sender.timer = None;
            self.look_at_timer();
        }
    }

    /// Goes back if nothing was acknowledged for too long, and sets the timer for what is under way.
    fn look_at_timer(&mut self) {
        let (sender, now) = (&mut *self.sender, self.outbox.now);
        if sender.first < sender.next && sender.active + self.control.rto() <= now {
            sender.tally.timed_out(self.control.rto());
            sender.next = sender.first;
            self.send_what_may_go();
        }
        self.set_timer();
    }

    #[inline]
    fn set_timer(&mut self) {
        let sender = &mut *self.sender;
        if sender.timer.is_none() && sender.first < sender.next {
            let at = sender.active + self.control.rto();
            sender.timer = Some(at);
            self.outbox.wake(at, self.flow, End::Sender);
        }
    }

    /// Sends as many packets as rate, window and link allow, and sees to it that it is asked again.
    #[inline]
    fn send_what_may_go(&mut self) {
        while !self.sender.held && self.has_packet() {
            let (sender, now) = (&mut *self.sender, self.outbox.now);
            if sender.ready > now {
                if sender.pace.is_none() {
                    sender.pace = Some(sender.ready);
                    let at = sender.ready;
                    self.outbox.wake(at, self.flow, End::Sender);
                }
                break;
            }
            if self.outbox.capacity == 0 {
                sender.held = true;
                self.outbox.held = true;
                break;
            }
            self.send();
        }
        self.set_timer();
    }

    /// Whether there is a packet to send that its window allows.
    #[inline]
    fn has_packet(&self) -> bool {
        let sender = &*self.sender;
        sender.next < sender.end && self.control.allows(&sender.own, sender.next - sender.first)
    }

    /// Sends the next packet.
    #[inline]
    fn send(&mut self) {
        let now = self.outbox.now;
        // Without backpressure nobody asks a flow: then it waits for its link's time.
        let paces_itself = self.outbox.capacity == usize::MAX;
        let line = self.line();
        let sender = &mut *self.sender;
        let sequence = sender.next;
        let mut data = self.setup.data(self.flow, sequence, sender.first, now);
        self.control.leaves(&mut data);
        let gap = self.control.gap(&mut sender.own, now, data.size);
        let gap = gap.or(paces_itself.then(|| line.span(data.size.into())));
        sender.ready = now + gap.unwrap_or(Span::ZERO);
        if sender.first == sequence {
            sender.active = now;
        }
        sender.tally.retransmits += u32::from(sequence < sender.fresh);
        sender.next += 1;
        sender.fresh = sender.fresh.max(sender.next);
        self.outbox.capacity -= usize::from(!paces_itself);
        self.outbox.packets.push(Packet { marks: ECT, ..data });
    }

    /// The speed of its host's link.
    fn line(&self) -> Rate {
        self.setup.nic[usize::from(self.setup.flows[self.flow as usize].from)]
    }
}
