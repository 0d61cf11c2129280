//! The shipped tables have the means, quantiles and shares of bytes that are known of them.

use sojourn_core::{Distribution, Reading, SizeTable, Streams, Unit, WORKLOADS, Workload};

fn sizes(name: &str, reading: Reading) -> SizeTable {
    Workload::find(name).expect(name).sizes(Some(reading))
}

/// `value` printed with as many decimals as `known` has.
fn printed(value: f64, known: &str) -> String {
    let decimals = known.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{value:.decimals$}")
}

#[test]
fn means_are_the_known_ones_under_both_readings() {
    // Name, units of the table in one of the printed means, mean linear, mean step.
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
        let mean = |reading| sizes(name, reading).curve().mean() / scale;
        assert_eq!(printed(mean(Reading::Linear), linear), linear, "{name} linear");
        assert_eq!(printed(mean(Reading::Step), step), step, "{name} step");
    }
}

#[test]
fn quantiles_are_the_known_ones() {
    let probabilities = [0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.999, 1.0];
    let known = [
        ("homa-w1", [2, 3, 27, 203, 503, 804, 1876, 4924, 100_000]),
        ("homa-w2", [3, 43, 269, 394, 512, 931, 3151, 21_845, 3_529_904]),
        ("homa-w3", [36, 85, 268, 469, 1755, 5521, 31_013, 356_516, 15_158_197]),
        ("homa-w4", [315, 463, 662, 42_493, 120_373, 273_075, 3_430_822, 10_000_000, 10_000_000]),
        ("homa-w5", [4, 16, 49, 1000, 3333, 13_334, 18_667, 20_000, 20_000]),
        ("fb-webserver", [120, 765, 3464, 31_784, 271_823, 347_950, 565_213, 951_034, 1_000_000]),
        (
            "fb-cachefollower",
            [293, 455, 28_270, 1_647_457, 2_461_220, 2_714_115, 3_105_433, 3_837_698, 3_837_698],
        ),
    ];
    for (name, known) in known {
        let table = sizes(name, Reading::Step);
        for (p, size) in probabilities.into_iter().zip(known) {
            assert_eq!(table.quantile(p), size * table.unit().bytes(), "{name} at {p}");
        }
    }
}

/// What the pFabric paper says of its two workloads, and how far each table bears it out.
#[test]
fn shares_of_flows_and_bytes_are_the_known_ones() {
    // Percent of flows no larger than so many bytes, and of bytes in those flows.
    let shares = |name: &str, bytes: f64| {
        let table = sizes(name, Reading::Linear);
        let units = bytes / table.unit().bytes() as f64;
        let curve = table.curve();
        [100.0 * curve.cdf(units), 100.0 * curve.share(units)]
    };
    let flows = |name, bytes, known| assert_eq!(printed(shares(name, bytes)[0], known), known);
    let bytes = |name, bytes, known| assert_eq!(printed(shares(name, bytes)[1], known), known);

    bytes("websearch", 10e6, "65.2");
    bytes("websearch-bytes", 10e6, "64.9");
    bytes("datamining", 10e6, "1.7");
    bytes("datamining-bytes", 10e6, "1.0");
    bytes("datamining-abm", 10e6, "3.7");

    // More than 1 MB: 29.7 % of flows with 94.8 % of bytes, and 30.0 % with 95.0 %.
    flows("websearch", 1e6, "70.3");
    bytes("websearch", 1e6, "5.2");
    flows("websearch-bytes", 1e6, "70.0");
    bytes("websearch-bytes", 1e6, "5.0");

    flows("datamining", 10_000.0, "79.6");
    flows("datamining", 10_220.0, "80.0");
    flows("datamining-bytes", 10_000.0, "80.0");
    flows("datamining-abm", 10_000.0, "80.0");

    // More than 100 MB: 71.6 %, 86.9 % and 79.4 % of bytes.
    bytes("datamining", 100e6, "28.4");
    bytes("datamining-bytes", 100e6, "13.1");
    bytes("datamining-abm", 100e6, "20.6");

    // More than 35 MB: 3.65 % of flows with 95.1 % of bytes.
    flows("datamining", 35e6, "96.35");
    bytes("datamining", 35e6, "4.9");
}

#[test]
fn the_mean_is_that_of_the_sizes_as_drawn() {
    const STEPS: u32 = 2_000_000;
    for workload in WORKLOADS {
        let table = workload.sizes(None);
        let middle = |step| (f64::from(step) + 0.5) / f64::from(STEPS);
        let sum: f64 = (0..STEPS).map(|step| table.quantile(middle(step)) as f64).sum();
        let ratio = sum / f64::from(STEPS) / table.mean();
        assert!((ratio - 1.0).abs() < 1e-3, "{}: {ratio}", workload.name);
    }
    let rpc = sizes("google-rpc", Reading::Linear);
    let packets = |step| rpc.quantile((f64::from(step) + 0.5) / f64::from(STEPS)).div_ceil(1460);
    let mean = (0..STEPS).map(packets).sum::<u64>() as f64 / f64::from(STEPS);
    assert!((mean / rpc.mean_packets(1460) - 1.0).abs() < 1e-3, "{mean} packets");
    let search = sizes("websearch", Reading::Linear);
    assert_eq!(search.mean_packets(1460), search.mean() / 1460.0);

    // Rounding up to whole packets adds less than half a packet here.
    assert_eq!(
        printed(sizes("websearch", Reading::Linear).mean() / 1460.0, "1141.405"),
        "1141.405"
    );
    assert_eq!(printed(sizes("datamining", Reading::Linear).mean() / 1460.0, "5116.85"), "5116.85");
}

#[test]
fn every_table_says_what_it_is() {
    for (index, workload) in WORKLOADS.iter().enumerate() {
        let name = workload.name;
        assert!(WORKLOADS[..index].iter().all(|other| other.name != name), "{name} twice");
        assert_eq!(Workload::find(name).expect(name).summary(), workload.summary());
        assert!(workload.summary().len() > 10, "{name}");
        let source = workload.source();
        assert!(source.starts_with("github ") && source.contains('@'), "{name}: {source}");
        let table = workload.sizes(None);
        // The point masses of Homa's tables are the only ones read as steps.
        let reading = if name.starts_with("homa-") { Reading::Step } else { Reading::Linear };
        assert_eq!(table.mean(), workload.sizes(Some(reading)).mean(), "{name}");
        let unit = match name {
            "websearch" | "datamining" | "imc10" => Unit::Packet(1460),
            "homa-w5" => Unit::Packet(1442),
            _ => Unit::Byte,
        };
        assert_eq!(table.unit(), unit, "{name}");
    }
    assert!(Workload::find("websearch2").is_none());
}

/// Rows that people have published depend on these sizes.
#[test]
fn draws_are_golden() {
    let draw = |name| {
        let table = Workload::find(name).expect(name).sizes(None);
        let mut stream = Streams::new(1, 0).stream("golden", 0);
        [table.draw(&mut stream), table.draw(&mut stream), table.draw(&mut stream)]
    };
    assert_eq!(draw("websearch"), [23360, 77380, 13140]);
    assert_eq!(draw("datamining-bytes"), [341, 1310, 206]);
    assert_eq!(draw("homa-w1"), [3, 40, 2]);
}
