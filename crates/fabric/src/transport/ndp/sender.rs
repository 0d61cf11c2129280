//! The sending end of NDP.

use super::NACK;
use crate::packet::{Kind, LONGEST_TIMER, Packet, TRIMMABLE};
use crate::transport::scoreboard::Scoreboard;
use crate::transport::{End, Outbox, Setup, Tally};
use sojourn_core::{Span, Time};
use std::collections::VecDeque;

/// Most doublings of the time-out of a flow with nothing in flight.
const MAX_DOUBLINGS: u8 = 6;

/// The sending end of one flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    /// Next packet to be sent for the first time.
    next: u32,
    /// One past the last packet of the flow; 0 before it starts.
    end: u32,
    /// Packets not acknowledged.
    left: u32,
    /// First packet not acknowledged, and what is acknowledged from there on.
    first: u32,
    acked: Scoreboard,
    /// Packets that no answer has come for, oldest first, and since when.
    flight: VecDeque<(u32, Time)>,
    /// Packets that came trimmed and wait for a PULL.
    again: VecDeque<u32>,
    /// PULLs sent to it, as far as it knows.
    pulled: u32,
    /// PULLs that found nothing to send.
    spare: u32,
    /// Consecutive time-outs with nothing in flight.
    starved: u8,
    /// When a packet was last sent or came.
    active: Time,
    /// The earliest wake-up that is set.
    wake: Option<Time>,
    tally: Tally,
    /// Entropy of the last packet: another path for each.
    entropy: u16,
}

/// One sender with all it needs to act at one time.
pub(super) struct Acting<'a> {
    pub(super) sender: &'a mut Sender,
    pub(super) flow: u32,
    pub(super) rto: Span,
    pub(super) setup: &'a Setup,
    pub(super) outbox: &'a mut Outbox,
}

