//! Ultra Ethernet: packets over all paths, trimmed where they do not fit, and congestion controlled by
//! the sender's window, the receiver's credit, or both (Ultra Ethernet Specification 1.0, section 3.6).
//!
//! Where the specification leaves something open, or its text is not public, it is as in the
//! consortium's reference simulator (uet-htsim).

mod credit;
mod nscc;
mod receiver;
mod sender;
mod spray;

pub use spray::{Bitmap, Mixed, Oblivious, Reps, Spraying};

use super::ledger::Ledger;
use super::{Asked, End, Outbox, Setup, Speed, Tally, Transport, Wake, check_timer};
use crate::flow::Flow;
use crate::packet::{CE, Kind, Packet, TRANSPORT_MARKS, TRIMMED, TRIMMED_AT_LAST};
use credit::{Account, Giver, Giving, QUANTUM, Seen, Throttle};
use nscc::Rules;
use receiver::{Answer, Receiver};
use sender::{Acting, Sender};
use sojourn_core::parameters::{Check, Refusal, defaults};
use sojourn_core::{Bytes, Light, Rate, Span, Time, choices, parameters};

parameters! {
    /// Ultra Ethernet's transport. NSCC keeps a window at the sender, by delays and marks; RCCC has
    /// the receiver give credit at the speed of its link. A flow begins with 1.5 bandwidth-delay
    /// products. Each packet carries an entropy value, by which the balance `entropy-value` chooses
    /// its path, and the answer goes by the same. Wants a queue `trim-mark`: what is trimmed is sent
    /// again at once. ACKs are coalesced and tell of 64 packets. Hosts ask a flow for a packet when
    /// their link is free, where their port is `backpressure`; elsewhere the time in the host's queue
    /// counts as time in the fabric (Ultra Ethernet Specification 1.0, section 3.6).
    pub struct Uet: "uet" {
        /// Whether the sender, the receiver or both control congestion.
        pub control: Control = Control::Nscc,
        /// How the entropy value of each packet is chosen.
        pub spraying: Spraying = Spraying::Mixed(defaults()),
        /// Bytes that a flow may send before the first reply, with headers, if there is a window.
        /// By default 1.5 bandwidth-delay products of the fabric. Less costs short flows round
        /// trips; more makes flows that start together trim each other's packets.
        pub initial_window: Option<Bytes> = None,
        /// Target of the time that packets wait in the fabric. The window grows below it, and
        /// shrinks above it if packets are marked. By default three quarters of the longest round
        /// trip of the idle fabric.
        pub target: Option<Span> = None,
        /// Time-out of a packet. By default 15 us plus the time in which a port sends six
        /// bandwidth-delay products. If it is shorter than the delay of a full queue, packets are
        /// sent twice.
        pub rto: Option<Span> = None,
        /// Bytes after which a receiver sends an ACK. It sends one at once for data that is marked,
        /// requested, or received before. By default 16,384, or a quarter of the first window if
        /// that is less. With more, the window reacts later, and with more than the window a flow
        /// stops and goes. With 1B each packet is acknowledged.
        pub ack_every: Option<Bytes> = None,
        /// Exponent n: the window falls to the data that arrived in a period, if that is less than
        /// a 2^n-th of the largest window and a packet was trimmed or waited for over four targets.
        pub quick_adapt_gate: u32 [0..=16] = 3,
        /// Weight of a sample in the average waiting time of packets, for every ACK. The
        /// specification leaves it open; uet-htsim has 1/80. With 1/16, oversubscribed permutations
        /// resend 5 to 8 % less. A larger weight follows the delay of single packets: permutations
        /// with `oblivious` spraying end up to 22 % later with 1/16. A smaller weight reacts too
        /// late to a queue.
        pub average_weight: f64 = 0.0125,
        /// Effect of a packet that was trimmed at the last port on a window, if the receiver gives
        /// credit.
        pub last_hop_trims: LastHopTrims = LastHopTrims::Ignored,
        /// Which entropy value is blamed for a packet that timed out.
        pub timed_out_entropy: TimedOut = TimedOut::Lost,
        /// Effect of an ACK without a valid round trip on the window.
        pub untimed_acks: Untimed = Untimed::Average,
        /// Ratio of the hosts' rates to the capacity of the core. If it is more than 1 and only
        /// receivers control, each receiver holds back credit while packets are marked or trimmed
        /// inside the fabric. By default that of the topology; 1 disables it.
        pub oversubscription: Option<f64> = None,
    }
}

