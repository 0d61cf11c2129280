//! Linux's recovery against its RFCs, ACK by ACK. The idle path's round trip is known.

use super::Trace;
use crate::transport::tcp::{LinuxRecovery, NewReno, TcpOptions};
use sojourn_core::parameters::defaults;
use sojourn_core::{Span, Time};

const NOTHING: [u32; 0] = [];

/// A host with Linux, and exact timers.
fn linux() -> NewReno {
    let options = TcpOptions::linux();
    let linux = LinuxRecovery { clock_tick: None, ..options.linux };
    NewReno { options: TcpOptions { linux, ..options }, ..defaults() }
}

fn with(change: impl FnOnce(&mut LinuxRecovery)) -> NewReno {
    let mut host = linux();
    change(&mut host.options.linux);
    host
}

/// A flow of so many packets, whose first ten left a millisecond ago.
fn ten_under_way(host: &NewReno, packets: u32) -> Trace<NewReno> {
    let mut trace = Trace::begin(host, packets);
    assert_eq!(trace.sent(), (0..10).collect::<Vec<u32>>());
    trace.pass(Span::from_ms(1));
    trace
}

/// RFC 8985, 6.2: of packets that left at once, those before one that has arrived are lost once three have. A
/// retransmission is lost when a packet that left after it has arrived.
#[test]
fn a_lost_retransmission_goes_again() {
    let mut trace = ten_under_way(&linux(), 1000);
    // 0 and 1 are lost. Two out of order may still be reordering.
    assert_eq!(trace.sack(0, 2), [10]);
    assert_eq!(trace.sack(0, 3), [11]);
    assert_eq!(trace.sack(0, 4)[0], 0, "the third says that 0 and 1 are lost");
    let more: Vec<u32> = (5..12).flat_map(|packet| trace.sack(0, packet)).collect();
    assert_eq!(more, [1, 12, 13, 14], "and now as many as the threshold are under way");
    trace.pass(Span::from_ms(1));
    // 1 fills its hole, and left after 0 did: 0 is lost again.
    assert!(trace.sack(0, 1).contains(&0));
}

/// Without SACKs that say more the packet waits for a quarter of the least round trip, and for two milliseconds.
#[test]
fn a_packet_that_is_late_is_lost() {
    let mut trace = ten_under_way(&linux(), 1000);
    let idle = trace.smoothed();
    assert_eq!(trace.sack(0, 1), [10]);
    let wait = trace.due() - trace.now();
    assert_eq!(wait, Span::from_ms(2) + idle / 4);
    assert_eq!(trace.wakes(), [0]);
    assert!(trace.window().1 < 10.0, "it was a loss");
}

/// RFC 8985, 7.2 and 7.3: two round trips and two milliseconds after the last packet, a new packet, or the last one
/// again; RFC 7.4.1: the flight shrinks when the probe has mended a loss.
#[test]
fn the_end_of_a_flight_is_probed() {
    let mut trace = Trace::begin(&linux(), 11);
    assert_eq!(trace.sent().len(), 10);
    let idle = trace.smoothed();
    assert_eq!(trace.due() - Time::ZERO, idle * 2 + Span::from_ms(2));
    assert_eq!(trace.wakes(), [10], "a new packet");
    let mut trace = Trace::begin(&linux(), 10);
    assert_eq!(trace.sent().len(), 10);
    assert_eq!(trace.wakes(), [9], "the last one again");
    // One probe an episode: next is the time-out, which resends the first.
    assert_eq!(trace.wakes(), [0]);
    assert_eq!(trace.timeouts(), 1);
    assert_eq!(trace.window().0, 1.0);
}

/// A single packet under way may wait for a delayed ACK: the probe leaves the least time-out later.
#[test]
fn a_single_packet_is_probed_late() {
    let mut trace = Trace::begin(&linux(), 1);
    assert_eq!(trace.sent(), [0]);
    // That is when the timer runs out as well.
    let idle = trace.smoothed();
    assert_eq!(trace.due() - Time::ZERO, Span::from_ms(200) + idle);
}