impl Acting<'_> {
    /// Goes on to packet `end`, by the PULLs that found nothing to send; begins if it has not, with a `window`.
    pub(super) fn extend(&mut self, end: u32, window: u32) {
        let begins = self.sender.end == 0;
        self.sender.left += end - self.sender.end;
        self.sender.end = end;
        let may_go = if begins { window } else { std::mem::take(&mut self.sender.spare) };
        let sent = (0..may_go).take_while(|_| self.send()).count() as u32;
        if !self.setup.is_last(self.flow, end) {
            self.sender.spare += may_go - sent;
        }
    }

    fn is_over(&self) -> bool {
        self.sender.left == 0 && self.setup.is_last(self.flow, self.sender.end)
    }

    /// Takes in an answer of the receiver.
    pub(super) fn receive(&mut self, answer: &Packet) {
        if self.is_over() {
            return;
        }
        self.sender.active = self.outbox.now;
        match answer.kind {
            Kind::ACK => self.acknowledged(answer.sequence),
            NACK => self.refused(answer.sequence, answer.echo),
            _ => self.pulled(answer.sequence),
        }
    }

    /// Takes in the ACK of packet `sequence`.
    fn acknowledged(&mut self, sequence: u32) {
        let sender = &mut *self.sender;
        sender.answered(sequence);
        if sequence >= sender.first && sender.acked.insert(sequence) {
            sender.left -= 1;
            sender.first = sender.acked.first_missing(sender.first);
            sender.acked.advance(sender.first);
        }
        if self.is_over() {
            let sender = &mut *self.sender;
            (sender.flight, sender.again) = Default::default();
            self.outbox.over(self.flow, End::Sender);
        }
    }

    /// Takes in the NACK of packet `sequence`, which was trimmed; `pull` has the low bits of the number of
    /// the PULL for it.
    fn refused(&mut self, sequence: u32, pull: u16) {
        let sender = &mut *self.sender;
        if sender.answered(sequence) {
            sender.again.push_back(sequence);
            // That PULL took a quicker path, and found nothing to send.
            let late = (sender.pulled as u16).wrapping_sub(pull) < 1 << 15;
            if late && sender.spare > 0 {
                sender.spare -= 1;
                self.send();
            }
        }
    }

    /// Takes in PULL number `pulls`, and makes up for those before it that are late or lost.
    fn pulled(&mut self, pulls: u32) {
        for _ in self.sender.pulled..pulls {
            if !self.send() {
                self.sender.spare += 1;
            }
        }
        self.sender.pulled = self.sender.pulled.max(pulls);
    }

    /// Handles a wake-up, if it is the one that is set.
    pub(super) fn wake(&mut self, at: Time) {
        if self.sender.wake == Some(at) {
            self.sender.wake = None;
            if self.sender.left > 0 && at >= self.sender.due(self.rto) {
                self.out_of_time();
            }
        }
    }

    /// Handles a time-out.
    fn out_of_time(&mut self) {
        let now = self.outbox.now;
        let patience = self.sender.patience(self.rto);
        self.sender.tally.timed_out(patience);
        if self.sender.flight.is_empty() {
            // Its PULL was lost, or its receiver has many to serve: ask ever more seldom.
            self.sender.starved = (self.sender.starved + 1).min(MAX_DOUBLINGS);
            self.send();
        }
        while let Some(&(sequence, since)) = self.sender.flight.front()
            && since + self.rto <= now
        {
            self.sender.flight.pop_front();
            self.emit(sequence);
        }
    }

    /// Sends the next packet: one that came trimmed, or a new one. False when there is none.
    fn send(&mut self) -> bool {
        let sender = &mut *self.sender;
        let sequence = match sender.again.pop_front() {
            Some(sequence) => sequence,
            None if sender.next < sender.end => sender.next,
            None => return false,
        };
        self.emit(sequence);
        true
    }

    /// Hands packet `sequence` to the host's port.
    fn emit(&mut self, sequence: u32) {
        let sender = &mut *self.sender;
        let now = self.outbox.now;
        sender.tally.retransmits += u32::from(sequence < sender.next);
        sender.next = sender.next.max(sequence + 1);
        sender.flight.push_back((sequence, now));
        sender.active = now;
        let packet = self.setup.data(self.flow, sequence, sender.end - sender.left, now);
        sender.entropy = sender.entropy.wrapping_add(1);
        let (marks, echo) = (TRIMMABLE, sender.entropy);
        self.outbox.packets.push(Packet { marks, echo, ..packet });
    }

    /// Sets a wake-up if none is set that comes early enough.
    pub(super) fn arm(&mut self) {
        let sender = &mut *self.sender;
        if sender.left == 0 {
            return;
        }
        let at = sender.due(self.rto);
        if sender.wake.is_none_or(|set| at < set) {
            sender.wake = Some(at);
            self.outbox.wake(at, self.flow, End::Sender);
        }
    }
}

impl Sender {
    /// Resends, time-outs and progress so far.
    pub(super) fn tally(&self) -> Tally {
        Tally { acknowledged: self.first, ..self.tally }
    }

    /// Forgets the longest time-out so far.
    pub(super) fn begin_watch(&mut self) {
        self.tally.longest_timeout = Span::ZERO;
    }

    /// Notes an answer for packet `sequence`. Returns whether one was awaited.
    fn answered(&mut self, sequence: u32) -> bool {
        let place = self.flight.iter().position(|&(packet, _)| packet == sequence);
        place.is_some_and(|place| self.flight.remove(place).is_some())
    }

    /// When its timer runs out.
    fn due(&self, rto: Span) -> Time {
        let since = self.flight.front().map_or(self.active, |&(_, since)| since);
        since + self.patience(rto)
    }

    /// Its time-out: longer each time that it asks for a PULL again.
    fn patience(&self, rto: Span) -> Span {
        match self.flight.is_empty() {
            true => rto.saturating_mul(1 << self.starved).min(LONGEST_TIMER),
            false => rto,
        }
    }
}
