//! Both ends of RoCE, packet by packet.

use super::rate::{Limiter, Rules};
use super::*;
use crate::flow::Flow;
use crate::packet::{CE, ECT};
use crate::topology::SingleSwitch;
use crate::transport::{AckPriority, Priority};
use sojourn_core::{Rate, Streams};

const LINE: Rate = Rate::gbps(10);

/// A flow of so many full packets of 1500 B from host 0 to host 1.
fn running(roce: &Roce, packets: u64) -> RoceRunning {
    let setup = Setup {
        digest_windows: false,
        flows: [Flow::new(0, 1, packets * 1460, Time::ZERO)].into(),
        packets: defaults(),
        priority: Priority::None(defaults()),
        ack_priority: AckPriority::Highest,
        network: SingleSwitch { hosts: 2, ..defaults() }.graph().network().into(),
        nic: [LINE; 2].into(),
        streams: Streams::new(1, 0),
        exchanges: [].into(),
        connections: None,
    };
    RoceRunning::new(roce, setup)
}

fn ns(ns: u64) -> Time {
    Time::ZERO + Span::from_ns(ns)
}

/// An outbox at that time, of a host whose port takes `capacity` packets.
fn outbox(at: Time, capacity: usize) -> Outbox {
    Outbox { now: at, capacity, ..Outbox::default() }
}

fn sent(outbox: &Outbox) -> Vec<(Kind, u32)> {
    outbox.packets.iter().map(|packet| (packet.kind, packet.sequence)).collect()
}

/// What comes of a packet of `kind` that comes at `at`, if the host's port takes `capacity` packets.
fn hand(roce: &mut RoceRunning, at: Time, kind: Kind, sequence: u32, capacity: usize) -> Outbox {
    let mut outbox = outbox(at, capacity);
    let packet = match kind {
        Kind::DATA => roce.setup.data(0, sequence, 0, at),
        _ => roce.setup.answer(kind, 0, sequence),
    };
    roce.receive(&packet, &mut outbox);
    outbox
}

/// The link asks for one packet at a time; nothing else holds a flow back.
#[test]
fn a_flow_sends_when_its_link_asks() {
    let mut roce = running(&defaults(), 3);
    let mut first = outbox(Time::ZERO, 1);
    roce.start(0, &mut first);
    assert_eq!((sent(&first), first.held), (vec![(Kind::DATA, 0)], true));
    assert_eq!(first.packets[0].marks, ECT);
    for (nth, held) in [(1, true), (2, false)] {
        let mut next = outbox(ns(1200 * u64::from(nth)), 1);
        roce.resume(0, &mut next);
        assert_eq!((sent(&next), next.held), (vec![(Kind::DATA, nth)], held));
    }
    assert_eq!(hand(&mut roce, ns(9_000), Kind::ACK, 2, 1).finished, []);
    assert_eq!(hand(&mut roce, ns(9_100), Kind::ACK, 3, 1).finished, [0]);
    assert_eq!(roce.tally(0).retransmits, 0);
}

/// Without backpressure a flow keeps to the speed of its link by itself.
#[test]
fn a_flow_that_is_not_asked_paces_itself() {
    let mut roce = running(&defaults(), 3);
    let mut first = outbox(Time::ZERO, usize::MAX);
    roce.start(0, &mut first);
    assert_eq!(sent(&first), [(Kind::DATA, 0)]);
    let wakes: Vec<Time> = first.wakes.iter().map(|wake| wake.at).collect();
    assert_eq!(wakes, [ns(1_200), ns(67_108_864)]);
    let mut next = outbox(ns(1_200), usize::MAX);
    roce.wake(first.wakes[0], &mut next);
    assert_eq!(sent(&next), [(Kind::DATA, 1)]);
}

/// What comes too early is not taken; it is told once in 500 us, and the sender goes back.
#[test]
fn a_gap_has_the_sender_go_back() {
    let mut roce = running(&defaults(), 9);
    let mut first = outbox(Time::ZERO, 6);
    roce.start(0, &mut first);
    assert_eq!(sent(&first).len(), 6);
    assert_eq!(sent(&hand(&mut roce, ns(10), Kind::DATA, 0, 0)), [(Kind::ACK, 1)]);
    assert_eq!(sent(&hand(&mut roce, ns(20), Kind::DATA, 2, 0)), [(NACK, 1)]);
    assert_eq!(sent(&hand(&mut roce, ns(30), Kind::DATA, 3, 0)), []);
    assert_eq!(sent(&hand(&mut roce, ns(500_020), Kind::DATA, 4, 0)), [(NACK, 1)]);
    assert_eq!(roce.received(0), 1460);
    // It waits for its link.
    assert_eq!(sent(&hand(&mut roce, ns(40), NACK, 1, 0)), []);
    let mut again = outbox(ns(45), 2);
    roce.resume(0, &mut again);
    assert_eq!((sent(&again), again.held), (vec![(Kind::DATA, 1), (Kind::DATA, 2)], true));
    assert_eq!(roce.tally(0).retransmits, 2);
    // One that is known to have arrived is not missing.
    assert_eq!(sent(&hand(&mut roce, ns(50), NACK, 0, 2)), []);
    // In order at last; another copy is acknowledged again.
    assert_eq!(sent(&hand(&mut roce, ns(60), Kind::DATA, 1, 0)), [(Kind::ACK, 2)]);
    assert_eq!(sent(&hand(&mut roce, ns(70), Kind::DATA, 1, 0)), [(Kind::ACK, 2)]);
}

