//! NDP: the receiver pulls, packet by packet (Handley et al., SIGCOMM 2017).

mod receiver;
mod sender;

use super::{End, Outbox, Setup, Tally, Transport, Wake};
use crate::packet::{Kind, Packet};
use crate::transport::check_timer;
use receiver::Receivers;
use sender::{Acting, Sender};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};
use std::num::NonZeroU32;

parameters! {
    /// A flow sends its first window at once and from then on one packet for each PULL. The
    /// receiver answers a packet with an ACK and a trimmed one with a NACK, at once, and either with
    /// a PULL that waits its turn: a host sends one PULL in the time that its link needs for a full
    /// packet, to its flows in turn, and none to a flow that has arrived. What a NACK names goes
    /// before new packets; what is answered by nothing goes again when the timer runs out (NDP,
    /// SIGCOMM 2017, section 3.2). Wants a `trim` queue. Each packet carries another entropy, so
    /// that paths are its choice with the balance `entropy`. Not modelled: headers are not returned
    /// to senders; a receiver does not prefer some flows to others; ACKs and PULLs are separate
    /// packets.
    pub struct Ndp: "ndp" {
        /// Packets that a flow sends at once, and then keeps in flight: the bandwidth-delay
        /// product, which is 10 for a round trip of 12 us at 10 Gb/s, plus a full queue of 8.
        pub initial_window: NonZeroU32 = NonZeroU32::new(20).expect("20"),
        /// Time-out of a packet. If more first windows meet at a port than its queue has room for
        /// their headers (`headers` of `trim`), headers are lost and wait for this time-out: 47
        /// senders of 450 KB each take 2.3 times the ideal with 20 ms, and 1.004 times with 1 ms,
        /// or with a buffer for 48 KB of headers.
        pub rto: Span = Span::from_ms(1),
    }
}

impl Check for Ndp {
    fn check(&self) -> Result<(), Refusal> {
        check_timer("rto", self.rto)
    }
}

impl Ndp {
    /// Refuses a time-out that runs out before a host that takes `packet` for a full packet has
    /// sent its first window: it would send again and again what has not left yet.
    pub(super) fn check_packet(&self, packet: Span) -> Result<(), Refusal> {
        let window = packet.saturating_mul(self.initial_window.get().into());
        if self.rto > window {
            return Ok(());
        }
        let expected = format!("more than {window}, which a host needs to send its first window");
        Err(Refusal::of(&self.rto, expected).under("rto"))
    }
}

/// Packet `sequence` has come trimmed; `echo` has the low bits of the number of the PULL for it.
const NACK: Kind = Kind::control(0);
/// Asks the sender for another packet; `sequence` says which PULL of the flow it is, from 1 on.
const PULL: Kind = Kind::control(1);

/// NDP at work on all flows.
#[derive(Debug)]
pub struct NdpRunning {
    params: Ndp,
    setup: Setup,
    senders: Vec<Sender>,
    receivers: Receivers,
}

impl NdpRunning {
    /// Takes up all flows of `setup`.
    pub fn new(params: &Ndp, setup: Setup) -> NdpRunning {
        NdpRunning {
            params: params.clone(),
            senders: vec![Sender::default(); setup.flows.len()],
            receivers: Receivers::new(&setup),
            setup,
        }
    }

    #[inline]
    fn act<'a>(&'a mut self, flow: u32, outbox: &'a mut Outbox) -> Acting<'a> {
        let sender = &mut self.senders[flow as usize];
        Acting { sender, flow, rto: self.params.rto, setup: &self.setup, outbox }
    }
}

impl Transport for NdpRunning {
    // A receiver pulls for all flows to its host in turn.
    const ESTIMABLE_BY_LINK: bool = false;

    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.extend(flow, self.setup.count(flow), outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        let window = self.params.initial_window.get();
        let mut acting = self.act(flow, outbox);
        acting.extend(end, window);
        acting.arm();
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.receivers.first_missing(flow)
    }

