//! Quantities at the edges of their ranges: a study is refused, or its rows are sound. Arithmetic is
//! checked in tests, so that a sum which leaves its range ends one.

use crate::read;
use proptest::prelude::*;
use proptest::sample::select;
use sojourn_core::resource::no_tables;
use sojourn_properties::cases;
use sojourn_study::{Column, Execution, Progress, Report};
use std::fs;
use std::path::Path;

const TIMES: [&str; 9] = ["0s", "1ps", "1us", "1s", "60s", "1h", "900h", "2400h", "5124h"];
const SIZES: [&str; 8] =
    ["0B", "1B", "1461B", "1GB", "400GB", "1TB", "7TB", "18446744073709551615B"];
const RATES: [&str; 7] =
    ["1bps", "201bps", "1Kbps", "1Mbps", "10Gbps", "20Tbps", "18446744073709551615bps"];
/// When a delivery is first tried again, how seldom at last, and when it is given up: some thousand
/// times at most.
const RETRIES: [[&str; 3]; 6] = [
    ["1s", "1s", "1s"],
    ["1s", "60s", "1h"],
    ["60s", "1h", "2160h"],
    ["1h", "900h", "2160h"],
    ["1h", "2400h", "900h"],
    ["900h", "900h", "1h"],
];
/// What a mail server or its machine takes, and how long one is down or a study goes on.
const MOMENTS: [&str; 5] = ["0s", "1ps", "1s", "1h", "24h"];
const SPELLS: [&str; 4] = ["1s", "1h", "900h", "1080h"];
const FREQUENCIES: [&str; 7] = ["0.0001/h", "1.9/h", "2/h", "1/s", "1/us", "1/ps", "0.3/s"];

/// One of the edges, or more often what most studies have.
fn near(
    usual: &'static str,
    edges: &'static [&'static str],
) -> impl Strategy<Value = &'static str> {
    prop_oneof![3 => Just(usual), 2 => select(edges)]
}

fn time() -> impl Strategy<Value = &'static str> {
    near("20ms", &TIMES)
}

fn moment() -> impl Strategy<Value = &'static str> {
    near("20ms", &MOMENTS)
}

fn spell() -> impl Strategy<Value = &'static str> {
    near("1h", &SPELLS)
}

fn size() -> impl Strategy<Value = &'static str> {
    near("30KB", &SIZES)
}

fn rate() -> impl Strategy<Value = &'static str> {
    near("10Gbps", &RATES)
}

fn frequency() -> impl Strategy<Value = &'static str> {
    near("2/s", &FREQUENCIES)
}

/// Runs all cases of a study, if it is one: what came of each.
fn run(text: &str, folder: &str) -> Vec<Report> {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder).join("study.toml");
    let Ok(study) = read::study(text, source.to_str().unwrap(), &[]) else { return Vec::new() };
    let run = |case: &sojourn_study::Case| {
        let ran = case.run(0, &no_tables, Execution::new(&Progress::default())).ok()?;
        Some(ran.expect("nothing cancels it"))
    };
    study.cases().iter().filter_map(run).collect()
}

