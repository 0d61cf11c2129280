//! RoCE v2: the transport of RDMA over Ethernet, which goes back to the first missing packet, over a fabric that
//! should lose none. A flow sends at a rate, that of its link or what DCQCN leaves it, or by HPCC's window.

mod control;
mod hpcc;
mod rate;
mod receiver;
mod sender;

pub use hpcc::{Hpcc, HpccRunning};
pub use rate::{Dcqcn, DcqcnVendor, LineSpeed, RateControl, Recovery, TargetRate};

use super::{
    Asked, End, Outbox, Setup, Speed, Tally, Transport, TransportParameters, Wake, check_timer,
};
use crate::flow::Flow;
use crate::packet::{Kind, Packet};
use control::Control;
use rate::{Limiter, Rules};
use receiver::Receiver;
use sender::{Acting, Sender};
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Bytes, Rate, Span, Time, parameters};

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
        pub nack_interval: Span = NACK_INTERVAL,
        /// How long nothing may be acknowledged of what is under way; then a flow goes back. By default 4.096 us
        /// times 2^14, as drivers have it. Only the loss of the last packets is found so. With less
        /// than pauses last, flows go back although nothing was lost.
        pub rto: Span = PATIENCE,
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

/// The least time between two NACKs, and until nothing was acknowledged for too long, unless a study sets others.
const NACK_INTERVAL: Span = Span::from_us(500);
const PATIENCE: Span = Span::from_ns(67_108_864);

/// Packet `sequence` is missing, and one after it has come.
const NACK: Kind = Kind::control(0);
/// Congestion notification packet: a packet came marked.
const CNP: Kind = Kind::control(1);

/// RoCE's rules for the speed of flows.
#[derive(Debug)]
pub struct RoceControl {
    roce: Roce,
    /// What a flow's rate follows; none where it is its link's.
    rules: Option<Rules>,
    /// Bytes that each full packet counts in a window.
    payload: u64,
}

/// A flow under RoCE: the speed of its link, and its rate once it has heard of congestion.
#[derive(Clone, Debug)]
pub struct Pace {
    line: Rate,
    limiter: Option<Limiter>,
}

impl Control for RoceControl {
    type Own = Pace;

    fn begin(&self, line: Rate) -> Pace {
        Pace { line, limiter: None }
    }

    fn nack_interval(&self) -> Span {
        self.roce.nack_interval
    }

    #[inline]
    fn rto(&self) -> Span {
        self.roce.rto
    }

    #[inline]
    fn allows(&self, _: &Pace, under_way: u32) -> bool {
        let allows = |window: Bytes| u64::from(under_way) * self.payload < window.0;
        self.roce.window.is_none_or(allows)
    }

    #[inline]
    fn gap(&self, own: &mut Pace, now: Time, size: u16) -> Option<Span> {
        match (&mut own.limiter, &self.rules) {
            (Some(limiter), Some(rules)) => limiter.gap(rules, now, size),
            _ => None,
        }
    }

    fn speed(&self, own: &Pace, now: Time) -> Speed {
        let line = own.line.bits_per_second() as f64;
        let state = own.limiter.clone().zip(self.rules.as_ref()).map(|(mut limiter, rules)| {
            limiter.advance(rules, now);
            limiter.state().1
        });
        let window = self.roce.window.map(|window| window.0 as f64);
        Speed { window, rate: Some(state.unwrap_or(line)) }
    }

    fn notified(&self, own: &mut Pace, now: Time) {
        let Some(rules) = &self.rules else { return };
        let limiter = own.limiter.get_or_insert_with(|| Limiter::new(own.line));
        limiter.notified(rules, now);
    }

    #[inline]
    fn notices(&self) -> Option<(Span, Span)> {
        self.rules.as_ref().map(|rules| (rules.cnp_interval, rules.cnp_delay))
    }
}

/// A transport that goes back at work on all flows.
#[derive(Debug)]
pub struct GoingBack<C: Control> {
    control: C,
    setup: Setup,
    senders: Vec<Sender<C::Own>>,
    receivers: Vec<Receiver>,
}

/// RoCE at work on all flows.
pub type RoceRunning = GoingBack<RoceControl>;

impl TransportParameters for Roce {
    type Running = RoceRunning;

    fn run(&self, setup: Setup) -> RoceRunning {
        RoceRunning::new(self, setup)
    }
}

impl RoceRunning {
    /// Takes up all flows of `setup`.
    pub fn new(roce: &Roce, setup: Setup) -> RoceRunning {
        let (rules, payload) = (roce.rate.rules(), setup.packets.payload.0);
        GoingBack::under(RoceControl { roce: roce.clone(), rules, payload }, setup)
    }

    /// The estimate of congestion (alpha) of a flow at `now`, and its rate in bits per second; none before it has
    /// heard of any.
    pub fn state(&self, flow: u32, now: Time) -> Option<(f64, f64)> {
        let mut limiter = self.senders[flow as usize].own.limiter.clone()?;
        limiter.advance(self.control.rules.as_ref()?, now);
        Some(limiter.state())
    }
}

impl<C: Control> GoingBack<C> {
    /// Takes up all flows of `setup`, under `control`.
    fn under(control: C, setup: Setup) -> GoingBack<C> {
        let line = |from: u16| setup.nic[usize::from(from)];
        let sender = |flow: &Flow| Sender::new(control.begin(line(flow.from)));
        GoingBack {
            senders: setup.flows.iter().map(sender).collect(),
            receivers: vec![Receiver::default(); setup.flows.len()],
            control,
            setup,
        }
    }

    #[inline]
    fn act<'a>(&'a mut self, flow: u32, outbox: &'a mut Outbox) -> Acting<'a, C> {
        let Self { control, setup, senders, .. } = self;
        Acting { sender: &mut senders[flow as usize], flow, control, setup, outbox }
    }
}

impl<C: Control> Transport for GoingBack<C> {
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
                receiver.data(packet, &self.control, &self.setup, outbox);
            }
            Kind::ACK => self.act(flow, outbox).acknowledged(packet),
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
        self.senders[flow as usize].tally(self.control.notices().is_some())
    }

    fn begin_watch(&mut self, flow: u32) {
        self.senders[flow as usize].begin_watch();
    }

    fn received(&self, flow: u32) -> u64 {
        self.receivers[flow as usize].received(flow, &self.setup)
    }

    fn speed(&self, flow: u32, now: Time) -> Speed {
        self.control.speed(&self.senders[flow as usize].own, now)
    }
}

#[cfg(test)]
mod tests;
