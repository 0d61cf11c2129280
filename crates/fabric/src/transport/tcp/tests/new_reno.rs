//! NewReno's recovery against the text of RFC 6582 and 5681, ACK by ACK.

use super::Trace;
use crate::transport::{FastRetransmit, NewReno, TcpOptions, WindowLimits};
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use std::num::NonZeroU32;

const NOTHING: [u32; 0] = [];

/// Recovery alone: neither limited transmit nor counting what is acknowledged, which have tests of
/// their own.
pub(super) fn bare() -> NewReno {
    NewReno {
        options: TcpOptions { limited_transmit: false, abc_limit: None, ..defaults() },
        ..defaults()
    }
}

fn new_reno() -> NewReno {
    NewReno { options: TcpOptions { sack: false, ..bare().options }, ..bare() }
}

/// A flow with packets 2 to 13 on their way and a window of 12.
fn twelve_under_way(tcp: &NewReno) -> Trace<NewReno> {
    let mut trace = Trace::begin(tcp, 1000);
    assert_eq!(trace.sent(), (0..10).collect::<Vec<u32>>());
    trace.pass(Span::from_ms(100));
    assert_eq!(trace.ack(1), [10, 11]);
    assert_eq!(trace.ack(2), [12, 13]);
    assert_eq!(trace.window(), (12.0, f64::INFINITY));
    trace
}

/// RFC 6582, 3.2, step by step: of 2 to 13 packets 2, 5 and 12 are lost.
#[test]
fn new_reno_mends_three_losses_of_one_window() {
    let mut trace = twelve_under_way(&new_reno());
    // 3 and 4 arrive.
    assert_eq!(trace.ack(2), NOTHING);
    assert_eq!(trace.ack(2), NOTHING);
    assert!(!trace.recovering());
    // 6 does: ssthresh is half the flight of 12, and three packets have left (RFC 5681, 3.2, steps
    // 2 and 3).
    assert_eq!(trace.ack(2), [2]);
    assert_eq!(trace.window(), (9.0, 6.0));
    // 7 to 11 and 13: one more each, and new packets as soon as it exceeds the flight (steps 4 and
    // 5).
    for (window, sent) in
        [(10.0, &[][..]), (11.0, &[]), (12.0, &[]), (13.0, &[14]), (14.0, &[15]), (15.0, &[16])]
    {
        assert_eq!(trace.ack(2), sent);
        assert_eq!(trace.window(), (window, 6.0));
    }
    // The resent 2 arrives, a partial ACK of three packets: the next hole, the window three less
    // and one more, and a new packet as that allows.
    trace.pass(Span::from_ms(10));
    let due = trace.due();
    assert_eq!(trace.ack(5), [5, 17]);
    assert_eq!(trace.window(), (13.0, 6.0));
    // The first partial ACK starts the timer anew.
    assert!(trace.due() > due);
    // 14 to 16 arrive.
    assert_eq!(trace.ack(5), [18]);
    assert_eq!(trace.ack(5), [19]);
    assert_eq!(trace.ack(5), [20]);
    assert_eq!(trace.window(), (16.0, 6.0));
    // The resent 5 arrives, a partial ACK of seven. No second one starts the timer anew.
    trace.pass(Span::from_ms(10));
    let due = trace.due();
    assert_eq!(trace.ack(12), [12, 21]);
    assert_eq!(trace.window(), (10.0, 6.0));
    assert_eq!(trace.due(), due);
    // 17 to 20 arrive.
    assert_eq!([22, 23, 24, 25].map(|_| trace.ack(12)), [[22], [23], [24], [25]]);
    // The resent 12 arrives, a full ACK: of 21 to 25 five are under way, so the window is six.
    assert!(trace.recovering());
    assert_eq!(trace.ack(21), [26]);
    assert_eq!(trace.window(), (6.0, 6.0));
    assert!(!trace.recovering());
    assert!(trace.due() > due);
    // Congestion avoidance.
    assert_eq!(trace.ack(22), [27]);
    assert_eq!(trace.window(), (6.0 + 1.0 / 6.0, 6.0));
}