choices! {
    /// Whether the sender, the receiver or both control congestion.
    pub enum Control: "congestion control" {
        /// The sender's window (network-signal congestion control).
        Nscc = "nscc",
        /// The receiver's credit (receiver-credit congestion control).
        Rccc = "rccc",
        /// Both: a packet needs credit and room in the window.
        Both = "nscc+rccc",
    }
}

choices! {
    /// Effect of a packet that was trimmed at the last port on a window, if the receiver gives
    /// credit.
    pub enum LastHopTrims: "reading of trims at the last hop" {
        /// Nothing: credit is there for that (the specification).
        Ignored = "ignored",
        /// It may make the window fall at once (uet-htsim). Where 64 hosts send their first windows to
        /// one host after the other, the last flow ends up to 11 % later.
        QuickAdapt = "quick-adapt",
    }
}

choices! {
    /// Which entropy value is blamed for a packet that timed out.
    pub enum TimedOut: "reading of time-outs" {
        /// That of the packet (the specification).
        Lost = "lost",
        /// Value 0 (uet-htsim, which does not know the packet's). With one dead link in the core of
        /// 128 hosts, `bitmap` ends after 530 us instead of 303.
        Zero = "zero",
    }
}

choices! {
    /// Effect of an ACK without a valid round trip on the window.
    pub enum Untimed: "reading of ACKs without a round trip" {
        /// It counts with the average time that packets waited (uet-htsim).
        Average = "average",
        /// Nothing (the specification). The tail of 23 hosts that send to one doubles.
        Nothing = "nothing",
    }
}

/// The parts of a way to control congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Parts {
    window: bool,
    credit: bool,
}

impl Control {
    fn parts(self) -> Parts {
        Parts { window: self != Control::Rccc, credit: self != Control::Nscc }
    }
}

impl Check for Uet {
    fn check(&self) -> Result<(), Refusal> {
        let spans = [("target", self.target), ("rto", self.rto)];
        for (key, span) in spans.into_iter().filter_map(|(key, span)| Some((key, span?))) {
            check_timer(key, span)?;
        }
        if !(self.average_weight > 0.0 && self.average_weight <= 1.0) {
            let expected = "more than 0, and at most 1";
            return Err(Refusal::of(&self.average_weight, expected).under("average_weight"));
        }
        match self.oversubscription.filter(|ratio| !(1.0..=1e6).contains(ratio)) {
            Some(ratio) => Err(Refusal::of(&ratio, "1 to 1000000").under("oversubscription")),
            None => Ok(()),
        }
    }
}

/// Packet `sequence` has come trimmed.
const NACK: Kind = Kind::control(0);
/// Credit for the sender: `sequence` says how much it was given in all, in quanta.
const PULL: Kind = Kind::control(1);
/// The sender asks for an ACK, and for credit up to `sequence` (RTS).
const ASK: Kind = Kind::control(2);

/// Data: an ACK is wanted at once, and another when no packet is missing before those that have come.
const ACK_REQUESTED: u8 = TRANSPORT_MARKS[0];
/// NACK: it was the port to the receiver that trimmed.
const TRIMMED_LAST: u8 = TRANSPORT_MARKS[0];
/// Data: it was sent before. ACK: the packet that caused it was.
const RESENT: u8 = TRANSPORT_MARKS[1];
/// ACK and NACK: the packet came marked.
const MARKED: u8 = TRANSPORT_MARKS[2];

/// What the ends of one flow write for each other.
#[derive(Debug, Default)]
pub struct Exchange {
    /// What each packet of data is, where receivers give credit: packets carry the number.
    sent: Ledger<Sent>,
    /// What each ACK says.
    answers: Ledger<Answer>,
}

/// What a packet of data is: its place in the flow, and the credit that its sender wants in all.
#[derive(Clone, Copy, Debug)]
struct Sent {
    sequence: u32,
    target: u32,
}

