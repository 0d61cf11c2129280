//! The sweep: which cases there are, in which order, what they and their columns are called, and
//! what overrides do to it.

use crate::read;
use sojourn_study::{Case, Study};

const BASE: &str = r#"
topology = { kind = "single-switch", hosts = 4 }
workload = { kind = "poisson", flows = 10, load = 0.5 }
scheme = "DCTCP"
"#;

fn parse(sweep: &str, overrides: &[(&str, &str)]) -> Study {
    let owned = |&(path, value): &(&str, &str)| (path.to_owned(), value.to_owned());
    let overrides: Vec<_> = overrides.iter().map(owned).collect();
    read::study(&format!("{BASE}{sweep}"), "study.toml", &overrides).unwrap()
}

/// The axes of each case as one word each: `scheme=DCTCP load=0.5`.
fn axes(study: &Study) -> Vec<String> {
    let words = |case: &Case| {
        let words = case.axes().iter().map(|(name, value)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join(" ").replace('"', "")
    };
    study.cases().iter().map(words).collect()
}

fn parameter(case: &Case, path: &str) -> String {
    let parameters = case.parameters();
    let (_, value) = parameters.iter().find(|(name, _)| name == path).expect(path);
    value.to_string().replace('"', "")
}

#[test]
fn the_last_axis_is_the_fastest() {
    let sweep = "sweep.scheme = ['DCTCP', 'TCP+DropTail']\nsweep.workload.load = [0.2, 0.5, 0.8]";
    let study = parse(sweep, &[]);
    assert_eq!(
        axes(&study),
        [
            "scheme=DCTCP load=0.2",
            "scheme=DCTCP load=0.5",
            "scheme=DCTCP load=0.8",
            "scheme=TCP+DropTail load=0.2",
            "scheme=TCP+DropTail load=0.5",
            "scheme=TCP+DropTail load=0.8",
        ]
    );
    assert!(study.cases().iter().map(|case| case.index).eq(0..6));
    assert_eq!(parameter(&study.cases()[5], "workload.load"), "0.8");
    assert_eq!(parameter(&study.cases()[5], "scheme.transport.kind"), "new-reno");
}

#[test]
fn without_a_sweep_there_is_one_case() {
    for sweep in ["", "[sweep]", "[sweep.workload]"] {
        assert_eq!(axes(&parse(sweep, &[])), [""]);
    }
}

#[test]
fn a_swept_value_takes_the_place_of_a_set_one() {
    let study = parse("sweep.workload.load = [0.2]", &[]);
    assert_eq!(parameter(&study.cases()[0], "workload.load"), "0.2");
}

#[test]
fn jobs_are_counted_case_by_case() {
    let study = parse("sweep.workload.flows = [10, 30]", &[]);
    assert!(study.cases().iter().map(|case| case.jobs).eq([10, 30]));
}

/// Columns have short names, as long as these are different.
#[test]
fn columns_are_named_by_the_last_key_that_says_something() {
    for (sweep, name) in [
        ("sweep.drain = ['1s']", "drain"),
        ("sweep.workload.load = [0.5]", "load"),
        ("sweep.scheme.name = ['DCTCP']", "scheme"),
        ("sweep.scheme.queue = ['ecn']", "queue"),
        ("sweep.scheme.queue.kind = ['ecn']", "queue"),
        ("sweep.scheme.transport.window_cap = [20]", "window_cap"),
    ] {
        assert_eq!(parse(sweep, &[]).cases()[0].axes()[0].0, name);
    }
    let sweep = "sweep.scheme.queue.buffer = ['30KB']\nsweep.scheme.queue.kind = ['ecn']
                 sweep.scheme.transport.kind = ['dctcp']";
    assert_eq!(axes(&parse(sweep, &[])), ["buffer=30KB queue=ecn transport=dctcp"]);
}

#[test]
fn columns_of_one_name_are_called_by_their_paths() {
    let sweep = "[sweep]\nscheme = ['DCTCP']\n'scheme.name' = ['DCTCP', 'TCP+DropTail']";
    assert_eq!(
        axes(&parse(sweep, &[])),
        ["scheme=DCTCP scheme.name=DCTCP", "scheme=DCTCP scheme.name=TCP+DropTail"]
    );
}

/// What is inside of a swept part can be swept too: its path stands in quotes then.
#[test]
fn a_part_and_something_in_it_are_swept_together() {
    let sweep = "[sweep]\nscheme = ['DCTCP', 'TCP+DropTail']
                 'scheme.queue.buffer' = ['60KB', '90KB']";
    let study = parse(sweep, &[]);
    assert_eq!(
        axes(&study),
        [
            "scheme=DCTCP buffer=60KB",
            "scheme=DCTCP buffer=90KB",
            "scheme=TCP+DropTail buffer=60KB",
            "scheme=TCP+DropTail buffer=90KB",
        ]
    );
    assert_eq!(parameter(&study.cases()[3], "scheme.queue.kind"), "drop-tail");
    assert_eq!(parameter(&study.cases()[3], "scheme.queue.buffer"), "90KB");
}

/// A table is called by its name or kind, and where that is not enough by what is different.
#[test]
fn tables_are_called_by_what_tells_them_apart() {
    let sweep = r#"
[[sweep.scheme]]
name = "DCTCP"
[[sweep.scheme]]
name = "DCTCP"
queue.buffer = "450KB"
transport.gain = 0.125
[[sweep.scheme]]
name = "TCP+DropTail"
[[sweep.topology]]
kind = "fat-tree"
k = 4
[[sweep.topology]]
kind = "fat-tree"
k = 6
[[sweep.packets]]
payload = "1460B"
[[sweep.packets]]
payload = "8960B"
"#;
    let study = parse(sweep, &[]);
    let cases = axes(&study);
    assert_eq!(cases.len(), 12);
    let first = "scheme=DCTCP transport.gain=0.0625 queue.buffer=225KB";
    assert_eq!(cases[0], format!("{first} topology=fat-tree k=4 packets=payload=1.46KB"));
    let second = "scheme=DCTCP transport.gain=0.125 queue.buffer=450KB";
    assert_eq!(cases[7], format!("{second} topology=fat-tree k=6 packets=payload=8.96KB"));
    assert_eq!(cases[8], "scheme=TCP+DropTail topology=fat-tree k=4 packets=payload=1.46KB");
}

/// However a value was written, its column shows it in one way.
#[test]
fn values_are_shown_in_one_way() {
    let sweep = "sweep.scheme.queue.buffer = ['22500B', '0.03MB']\nsweep.drain = ['1000ms']";
    assert_eq!(axes(&parse(sweep, &[])), ["buffer=22.5KB drain=1s", "buffer=30KB drain=1s"]);
}

#[test]
fn what_is_set_from_outside_is_not_swept() {
    let sweep = "sweep.scheme = ['DCTCP', 'TCP+DropTail']\nsweep.workload.load = [0.2, 0.8]";
    for (overrides, cases) in [
        (&[("workload.load", "0.7")][..], &["scheme=DCTCP", "scheme=TCP+DropTail"][..]),
        (&[("scheme", "MinTCP+pFabric")], &["load=0.2", "load=0.8"]),
        (&[("workload", "{ kind = 'permutation' }"), ("scheme", "DCTCP")], &[""]),
        (
            &[("sweep.workload.load", "[0.3]")],
            &["scheme=DCTCP load=0.3", "scheme=TCP+DropTail load=0.3"],
        ),
        (&[("sweep", "{}")], &[""]),
        (&[("sweep", "{ scheme = ['DCTCP'], workload.load = [0.3] }")], &["scheme=DCTCP load=0.3"]),
    ] {
        let study = parse(sweep, overrides);
        let mut found = axes(&study);
        found.sort();
        assert_eq!(found, cases, "{overrides:?}");
    }
    let study = parse(sweep, &[("workload.load", "0.7")]);
    assert!(study.cases().iter().all(|case| parameter(case, "workload.load") == "0.7"));
}

#[test]
fn what_is_set_inside_of_something_swept_is_set_in_all_of_it() {
    let sweep = "sweep.scheme = ['DCTCP', { name = 'TCP+DropTail', balance = 'ecmp' }]";
    let study = parse(sweep, &[("scheme.queue.buffer", "60KB")]);
    assert_eq!(axes(&study), ["scheme=DCTCP", "scheme=TCP+DropTail"]);
    let buffers = study.cases().iter().map(|case| parameter(case, "scheme.queue.buffer"));
    assert!(buffers.eq(["60KB", "60KB"]));
    let balances = study.cases().iter().map(|case| parameter(case, "scheme.balance"));
    assert!(balances.eq(["spray", "ecmp"]));
}

/// A value from outside is TOML where it can be, a word otherwise.
#[test]
fn overrides_are_toml_or_a_word() {
    for (value, title) in [
        ("web search", "web search"),
        ("'web search'", "web search"),
        ("2026-01-01", "2026-01-01"),
        ("1 + 1", "1 + 1"),
        ("", ""),
    ] {
        assert_eq!(parse("", &[("title", value)]).title, title);
    }
    let study = parse("", &[("run.seed", "7"), ("run", "{ replications = 3 }"), ("run.seed", "9")]);
    assert_eq!((study.run.seed, study.run.replications.get()), (9, 3));
}
