//! Recovery with SACK against the text of RFC 6675, ACK by ACK.

use super::Trace;
use super::new_reno::bare;
use crate::transport::{NewReno, WindowLimits};
use sojourn_core::Span;
use std::num::NonZeroU32;

const NOTHING: [u32; 0] = [];

/// A flow of so many packets that sent the first ten.
fn ten_under_way(packets: u32) -> Trace<NewReno> {
    let mut trace = Trace::begin(&bare(), packets);
    assert_eq!(trace.sent(), (0..10).collect::<Vec<u32>>());
    trace.pass(Span::from_ms(100));
    trace
}

/// RFC 6675, 5, step by step: of 2 to 13 packets 2 and 5 are lost. On the right what is in the
/// network: sent and neither arrived nor lost, and resent.
#[test]
fn the_pipe_is_kept_full() {
    let mut trace = ten_under_way(1000);
    assert_eq!(trace.ack(1), [10, 11]);
    assert_eq!(trace.ack(2), [12, 13]);
    assert_eq!(trace.sack(2, 3), NOTHING);
    assert_eq!(trace.sack(2, 4), NOTHING);
    // Step 4: half the flight of 12; the first hole goes whatever the pipe: 5 and 7 to 13, and 2.
    assert_eq!(trace.sack(2, 6), [2]);
    assert_eq!(trace.window(), (6.0, 6.0));
    assert_eq!(trace.sack(2, 7), NOTHING); // 5, 8 to 13, and 2
    assert_eq!(trace.sack(2, 8), NOTHING); // three above 5: 9 to 13, and 2
    assert_eq!(trace.sack(2, 9), [5]); // 10 to 13, and 2: rule 1
    assert_eq!(trace.sack(2, 10), [14]); // 11 to 13, and 2 and 5: rule 2
    assert_eq!(trace.sack(2, 11), [15]);
    assert_eq!(trace.sack(2, 12), [16]);
    assert_eq!(trace.sack(2, 13), [17]);
    // Step B: a partial ACK.
    let due = trace.due();
    trace.pass(Span::from_ms(1));
    assert_eq!(trace.ack(5), [18]); // 14 to 17, and 5
    assert!(trace.due() > due);
    assert_eq!(trace.sack(5, 14), [19]);
    // Step A: all up to 13 is acknowledged. 15 to 19 are under way.
    assert!(trace.recovering());
    assert_eq!(trace.ack(15), [20]);
    assert!(!trace.recovering());
    assert_eq!(trace.window(), (6.0, 6.0));
    assert_eq!(trace.ack(16), [21]);
    assert_eq!(trace.window(), (6.0 + 1.0 / 6.0, 6.0));
}

/// A burst: 2 to 7 of 2 to 13 are lost. What is lost leaves the pipe at once, and the holes fill
/// in one round trip, as fast as the pipe has room.
#[test]
fn many_holes_fill_in_a_round_trip() {
    let mut trace = ten_under_way(1000);
    trace.ack(1);
    trace.ack(2);
    assert_eq!(trace.sack(2, 8), NOTHING);
    assert_eq!(trace.sack(2, 9), NOTHING);
    // 11 to 13 are under way, and the window is six.
    assert_eq!(trace.sack(2, 10), [2, 3, 4]);
    assert_eq!(trace.sack(2, 11), [5]);
    assert_eq!(trace.sack(2, 12), [6]);
    assert_eq!(trace.sack(2, 13), [7]);
    assert_eq!(trace.ack(3), [14]);
    assert_eq!(trace.ack(4), [15]);
    assert_eq!(trace.ack(5), [16]);
}

/// NextSeg, rule 3: nothing is new, 8 is not lost by the count, and there is room: 9 arrived
/// before it.
#[test]
fn a_hole_that_may_not_be_lost_goes_last() {
    let mut trace = ten_under_way(10);
    let sent: Vec<u32> = (1..=7).flat_map(|cause| trace.sack(0, cause)).collect();
    assert_eq!(sent, [0]);
    assert_eq!(trace.sack(0, 9), [8]);
    // 0 arrives. Now rule 4 has 8 go once more, though it left just now: that is its letter.
    assert_eq!(trace.ack(8), [8]);
    assert_eq!(trace.ack(10), NOTHING);
}

