//! The closed form of each algorithm against the oracle of ports.

use crate::common::{collective, kinds};
use crate::ports::{HandOver, time, time_with};
use proptest::prelude::*;
use sojourn_core::{Rate, Span};
use sojourn_training::collective::*;

/// A port that sends a byte in a nanosecond.
fn port(latency_ns: u64) -> Port {
    Port { rate: Rate::gbps(8), latency: Span::from_ns(latency_ns) }
}

#[test]
fn rings_are_exact_in_both_regimes_of_pieces() {
    for n in 2..=17_u64 {
        for (channels, pieces, rounds) in [(1, 1, 1), (1, 4, 1), (3, 2, 1), (1, 1, 3), (2, 3, 2)] {
            // Windows that fill the time of a message, and windows that do not.
            for latency in [10, 100, 700, 100_000] {
                let step = channels * pieces * rounds * 60;
                let settings = [("channels", channels), ("pieces", pieces), ("chunk", pieces * 60)];
                let shape = Shape { ranks: n as u32, bytes: n * step as u64 };
                for kind in ["ring-all-reduce", "ring-all-gather", "ring-reduce-scatter"] {
                    let ring = collective(kind, &settings.map(|(key, value)| (key, value)));
                    let found = time(&ring, shape, &port(latency));
                    let case = format!("{kind} {n} {settings:?} {rounds} {latency}");
                    assert_eq!(found, ring.time(shape, &port(latency)), "{case}");
                }
            }
        }
    }
}

#[test]
fn rings_by_hand() {
    let ring = collective("ring-all-reduce", &[("pieces", 1)]);
    let shape = Shape { ranks: 4, bytes: 4000 };
    // Six steps of 1000 B that take 1.5 us each.
    assert_eq!(ring.time(shape, &port(500)), Span::from_us(9));
    let ring = collective("ring-all-reduce", &[("pieces", 2)]);
    // Two pieces of 500 B in a step of 1 us: the port never idles.
    assert_eq!(ring.time(shape, &port(500)), Span::from_ns(11 * 500 + 1000));
    // A message takes 2.5 us: the second piece of the last step arrives 0.5 us after the first.
    assert_eq!(ring.time(shape, &port(2000)), Span::from_ns(6 * 2500 + 500));
}

#[test]
fn chains_trees_and_exchanges_are_exact() {
    for n in 2..=17_u64 {
        for latency in [10, 700, 100_000] {
            let exact = |kind, settings: &[(&str, i64)], bytes| {
                let one = collective(kind, settings);
                let shape = Shape { ranks: n as u32, bytes };
                assert_eq!(
                    time(&one, shape, &port(latency)),
                    one.time(shape, &port(latency)),
                    "{kind} {n} {latency}"
                );
            };
            exact("chain-broadcast", &[("chunk", 500), ("root", 1)], 6000);
            exact("chain-broadcast", &[("chunk", 500), ("channels", 3)], 6000);
            exact("all-to-all", &[], n * 600);
            exact("send-receive", &[], 600);
            if n.is_power_of_two() {
                exact("binomial-broadcast", &[("root", 1)], 6000);
                exact("halving-doubling-all-reduce", &[], n * 64);
            }
        }
    }
}

/// The estimate of a tree is near if each channel sends in turn. If all messages wait in one queue, those that go up
/// one tree delay those that go down the other.
#[test]
fn double_trees_are_near_their_estimate() {
    for n in 2..=32 {
        for latency in [100, 1_000, 20_000] {
            let tree = collective("double-tree-all-reduce", &[("chunk", 1000)]);
            let shape = Shape { ranks: n, bytes: 200_000 };
            let estimate = tree.time(shape, &port(latency)).seconds();
            let ratio =
                |hand_over| time_with(hand_over, &tree, shape, &port(latency)).seconds() / estimate;
            let (in_turn, at_once) = (ratio(HandOver::InTurn), ratio(HandOver::AtOnce));
            assert!((0.82..=1.08).contains(&in_turn), "{n} {latency}: {in_turn}");
            assert!((0.86..=1.26).contains(&at_once), "{n} {latency}: {at_once}");
        }
    }
}

/// A tree of small messages takes one message for each level, up and down.
#[test]
fn small_messages_take_a_latency_for_each_level() {
    for (n, levels) in [(2, 1), (4, 2), (8, 3), (14, 4), (16, 4), (17, 5)] {
        let tree = collective("double-tree-all-reduce", &[]);
        let found = time(&tree, Shape { ranks: n, bytes: 2 }, &port(1_000_000));
        let latencies = found.seconds() / 1e-3;
        assert!((latencies - 2.0 * f64::from(levels)).abs() < 0.001, "{n}: {latencies}");
    }
}

proptest! {
    #![proptest_config(sojourn_properties::cases(128))]

    /// Where blocks are not equal, the largest decides, up to a byte in each message.
    #[test]
    fn sizes_that_do_not_divide_are_near_the_closed_form(
        kind in prop::sample::select(kinds()),
        n in 2_u32..20,
        bytes in 1_000_u64..20_000,
        channels in 1_i64..4,
        pieces in 1_i64..4,
        latency in 0_u64..3_000,
    ) {
        prop_assume!(kind != "double-tree-all-reduce");
        prop_assume!(kind != "halving-doubling-all-reduce" || n.is_power_of_two() && channels == 1);
        prop_assume!(kind != "binomial-broadcast" || n.is_power_of_two());
        let one = collective(kind, &[("channels", channels), ("pieces", pieces)]);
        let shape = Shape { ranks: n, bytes };
        let found = time(&one, shape, &port(latency)).seconds();
        let expected = one.time(shape, &port(latency)).seconds();
        // A byte takes a nanosecond.
        let messages = 2 * u64::from(n) * channels as u64 * pieces as u64;
        prop_assert!((found - expected).abs() <= messages as f64 * 1e-9, "{found} {expected}");
    }

    /// No algorithm is faster than the busiest port, by the definition of the bus bandwidth.
    #[test]
    fn bus_bandwidth_is_at_most_the_rate(
        kind in prop::sample::select(kinds()),
        n in 2_u32..20,
        bytes in 10_000_u64..50_000,
        latency in 0_u64..3_000,
    ) {
        let one = collective(kind, &[("chunk", 1000)]);
        let span = time(&one, Shape { ranks: n, bytes }, &port(latency)).seconds();
        let bus = bytes as f64 / span * one.operation().bus_factor(n);
        prop_assert!(bus <= 1.001e9, "{bus}");
    }
}