/// With a window of two packets and a half, three are under way.
#[test]
fn a_window_holds_a_flow_back() {
    let roce = Roce { window: Some(Bytes(3_650)), ..defaults() };
    let mut roce = running(&roce, 9);
    let mut first = outbox(Time::ZERO, 9);
    roce.start(0, &mut first);
    assert_eq!((sent(&first).len(), first.held), (3, false));
    assert_eq!(sent(&hand(&mut roce, ns(5), Kind::ACK, 2, 9)), [(Kind::DATA, 3), (Kind::DATA, 4)]);
}

/// The last packet is lost: only the time-out knows. It counts from the last news.
#[test]
fn a_flow_goes_back_when_nothing_is_heard() {
    let mut roce = running(&Roce { rto: Span::from_us(100), ..defaults() }, 2);
    let mut first = outbox(Time::ZERO, 2);
    roce.start(0, &mut first);
    assert_eq!(first.wakes[0].at, ns(100_000));
    hand(&mut roce, ns(40_000), Kind::ACK, 1, 2);
    let mut early = outbox(ns(100_000), 2);
    roce.wake(first.wakes[0], &mut early);
    assert_eq!((sent(&early), early.wakes[0].at), (vec![], ns(140_000)));
    let mut late = outbox(ns(140_000), 2);
    roce.wake(early.wakes[0], &mut late);
    assert_eq!(sent(&late), [(Kind::DATA, 1)]);
    assert_eq!((roce.tally(0).timeouts, roce.tally(0).retransmits), (1, 1));
}

/// One CNP per 50 us, after the time that the interface takes.
#[test]
fn marks_are_told_once_in_a_while() {
    let rate = RateControl::Dcqcn(Dcqcn { cnp_delay: Span::from_us(3), ..defaults() });
    let mut roce = running(&Roce { rate, ..defaults() }, 9);
    let mut told = Vec::new();
    for us in 0..120u64 {
        let mut outbox = outbox(ns(us * 1_000), 0);
        let data = roce.setup.data(0, us as u32 % 9, 0, outbox.now);
        roce.receive(&Packet { marks: ECT | CE, ..data }, &mut outbox);
        told.extend(outbox.wakes);
    }
    assert_eq!(
        told.iter().map(|wake| wake.at).collect::<Vec<_>>(),
        [3, 53, 103].map(|us| ns(us * 1_000))
    );
    let mut cnp = outbox(told[0].at, 0);
    roce.wake(told[0], &mut cnp);
    assert_eq!(sent(&cnp), [(CNP, 0)]);
    hand(&mut roce, told[0].at, CNP, 0, 0);
    assert_eq!(roce.tally(0).cnps, Some(1));
}

