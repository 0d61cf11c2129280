//! Random input: whatever is read, the answer is a study or a line for each mistake; and what a study resolves to
//! is the same study.

use crate::read;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use sojourn_properties::cases;
use sojourn_study::Study;

const QUICK: &str = include_str!("../../../../papers/pfabric/websearch-quick.toml");

/// A study, or a refusal that people can read.
fn parse(text: &str, overrides: &[(String, String)]) -> Option<Study> {
    match read::study(text, "study.toml", overrides) {
        Ok(study) => Some(study),
        Err(error) => {
            let said = error.to_string();
            assert!((1..=10).contains(&said.split('\n').count()), "{said:?}");
            for line in said.split('\n') {
                assert!(!line.is_empty() && !line.contains(char::is_control), "{said:?}");
                assert!(line.starts_with("study.toml") || line.starts_with("--set "), "{said:?}");
            }
            None
        }
    }
}

/// What the resolved study has to share with the one that it came from.
fn resolves_to_itself(study: &Study) {
    let resolved = study.resolved();
    let again = read::study(&resolved, "elsewhere/study.toml", &[])
        .unwrap_or_else(|error| panic!("{error} in\n{resolved}"));
    let cases = |study: &Study| -> Vec<_> {
        study
            .cases()
            .iter()
            .map(|case| (case.axes().to_vec(), case.parameters(), case.jobs))
            .collect()
    };
    assert_eq!(cases(study), cases(&again), "{resolved}");
    assert_eq!((&study.title, &study.run), (&again.title, &again.run));
    assert_eq!(resolved, again.resolved());
}

/// Parts of studies that go with each other in any combination.
const TOPOLOGIES: [&str; 5] = [
    "topology = 'fat-tree'",
    "topology = { kind = 'fat-tree', k = 4, delay = '1000ns' }",
    "topology = { kind = 'leaf-spine', racks = 2, hosts = 4 }",
    "topology = { kind = 'single-switch', uplink = '40Gbps' }",
    "topology.kind = 'single-switch'",
];
const WORKLOADS: [&str; 4] = [
    "workload = { kind = 'poisson', load = 0.5 }",
    "workload = { kind = 'poisson', load = 0.5, sizes = 'datamining', deadline = '1ms' }",
    "workload = { kind = 'incast', fan_in = 3, deadline = { kind = 'exponential', mean = '9ms' } }",
    "workload = { kind = 'permutation', classes = [1, 4] }",
];
const SCHEMES: [&str; 5] = [
    "scheme = 'DCTCP'",
    "scheme = { name = 'MinTCP+pFabric', queue.buffer = '0.03MB', balance = 'ecmp' }",
    "scheme = { name = 'TCP+DropTail', queue.kind = 'ecn', transport.window_cap = 20 }",
    "scheme = { name = 'mine', transport = 'min-tcp', queue = { kind = 'drop-tail' } }",
    "scheme = { name = 'DCTCP', transport = { kind = 'new-reno', sack = false } }",
];
const OTHERS: [&str; 6] = [
    "title = \"quotes ' and \\\" and lines \\n\"",
    "run.seed = 7",
    "run = { replications = 3 }",
    "drain = '0.5s'",
    "packets.payload = '1000B'",
    "expect = { p99 = '<5 ms', slowdown = { 'p99.9' = '<= 3' } }",
];
const AXES: [&str; 19] = [
    "'topology' = ['fat-tree', { kind = 'leaf-spine', hosts = 8 }, { kind = 'leaf-spine' }]",
    "'topology.kind' = ['single-switch', 'fat-tree', 'leaf-spine']",
    "'topology.rate' = ['10Gbps', '40Gbps']",
    "'topology.k' = [4, 6]",
    "'workload' = ['permutation', { kind = 'poisson', load = 0.1 }]",
    "'workload.kind' = ['permutation', 'incast']",
    "'workload.load' = [0.2, 0.8]",
    "'workload.flows' = [10, 20]",
    "'workload.deadline' = ['none', '1ms', { kind = 'uniform', least = '1ms', most = '3ms' }]",
    "'scheme' = ['DCTCP', 'TCP+DropTail', { name = 'DCTCP', queue.threshold = '30KB' }]",
    "'scheme.name' = ['DCTCP', 'TCP+DropTail', 'MinTCP+pFabric']",
    "'scheme.transport.kind' = ['new-reno', 'dctcp', 'min-tcp']",
    "'scheme.queue' = ['drop-tail', { kind = 'ecn' }, { kind = 'classes', inside = ['ecn'] }]",
    "'scheme.queue.buffer' = ['30KB', '60KB', '0.225MB']",
    "'scheme.transport.window_cap' = [10, 'none']",
    "'scheme.balance' = ['spray', 'ecmp']",
    "'scheme.priority' = ['size', 'sent', { kind = 'sent', thresholds = ['1KB', '2MB'] }]",
    "'packets' = [{ payload = '500B' }, { payload = '1460B', ack = '64B' }]",
    "'drain' = ['1ms', '1s']",
];
const OVERRIDES: [(&str, &str); 10] = [
    ("workload.load", "0.7"),
    ("scheme.queue.buffer", "120KB"),
    ("scheme", "DCTCP"),
    ("scheme.name", "TCP+DropTail"),
    ("topology.rate", "25Gbps"),
    ("topology", "{ kind = 'leaf-spine', racks = 3 }"),
    ("sweep.workload.load", "[0.3, 0.6]"),
    ("sweep.scheme.balance", "['ecmp']"),
    ("run.replications", "2"),
    ("packets.header", "60B"),
];

