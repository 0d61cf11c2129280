//! The sending end: what is sent and when, and what becomes of it.

use super::credit::QUANTUM;
use super::nscc::{Rules, Window};
use super::receiver::Answer;
use super::spray::{News, Sprayer};
use super::{
    ACK_REQUESTED, ASK, Exchange, MARKED, Parts, RESENT, Sent, TRIMMED_LAST, TimedOut, Uet, Untimed,
};
use crate::packet::{ECT, Packet, TRIMMABLE};
use crate::transport::{End, Outbox, Setup, Tally};
use sojourn_core::{Light, Span, Time};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Time-outs for which a flow with nothing under way waits before it asks. It may wait for its turn among
/// many at its receiver, and to ask each time costs the receiver's link: of 127 senders to one, the last
/// then ends 0.3 % later.
const TURNS: u64 = 16;

/// What the sender knows of a packet that was sent and is not below the first missing one.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// When it was last sent, with which entropy value, and how many bytes it has on the wire.
    at: Time,
    entropy: u16,
    size: u16,
    /// How often it was sent again.
    again: u8,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    UnderWay,
    Arrived,
    /// It was trimmed or timed out, and waits to be sent again.
    Waits,
}

/// The sending end of one flow.
#[derive(Debug)]
pub(super) struct Sender {
    /// Next packet to be sent for the first time.
    next: u32,
    /// One past the last packet of the flow; 0 before it starts.
    end: u32,
    /// First packet that is not known to have arrived, and what is known of those from there on.
    first: u32,
    records: VecDeque<Record>,
    /// Of the packets that were sent once, the first that may be under way.
    oldest: u32,
    /// Packets that were sent again, in that order, and when; also some that are no longer under way.
    resent: VecDeque<(Time, u32)>,
    /// Packets to be sent again, the lowest first; also some that have arrived since.
    again: BinaryHeap<Reverse<u32>>,
    /// Bytes on the wire: of packets that were never sent, of those to be sent again, and under way.
    backlog: i64,
    waiting: i64,
    flight: i64,
    /// Bytes that the receiver has told it has, modulo 2^32.
    received: u32,
    /// The last ACK that was read.
    answers: u32,
    pub(super) window: Window,
    /// Bytes that it may still send by its credit, and the credit it was given, in quanta modulo 2^32.
    credit: i64,
    given: u32,
    /// What it last asked for, likewise.
    wanted: u32,
    /// Whether no answer has come yet.
    speculates: bool,
    /// When it last asked its receiver without a packet.
    asked: Option<Time>,
    sprayer: Option<Sprayer>,
    chance: Light,
    /// Whether it waits for its host's link.
    held: bool,
    /// When anything last came or was sent, and the earliest wake-up that is set.
    active: Time,
    wake: Option<Time>,
    tally: Tally,
}

impl Sender {
    /// The sending end of a flow that has not begun.
    pub(super) fn new(rules: &Rules, chance: Light) -> Sender {
        Sender {
            next: 0,
            end: 0,
            first: 0,
            records: VecDeque::new(),
            oldest: 0,
            resent: VecDeque::new(),
            again: BinaryHeap::new(),
            backlog: 0,
            waiting: 0,
            flight: 0,
            received: 0,
            answers: 0,
            window: Window::new(rules, Time::ZERO),
            credit: 0,
            given: 0,
            wanted: 0,
            speculates: true,
            asked: None,
            sprayer: None,
            chance,
            held: false,
            active: Time::ZERO,
            wake: None,
            tally: Tally::default(),
        }
    }

    fn is_done(&self) -> bool {
        self.first == self.end
    }

    /// The record of packet `sequence`, if it was sent and is not below the first missing one.
    fn record(&mut self, sequence: u32) -> Option<&mut Record> {
        self.records.get_mut(sequence.checked_sub(self.first)? as usize)
    }

    /// Resends, time-outs and progress so far.
    pub(super) fn tally(&self) -> Tally {
        Tally { acknowledged: self.first, ..self.tally }
    }

    /// Forgets the longest time-out so far.
    pub(super) fn begin_watch(&mut self) {
        self.tally.longest_timeout = Span::ZERO;
    }