/// Linux's time-out: the smoothed round trip and at least `min_rto`, where RFC 6298 has the larger of the two.
#[test]
fn the_least_time_out_is_beyond_the_round_trip() {
    let mut trace = ten_under_way(&with(|linux| linux.tail_loss_probe = false), 1000);
    for packet in 1..=10 {
        trace.ack(packet);
    }
    let smoothed = trace.smoothed();
    assert!(smoothed > Span::from_us(700));
    assert_eq!(trace.due() - trace.now(), smoothed + Span::from_ms(200));
}

/// RFC 6937, 3.1: above the threshold two packets leave for three that arrive, as 10 falls to 5; the first ACK of
/// the recovery lets one go.
#[test]
fn the_window_shrinks_with_what_arrives() {
    let mut trace = ten_under_way(&linux(), 1000);
    trace.sack(0, 1);
    trace.sack(0, 2);
    assert_eq!(trace.sack(0, 3), [0]);
    assert_eq!(trace.window().1, 5.0);
    let more: Vec<usize> = (4..10).map(|packet| trace.sack(0, packet).len()).collect();
    // With the one for 3, one goes for two that arrive, until no more than the threshold is under way.
    assert_eq!(more, [0, 1, 0, 1, 0, 0]);
    let mut at_once = ten_under_way(&with(|linux| linux.prr = false), 1000);
    at_once.sack(0, 1);
    at_once.sack(0, 2);
    assert_eq!(at_once.sack(0, 3), NOTHING, "the flight is above the window");
    assert_eq!(at_once.window(), (5.0, 5.0));
}

/// RFC 5682, 3.1: after the time-out one packet goes again, and what arrives was sent before it, and once: the
/// time-out came too early, and the window is as before.
#[test]
fn a_time_out_that_came_too_early_is_taken_back() {
    let host = with(|linux| linux.tail_loss_probe = false);
    for (f_rto, window) in [(true, 10.0), (false, 1.0)] {
        let mut host = host.clone();
        host.options.linux.f_rto = f_rto;
        let mut trace = ten_under_way(&host, 1000);
        assert_eq!(trace.lapse(), [0]);
        assert_eq!(trace.window().0, 1.0);
        trace.ack(1);
        trace.ack(2);
        assert!(trace.window().0 >= window, "{:?}", trace.window());
        assert_eq!(trace.window().0 >= 10.0, f_rto);
    }
}

/// A time-out resends the first, and slow start the others, which left more than a round trip ago.
#[test]
fn after_a_time_out_all_goes_again() {
    let mut trace = ten_under_way(&with(|linux| linux.tail_loss_probe = false), 10);
    assert_eq!(trace.lapse(), [0]);
    trace.pass(Span::from_ms(1));
    assert_eq!(trace.ack(1), [1, 2]);
    trace.pass(Span::from_ms(1));
    assert_eq!(trace.ack(2), [3, 4]);
    assert_eq!(trace.window(), (3.0, 5.0));
}

/// Timers run out at ticks, one late; long ones at every eighth.
#[test]
fn timers_run_out_at_ticks() {
    let rules = crate::transport::tcp::CongestionControl::rules(&NewReno {
        options: TcpOptions::linux(),
        ..defaults()
    });
    let due = |now: u64, span: u64| {
        let now = Time::ZERO + Span::from_us(now);
        (rules.deadline(now, Span::from_us(span)) - Time::ZERO).ps() / 1_000_000_000
    };
    assert_eq!(due(0, 1), 8, "one tick, and one more");
    assert_eq!(due(3_999, 4_000), 8);
    assert_eq!(due(4_000, 200_000), 4 * (1 + 50 + 1));
    assert_eq!(due(0, 400_000), 416, "100 ticks are more than 63: the next multiple of 8");
    assert_eq!(due(0, 4_000_000), 4096, "1,000 ticks: of 64");
}
