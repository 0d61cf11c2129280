//! Quantities as people write them, exactly, and what is refused.

use proptest::prelude::*;
use sojourn_core::{Bytes, Frequency, Rate, Span, Time};
use sojourn_properties::cases;
use std::fmt::Debug;
use std::str::FromStr;

fn reads<T: FromStr<Err: Debug> + PartialEq + Debug>(text: &str, value: T) {
    assert_eq!(text.parse::<T>().expect(text), value, "{text}");
}

#[test]
fn spans_are_read_exactly() {
    for (text, ps) in [
        ("0s", 0),
        ("1ps", 1),
        ("383ns", 383_000),
        ("0.383us", 383_000),
        ("12us", 12_000_000),
        ("12 us", 12_000_000),
        (" 12us ", 12_000_000),
        ("12\u{b5}s", 12_000_000),
        ("12\u{3bc}s", 12_000_000),
        ("1usec", 1_000_000),
        ("1nsec", 1_000),
        ("1msec", 1_000_000_000),
        ("1sec", 1_000_000_000_000),
        ("1.50ms", 1_500_000_000),
        ("0.000000000001s", 1),
        ("1s", 1_000_000_000_000),
        ("1.5min", 90_000_000_000_000),
        ("2h", 7_200_000_000_000_000),
        ("18446744073709551615ps", u64::MAX),
        ("18446744.073709551615s", u64::MAX),
    ] {
        reads(text, Span::from_ps(ps));
    }
}

#[test]
fn bytes_are_read_exactly() {
    for (text, bytes) in [
        ("1500B", 1500),
        ("22.5KB", 22_500),
        ("22.5kB", 22_500),
        ("1KiB", 1024),
        ("0.5KiB", 512),
        ("10MB", 10_000_000),
        ("1MiB", 1 << 20),
        ("3GB", 3_000_000_000),
        ("1GiB", 1 << 30),
        ("1TB", 1_000_000_000_000),
        ("1TiB", 1 << 40),
        ("1500 bytes", 1500),
    ] {
        reads(text, Bytes(bytes));
    }
}

#[test]
fn rates_and_frequencies_are_read_exactly() {
    for (text, bits) in [
        ("1bps", 1),
        ("100Kbps", 100_000),
        ("100kbps", 100_000),
        ("2.5Gbps", 2_500_000_000),
        ("10Gbps", 10_000_000_000),
        ("1.6Tbps", 1_600_000_000_000),
        ("100gbps", 100_000_000_000),
        ("100Gb/s", 100_000_000_000),
        ("100Gbit/s", 100_000_000_000),
        ("1 b/s", 1),
        ("12.5GB/s", 100_000_000_000),
        ("1B/s", 8),
        ("1KiB/s", 8192),
    ] {
        reads(text, Rate::new(bits).expect(text));
    }
    for (text, per_second) in
        [("0.01/ms", 10.0), ("3/s", 3.0), ("2.5 / us", 2_500_000.0), ("90/min", 1.5)]
    {
        reads(text, Frequency::new(per_second).expect(text));
    }
}

fn refuses<T: FromStr + Debug>(texts: &[&str]) {
    for text in texts {
        if let Ok(value) = text.parse::<T>() {
            panic!("{text:?} was read as {value:?}");
        }
    }
}