    /// The packet that is under way for longest, and when it was sent.
    fn longest_under_way(&mut self) -> Option<(Time, u32)> {
        self.oldest = self.oldest.max(self.first);
        let is_it = |record: &Record| record.fate == Fate::UnderWay && record.again == 0;
        let rest = self.records.range((self.oldest - self.first) as usize..);
        self.oldest += rest.take_while(|record| !is_it(record)).count() as u32;
        while let Some(&(at, sequence)) = self.resent.front() {
            let record = self.record(sequence);
            if record.is_some_and(|record| record.fate == Fate::UnderWay && record.at == at) {
                break;
            }
            self.resent.pop_front();
        }
        let (oldest, resent) = (self.oldest, self.resent.front().copied());
        let once = self.record(oldest).map(|record| (record.at, oldest));
        match (once, resent) {
            (Some(once), Some(resent)) if once.0 < resent.0 => Some(once),
            (once, resent) => resent.or(once),
        }
    }
}

/// One sender with all it needs to act at one time.
pub(super) struct Acting<'a> {
    pub(super) sender: &'a mut Sender,
    pub(super) flow: u32,
    pub(super) uet: &'a Uet,
    pub(super) rules: &'a Rules,
    pub(super) setup: &'a Setup,
    pub(super) exchange: &'a Exchange,
    /// Flows that wait for the link of its host.
    pub(super) held: &'a mut u32,
    pub(super) outbox: &'a mut Outbox,
}