proptest! {
    #![proptest_config(cases(600))]

    /// Parts, axes and overrides in any combination: many are refused, all others are the same
    /// study once resolved.
    #[test]
    fn a_resolved_study_is_the_same_study(
        topology in select(&TOPOLOGIES[..]),
        workload in select(&WORKLOADS[..]),
        scheme in select(&SCHEMES[..]),
        others in subsequence(&OTHERS[..], 0..=OTHERS.len()),
        axes in subsequence(&AXES[..], 0..4).prop_shuffle(),
        overrides in subsequence(&OVERRIDES[..], 0..3).prop_shuffle(),
    ) {
        let text = [&[topology, workload, scheme][..], &others, &["[sweep]"], &axes].concat();
        let owned = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
        let overrides: Vec<_> = overrides.iter().map(owned).collect();
        if let Some(study) = parse(&text.join("\n"), &overrides) {
            resolves_to_itself(&study);
        }
    }

    /// Noise that is not even TOML, as a study and as an override.
    #[test]
    fn noise_is_refused_in_lines(text in any::<String>(), path in any::<String>()) {
        parse(&text, &[]);
        parse(QUICK, &[(path.clone(), text.clone())]);
        parse(QUICK, &[(format!("workload.{path}"), text)]);
    }

    /// Trees of settings under the names that a study knows, and some that it does not.
    #[test]
    fn trees_are_studies_or_refused_in_lines(tree in tree(), path in path()) {
        let table = |(key, value): &(String, String)| format!("{key} = {value}\n");
        let text: String = tree.iter().map(table).collect();
        parse(&text, &[]);
        parse(QUICK, &tree);
        if let Some((_, value)) = tree.first() {
            parse(QUICK, &[(path, value.clone())]);
        }
    }

    /// A study in which a few bytes were changed, left out, or written twice.
    #[test]
    fn damaged_studies_are_read_or_refused_in_lines(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..20usize, ".{0,4}"), 1..4),
    ) {
        let mut text: Vec<char> = QUICK.chars().collect();
        for (at, length, by) in changes {
            let at = at.index(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, by.chars());
        }
        if let Some(study) = parse(&text.iter().collect::<String>(), &[]) {
            resolves_to_itself(&study);
        }
    }

    /// Lines of a study in another order, or twice.
    #[test]
    fn shuffled_studies_are_read_or_refused_in_lines(
        lines in prop::collection::vec(select(QUICK.lines().collect::<Vec<_>>()), 0..25),
    ) {
        parse(&lines.join("\n"), &[]);
    }
}

/// A dotted path of names, most of them known.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(key(), 1..5).prop_map(|keys| keys.join("."))
}

fn key() -> impl Strategy<Value = String> {
    let known = select(
        &[
            "title",
            "run",
            "sweep",
            "topology",
            "workload",
            "scheme",
            "packets",
            "drain",
            "kind",
            "name",
            "seed",
            "k",
            "load",
            "sizes",
            "file",
            "transport",
            "queue",
            "buffer",
            "expect",
            "p99",
            "slowdown",
        ][..],
    );
    prop_oneof![6 => known.prop_map(str::to_owned), 1 => "[a-z]{1,3}"]
}

/// A value as TOML writes it, up to three deep.
fn value() -> impl Strategy<Value = String> {
    let known = select(
        &[
            "0.5",
            "1",
            "0",
            "-1",
            "nan",
            "true",
            "6",
            "'fat-tree'",
            "'poisson'",
            "'csv'",
            "'DCTCP'",
            "'22.5KB'",
            "'12us'",
            "'10Gbps'",
            "'websearch'",
            "'./none.csv'",
            "2026-01-01",
            "[]",
            "{}",
        ][..],
    );
    let plain = prop_oneof![
        6 => known.prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => any::<String>().prop_map(|text| format!("{text:?}")),
    ];
    plain.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|values| format!("[{}]", values.join(", "))),
            prop::collection::vec((path(), inner), 0..4).prop_map(|pairs| {
                let pairs: Vec<_> = pairs.iter().map(|(k, v)| format!("{k} = {v}")).collect();
                format!("{{ {} }}", pairs.join(", "))
            }),
        ]
    })
}

fn tree() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec((path(), value()), 0..6)
}

#[test]
fn the_papers_studies_resolve_to_themselves() {
    let papers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
    let folders = ["pfabric", "zoned-raid"].map(|paper| std::path::Path::new(papers).join(paper));
    let mut count = 0;
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()) {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.lines().any(|line| line == "[topology]" || line == "model = \"array\"") {
            let study = read::study(&text, path.to_str().unwrap(), &[]);
            resolves_to_itself(&study.unwrap_or_else(|error| panic!("{error}")));
            count += 1;
        }
    }
    assert!(count > 15, "{count}");
}