#[test]
fn what_is_not_a_quantity_is_refused() {
    // Bare numbers, signs, exponents, halves of decimals, unknown units, other digits.
    let shapes = |unit: &str| {
        ["", "1", "1.5", " ", "U", ".U", "-1U", "+1U", "1e3U", ".5U", "5.U", "1..5U", "1.2.3U"]
            .into_iter()
            .chain(["1,5U", "1_000U", "0x1U", "infU", "NaNU", "1UU", "1U 2U", "1xU", "٣U", "1Ux"])
            .map(|text| text.replace('U', unit))
            .collect::<Vec<_>>()
    };
    fn all<T: FromStr + Debug>(texts: &[String]) {
        refuses::<T>(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
    all::<Span>(&shapes("us"));
    all::<Bytes>(&shapes("KB"));
    all::<Rate>(&shapes("Gbps"));
    all::<Frequency>(&shapes("/s"));
    // The unit of something else, or in the wrong case.
    refuses::<Span>(&["1B", "1Gbps", "1/s", "1US", "1Ms", "1d"]);
    refuses::<Bytes>(&["1us", "1Kb", "1kb", "1KIB", "1Gbps", "1K"]);
    refuses::<Rate>(&["1GB", "1Gb", "1GBps", "1gb/s", "1us", "10G", "10GbE", "1GB/S"]);
    refuses::<Frequency>(&["1Hz", "1us", "1/", "/ms", "1/fortnight", "1/2s", "1//s"]);
}

#[test]
fn what_the_base_unit_cannot_carry_is_refused() {
    refuses::<Span>(&["0.5ps", "0.0001ns", "0.0000000000001s", "1.0000000000005s"]);
    refuses::<Bytes>(&["0.5B", "0.0001KB", "0.3KiB", "1.00000000000000000000000000001KB"]);
    refuses::<Rate>(&["0.5bps", "0.0000000001Gbps"]);
}

#[test]
fn what_is_too_much_or_nothing_is_refused() {
    refuses::<Span>(&["18446744073709551616ps", "18446744.073709551616s", "5125h"]);
    refuses::<Bytes>(&["18446744073709551616B", "16777216TiB"]);
    let long = format!("{}us", "9".repeat(400));
    refuses::<Span>(&[&long, &format!("0.{}us", "1".repeat(400))]);
    refuses::<Rate>(&["0bps", "0Gbps", "0.0Gbps", "18446745Tbps"]);
    refuses::<Frequency>(&["0/s", "0.0/ms", &format!("{}/s", "9".repeat(400))]);
}

#[test]
fn quantities_are_shown_short_and_exact() {
    let span = |ps| Span::from_ps(ps).to_string();
    assert_eq!(span(0), "0ps");
    assert_eq!(span(383_000), "383ns");
    assert_eq!(span(12_200_000), "12.2us");
    assert_eq!(span(1_500_000_000), "1.5ms");
    assert_eq!(span(1_000_000_000_001), "1.000000000001s");
    assert_eq!(Time::from_ps(40_000_000).to_string(), "40us");
    assert_eq!(Bytes(22_500).to_string(), "22.5KB");
    assert_eq!(Bytes(1_024).to_string(), "1.024KB");
    assert_eq!(Rate::gbps(10).to_string(), "10Gbps");
    assert_eq!(Frequency::new(0.25).expect("positive").to_string(), "0.25/s");
}

/// Whole numbers of every magnitude, not only the large ones that `any` favours.
fn magnitudes() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift)
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn what_is_shown_reads_back(value in magnitudes(), per_second in 1e-12f64..1e12) {
        prop_assert_eq!(Span::from_ps(value).to_string().parse(), Ok(Span::from_ps(value)));
        prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
        if let Some(rate) = Rate::new(value) {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
        let frequency = Frequency::new(per_second).expect("positive");
        prop_assert_eq!(frequency.to_string().parse(), Ok(frequency));
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "[0-9.]{0,8}[ a-zA-Zµ/]{0,6}|\\PC{0,12}") {
        let _ = (text.parse::<Span>(), text.parse::<Bytes>());
        let _ = (text.parse::<Rate>(), text.parse::<Frequency>());
    }

    /// The least whole number of picoseconds that carries all the bits.
    #[test]
    fn a_span_of_bytes_is_rounded_up(bytes in magnitudes(), bits_per_second in magnitudes()) {
        prop_assume!(bits_per_second > 0);
        let rate = Rate::new(bits_per_second).expect("positive");
        let span = rate.span(bytes);
        let carries = |ps: u64| u128::from(ps) * u128::from(bits_per_second);
        let needed = u128::from(bytes) * 8_000_000_000_000;
        if span == Span::MAX {
            prop_assert!(carries(u64::MAX - 1) < needed);
        } else {
            prop_assert!(carries(span.ps()) >= needed);
            prop_assert!(span.ps() == 0 || carries(span.ps() - 1) < needed);
            prop_assert!(rate.bytes_in(span) >= bytes);
        }
        if span.ps() > 0 {
            prop_assert!(rate.bytes_in(Span::from_ps(span.ps() - 1)) < bytes);
        }
    }
}

#[test]
fn spans_of_bytes_known_by_hand() {
    assert_eq!(Rate::gbps(10).span(1500), Span::from_ns(1200));
    assert_eq!(Rate::gbps(10).span(40), Span::from_ns(32));
    assert_eq!(Rate::gbps(3).span(1), Span::from_ps(2667));
    assert_eq!(Rate::gbps(10).span(0), Span::ZERO);
    assert_eq!(Rate::gbps(10).bytes_in(Span::from_us(18)), 22_500);
    assert_eq!(Rate::new(1).expect("positive").span(u64::MAX), Span::MAX);
    assert_eq!(Rate::new(u64::MAX).expect("positive").bytes_in(Span::MAX), u64::MAX);
}

#[test]
fn seconds_become_the_nearest_span() {
    assert_eq!(Span::from_seconds(1.5e-12), Span::from_ps(2));
    assert_eq!(Span::from_seconds(12e-6), Span::from_us(12));
    assert_eq!(Span::from_seconds(-1.0), Span::ZERO);
    assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
    assert_eq!(Span::from_seconds(f64::INFINITY), Span::MAX);
    assert_eq!(Time::from_ps(3).since(Time::from_ps(5)), Span::ZERO);
    assert_eq!(Time::from_ps(5).since(Time::from_ps(3)), Span::from_ps(2));
}