impl Acting<'_> {
    fn parts(&self) -> Parts {
        self.uet.control.parts()
    }

    /// Bytes on the wire of packet `sequence`.
    fn size(&self, sequence: u32) -> i64 {
        if self.setup.connections.is_none() && sequence + 1 < self.sender.end {
            return self.rules.full;
        }
        i64::from(self.setup.payload(self.flow, sequence)) + self.rules.header
    }

    /// Goes on to packet `end`; begins if it has not.
    pub(super) fn extend(&mut self, end: u32) {
        let before = self.sender.end;
        let bytes = match &self.setup.connections {
            Some(connections) if connections.has(self.flow) => {
                connections.bytes_from(self.flow, before)
            }
            _ => self.setup.flows[self.flow as usize].bytes,
        };
        let sender = &mut *self.sender;
        let headers = i64::from(end - before) * self.rules.header;
        sender.end = end;
        sender.backlog += i64::try_from(bytes).unwrap_or(i64::MAX / 2) + headers;
        sender.active = self.outbox.now;
        if before == 0 {
            sender.window = Window::new(self.rules, self.outbox.now);
            sender.credit = self.rules.most;
            sender.sprayer = Some(Sprayer::new(&self.uet.spraying, &mut sender.chance));
        }
        self.send_what_may_go();
        if before > 0 && self.parts().credit && self.sender.credit <= 0 {
            // What is under way, if anything, told of less.
            self.sender.wanted = self.target();
            self.sender.asked = None;
            self.ask();
        }
    }

    /// Takes in the ACK `packet`.
    pub(super) fn acknowledged(&mut self, packet: &Packet) {
        let sender = &mut *self.sender;
        sender.answers = sender.answers.max(packet.sequence);
        let until = sender.answers.saturating_sub(self.rules.answers);
        let answer = self.exchange.answers.take(packet.sequence, |number, _| number < until);
        let Some(answer) = answer else { return };
        if sender.is_done() {
            return;
        }
        sender.active = self.outbox.now;
        // An ACK that was overtaken tells of fewer.
        let newly = i64::from(answer.received.wrapping_sub(sender.received) as i32).max(0);
        sender.received = sender.received.wrapping_add(newly as u32);
        sender.flight -= newly;
        sender.window.count(newly);
        let marked = packet.marks & MARKED != 0;
        let waited = self.waited(&answer, packet, marked);
        self.take_in(&answer);
        let news = if marked { News::Marked } else { News::Good };
        self.hear(packet.echo, news);
        let (sender, now) = (&mut *self.sender, self.outbox.now);
        if self.uet.control.parts().window
            && (waited.is_some() || self.uet.untimed_acks == Untimed::Average)
        {
            let waited = waited.unwrap_or(sender.window.average());
            let flight = sender.flight;
            sender.window.acknowledge((marked, waited), newly, flight, now, self.rules);
        }
        self.stop_speculating();
        if self.sender.is_done() {
            self.end();
        } else {
            self.send_what_may_go();
        }
    }

    /// The time that the packet which caused an ACK has waited, if that can be told.
    fn waited(&mut self, answer: &Answer, packet: &Packet, marked: bool) -> Option<Span> {
        let record = *self.sender.record(answer.cause?)?;
        let resent = packet.marks & RESENT != 0;
        let is_its = record.again == u8::from(resent);
        if record.fate != Fate::UnderWay || !is_its {
            return None;
        }
        let trip = self.outbox.now - record.at;
        self.sender.window.measure(trip, self.rules);
        Some(self.sender.window.waited(trip, marked, self.rules))
    }

    /// Notes which packets have arrived.
    fn take_in(&mut self, answer: &Answer) {
        let sender = &mut *self.sender;
        while sender.first < answer.next {
            let record = sender.records.pop_front().expect("what arrived was sent");
            sender.arrived(record.fate, record.size.into());
            sender.first += 1;
        }
        let mut bits = answer.bitmap;
        while bits != 0 {
            let sequence = answer.base + bits.trailing_zeros();
            bits &= bits - 1;
            if let Some(record) = sender.record(sequence) {
                let fate = std::mem::replace(&mut record.fate, Fate::Arrived);
                let size = record.size;
                sender.arrived(fate, size.into());
            }
        }
    }

    /// Takes in the NACK `packet`: a packet has come trimmed.
    pub(super) fn refused(&mut self, packet: &Packet) {
        let (sequence, now) = (packet.sequence, self.outbox.now);
        if self.sender.is_done() {
            return;
        }
        let Some(&mut Record { at, size, fate: Fate::UnderWay, .. }) = self.sender.record(sequence)
        else {
            return;
        };
        let size = i64::from(size);
        let at_last = packet.marks & TRIMMED_LAST != 0;
        let Parts { window, credit } = self.parts();
        let sender = &mut *self.sender;
        sender.active = now;
        sender.window.measure(now - at, self.rules);
        if window {
            sender.window.trimmed(size, (at_last, credit), sender.flight, now, self.rules);
        }
        sender.flight -= size;
        self.stop_speculating();
        self.queue(sequence, size);
        self.send_what_may_go();
        let news = match (at_last, packet.marks & MARKED != 0) {
            (false, _) => News::Trimmed,
            (true, false) => News::Good,
            (true, true) => News::Marked,
        };
        self.hear(packet.echo, news);
        self.send_what_may_go();
    }

    /// Takes in a PULL that gives credit up to `given`.
    pub(super) fn pulled(&mut self, given: u32) {
        if self.sender.is_done() {
            return;
        }
        self.stop_speculating();
        let sender = &mut *self.sender;
        sender.active = self.outbox.now;
        let more = given.wrapping_sub(sender.given) as i32;
        if more > 0 {
            sender.given = given;
            sender.credit = (sender.credit + i64::from(more) * QUANTUM).min(self.rules.most);
        }
        self.send_what_may_go();
    }

    /// Goes on as the host's link is free.
    pub(super) fn resume(&mut self) {
        self.sender.held = false;
        if let Some(sequence) = self.may_send() {
            self.outbox.capacity -= 1;
            self.send(sequence);
        }
        *self.held -= 1;
        self.send_what_may_go();
    }

    /// Handles a wake-up, if it is the one that is set.
    pub(super) fn wake(&mut self, at: Time) {
        if self.sender.wake != Some(at) {
            return;
        }
        self.sender.wake = None;
        if self.sender.is_done() || self.due() > at {
            return;
        }
        match self.sender.longest_under_way() {
            Some((_, sequence)) => self.timed_out(sequence),
            // It waits for its window or credit, and what would open it was lost.
            None => self.ask(),
        }
        self.sender.active = at;
    }

    /// Handles that nothing was heard of packet `sequence` for too long.
    fn timed_out(&mut self, sequence: u32) {
        let Parts { window, credit } = self.parts();
        let sender = &mut *self.sender;
        sender.tally.timed_out(self.rules.rto);
        let record = sender.record(sequence).expect("what timed out is under way");
        let (lost, size) = (record.entropy, i64::from(record.size));
        let entropy = match self.uet.timed_out_entropy {
            TimedOut::Lost => lost,
            TimedOut::Zero => 0,
        };
        self.hear(entropy, News::TimedOut);
        let sender = &mut *self.sender;
        sender.flight -= size;
        if window {
            sender.window.timed_out(size, self.rules);
        }
        let others_wait = sender.waiting > 0;
        if others_wait {
            self.stop_speculating();
        }
        self.queue(sequence, size);
        if !credit || !self.sender.speculates {
            self.send_what_may_go();
        }
        let blocked = window && self.sender.window.size < size + self.sender.flight
            || credit && self.sender.credit <= 0;
        if blocked || others_wait && credit {
            self.ask();
        } else {
            self.send_what_may_go();
        }
    }

    /// Asks the receiver for an ACK, and for credit, without a packet of data; at most once a round trip.
    fn ask(&mut self) {
        let now = self.outbox.now;
        let sender = &mut *self.sender;
        if sender.asked.is_some_and(|at| now - at < self.rules.round_trip) {
            return;
        }
        sender.asked = Some(now);
        sender.active = now;
        let sprayer = sender.sprayer.as_mut().expect("a flow that has begun has one");
        let echo = sprayer.next(&mut sender.chance);
        let to = self.setup.flows[self.flow as usize].to;
        let ask = self.setup.answer(ASK, self.flow, self.sender.wanted);
        self.outbox.packets.push(Packet { to, echo, ..ask });
    }

    /// Ends the flow, whose last packet is known to have arrived; a connection may go on.
    fn end(&mut self) {
        if !self.setup.is_last(self.flow, self.sender.end) {
            return;
        }
        let sender = &mut *self.sender;
        sender.speculates = false;
        sender.sprayer = None;
        (sender.records, sender.resent) = Default::default();
        sender.again = BinaryHeap::new();
        self.exchange.answers.forget(|_, _| true);
        self.outbox.over(self.flow, End::Sender);
    }

    fn hear(&mut self, entropy: u16, news: News) {
        if let Some(sprayer) = &mut self.sender.sprayer {
            sprayer.hear(entropy, news, self.outbox.now);
        }
    }

    /// The first answer ends the credit that no receiver has given.
    fn stop_speculating(&mut self) {
        let sender = &mut *self.sender;
        if std::mem::take(&mut sender.speculates) {
            sender.credit = sender.credit.min(0);
        }
    }

    /// Has packet `sequence` wait to be sent again.
    fn queue(&mut self, sequence: u32, size: i64) {
        let sender = &mut *self.sender;
        sender.record(sequence).expect("a packet under way has a record").fate = Fate::Waits;
        sender.again.push(Reverse(sequence));
        sender.waiting += size;
    }

    /// The packet that goes next: the lowest that waits to be sent again, or else a new one.
    fn next(&mut self) -> Option<u32> {
        let sender = &mut *self.sender;
        while let Some(&Reverse(sequence)) = sender.again.peek() {
            if sender.record(sequence).is_some_and(|record| record.fate == Fate::Waits) {
                return Some(sequence);
            }
            sender.again.pop();
        }
        (sender.next < sender.end).then_some(sender.next)
    }

    /// The packet that goes next, if window and credit allow it.
    #[inline]
    fn may_send(&mut self) -> Option<u32> {
        let Parts { window, credit } = self.parts();
        let sequence = self.next()?;
        let has_room = || self.sender.flight + self.size(sequence) <= self.sender.window.size;
        ((!credit || self.sender.credit > 0) && (!window || has_room())).then_some(sequence)
    }

    /// Sends packets as window, credit and link allow; waits for the link where it alone does not.
    #[inline]
    fn send_what_may_go(&mut self) {
        while !self.sender.held
            && let Some(sequence) = self.may_send()
        {
            if self.outbox.capacity == 0 {
                self.sender.held = true;
                self.outbox.held = true;
                *self.held += 1;
                return;
            }
            self.outbox.capacity -= 1;
            self.send(sequence);
        }
    }

    /// Sends packet `sequence`, which goes next.
    fn send(&mut self, sequence: u32) {
        let (size, now) = (self.size(sequence), self.outbox.now);
        let Parts { window, credit } = self.parts();
        let sender = &mut *self.sender;
        sender.credit -= if credit { size } else { 0 };
        sender.flight += size;
        let is_new = sequence == sender.next;
        if is_new {
            sender.backlog -= size;
            sender.next += 1;
        } else {
            sender.again.pop();
            sender.waiting -= size;
            sender.tally.retransmits += 1;
        }
        let sprayer = sender.sprayer.as_mut().expect("a flow that has begun has one");
        let entropy = sprayer.next(&mut sender.chance);
        sender.active = now;
        let sent =
            |again| Record { at: now, entropy, size: size as u16, again, fate: Fate::UnderWay };
        if is_new {
            sender.records.push_back(sent(0));
        } else {
            sender.resent.push_back((now, sequence));
            let record = sender.record(sequence).expect("it was sent before");
            *record = sent(record.again.saturating_add(1));
        }
        let full = window && sender.flight + size >= sender.window.size;
        let none_left = sender.backlog == 0 || credit && sender.credit <= 0;
        let marks = match is_new {
            true if full || none_left => ACK_REQUESTED,
            true => 0,
            false => ACK_REQUESTED | RESENT,
        };
        let number = match credit {
            true => {
                self.sender.wanted = self.target();
                self.exchange.sent.write(Sent { sequence, target: self.sender.wanted })
            }
            false => sequence,
        };
        let known = self.sender.first;
        let packet = self.setup.data(self.flow, sequence, known, now);
        let marks = marks | TRIMMABLE | ECT;
        self.outbox.packets.push(Packet { marks, echo: entropy, sequence: number, ..packet });
    }

    /// The credit that it wants to have been given in all.
    fn target(&self) -> u32 {
        let (sender, rules) = (&*self.sender, self.rules);
        let mut bytes = sender.backlog.saturating_add(sender.waiting);
        if self.uet.control.parts().window {
            bytes = bytes.min(sender.window.size + rules.full);
        }
        bytes = bytes.min(rules.most) - sender.credit;
        if sender.speculates && bytes < rules.full && sender.backlog > 0 {
            bytes = rules.full;
        }
        if *self.held > 1 {
            bytes /= i64::from(*self.held);
        }
        let quanta = bytes.div_euclid(QUANTUM) + i64::from(bytes.rem_euclid(QUANTUM) > 0);
        sender.given.wrapping_add(quanta as i32 as u32)
    }

    /// When the oldest packet under way has been unanswered for too long; without one, when nothing has
    /// happened for much longer.
    fn due(&mut self) -> Time {
        let sender = &mut *self.sender;
        match sender.longest_under_way() {
            Some((at, _)) => at + self.rules.rto,
            None => sender.active + self.rules.rto.saturating_mul(TURNS),
        }
    }

    /// Sets a wake-up if none is set that comes early enough.
    #[inline]
    pub(super) fn arm(&mut self) {
        // What is set comes early enough for all that was under way before, and so for what is sent now.
        let latest = self.outbox.now + self.rules.rto;
        if self.sender.is_done() || self.sender.wake.is_some_and(|set| set <= latest) {
            return;
        }
        self.set_wake();
    }

    #[inline(never)]
    fn set_wake(&mut self) {
        let at = self.due().max(self.outbox.now);
        if self.sender.wake.is_none_or(|set| at < set) {
            self.sender.wake = Some(at);
            self.outbox.wake(at, self.flow, End::Sender);
        }
    }
}

impl Sender {
    /// Notes that a packet of `size` bytes has arrived, which so far was `fate`. What the receiver has
    /// counted of one that waits to be sent again was not under way.
    fn arrived(&mut self, fate: Fate, size: i64) {
        if fate == Fate::Waits {
            self.waiting -= size;
            self.flight += size;
        }
    }
}
