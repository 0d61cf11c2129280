//! DCQCN against its fluid model (Zhu et al., "ECN or Delay", CoNEXT 2016, section 3), whose fixed point is solved
//! here.

use crate::engine::{Dependencies, Outcome, Progress, Scenario, sojourn_simulate};
use crate::flow::{Flow, Packets};
use crate::hosts::{HostPort, Hosts};
use crate::packet::{Kind, Packet};
use crate::path::Balance;
use crate::pfc::PausePlan;
use crate::queue::{Lossless, Red};
use crate::topology::{Network, SingleSwitch};
use crate::transport::{
    AckPriority, Asked, Dcqcn, Outbox, Priority, RateControl, Roce, RoceRunning, Setup, Tally,
    Transport, Wake,
};
use sojourn_core::parameters::defaults;
use sojourn_core::{Bytes, Rate, Span, Streams, Time};
use sojourn_properties::cases;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

const RATE: Rate = Rate::gbps(40);
const PACKET: u64 = 1_000;
const KMIN: u64 = 5_000;
/// The slope of the paper, 1 % over 195 KB, goes on to where the queue never comes.
const KMAX: u64 = 2_000_000;
const SLOPE: f64 = 0.01 / 195_000.0;

/// When flows are looked at: from then on, and until the end.
#[derive(Clone, Copy)]
struct Window {
    from: Time,
    until: Time,
}

impl Window {
    fn of_ms(from: u64, until: u64) -> Window {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        Window { from: at(from), until: at(until) }
    }

    fn contains(self, now: Time) -> bool {
        (self.from..=self.until).contains(&now)
    }

    fn seconds(self) -> f64 {
        (self.until - self.from).seconds()
    }
}

/// What senders had in the window.
#[derive(Debug, Default)]
struct Seen {
    cnps: u64,
    /// Sum of alphas, how many, and how many ACKs have come.
    alpha: f64,
    alphas: u64,
    acks: u64,
    /// Packets that each flow was acknowledged.
    packets: Vec<u64>,
}

/// RoCE, watched.
struct Watched {
    inner: RoceRunning,
    window: Window,
    seen: Rc<RefCell<Seen>>,
}

impl Transport for Watched {
    fn start(&mut self, flow: u32, outbox: &mut Outbox) {
        self.inner.start(flow, outbox);
    }

    fn extend(&mut self, flow: u32, end: u32, outbox: &mut Outbox) {
        self.inner.extend(flow, end, outbox);
    }

    fn first_missing(&self, flow: u32) -> u32 {
        self.inner.first_missing(flow)
    }

    fn receive(&mut self, packet: &Packet, outbox: &mut Outbox) {
        if packet.kind != Kind::DATA && self.window.contains(outbox.now) {
            let mut seen = self.seen.borrow_mut();
            if packet.kind == Kind::ACK {
                seen.acks += 1;
                seen.packets[packet.flow as usize] += 1;
                let state = self.inner.state(packet.flow, outbox.now);
                if let Some((alpha, _)) = state.filter(|_| seen.acks.is_multiple_of(101)) {
                    seen.alpha += alpha;
                    seen.alphas += 1;
                }
            } else {
                seen.cnps += 1;
            }
        }
        self.inner.receive(packet, outbox);
    }

    fn wake(&mut self, wake: Wake, outbox: &mut Outbox) {
        self.inner.wake(wake, outbox);
    }

    fn resume(&mut self, flow: u32, outbox: &mut Outbox) {
        self.inner.resume(flow, outbox);
    }

    fn asked(&self) -> Asked {
        self.inner.asked()
    }

    fn tally(&self, flow: u32) -> Tally {
        self.inner.tally(flow)
    }

    fn begin_watch(&mut self, flow: u32) {
        self.inner.begin_watch(flow);
    }

    fn received(&self, flow: u32) -> u64 {
        self.inner.received(flow)
    }
}

/// `count` flows to one host at 40 Gb/s until the end of `window`; what ports and senders had.
fn run(count: u16, window: Window) -> (Outcome, Seen) {
    let hosts = u32::from(count) + 1;
    let graph = SingleSwitch { hosts, rate: RATE, delay: Span::from_us(1), ..defaults() }.graph();
    let network: Arc<Network> = graph.network().into();
    let packets = Packets { payload: Bytes(PACKET - 64), header: Bytes(64), ack: Bytes(64) };
    let flows: Arc<[Flow]> =
        (1..=count).map(|from| Flow::new(from, 0, 1 << 34, Time::ZERO)).collect();
    let plan = PausePlan::new(&defaults(), &network, PACKET as u16, |_| Span::ZERO);
    let scenario = Scenario {
        memories: [].into(),
        pauses: Some(plan.expect("room")),
        hosts: Hosts { overhead: 0.0, port: HostPort::Backpressure, loss: None },
        losses: [].into(),
        balance: Balance::Ecmp,
        flows: flows.clone(),
        dependencies: Dependencies::none(flows.len()).into(),
        watches: [].into(),
        instants: [].into(),
        smallest: packets.smallest(),
        largest: packets.largest(),
        trimmed: packets.trimmed(),
        horizon: window.until,
        sample: Some(Span::from_us(20)),
        ranks: None,
        failures: Arc::default(),
        streams: Streams::new(1, 0),
        network,
    };
    let setup = Setup {
        digest_windows: false,
        flows,
        packets,
        priority: Priority::None(defaults()),
        ack_priority: AckPriority::Highest,
        network: scenario.network.clone(),
        nic: vec![RATE; hosts as usize].into(),
        streams: scenario.streams,
        exchanges: [].into(),
        connections: None,
    };
    let roce = Roce { rate: RateControl::Dcqcn(defaults::<Dcqcn>()), ..defaults() };
    let packets = vec![0; usize::from(count)];
    let seen = Rc::new(RefCell::new(Seen { packets, ..Seen::default() }));
    let inner = RoceRunning::new(&roce, setup);
    let transport = Watched { inner, window, seen: seen.clone() };
    let pmax = SLOPE * (KMAX - KMIN) as f64;
    let red = Red { kmin: Bytes(KMIN), kmax: Bytes(KMAX), pmax, ..defaults() };
    let acks = scenario.pauses.as_ref().expect("a plan").acks;
    let ports = Lossless::new(&red, acks);
    let outcome = sojourn_simulate(&scenario, &ports, transport, &Progress::default());
    (outcome.expect("not cancelled"), Rc::into_inner(seen).expect("the run is over").into_inner())
}