/// Ultra Ethernet at work on all flows.
#[derive(Debug)]
pub struct UetRunning {
    uet: Uet,
    setup: Setup,
    /// For each rate of a host's link, and which of them a host has.
    rules: Vec<Rules>,
    of_host: Vec<u16>,
    senders: Vec<Sender>,
    /// Flows of each host that wait for its link.
    held: Vec<u32>,
    receivers: Vec<Receiver>,
    accounts: Vec<Account>,
    givers: Vec<Giver>,
}

impl UetRunning {
    /// Takes up all flows of `setup`.
    pub fn new(uet: &Uet, setup: Setup) -> UetRunning {
        let packets = &setup.packets;
        let sizes = (packets.full().into(), packets.header.0, packets.ack.0);
        let mut rates: Vec<Rate> = setup.nic.to_vec();
        rates.sort_unstable();
        rates.dedup();
        let reach = setup.network.reach;
        let rules: Vec<Rules> =
            rates.iter().map(|&rate| Rules::new(uet, reach, rate, sizes)).collect();
        let place = |rate: &Rate| rates.binary_search(rate).expect("a rate of the list") as u16;
        let of_host: Vec<u16> = setup.nic.iter().map(place).collect();
        let streams = setup.streams;
        let sender = |(number, flow): (u64, &Flow)| {
            let rules = &rules[usize::from(of_host[usize::from(flow.from)])];
            Sender::new(rules, Light::new(streams.stream("entropy", number)))
        };
        let parts = uet.control.parts();
        let ratio = uet.oversubscription.unwrap_or_else(|| setup.network.oversubscription());
        let giver = |host: u16| {
            let rules = &rules[usize::from(of_host[usize::from(host)])];
            let chance = || Light::new(streams.stream("reviews", host.into()));
            let is_held_back = !parts.window && ratio > 1.0;
            let throttle = is_held_back.then(|| Throttle::new(ratio, rules.round_trip, chance()));
            Giver::new(rules.rate, throttle)
        };
        let receiver = |flow: &Flow| Receiver::new(setup.packets.count(flow.bytes));
        let count = setup.flows.len();
        let credited = if parts.credit { count } else { 0 };
        let givers = if parts.credit { setup.nic.len() } else { 0 };
        UetRunning {
            uet: uet.clone(),
            senders: (0..).zip(&*setup.flows).map(sender).collect(),
            held: vec![0; setup.nic.len()],
            receivers: setup.flows.iter().map(receiver).collect(),
            accounts: vec![Account::default(); credited],
            givers: (0..givers as u16).map(giver).collect(),
            rules,
            of_host,
            setup,
        }
    }

    #[inline]
    fn act<'a>(&'a mut self, flow: u32, outbox: &'a mut Outbox) -> Acting<'a> {
        let from = usize::from(self.setup.flows[flow as usize].from);
        Acting {
            sender: &mut self.senders[flow as usize],
            flow,
            uet: &self.uet,
            rules: &self.rules[usize::from(self.of_host[from])],
            setup: &self.setup,
            exchange: &self.setup.exchanges[flow as usize],
            held: &mut self.held[from],
            outbox,
        }
    }

