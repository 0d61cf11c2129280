//! The receiving ends of NDP, and the PULLs of a host.

use super::{NACK, PULL};
use crate::packet::{Kind, Packet, TRIMMED};
use crate::transport::scoreboard::Scoreboard;
use crate::transport::{End, Outbox, Setup};
use sojourn_core::Time;
use std::collections::VecDeque;

/// The receiving end of one flow.
#[derive(Clone, Debug, Default)]
struct Receiver {
    /// Different packets that have arrived whole.
    arrived: u32,
    /// First packet still missing, and what has arrived from there on.
    next: u32,
    board: Scoreboard,
    /// Packets that asked for a PULL so far, and PULLs that were sent.
    asked: u32,
    pulls: u32,
    /// Whether it stands in its host's queue.
    queued: bool,
}

/// What the receivers of one host share.
#[derive(Clone, Debug, Default)]
struct Pacer {
    /// Flows that have PULLs to send, the next one first.
    queue: VecDeque<u32>,
    /// Earliest time at which the next PULL may leave.
    free: Time,
    /// Whether a wake-up is set.
    armed: bool,
}

/// All receivers.
#[derive(Debug)]
pub(super) struct Receivers {
    receivers: Vec<Receiver>,
    pacers: Vec<Pacer>,
}

impl Receivers {
    /// The receivers of all flows of `setup`.
    pub(super) fn new(setup: &Setup) -> Receivers {
        Receivers {
            receivers: vec![Receiver::default(); setup.flows.len()],
            pacers: vec![Pacer::default(); setup.nic.len()],
        }
    }

    /// The first packet of `flow` that is missing.
    pub(super) fn first_missing(&self, flow: u32) -> u32 {
        self.receivers[flow as usize].next
    }

    /// Bytes of `flow` that its receiver has.
    pub(super) fn received(&self, flow: u32, setup: &Setup) -> u64 {
        let receiver = &self.receivers[flow as usize];
        let bytes = setup.flows[flow as usize].bytes;
        let end = setup.packets.count(bytes);
        let last = receiver.next == end || receiver.board.contains(end - 1);
        setup.packets.carried(bytes, receiver.arrived, last)
    }

    /// Handles the wake-up that `host` has set.
    pub(super) fn wake(&mut self, host: u16, setup: &Setup, outbox: &mut Outbox) {
        self.pacers[usize::from(host)].armed = false;
        self.pull(host, setup, outbox);
    }

    /// Takes in a packet of data, or what is left of one.
    pub(super) fn data(&mut self, packet: &Packet, setup: &Setup, outbox: &mut Outbox) {
        let receiver = &mut self.receivers[packet.flow as usize];
        let flow = &setup.flows[packet.flow as usize];
        let count = setup.packets.count(flow.bytes);
        let trimmed = packet.marks & TRIMMED != 0;
        let sequence = packet.sequence;
        if !trimmed && sequence >= receiver.next && receiver.board.insert(sequence) {
            receiver.arrived += 1;
            receiver.next = receiver.board.first_missing(receiver.next);
            receiver.board.advance(receiver.next);
            if receiver.arrived == count {
                outbox.over(packet.flow, End::Receiver);
            }
        }
        let pull = receiver.arrived < count;
        if pull {
            receiver.asked += 1;
        }
        let (kind, echo) = match trimmed {
            true => (NACK, receiver.asked as u16),
            // An ACK says which packet has come, and the entropy of it.
            false => (Kind::ACK, packet.echo),
        };
        outbox.packets.push(Packet { echo, ..setup.answer(kind, packet.flow, sequence) });
        if pull {
            if !std::mem::replace(&mut receiver.queued, true) {
                self.pacers[usize::from(flow.to)].queue.push_back(packet.flow);
            }
            self.pull(flow.to, setup, outbox);
        }
    }

    /// Sends the next PULL of `host` if it is due, and sets the wake-up for the one after it.
    fn pull(&mut self, host: u16, setup: &Setup, outbox: &mut Outbox) {
        let pacer = &mut self.pacers[usize::from(host)];
        let interval = setup.nic[usize::from(host)].span(setup.packets.full().into());
        while outbox.now >= pacer.free
            && let Some(flow) = pacer.queue.pop_front()
        {
            let receiver = &mut self.receivers[flow as usize];
            receiver.queued = false;
            let count = setup.packets.count(setup.flows[flow as usize].bytes);
            if receiver.arrived == count {
                continue;
            }
            receiver.pulls += 1;
            outbox.packets.push(setup.answer(PULL, flow, receiver.pulls));
            pacer.free = outbox.now + interval;
            if receiver.pulls < receiver.asked {
                receiver.queued = true;
                pacer.queue.push_back(flow);
            }
        }
        if let Some(&flow) = pacer.queue.front()
            && !std::mem::replace(&mut pacer.armed, true)
        {
            outbox.wake(pacer.free, flow, End::Receiver);
        }
    }
}