/// The fixed point for a number of flows: waiting bytes, CNPs of a flow in a second, and alpha.
fn fixed_point(flows: u16) -> (f64, f64, f64) {
    let Dcqcn {
        cnp_interval, alpha_timer, rate_timer, byte_counter, recovery_steps, additive, ..
    } = defaults();
    let [tau, tau_alpha, timer] = [cnp_interval, alpha_timer, rate_timer].map(Span::seconds);
    let per_second = |rate: Rate| rate.bits_per_second() as f64 / 8.0 / PACKET as f64;
    let rate = per_second(RATE) / f64::from(flows);
    let counter = byte_counter.expect("a counter").0 as f64 / PACKET as f64;
    let steps = f64::from(recovery_steps);
    // The probability of at least one mark among so many packets, and how often so many go without one.
    let marked = |p: f64, packets: f64| 1.0 - (1.0 - p).powf(packets);
    let unmarked = |p: f64, packets: f64| p / ((1.0 - p).powf(-packets) - 1.0);
    let balance = |p: f64| {
        let (by_counter, by_timer) = (unmarked(p, counter), unmarked(p, timer * rate));
        let after = |packets: f64| (1.0 - p).powf(steps * packets);
        let rises = after(counter) * by_counter + after(timer * rate) * by_timer;
        let gap = per_second(additive) * rate * rises * tau / marked(p, tau * rate);
        let falls = rate * marked(p, tau_alpha * rate) / (2.0 * tau) * marked(p, tau * rate);
        gap / 2.0 * rate * (by_counter + by_timer) - falls
    };
    let (mut low, mut high) = (1e-6, 0.5);
    for _ in 0..100 {
        let middle = f64::sqrt(low * high);
        if balance(middle) > 0.0 { low = middle } else { high = middle }
    }
    (KMIN as f64 + low / SLOPE, marked(low, tau * rate) / tau, marked(low, tau_alpha * rate))
}

/// The values that were found with another program.
#[test]
fn the_fixed_point_is_found() {
    for (flows, queue, cnps, alpha) in [
        (2, 20_151.0, 1_851.8, 0.1014),
        (4, 41_809.0, 2_227.7, 0.1218),
        (10, 122_623.0, 2_807.4, 0.1533),
    ] {
        let found = fixed_point(flows);
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-3;
        assert!(
            close(found.0, queue) && close(found.1, cnps) && close(found.2, alpha),
            "{found:?}"
        );
    }
}

/// The queue is 1.0 to 1.6 times that of the model, CNPs are within 25 % of it, and alpha within 15 %: the model knows
/// neither packets nor the round trip.
#[test]
fn queue_and_notifications_are_those_of_the_fluid_model() {
    let all = cases(256).cases >= 256;
    let counts: &[u16] = if all { &[2, 4, 8, 10, 16] } else { &[2] };
    let window = if all { Window::of_ms(100, 300) } else { Window::of_ms(60, 120) };
    for &count in counts {
        let (outcome, seen) = run(count, window);
        let to_host = outcome
            .samples
            .iter()
            .filter(|sample| sample.port == u32::from(count) + 1 && window.contains(sample.at));
        let looks = window.seconds() / 20e-6;
        let queue = to_host.map(|sample| sample.waiting as f64).sum::<f64>() / looks;
        let cnps = seen.cnps as f64 / window.seconds() / f64::from(count);
        let alpha = seen.alpha / seen.alphas as f64;
        let model = fixed_point(count);
        let shares = [queue / model.0, cnps / model.1, alpha / model.2];
        println!(
            "{count} flows: {queue:.0} B of {model:.3?}, {cnps:.0} CNPs/s, alpha {alpha:.4}, {shares:.3?}"
        );
        assert!((1.0..=1.6).contains(&shares[0]), "{count} flows, queue: {shares:?}");
        assert!((shares[1] - 1.0).abs() <= 0.25, "{count} flows, CNPs: {shares:?}");
        assert!((shares[2] - 1.0).abs() <= 0.15, "{count} flows, alpha: {shares:?}");
        assert_eq!(outcome.counts.dropped_at_switches, 0);
    }
}

/// Two flows that start together at line rate have equal shares, within 10 %, from 25 ms on.
#[test]
fn two_flows_share_a_link() {
    let (_, seen) = run(2, Window::of_ms(25, 125));
    let [one, other] = seen.packets[..] else { panic!("two flows") };
    println!("{one} and {other} packets");
    let mean = (one + other) as f64 / 2.0;
    assert!((one as f64 / mean - 1.0).abs() <= 0.1, "{one} and {other} packets");
    // The link is busy for 97 % of the time at least.
    let full = (one + other) as f64 * PACKET as f64 * 8.0 / 40e9 / 0.1;
    assert!((0.97..=1.001).contains(&full), "{full}");
}