    /// Has `body` act on the credit that the receiver of `flow` gives.
    fn give(&mut self, flow: u32, outbox: &mut Outbox, body: impl FnOnce(&mut Giver, Giving<'_>)) {
        let setup = &self.setup;
        let ends = &setup.flows[flow as usize];
        let rules = &self.rules[usize::from(self.of_host[usize::from(ends.from)])];
        let receivers = &self.receivers;
        let is_done = |flow: u32| receivers[flow as usize].is_done();
        let giving = Giving {
            accounts: &mut self.accounts,
            setup,
            outbox,
            ahead: (rules.most / QUANTUM) as i32,
            is_done: &is_done,
        };
        body(&mut self.givers[usize::from(ends.to)], giving);
    }

    /// Takes in `packet`, data or what is left of it, at its receiver.
    fn data(&mut self, packet: &Packet, outbox: &mut Outbox) {
        let flow = packet.flow;
        let credit = self.uet.control.parts().credit;
        let trimmed = packet.marks & TRIMMED != 0;
        if credit {
            let seen = match (trimmed, packet.marks & CE != 0) {
                (true, _) if packet.marks & TRIMMED_AT_LAST != 0 => Seen::TrimmedAtLast,
                (true, _) => Seen::TrimmedInside,
                (false, true) => Seen::Marked,
                (false, false) => Seen::Whole,
            };
            let host = usize::from(self.setup.flows[flow as usize].to);
            self.givers[host].count(seen, flow, outbox);
        }
        let exchange = &self.setup.exchanges[flow as usize];
        let receiver = &mut self.receivers[flow as usize];
        let (sequence, target) = match credit {
            true => match exchange.sent.read(packet.sequence) {
                Some(sent) => (sent.sequence, Some(sent.target)),
                // Forgotten, since it has arrived before.
                None => (receiver.next - 1, None),
            },
            false => (packet.sequence, None),
        };
        let before = receiver.left;
        let answer = match trimmed {
            true => Some(receiver.trimmed(packet, sequence, &self.setup)),
            false => {
                let from = self.setup.flows[flow as usize].from;
                let every = self.rules[usize::from(self.of_host[usize::from(from)])].ack_every;
                let due = receiver.data(packet, sequence, every, &self.setup);
                due.map(|(ack, answer)| (ack, Some(answer)))
            }
        };
        if credit {
            let next = receiver.next;
            exchange.sent.forget(|_, sent| sent.sequence < next);
        }
        if receiver.left < before && receiver.is_done() {
            outbox.over(flow, End::Receiver);
        }
        // What is left of a packet that is there already is acknowledged.
        let is_known = trimmed && matches!(answer, Some((_, Some(_))));
        if let Some((ack, answer)) = answer {
            let number = answer.map_or(ack.sequence, |answer| exchange.answers.write(answer));
            outbox.packets.push(Packet { sequence: number, ..ack });
        }
        if let Some(target) = target.filter(|_| !is_known) {
            self.give(flow, outbox, |giver, giving| giver.want(flow, target, trimmed, giving));
        }
    }

    /// Takes in that a sender asks.
    fn answer_question(&mut self, packet: &Packet, outbox: &mut Outbox) {
        let flow = packet.flow;
        let exchange = &self.setup.exchanges[flow as usize];
        let (ack, answer) = self.receivers[flow as usize].state(packet, &self.setup);
        outbox.packets.push(Packet { sequence: exchange.answers.write(answer), ..ack });
        if self.uet.control.parts().credit {
            let target = packet.sequence;
            self.give(flow, outbox, |giver, giving| giver.want(flow, target, true, giving));
        }
    }
}

impl Transport for UetRunning {
    // A receiver gives credit to all flows to its host in turn, and windows look at the whole path.
    const ESTIMABLE_BY_LINK: bool = false;

    fn asked(&self) -> Asked {
        Asked::AtTheLink
    }

    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.extend(flow, self.setup.count(flow), outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        let mut acting = self.act(flow, outbox);
        acting.extend(end);
        acting.arm();
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.receivers[flow as usize].next
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        match packet.kind {
            Kind::DATA => return self.data(packet, outbox),
            ASK => return self.answer_question(packet, outbox),
            _ => {}
        }
        let mut acting = self.act(packet.flow, outbox);
        match packet.kind {
            Kind::ACK => acting.acknowledged(packet),
            NACK => acting.refused(packet),
            _ => acting.pulled(packet.sequence),
        }
        acting.arm();
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        let Wake { at, flow, end } = wake;
        match end {
            End::Sender => {
                let mut acting = self.act(flow, outbox);
                acting.wake(at);
                acting.arm();
            }
            End::Receiver => {
                self.give(flow, outbox, |giver, giving| giver.wake(at, giving));
                let host = usize::from(self.setup.flows[flow as usize].to);
                self.givers[host].review(at, flow, outbox);
            }
        }
    }

    fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
        let mut acting = self.act(flow, outbox);
        acting.resume();
        acting.arm();
    }

    fn speed(&self, flow: u32, _: Time) -> Speed {
        Speed { window: Some(self.senders[flow as usize].window.size as f64), rate: None }
    }

    fn tally(&self, flow: u32) -> Tally {
        self.senders[flow as usize].tally()
    }

    fn begin_watch(&mut self, flow: u32) {
        self.senders[flow as usize].begin_watch();
    }

    fn received(&self, flow: u32) -> u64 {
        let receiver = &self.receivers[flow as usize];
        let bytes = self.setup.flows[flow as usize].bytes;
        let end = self.setup.packets.count(bytes);
        let last = receiver.has(end - 1);
        self.setup.packets.carried(bytes, end - receiver.left, last)
    }
}