/// Step 3, full ACK: with little under way the window is that and one, not ssthresh.
#[test]
fn a_full_ack_does_not_let_a_burst_go() {
    let mut trace = Trace::begin(&new_reno(), 10);
    trace.sent();
    (0..2).for_each(|_| drop(trace.ack(0)));
    assert_eq!(trace.ack(0), [0]);
    // All that was sent arrives, but the last.
    assert_eq!(trace.ack(9), [9]);
    assert!(trace.recovering(), "9 is below what had been sent");
    assert_eq!(trace.window(), (1.0, 5.0));

    let mut trace = twelve_under_way(&new_reno());
    (0..3).for_each(|_| drop(trace.ack(2)));
    // All twelve at once: nothing is under way.
    assert_eq!(trace.ack(14), [14, 15]);
    assert_eq!(trace.window(), (2.0, 6.0));
}

/// The timer keeps what it had when a fast retransmit goes: none of these RFCs has it start anew.
#[test]
fn a_fast_retransmit_leaves_the_timer_alone() {
    let mut trace = twelve_under_way(&new_reno());
    let due = trace.due();
    trace.pass(Span::from_ms(10));
    (0..3).for_each(|_| drop(trace.ack(2)));
    assert!(trace.recovering());
    assert_eq!(trace.due(), due);
}

/// Step 4: the resent packet is lost too. Nothing but the timer tells; it ends the recovery, and
/// no other begins before more than what had been sent is acknowledged (step 2).
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let mut trace = twelve_under_way(&new_reno());
    (0..3).for_each(|_| drop(trace.ack(2)));
    // 6 to 13: eight more, for the window of 17 packets up to 18.
    let new: Vec<u32> = (0..8).flat_map(|_| trace.ack(2)).collect();
    assert_eq!(new, [14, 15, 16, 17, 18]);
    assert_eq!(trace.window(), (17.0, 6.0));
    // 14 to 18 say the same, and still the hole is not sent again.
    let new: Vec<u32> = (0..5).flat_map(|_| trace.ack(2)).collect();
    assert_eq!(new, [19, 20, 21, 22, 23]);
    assert_eq!(trace.lapse(), [2]);
    assert!(!trace.recovering());
    // Half the flight of 22.
    assert_eq!(trace.window(), (1.0, 11.0));
    // 19 to 23 arrive: duplicates of what had been sent.
    for _ in 0..5 {
        assert_eq!(trace.ack(2), NOTHING);
    }
    // The resent 2 makes up for all up to 23. What comes next is new.
    assert_eq!(trace.ack(24), [24, 25]);
    // Three duplicates do not cover more than what had been sent; nor does a fourth.
    for _ in 0..4 {
        assert_eq!(trace.ack(24), NOTHING);
    }
    assert_eq!(trace.ack(25), [26, 27]);
    // These do. Of a flight of three the threshold is two, and with the three that left there is
    // room for five.
    assert_eq!(trace.ack(25), NOTHING);
    assert_eq!(trace.ack(25), NOTHING);
    assert_eq!(trace.ack(25), [25, 28, 29]);
    assert_eq!(trace.window(), (5.0, 2.0));
    assert!(trace.recovering());
}

/// Section 4, the case the rule is made for: after a time-out without need, packets that had
/// arrived go again, and their duplicates are no loss.
#[test]
fn needless_retransmissions_are_no_loss() {
    let mut trace = twelve_under_way(&new_reno());
    assert_eq!(trace.lapse(), [2]);
    // The ACKs were only late: 2 to 5, then the rest.
    assert_eq!(trace.ack(3), [3, 4]);
    assert_eq!(trace.ack(6), [6, 7, 8]);
    assert_eq!(trace.window(), (3.0, 6.0));
    assert_eq!(trace.ack(14), [14, 15, 16, 17]);
    // 2, 3, 4 and 6 to 8 arrive for the second time.
    for _ in 0..6 {
        assert_eq!(trace.ack(14), NOTHING);
    }
    assert!(!trace.recovering());
}