/// NextSeg, rule 4: the last packet is lost too, and nothing above it can say so. Once more than
/// the first hole is acknowledged it goes, once in a recovery.
#[test]
fn the_tail_is_rescued_once() {
    let mut trace = ten_under_way(10);
    let sent: Vec<u32> = (1..=8).flat_map(|cause| trace.sack(0, cause)).collect();
    assert_eq!(sent, [0]);
    assert_eq!(trace.ack(9), [9]);
    assert_eq!(trace.window(), (5.0, 5.0));
    assert_eq!(trace.ack(9), NOTHING);
    assert_eq!(trace.lapse(), [9]);

    // Two at the tail: the rescue is the last.
    let mut trace = ten_under_way(10);
    (1..=7).for_each(|cause| drop(trace.sack(0, cause)));
    assert_eq!(trace.ack(8), [9]);
    assert_eq!(trace.sack(8, 9), [8]); // rule 3
    assert_eq!(trace.ack(10), NOTHING);
}

/// Step 2: the ACKs of 5 and 6 came before the one that acknowledges 0 and 1. One duplicate, but
/// three packets above the hole.
#[test]
fn three_packets_above_a_hole_are_enough() {
    let mut trace = ten_under_way(10);
    assert_eq!(trace.sack(0, 5), NOTHING);
    assert_eq!(trace.sack(0, 6), NOTHING);
    assert_eq!(trace.ack(2), NOTHING);
    // Half the flight of 8: 7 is the third; 8 and 9 are under way, and 2, 3 and 4 lost.
    assert_eq!(trace.sack(2, 7), [2, 3]);
    assert_eq!(trace.window(), (4.0, 4.0));
}

/// Section 2: a duplicate tells of another packet. The same one again does not count.
#[test]
fn the_same_news_again_are_no_duplicate() {
    let mut trace = ten_under_way(1000);
    for _ in 0..5 {
        assert_eq!(trace.sack(0, 3), NOTHING);
        assert_eq!(trace.ack(0), NOTHING);
    }
    assert_eq!(trace.sack(0, 4), NOTHING);
    assert_eq!(trace.sack(0, 5), [0]);
}

/// A resent packet is lost once more: RFC 6675 does not find out. The timer does; the recovery
/// ends, what has arrived is not sent again, and no other recovery begins before all is
/// acknowledged that had been sent (section 5.1).
#[test]
fn a_time_out_ends_the_recovery() {
    let mut trace = ten_under_way(1000);
    (1..=3).for_each(|cause| drop(trace.sack(0, cause)));
    // 4 to 9: half the flight of ten, so from the sixth on there is room.
    let sent: Vec<u32> = (4..=9).flat_map(|cause| trace.sack(0, cause)).collect();
    assert_eq!(sent, [10, 11, 12, 13]);
    let sent: Vec<u32> = [10, 11, 13].into_iter().flat_map(|c| trace.sack(0, c)).collect();
    assert_eq!(sent, [14, 15, 16]);
    assert!(trace.recovering());
    // Under way: 12, 14, 15, 16 and 0.
    assert_eq!(trace.lapse(), [0]);
    assert!(!trace.recovering());
    assert_eq!(trace.window(), (1.0, 2.5));
    // 14 to 16 arrive: three duplicates, and no recovery.
    for cause in 14..=16 {
        assert_eq!(trace.sack(0, cause), NOTHING);
    }
    // 0 arrives; the next hole is 12. Then all is acknowledged.
    assert_eq!(trace.ack(12), [12]);
    assert_eq!(trace.ack(17), [17, 18, 19]);
    // From 17 on a recovery may begin.
    (18..=20).for_each(|cause| drop(trace.sack(17, cause)));
    assert!(trace.recovering());
}

/// The cap bounds what is new in a recovery too (NextSeg, rule 2: the receiver's window).
#[test]
fn a_cap_holds_in_the_pipe() {
    let tcp = NewReno {
        window: WindowLimits { window_cap: NonZeroU32::new(10), ..bare().window },
        ..bare()
    };
    let mut trace = Trace::begin(&tcp, 1000);
    trace.sent();
    let sent: Vec<u32> = (1..=9).flat_map(|cause| trace.sack(0, cause)).collect();
    assert_eq!(sent, [0]);
    assert_eq!(trace.ack(10), [10, 11, 12, 13, 14]);
}
