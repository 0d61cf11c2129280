//! The shipped tables have the means, quantiles and shares of bytes that are known of them.

use sojourn_queueing::{Distribution, Reading, SizeTable, WORKLOADS, Workload};

fn curve(name: &str, reading: Reading) -> SizeTable {
    Workload::find(name).expect(name).sizes(Some(reading))
}

/// `value` printed with as many decimals as `known` has.
fn printed(value: f64, known: &str) -> String {
    let decimals = known
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    format!("{value:.decimals$}")
}

#[test]
fn means_are_the_known_ones_under_both_readings() {
    // name, thousands (units per printed unit), mean linear, mean step
    let known = [
        ("websearch", 1.0, "1140.98", "1622.9"),
        ("websearch-bytes", 1e6, "1.711", "2.435"),
        ("websearch-abm", 1e6, "1.711", "2.434"),
        ("datamining", 1.0, "5116.6", "9467"),
        ("datamining-bytes", 1e6, "12.66", "23.2"),
        ("datamining-abm", 1e6, "5.037", "7.862"),
        ("imc10", 1.0, "133.8", "184.5"),
        ("fb-etc", 1.0, "342", "457"),
        ("hadoop-abm", 1e6, "3.424", "4.866"),
        ("fb-hadoop", 1e3, "120.4", "183.9"),
        ("alibaba-storage", 1e3, "40.9", "67.1"),
        ("google-rpc", 1.0, "2892", "2929"),
        ("homa-w1", 1.0, "184.6", "187.5"),
        ("homa-w2", 1.0, "423", "440.8"),
        ("homa-w3", 1.0, "2890", "2927.4"),
        ("homa-w4", 1e3, "121.8", "127.8"),
        ("homa-w5", 1.0, "1719.7", "1744.7"),
        ("fb-webserver", 1e3, "62.2", "62.9"),
        ("fb-cachefollower", 1e3, "686.9", "693.0"),
    ];
    assert_eq!(known.len(), WORKLOADS.len());
    for (name, scale, linear, step) in known {
        let mean = |reading| curve(name, reading).curve().mean() / scale;
        assert_eq!(
            printed(mean(Reading::Linear), linear),
            linear,
            "{name} linear"
        );
        assert_eq!(printed(mean(Reading::Step), step), step, "{name} step");
    }
}

#[test]
fn quantiles_are_the_known_ones() {
    let probabilities = [0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.999, 1.0];
    let known = [
        ("homa-w1", [2, 3, 27, 203, 503, 804, 1876, 4924, 100_000]),
        (
            "homa-w2",
            [3, 43, 269, 394, 512, 931, 3151, 21_845, 3_529_904],
        ),
        (
            "homa-w3",
            [36, 85, 268, 469, 1755, 5521, 31_013, 356_516, 15_158_197],
        ),
        (
            "homa-w4",
            [
                315, 463, 662, 42_493, 120_373, 273_075, 3_430_822, 10_000_000, 10_000_000,
            ],
        ),
        (
            "homa-w5",
            [4, 16, 49, 1000, 3333, 13_334, 18_667, 20_000, 20_000],
        ),
        (
            "fb-webserver",
            [
                120, 765, 3464, 31_784, 271_823, 347_950, 565_213, 951_034, 1_000_000,
            ],
        ),
        (
            "fb-cachefollower",
            [
                293, 455, 28_270, 1_647_457, 2_461_220, 2_714_115, 3_105_433, 3_837_698, 3_837_698,
            ],
        ),
    ];
    for (name, sizes) in known {
        let table = curve(name, Reading::Step);
        for (p, size) in probabilities.into_iter().zip(sizes) {
            assert_eq!(
                table.quantile(p),
                size * table.unit().bytes(),
                "{name} at {p}"
            );
        }
    }
}