fn rules(control: RateControl) -> Rules {
    control.rules().expect("rules")
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// The paper's steps: a CNP halves the rate at first, four steps come half of the way back, then the target rises by
/// 40 Mb/s each 55 us; alpha falls by 1/256 each 55 us.
#[test]
fn a_rate_falls_and_comes_back_as_in_the_paper() {
    let rules = rules(RateControl::Dcqcn(Dcqcn { byte_counter: None, ..defaults() }));
    let mut limiter = Limiter::new(Rate::gbps(40));
    limiter.notified(&rules, us(0));
    assert_eq!(limiter.state(), (1.0, 20e9));
    limiter.advance(&rules, us(54));
    assert_eq!(limiter.state(), (1.0, 20e9));
    let mut rates = Vec::new();
    for step in 1..=5 {
        limiter.advance(&rules, us(55 * step));
        rates.push(limiter.state().1);
    }
    // The target is the speed of the link: it cannot rise.
    assert_eq!(rates, [30e9, 35e9, 37.5e9, 38.75e9, 39.375e9]);
    let alpha = (255.0f64 / 256.0).powi(5);
    assert!((limiter.state().0 - alpha).abs() < 1e-12);
    limiter.notified(&rules, us(280));
    let fallen = 39.375e9 * (1.0 - alpha / 2.0);
    assert!((limiter.state().1 - fallen).abs() < 1.0);
    // Four steps to the target, and then the target is 40 Mb/s higher.
    limiter.advance(&rules, us(280 + 4 * 55));
    let near = 39.375e9 - (39.375e9 - fallen) / 16.0;
    assert!((limiter.state().1 - near).abs() < 1.0);
    limiter.advance(&rules, us(280 + 5 * 55));
    let risen = f64::midpoint(near, 39.415e9);
    assert!((limiter.state().1 - risen).abs() < 1.0);
}

/// uet-htsim's reading has one more step of recovery.
#[test]
fn a_reading_has_one_more_step() {
    let own =
        Dcqcn { byte_counter: None, recovery: Recovery::Htsim, recovery_steps: 1, ..defaults() };
    let htsim = rules(RateControl::Dcqcn(own.clone()));
    let paper = rules(RateControl::Dcqcn(Dcqcn { recovery: Recovery::Paper, ..own }));
    let after = |rules: &Rules| {
        let mut limiter = Limiter::new(Rate::gbps(40));
        limiter.notified(rules, us(0));
        limiter.notified(rules, us(10));
        // Half of 20 Gb/s, by an alpha of 1.
        limiter.advance(rules, us(65));
        limiter.state().1
    };
    assert_eq!((after(&htsim), after(&paper)), (15e9, 15.02e9));
}

/// The counter has the rate rise as the timer does, and both together are hyper.
#[test]
fn bytes_have_a_rate_rise() {
    let own = Dcqcn { byte_counter: Some(Bytes(15_000)), recovery_steps: 1, ..defaults() };
    let rules = rules(RateControl::Dcqcn(own));
    let mut limiter = Limiter::new(Rate::gbps(40));
    limiter.notified(&rules, us(0));
    limiter.notified(&rules, us(10));
    assert_eq!(limiter.state().1, 10e9);
    let mut last = None;
    for _ in 0..10 {
        last = limiter.gap(&rules, us(11), 1_500);
    }
    // (10 + 20.04) / 2 Gb/s: 798.9 ns for 1500 B.
    assert_eq!(limiter.state().1, 15.02e9);
    assert_eq!(last, Some(Span::from_ps(798_935)));
    for _ in 0..10 {
        limiter.gap(&rules, us(12), 1_500);
    }
    limiter.advance(&rules, us(65));
    let before = limiter.state().1;
    limiter.advance(&rules, us(120));
    // The timer's second step after two of the counter: 20.08, 20.12 and then 20.32 Gb/s.
    assert!((limiter.state().1 - f64::midpoint(before, 20.32e9)).abs() < 1.0);
}

/// A vendor's: alpha moves each us, the rate falls at most once in 4 us, and comes back each 900 us.
#[test]
fn a_vendors_rate_falls_every_four_microseconds() {
    let rules = rules(RateControl::DcqcnVendor(defaults()));
    let mut limiter = Limiter::new(Rate::gbps(100));
    for at in 0..12 {
        limiter.notified(&rules, us(at));
        let rate = limiter.state().1;
        let fallen = [100e9, 50e9, 25e9][at as usize / 4];
        assert!((rate / fallen - 1.0).abs() < 0.02, "{rate} after {at} us");
    }
    limiter.advance(&rules, us(12));
    let (alpha, rate) = limiter.state();
    assert!(alpha > 0.98 && (rate / 12.5e9 - 1.0).abs() < 0.05, "{alpha}, {rate}");
    // Falls that follow each other keep the target: one step is half of the way to 100 Gb/s.
    limiter.advance(&rules, us(912));
    assert!((limiter.state().1 - f64::midpoint(rate, 100e9)).abs() < 1.0);
    let alpha_after = alpha * (255.0f64 / 256.0).powi(900);
    assert!((limiter.state().0 / alpha_after - 1.0).abs() < 1e-9);
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let refused = |check: Result<(), Refusal>| check.unwrap_err().path.join(".");
    assert_eq!(refused(Roce { window: Some(Bytes(0)), ..defaults() }.check()), "window");
    assert_eq!(refused(Roce { rto: Span::ZERO, ..defaults() }.check()), "rto");
    assert_eq!(refused(Dcqcn { g: 0.0, ..defaults() }.check()), "g");
    assert_eq!(
        refused(Dcqcn { byte_counter: Some(Bytes(1)), ..defaults() }.check()),
        "byte_counter"
    );
    assert_eq!(refused(DcqcnVendor { rate_timer: Span::ZERO, ..defaults() }.check()), "rate_timer");
}