    #[inline]
    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        if packet.kind == Kind::DATA {
            self.receivers.data(packet, &self.setup, outbox);
            return;
        }
        let mut acting = self.act(packet.flow, outbox);
        acting.receive(packet);
        acting.arm();
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        match wake.end {
            End::Sender => {
                let mut acting = self.act(wake.flow, outbox);
                acting.wake(wake.at);
                acting.arm();
            }
            End::Receiver => {
                let host = self.setup.flows[wake.flow as usize].to;
                self.receivers.wake(host, &self.setup, outbox);
            }
        }
    }

    fn tally(&self, flow: u32) -> Tally {
        self.senders[flow as usize].tally()
    }

    fn begin_watch(&mut self, flow: u32) {
        self.senders[flow as usize].begin_watch();
    }

    fn received(&self, flow: u32) -> u64 {
        self.receivers.received(flow, &self.setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Flow;
    use crate::packet::TRIMMED;
    use crate::topology::SingleSwitch;
    use crate::transport::{AckPriority, Priority};
    use sojourn_core::parameters::defaults;
    use sojourn_core::{Rate, Streams, Time};

    /// Flows of `counts` packets from host 0 to host 1, all started; what they sent.
    fn started(counts: &[u64]) -> (NdpRunning, Outbox) {
        let flow = |&packets: &u64| Flow::new(0, 1, packets * 1460, Time::ZERO);
        let setup = Setup {
            digest_windows: false,
            flows: counts.iter().map(flow).collect(),
            packets: defaults(),
            priority: Priority::None(defaults()),
            ack_priority: AckPriority::Highest,
            network: SingleSwitch { hosts: 2, ..defaults() }.graph().network().into(),
            nic: [Rate::gbps(10); 2].into(),
            streams: Streams::new(1, 0),
            exchanges: [].into(),
            connections: None,
        };
        let mut ndp =
            NdpRunning::new(&Ndp { initial_window: NonZeroU32::MIN, ..defaults() }, setup);
        let mut outbox = Outbox::default();
        (0..counts.len() as u32).for_each(|flow| ndp.start(flow, &mut outbox));
        (ndp, outbox)
    }

    /// Hands a packet over at `ns`; what is sent in answer: kind, flow and sequence.
    fn hand(ndp: &mut NdpRunning, ns: u64, packet: Packet) -> Vec<(Kind, u32, u32)> {
        let mut outbox = Outbox { now: Time::ZERO + Span::from_ns(ns), ..Outbox::default() };
        ndp.receive(&packet, &mut outbox);
        sent(&outbox)
    }

    fn sent(outbox: &Outbox) -> Vec<(Kind, u32, u32)> {
        outbox.packets.iter().map(|packet| (packet.kind, packet.flow, packet.sequence)).collect()
    }

    fn wake(ndp: &mut NdpRunning, wake: Wake) -> Outbox {
        let mut outbox = Outbox { now: wake.at, ..Outbox::default() };
        ndp.wake(wake, &mut outbox);
        outbox
    }

    /// A host sends one PULL in 1200 ns, to its flows in turn, and none to one that is complete.
    #[test]
    fn pulls_are_paced_and_go_round() {
        let (mut ndp, _) = started(&[9, 9, 3]);
        let data = |ndp: &NdpRunning, flow, sequence| ndp.setup.data(flow, sequence, 0, Time::ZERO);
        let whole = data(&ndp, 0, 0);
        assert_eq!(hand(&mut ndp, 0, whole), [(Kind::ACK, 0, 0), (PULL, 0, 1)]);
        for (flow, sequence) in [(0, 1), (0, 2), (1, 0), (2, 2), (2, 1), (1, 1)] {
            let trimmed = Packet { marks: TRIMMED, ..data(&ndp, flow, sequence) };
            assert_eq!(hand(&mut ndp, 10, trimmed), [(NACK, flow, sequence)]);
        }
        for sequence in 0..3 {
            let whole = data(&ndp, 2, sequence);
            assert_eq!(hand(&mut ndp, 20, whole), [(Kind::ACK, 2, sequence)]);
        }
        let mut at = Time::ZERO;
        let mut pulls = Vec::new();
        for _ in 0..4 {
            at += Span::from_ns(1200);
            let outbox = wake(&mut ndp, Wake { at, flow: 0, end: End::Receiver });
            assert!(outbox.wakes.iter().all(|next| next.at == at + Span::from_ns(1200)));
            pulls.extend(sent(&outbox));
        }
        let expected = [(0, 2), (1, 1), (0, 3), (1, 2)].map(|(flow, n)| (PULL, flow, n));
        assert_eq!(pulls, expected);
        let more =
            wake(&mut ndp, Wake { at: at + Span::from_ns(1200), flow: 0, end: End::Receiver });
        assert_eq!((more.packets.len(), more.wakes.len()), (0, 0));
    }

    /// What came trimmed goes first, one packet for each PULL, those that were lost made up for.
    #[test]
    fn a_pull_is_worth_one_packet() {
        let (mut ndp, outbox) = started(&[9]);
        assert_eq!(sent(&outbox), [(Kind::DATA, 0, 0)]);
        let nack = Packet { echo: 1, ..ndp.setup.answer(NACK, 0, 0) };
        let pull = |n| Packet { ..started(&[9]).0.setup.answer(PULL, 0, n) };
        assert_eq!(hand(&mut ndp, 0, nack), []);
        assert_eq!(hand(&mut ndp, 1, pull(1)), [(Kind::DATA, 0, 0)]);
        assert_eq!(hand(&mut ndp, 2, pull(3)), [(Kind::DATA, 0, 1), (Kind::DATA, 0, 2)]);
        assert_eq!(hand(&mut ndp, 3, pull(2)), []);
        assert_eq!(ndp.tally(0), Tally { retransmits: 1, ..Tally::default() });
    }

    /// The PULL for a NACK may come before it and find nothing to send: the NACK then need not wait
    /// for another, unless its own is still under way.
    #[test]
    fn a_nack_that_is_late_does_not_wait() {
        for (number, resent) in [(1, true), (2, false)] {
            let (mut ndp, _) = started(&[1]);
            let nack = Packet { echo: number, ..ndp.setup.answer(NACK, 0, 0) };
            let pull = ndp.setup.answer(PULL, 0, 1);
            assert_eq!(hand(&mut ndp, 0, pull), []);
            let answer = hand(&mut ndp, 1, nack);
            assert_eq!(answer, [(Kind::DATA, 0, 0)][..usize::from(resent)]);
        }
    }

    /// Unanswered packets go again after 1 ms; with nothing in flight a flow waits for 1 ms, then 2,
    /// then 4.
    #[test]
    fn patience_ends() {
        let (mut ndp, outbox) = started(&[9]);
        let ms = |ms| Time::ZERO + Span::from_ms(ms);
        assert_eq!(outbox.wakes, [Wake { at: ms(1), flow: 0, end: End::Sender }]);
        let mut next = outbox.wakes[0];
        let mut until_sent = |ndp: &mut NdpRunning| loop {
            let outbox = wake(ndp, next);
            next = outbox.wakes[0];
            if !outbox.packets.is_empty() {
                return (sent(&outbox), outbox.now);
            }
        };
        assert_eq!(until_sent(&mut ndp), (vec![(Kind::DATA, 0, 0)], ms(1)));
        for (sequence, at) in [(0, 2), (1, 4), (2, 8)] {
            let ack = ndp.setup.answer(Kind::ACK, 0, sequence);
            ndp.receive(&ack, &mut Outbox { now: ms(at / 2), ..Outbox::default() });
            assert_eq!(until_sent(&mut ndp), (vec![(Kind::DATA, 0, sequence + 1)], ms(at)));
        }
        assert_eq!(
            ndp.tally(0),
            Tally {
                retransmits: 1,
                timeouts: 4,
                acknowledged: 3,
                longest_timeout: Span::from_ms(4),
                ..Tally::default()
            }
        );
    }
}
