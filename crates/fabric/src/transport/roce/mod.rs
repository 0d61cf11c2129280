//! RoCE v2: the transport of RDMA over Ethernet, which goes back to the first missing packet, over a fabric that
//! should lose none. A flow sends at a rate, that of its link or what DCQCN leaves it.

mod rate;
mod receiver;
mod sender;

pub use rate::{Dcqcn, DcqcnVendor, LineSpeed, RateControl, Recovery, TargetRate};

use super::{Asked, End, Outbox, Setup, Tally, Transport, TransportParameters, Wake, check_timer};
use crate::packet::{Kind, Packet};
use rate::Rules;
use receiver::Receiver;
use sender::{Acting, Sender};
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Bytes, Span, Time, parameters};

parameters! {
    /// RoCE v2 (InfiniBand's reliable connections over UDP). A flow starts at the speed of its link and has no
    /// window by default, so it wants a fabric that stops senders: the scheme's `pfc`. The receiver takes
    /// packets in order alone. It acknowledges each, and answers one that comes too early with a NACK, which has
    /// the sender go back to the first missing packet. A network interface asks a flow for a packet when its
    /// link is free.
    pub struct Roce: "roce" {
        /// How fast a flow sends.
        pub rate: RateControl = RateControl::LineSpeed(defaults()),
        /// Bytes of payload that a flow has under way at most; by default there is no window. One
        /// bandwidth-delay product keeps queues so short that switches hardly stop a port; less leaves the
        /// link idle (HPCC, SIGCOMM 2019, section 5.1, has it beside DCQCN).
        pub window: Option<Bytes> = None,
        /// The least time between two NACKs for one missing packet (HPCC's ns-3: 500 us). With less than a round
        /// trip, a flow goes back several times for one loss; with much more, it waits for the
        /// time-out when what it sent again is lost too.
        pub nack_interval: Span = Span::from_us(500),
        /// How long nothing may be acknowledged of what is under way; then a flow goes back. By default 4.096 us
        /// times 2^14, as drivers have it. Only the loss of the last packets is found so. With less
        /// than pauses last, flows go back although nothing was lost.
        pub rto: Span = Span::from_ns(67_108_864),
    }
}

impl Check for Roce {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("nack_interval", self.nack_interval)?;
        check_timer("rto", self.rto)?;
        match self.window.filter(|window| window.0 == 0) {
            Some(window) => Err(Refusal::of(&window, "at least \"1B\"").under("window")),
            None => Ok(()),
        }
    }
}

/// Packet `sequence` is missing, and one after it has come.
const NACK: Kind = Kind::control(0);
/// Congestion notification packet: a packet came marked.
const CNP: Kind = Kind::control(1);

/// RoCE at work on all flows.
#[derive(Debug)]
pub struct RoceRunning {
    roce: Roce,
    setup: Setup,
    /// What a flow's rate follows; none where it is its link's.
    rules: Option<Rules>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
}

impl TransportParameters for Roce {
    type Running = RoceRunning;

    fn run(&self, setup: Setup) -> RoceRunning {
        RoceRunning::new(self, setup)
    }
}

impl RoceRunning {
    /// Takes up all flows of `setup`.
    pub fn new(roce: &Roce, setup: Setup) -> RoceRunning {
        RoceRunning {
            rules: roce.rate.rules(),
            senders: vec![Sender::default(); setup.flows.len()],
            receivers: vec![Receiver::default(); setup.flows.len()],
            roce: roce.clone(),
            setup,
        }
    }

    #[inline]
    fn act<'a>(&'a mut self, flow: u32, outbox: &'a mut Outbox) -> Acting<'a> {
        let sender = &mut self.senders[flow as usize];
        let Self { roce, setup, rules, .. } = self;
        Acting { sender, flow, roce, rules: rules.as_ref(), setup, outbox }
    }

    /// The estimate of congestion (alpha) of a flow at `now`, and its rate in bits per second; none before it has
    /// heard of any.
    pub fn state(&self, flow: u32, now: Time) -> Option<(f64, f64)> {
        self.senders[flow as usize].state(self.rules.as_ref()?, now)
    }
}

impl Transport for RoceRunning {
    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.extend(flow, self.setup.count(flow), outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        self.act(flow, outbox).extend(end);
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.receivers[flow as usize].next
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        let flow = packet.flow;
        match packet.kind {
            Kind::DATA => {
                let receiver = &mut self.receivers[flow as usize];
                receiver.data(packet, (&self.roce, self.rules.as_ref()), &self.setup, outbox);
            }
            Kind::ACK => self.act(flow, outbox).acknowledged(packet.sequence),
            NACK => self.act(flow, outbox).missing(packet.sequence),
            _ => self.act(flow, outbox).notified(),
        }
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        match wake.end {
            End::Sender => self.act(wake.flow, outbox).wake(wake.at),
            // The only thing that a receiver does late.
            End::Receiver => outbox.packets.push(self.setup.answer(CNP, wake.flow, 0)),
        }
    }

    fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
        self.act(flow, outbox).resume();
    }

    fn asked(&self) -> Asked {
        Asked::AtTheLink
    }

    fn tally(&self, flow: u32) -> Tally {
        self.senders[flow as usize].tally(self.rules.is_some())
    }

    fn begin_watch(&mut self, flow: u32) {
        self.senders[flow as usize].begin_watch();
    }

    fn received(&self, flow: u32) -> u64 {
        self.receivers[flow as usize].received(flow, &self.setup)
    }
}

#[cfg(test)]
mod tests;