/// No time is before the beginning, and no job is done before it is there.
fn sound(report: &Report) -> Result<(), TestCaseError> {
    let column = |wanted: &str| {
        let found = report.rows.columns.iter().find(|(name, _)| *name == wanted);
        match found.map(|(_, column)| column) {
            Some(Column::Ps(values) | Column::Int(values)) => values.clone(),
            _ => panic!("no column {wanted}"),
        }
    };
    let sojourns = column("sojourn_ps");
    for ((arrived, finished), sojourn) in
        column("arrived_ps").into_iter().zip(column("finished_ps")).zip(sojourns)
    {
        prop_assert!(arrived >= 0);
        prop_assert!(finished == -1 || finished >= arrived, "{arrived} to {finished}");
        prop_assert!(sojourn == -1 || sojourn == finished - arrived);
    }
    for name in ["size_bytes", "ideal_ps"] {
        prop_assert!(column(name).into_iter().all(|value| value >= -1), "{name}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn of_a_fabric(
        (rate, uplink) in (rate(), rate()),
        (delay, host_delay, spread) in (time(), time(), time()),
        (size, payload) in (size(), select(&["1B", "100B", "1460B", "8960B"][..])),
        (every, think) in (time(), time()),
        kind in 0..4,
        scheme in select(&["DCTCP", "Ideal", "NDP", "MinTCP+pFabric", "TCP+DropTail"][..]),
    ) {
        let workload = match kind {
            0 => format!(r#"{{ kind = "permutation", size = "{size}" }}"#),
            1 => format!(r#"{{ kind = "incast", fan_in = 2, rounds = 1, every = "{every}" }}"#),
            2 => r#"{ kind = "poisson", flows = 1, load = 1e-7 }"#.to_owned(),
            _ => format!(
                r#"{{ kind = "query", queries = 1, fan_in = 2, rate = "1/h", size = "{size}",
                      size_of = "response", think = "{think}", think_spread = "{every}" }}"#
            ).replace('\n', " "),
        };
        let study = format!(
            "drain = \"1us\"\npackets.payload = \"{payload}\"\nscheme = \"{scheme}\"\n\
             workload = {workload}\n\
             topology = {{ kind = \"leaf-spine\", racks = 2, hosts = 2, spines = 2, \
             rate = \"{rate}\", uplink_rate = \"{uplink}\", delay = \"{delay}\", \
             host_delay = \"{host_delay}\", delay_spread = \"{spread}\" }}\n"
        );
        for report in run(&study, "") {
            sound(&report)?;
        }
    }

    #[test]
    fn of_an_array(
        (rate, other) in (frequency(), frequency()),
        (quiet, burst) in (time(), time()),
        (mean, more) in (time(), time()),
        (block, blocks) in (size(), select(&[1, 4, 65_536][..])),
        (overhead, parity) in (time(), time()),
        requests in select(&[1, 70, 5_000, 4_000_000_000_u32][..]),
        (kind, layout) in (0..3, select(&["raid0", "raid5"][..])),
        bursts in any::<bool>(),
    ) {
        let folder = "edges-array";
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("times.csv"), "op,service\nread,1h\nwrite,1ps\n").unwrap();
        let disk = match kind {
            0 => r#"{ kind = "ST3500630NS" }"#.to_owned(),
            1 => format!(r#"{{ kind = "exponential", mean = "{mean}" }}"#),
            _ => format!(r#"{{ kind = "empirical", file = "times.csv", more = "{more}" }}"#),
        };
        let arrivals = match bursts {
            true => format!(
                r#"{{ kind = "mmpp", quiet_rate = "{rate}", burst_rate = "{other}", quiet_time = "{quiet}", burst_time = "{burst}" }}"#
            ),
            false => format!(r#"{{ kind = "poisson", rate = "{rate}" }}"#),
        };
        let study = format!(
            "model = \"array\"\ndisk = {disk}\nlayout = \"{layout}\"\nblock = \"{block}\"\n\
             controller = {{ overhead = \"{overhead}\", parity = \"{parity}\" }}\n\
             workload = {{ kind = \"synthetic\", warmup = 0, requests = {requests}, \
             blocks = {blocks}, arrivals = {arrivals} }}\n"
        );
        for report in run(&study, folder) {
            sound(&report)?;
        }
    }

    #[test]
    fn of_a_list(
        (round_trip, reply, names) in (moment(), moment(), moment()),
        (greylisting, outage) in (moment(), spell()),
        (every, drain) in (moment(), spell()),
        (write, work) in (moment(), moment()),
        [first, most, lifetime] in select(&RETRIES[..]),
        (size, line) in (size(), rate()),
        messages in select(&[1, 2, 3, 4_000_000_000_u32][..]),
    ) {
        let folder = "edges-mail";
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        fs::create_dir_all(&path).unwrap();
        let listed = format!(
            "\"domain\",\"subscribers\",\"round_trip\",\"reply\",\"spread\",\"names\",\"greylisting\",\
             \"down\",\"outage\"\n\
             a.example,2,{round_trip},{reply},3.5,{names},{greylisting},0.1,{outage}\n\
             b.example,1,{round_trip},{reply},10,{names},,0,1s\n"
        );
        fs::write(path.join("internet.csv"), listed).unwrap();
        let study = format!(
            "model = \"mail\"\ninternet = {{ kind = \"listed\", file = \"internet.csv\" }}\n\
             list = {{ messages = {messages}, drain = \"{drain}\", size = \"{size}\", \
             arrivals = {{ kind = \"regular\", every = \"{every}\" }} }}\n\
             machine = {{ write = \"{write}\", work = \"{work}\", line = \"{line}\" }}\n\
             policy = {{ lifetime = \"{lifetime}\", \
             retry = {{ kind = \"backoff\", first = \"{first}\", most = \"{most}\" }} }}\n"
        );
        for report in run(&study, folder) {
            sound(&report)?;
        }
    }
}