/// An ACK that was overtaken is no duplicate (RFC 5681, 2).
#[test]
fn an_old_ack_is_no_duplicate() {
    let mut trace = twelve_under_way(&new_reno());
    for _ in 0..5 {
        assert_eq!(trace.ack(1), NOTHING);
    }
    assert_eq!([0, 0].map(|_| trace.ack(2).len()), [0, 0]);
    assert_eq!(trace.ack(2), [2]);
}

/// A window that duplicates inflate does not exceed its cap.
#[test]
fn a_cap_holds_in_a_recovery() {
    let cap = NonZeroU32::new(12);
    let mut trace = twelve_under_way(&NewReno {
        window: WindowLimits { window_cap: cap, ..new_reno().window },
        ..new_reno()
    });
    (0..3).for_each(|_| drop(trace.ack(2)));
    let new: Vec<u32> = (0..9).flat_map(|_| trace.ack(2)).collect();
    assert_eq!(new, NOTHING);
    assert_eq!(trace.ack(5), [5, 14, 15, 16]);
}

/// RFC 3042: one new packet for each of the first two duplicates, whatever the window; they do
/// not count into the flight (RFC 5681, 3.2, step 2).
#[test]
fn limited_transmit_sends_two_new_packets() {
    for sack in [false, true] {
        let tcp = NewReno {
            options: TcpOptions { sack, limited_transmit: true, ..bare().options },
            ..bare()
        };
        let mut trace = twelve_under_way(&tcp);
        let mut duplicate = |cause| match sack {
            true => trace.sack(2, cause),
            false => trace.ack(2),
        };
        assert_eq!(duplicate(3), [14]);
        assert_eq!(duplicate(4), [15]);
        assert_eq!(duplicate(5), [2]);
        assert_eq!(trace.window(), (if sack { 6.0 } else { 9.0 }, 6.0), "SACK {sack}");
    }
}

/// The threshold is a parameter, and its default the RFC's.
#[test]
fn dupthresh_says_how_many_duplicates_are_a_loss() {
    assert_eq!(FastRetransmit::default().dupthresh.get(), 3);
    let dupthresh = NonZeroU32::new(5).expect("5");
    let mut trace = twelve_under_way(&NewReno {
        options: TcpOptions { dupthresh, ..new_reno().options },
        ..new_reno()
    });
    for _ in 0..4 {
        assert_eq!(trace.ack(2), NOTHING);
    }
    assert_eq!(trace.ack(2), [2]);
    assert_eq!(trace.window(), (11.0, 6.0));
}

/// RFC 3465: an ACK of four counts as L in slow start, as one while a time-out is mended, and as
/// four parts of a window after that.
#[test]
fn growth_counts_what_is_acknowledged() {
    let limit = |limit| NewReno {
        options: TcpOptions { abc_limit: NonZeroU32::new(limit), ..new_reno().options },
        ..new_reno()
    };
    for (tcp, window) in [(new_reno(), 11.0), (limit(2), 12.0), (limit(8), 14.0)] {
        let mut trace = Trace::begin(&tcp, 1000);
        trace.ack(4);
        assert_eq!(trace.window().0, window);
    }
    let mut trace = twelve_under_way(&limit(2));
    assert_eq!(trace.lapse(), [2]);
    trace.ack(6);
    assert_eq!(trace.window(), (2.0, 6.0));
    trace.ack(14);
    // All is mended now.
    trace.ack(16);
    assert_eq!(trace.window(), (5.0, 6.0));
    trace.ack(18);
    assert_eq!(trace.window(), (7.0, 6.0));
    trace.ack(22);
    assert_eq!(trace.window(), (7.0 + 4.0 / 7.0, 6.0));
}
