//! Long flows over one bottleneck: who fills the link, and what waits in front of it.

use crate::common::*;
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use sojourn_fabric::queue::QueueKind;
use sojourn_fabric::topology::{SingleSwitch, Topology};
use sojourn_fabric::transport::{NewReno, TcpOptions, TransportKind};
use sojourn_fabric::{Flow, Hosts, PacketScheme};

/// Payload a second over the 10 Gb/s of the bottleneck; with its headers a full link carries
/// 97.3 %.
fn goodput(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8.0 / 1e10 / seconds
}

/// NewReno from a 40 Gb/s host to one of 10 Gb/s over links of 25 us. One packet's round trip is
/// 101.54 us: the bandwidth-delay product is 126,925 B.
fn one_flow(bytes: u64, buffer: u64, sack: bool) -> Run {
    let switch = SingleSwitch {
        hosts: 2,
        rate: gbps(40),
        delay: Span::from_us(25),
        uplink: Some(gbps(10)),
        ..defaults()
    };
    // Without SACK the many losses at the end of slow start take longer than a short time-out, and
    // what is then sent again for nothing keeps the buffer full.
    let min_rto = Span::from_ms(if sack { 1 } else { 200 });
    let tcp = NewReno { options: TcpOptions { sack, min_rto, ..defaults() }, ..defaults() };
    let scheme = scheme(TransportKind::NewReno(tcp), drop_tail(buffer));
    let run = Lab::new(Topology::SingleSwitch(switch), scheme).run(&[flow(0, 1, bytes, 0)]);
    assert!(run.drops() > 0, "the window is not what limits it");
    run
}

/// The window is halved to one bandwidth-delay product: the link stays full. Long enough that the
/// losses at the end of slow start do not matter, where NewReno needs a round trip a packet.
#[test]
fn new_reno_fills_a_link_with_a_bandwidth_delay_product_of_buffer() {
    for (sack, bytes) in [(false, 1_000_000_000), (true, 200_000_000)] {
        let share = goodput(bytes, one_flow(bytes, 127_500, sack).mean_fct());
        assert!((0.95..=1460.0 / 1500.0).contains(&share), "SACK {sack}: {share}");
    }
}

/// With a tenth of it the window w swings from 0.55 to 1.1 of the product, one packet a round trip,
/// which takes max(1, w): (1.1² - 0.55²) / 2 products in 0.45 + (1.1² - 1) / 2 round trips are 82 %
/// of the link, and with headers off 80 %.
#[test]
fn new_reno_does_not_with_a_tenth_of_it() {
    for sack in [false, true] {
        let share = goodput(100_000_000, one_flow(100_000_000, 12_750, sack).mean_fct());
        assert!((0.70..0.85).contains(&share), "SACK {sack}: {share}");
    }
}

/// Two flows of 50 MB into one host, and every 2 ms or so one packet from a third host that says
/// how long the queue is: the run, and the mean wait of those packets in seconds.
fn two_flows_and_probes(scheme: PacketScheme, delay: Span) -> (Run, f64) {
    let switch = SingleSwitch { hosts: 4, delay, ..defaults() };
    let probe = |i: u64| flow(2, 3, FULL, 4_000_000_000 + i * 2_123_456_789);
    let flows: Vec<Flow> =
        (0..2).map(|from| flow(from, 3, BYTES, 0)).chain((0..20).map(probe)).collect();
    let lab = Lab::new(Topology::SingleSwitch(switch), scheme);
    // Hosts that take their time: otherwise one phase decides how many probes are lost.
    let run = Lab { hosts: Hosts { overhead: 1.0, ..Hosts::EXACT }, ..lab }.run(&flows);
    let idle = (2 * 1_232_000 + 4 * delay.ps()) as f64 / 1e12;
    let probes = &run.fcts()[2..];
    let mean = probes.iter().sum::<u64>() as f64 / probes.len() as f64 / 1e12;
    (run, mean - idle)
}

const BYTES: u64 = 50_000_000;

/// 22.5 KB of threshold take 18 us to leave.
#[test]
fn dctcp_keeps_the_link_full_and_the_queue_at_its_threshold() {
    for delay in [Span::from_ns(383), Span::from_us(20)] {
        let scheme = scheme(TransportKind::Dctcp(defaults()), QueueKind::Ecn(defaults()));
        let (run, wait) = two_flows_and_probes(scheme, delay);
        let last = run.fcts()[..2].iter().max().copied().expect("two flows");
        let share = goodput(2 * BYTES, last as f64 / 1e12);
        assert!((0.95..=1460.0 / 1500.0).contains(&share), "{delay}: {share}");
        assert_eq!((run.drops(), run.sum("timeouts"), run.sum("retransmits")), (0, 0, 0));
        assert!(run.figure("packets_marked") > 1000);
        assert!((9e-6..27e-6).contains(&wait), "{delay}: the queue takes {wait} s");
    }
}

/// The other side: TCP fills the link too, and whatever buffer there is; 225 KB take 180 us.
#[test]
fn tcp_fills_the_buffer() {
    let tcp =
        NewReno { options: TcpOptions { min_rto: Span::from_ms(1), ..defaults() }, ..defaults() };
    let scheme = scheme(TransportKind::NewReno(tcp), drop_tail(225_000));
    let (run, wait) = two_flows_and_probes(scheme, Span::from_us(20));
    assert!(run.drops() > 0);
    assert_eq!(run.figure("packets_marked"), 0);
    assert!((80e-6..180e-6).contains(&wait), "the queue takes {wait} s");
}
