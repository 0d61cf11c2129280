//! NDP on one switch, against times computed by hand.

use crate::common::*;
use sojourn_core::parameters::defaults;
use sojourn_fabric::PacketScheme;
use sojourn_fabric::transport::{Ndp, TransportKind};

const NS: u64 = 1_000;

fn ndp(initial_window: u32) -> PacketScheme {
    let ndp = Ndp { initial_window: count(initial_window), ..defaults() };
    PacketScheme { transport: TransportKind::Ndp(ndp), ..known("NDP") }
}

/// The first window leaves at line rate; from then on each PULL is worth one packet. With a window
/// of the round trip the link never rests: 3996 ns for the first packet, 1200 for each other. With
/// a window of one packet each but the last takes a round trip, and 32 ns more: the PULL leaves the
/// receiver behind the ACK.
#[test]
fn a_flow_alone_goes_at_the_pace_of_its_pulls() {
    for (window, packets, ns) in [
        (12, 12, 3996 + 11 * 1200),
        (12, 100, 3996 + 99 * 1200),
        (5, 1000, 3996 + 999 * 1200),
        (1, 1, 3996),
        (1, 10, 3996 + 9 * (3996 + 32)),
    ] {
        let run = Lab::new(single_switch(4), ndp(window)).run(&[flow(0, 3, packets * FULL, 0)]);
        assert_eq!(run.fcts(), [ns * NS], "{packets} packets, {window} at once");
        assert_eq!(run.sum("retransmits"), 0);
    }
}

/// Many to one: all but what fits comes trimmed and is pulled again, nothing is lost, and the link
/// of the receiver is full from the first packet to the last: payload, headers (32 ns each), and at
/// the end the round trip of the last PULL, before which the queue may have run dry.
#[test]
fn an_incast_keeps_the_link_full() {
    for senders in [4u16, 10, 25] {
        let flows: Vec<_> = (1..=senders).map(|from| flow(from, 0, 12 * FULL, 0)).collect();
        let run = Lab::new(single_switch(u32::from(senders) + 1), known("NDP")).run(&flows);
        assert_eq!((run.drops(), run.sum("timeouts")), (0, 0));
        let last = *run.fcts().iter().max().expect("some flows");
        let packets = 12 * u64::from(senders);
        let trimmed = run.sum("retransmits") as u64;
        // 12 leave while the windows come, and eight wait.
        assert!(trimmed >= packets - 24, "{trimmed} of {packets}");
        let line = (3996 + (packets - 1) * 1200) * NS;
        let most = line + (trimmed * 32 + 3996 + 1200) * NS;
        assert!((line..=most).contains(&last), "{senders}: {last} not in {line}..={most}");
    }
}

/// With 200 senders the headers are too many for the 12 KB they have: what then is lost goes again
/// after 1 ms.
#[test]
fn lost_headers_are_waited_for() {
    let flows: Vec<_> = (1..=200).map(|from| flow(from, 0, 12 * FULL, 0)).collect();
    let run = Lab::new(single_switch(201), known("NDP")).run(&flows);
    assert!(0 < run.sum("timeouts") && run.sum("timeouts") <= run.drops());
    let last = *run.fcts().iter().max().expect("some flows");
    assert!((2400 * 1200 * NS..10_000_000 * NS).contains(&last), "{last}");
}

/// Two long flows to one host get half of its link each, from wherever they come.
#[test]
fn pulls_share_a_link_fairly() {
    let flows = [flow(1, 0, 1000 * FULL, 0), flow(2, 0, 1000 * FULL, 100_000 * NS)];
    let run = Lab::new(single_switch(3), known("NDP")).run(&flows);
    let [first, second] = run.fcts()[..] else { panic!("two flows") };
    // The first is alone for 100 us, 83 packets; then both get every other slot.
    let expected = 100_000 + 2 * (1000 - 83) * 1200;
    assert!(first.abs_diff(expected * NS) < 40_000 * NS, "{first}");
    assert!(second.abs_diff((2000 * 1200 - 100_000) * NS) < 40_000 * NS, "{second}");
}
