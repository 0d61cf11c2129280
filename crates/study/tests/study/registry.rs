//! The registry against the parser: what it lists can be named in a study, and the defaults that it
//! shows are the ones that hold.

use crate::read;
use serde_json::Value as Json;
use sojourn_core::resource::{Cells, Columns, Content, Resource};
use sojourn_core::{CodeFailed, Stream};
use sojourn_fabric::python::{
    Begin, Controller, ControllerClass, Hooks, PortDecisions, PythonClass, QueueClass, QueueHooks,
};
use sojourn_fabric::transport::Window;
use sojourn_study::{Case, Need, Unread, registry};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Where each topic of the registry goes in a study, the key that selects an entry, and what else
/// the study needs.
const TOPICS: [(&str, &str, &str, &[&str]); 23] = [
    ("topologies", "topology", "kind", &[WORKLOAD, NAME, TRANSPORT, QUEUE]),
    ("workloads", "workload", "kind", &[RAILS, NAME, TRANSPORT, QUEUE]),
    ("schemes", "scheme", "name", &[TOPOLOGY, WORKLOAD]),
    ("transports", "scheme.transport", "kind", &[TOPOLOGY, WORKLOAD, NAME, QUEUE]),
    ("queues", "scheme.queue", "kind", &[TOPOLOGY, WORKLOAD, NAME, TRANSPORT]),
    ("buffers", "buffer", "kind", &[TOPOLOGY, WORKLOAD, "scheme = 'DCTCP'"]),
    (
        "class-policies",
        "scheme.queue.between",
        "kind",
        &[TOPOLOGY, WORKLOAD, NAME, TRANSPORT, CLASSES],
    ),
    ("balances", "scheme.balance", "", &[TOPOLOGY, WORKLOAD, NAME, TRANSPORT, QUEUE]),
    ("priorities", "scheme.priority", "kind", &[TOPOLOGY, WORKLOAD, NAME, TRANSPORT, QUEUE]),
    ("deadlines", "workload.deadline", "kind", &[TOPOLOGY, KIND, "scheme = 'DCTCP'"]),
    ("disks", "disk", "kind", &[ARRAY, LAYOUT, SYNTHETIC, ARRIVALS, BLOCKS]),
    ("layouts", "layout", "kind", &[ARRAY, DISK, SYNTHETIC, ARRIVALS, BLOCKS]),
    ("positionings", "positioning", "kind", &[ARRAY, DISK, LAYOUT, SYNTHETIC, ARRIVALS, BLOCKS]),
    ("schedulings", "scheduling", "kind", &[ARRAY, DISK, LAYOUT, SYNTHETIC, ARRIVALS, BLOCKS]),
    ("requests", "workload", "kind", &[ARRAY, DISK, LAYOUT]),
    ("request-arrivals", "workload.arrivals", "kind", &[ARRAY, DISK, LAYOUT, SYNTHETIC, BLOCKS]),
    ("request-sizes", "workload.blocks", "kind", &[ARRAY, DISK, LAYOUT, SYNTHETIC, ARRIVALS]),
    (
        "request-places",
        "workload.places",
        "kind",
        &[ARRAY, DISK, LAYOUT, SYNTHETIC, ARRIVALS, BLOCKS],
    ),
    ("batches", "workload.arrivals.batch", "kind", &[ARRAY, DISK, LAYOUT, SYNTHETIC, RATE, BLOCKS]),
    ("internets", "internet", "kind", &[MAIL, LIST]),
    ("message-arrivals", "list.arrivals", "kind", &[MAIL, LISTED, "list.messages = 1"]),
    ("policies", "policy", "kind", &[MAIL, INTERNET, LIST]),
    ("causes", "without", "", &[MAIL, INTERNET, LIST]),
];
const MAIL: &str = "model = 'mail'";
const INTERNET: &str = "internet = 'office'";
const LISTED: &str = "internet = { kind = 'listed', file = 'domains.csv' }";
const LIST: &str = "list.arrivals = 'regular'";
const ARRAY: &str = "model = 'array'";
const DISK: &str = "disk = 'ST3500630NS'";
const LAYOUT: &str = "layout = 'raid5'";
const SYNTHETIC: &str = "workload.kind = 'synthetic'";
const ARRIVALS: &str = "workload.arrivals = { kind = 'poisson', rate = '0.01/ms' }";
const RATE: &str = "workload.arrivals.kind = 'poisson'\nworkload.arrivals.rate = '0.01/ms'";
const BLOCKS: &str = "workload.blocks = 4";
const TOPOLOGY: &str = "topology = 'fat-tree'";
const RAILS: &str = "topology = { kind = 'leaf-spine', racks = 8, hosts = 16 }";
const WORKLOAD: &str = "workload = 'permutation'";
const KIND: &str = "workload.kind = 'permutation'";
const NAME: &str = "scheme.name = 'mine'";
const TRANSPORT: &str = "scheme.transport = 'new-reno'";
const CLASSES: &str = "scheme.queue.kind = 'classes'";
const QUEUE: &str = "scheme.queue = 'drop-tail'";

fn topic(name: &str) -> Vec<Json> {
    let registry: Json = serde_json::from_str(&registry()).unwrap();
    registry[name].as_array().unwrap().clone()
}

fn text<'a>(entry: &'a Json, key: &str) -> &'a str {
    entry[key].as_str().unwrap()
}

/// Entries that are variants; the others are size tables.
fn variants(name: &str) -> impl Iterator<Item = Json> {
    topic(name).into_iter().filter(|entry| entry["source"] == "")
}

/// A class that has no parameters.
#[derive(Debug)]
struct AnyClass;

impl PythonClass for AnyClass {
    fn name(&self) -> &str {
        "Any"
    }
}

impl QueueClass for AnyClass {
    fn hooks(&self) -> QueueHooks {
        QueueHooks::default()
    }

    fn port(&self, _: Stream) -> Result<Box<dyn PortDecisions>, CodeFailed> {
        Err(CodeFailed("nothing runs here".to_owned()))
    }
}

impl ControllerClass for AnyClass {
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }

    fn start(&self, _: &Begin, _: &mut Window) -> Result<Box<dyn Controller>, CodeFailed> {
        Err(CodeFailed("nothing runs here".to_owned()))
    }
}

/// What is in a file: one flow in every table, no parameters in every class, and a text elsewhere.
fn given(need: &Need, source: &str) -> Result<Resource, Unread> {
    let names = ["src", "dst", "size_bytes", "arrival_ps"].map(str::to_owned).to_vec();
    let columns = [0, 1, 1000, 0].map(|number| Cells::Whole(vec![number], None)).to_vec();
    let flow = Columns { names, columns, rows: 1 };
    let Need::File(file) = need else {
        return Ok(Resource {
            content: Content::Columns(Arc::new(flow)),
            ..Resource::text("", "")
        });
    };
    let content = match (file.part.0, file.part.1.as_str()) {
        ("workload", "table") => Content::Columns(Arc::new(flow)),
        ("workload", "python") => Content::Functions(None),
        ("transport", "python") => {
            Content::Object(Arc::new(Arc::new(AnyClass) as Arc<dyn ControllerClass>))
        }
        ("queue", "python") => Content::Object(Arc::new(Arc::new(AnyClass) as Arc<dyn QueueClass>)),
        _ => return read::beside(file, source),
    };
    Ok(Resource { content, ..Resource::text(&file.name, "") })
}

/// A study with a file of flows beside it.
fn case(study: &str) -> Result<Case, String> {
    static SOURCE: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("registry");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.file"), "src,dst,size_bytes,arrival\n0,1,1000,0s").unwrap();
        for (file, text) in [
            ("graph.toml", "switches = ['a']\n[[hosts]]\nswitch = 'a'\ncount = 4"),
            ("services.csv", "op,service\nread,85us"),
            ("goal.trace", "num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n"),
            ("simai.trace", "MICRO all_gpus: 4\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"),
            ("fio.trace", "fio version 3 iolog\n7 /dev/sda read 4096 512"),
            ("blkparse.trace", "8,0 1 1 0.5 99 Q R 8 + 8 [sh]"),
            ("domains.csv", "domain,subscribers\nx.example,3"),
            ("messages.csv", "message,at,size,domain,subscriber\n0,0s,3KB,x.example,0"),
            ("msr.trace", "128166372003061629,usr,0,Read,4096,512,41286"),
            ("spc.trace", "0,8,512,R,0.5"),
            ("alibaba.trace", "0,R,4096,512,1577808000000626"),
            ("tencent.trace", "1538323200,8,1,0,1063"),
            ("systor17.trace", "1456135200.013118000,0.0008,R,4,4096,512"),
            ("cloudphysics.trace", "2,5633898,40,512,8"),
            ("mqsim.trace", "4851300 1 8 1 1"),
            ("disksim.trace", "0.5 0 8 1 1"),
        ] {
            std::fs::write(folder.join(file), text).unwrap();
        }
        folder.join("study.toml")
    });
    let source = SOURCE.to_str().unwrap();
    let study = read::study_with(study, source, &[], |need| given(need, source));
    study.map(|study| study.cases()[0].clone()).map_err(|error| error.to_string())
}

fn parameter(case: &Case, path: &str) -> Option<String> {
    let parameters = case.parameters();
    parameters.iter().find(|(name, _)| name == path).map(|(_, value)| value.to_string())
}

/// Values that their type alone does not tell: topic, parameter, value.
const SAMPLES: [(&str, &str, &str); 14] = [
    (
        "requests",
        "tenant",
        "[{ name = 'a', arrivals = { kind = 'closed', depth = 2 }, blocks = 1 }]",
    ),
    ("internets", "file", "'domains.csv'"),
    ("message-arrivals", "file", "'messages.csv'"),
    ("batches", "mean", "2.5"),
    ("request-sizes", "mean", "2.5"),
    ("disks", "file", "'services.csv'"),
    ("disks", "capacity", "'1TB'"),
    ("disks", "write_rate", "'1MB/s'"),
    ("requests", "arrivals", "{ kind = 'poisson', rate = '0.01/ms' }"),
    ("requests", "blocks", "4"),
    ("request-sizes", "sizes", "'websearch'"),
    ("topologies", "switches", "['a']"),
    ("topologies", "hosts", "[{ switch = 'a', count = 4 }]"),
    ("topologies", "file", "'graph.toml'"),
];

/// What else a study needs for a variant.
fn beside(topic: &str, name: &str, rest: &[&str]) -> String {
    let own = match (topic, name) {
        ("schedulings", "sstf" | "look" | "satf") => "positioning = 'mechanical'\n",
        ("layouts", "raid5" | "raid6") => "workload.places = 'anywhere'\nworkload.reads = 0.5\n",
        ("request-places", "sequential" | "hot" | "near") => "positioning = 'mechanical'\n",
        _ => "",
    };
    // It follows what ports measure.
    let queue = if name == "hpcc" { "scheme.queue = 'telemetry'" } else { QUEUE };
    let rest: Vec<&str> = rest.iter().map(|own| if *own == QUEUE { queue } else { own }).collect();
    own.to_owned() + &rest.join("\n")
}

/// A value for a parameter of a variant without a default: out of what describes its type.
fn sample(topic: &str, name: &str, parameter: &Json) -> String {
    let (key, kind) = (text(parameter, "name"), text(parameter, "type"));
    let is_trace = topic == "requests" || ["goal", "simai"].contains(&name);
    if is_trace && key == "file" {
        return format!("'{name}.trace'");
    }
    if (name, key) == ("chakra", "rank") {
        let file = |rank| {
            let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../traces/tests/data/astra-sim");
            format!("{{ file = '{data}/all_reduce.{rank}.et' }}")
        };
        return format!("[{}]", (0..4).map(file).collect::<Vec<_>>().join(", "));
    }
    if let Some(known) = SAMPLES.iter().find(|sample| (sample.0, sample.1) == (topic, key)) {
        return known.2.to_owned();
    }
    if let Some((_, rest)) = kind.split_once("such as ") {
        return rest.split_inclusive('"').take(2).collect();
    }
    match kind.split(' ').next().unwrap() {
        name if name.starts_with('"') => name.to_owned(),
        "true" => "true".to_owned(),
        _ if kind.contains("whole number") => "2".to_owned(),
        _ if kind.contains("number") => "0.5".to_owned(),
        _ => "'a.file'".to_owned(),
    }
}

/// Tables and pictures find the words for a job by its kind alone.
#[test]
fn no_two_models_have_a_kind_of_one_name() {
    let models: serde_json::Value = serde_json::from_str(&sojourn_study::vocabulary()).unwrap();
    let kinds =
        models.as_object().unwrap().values().flat_map(|own| own["kinds"].as_array().unwrap());
    let names: Vec<&str> = kinds.map(|kind| kind["name"].as_str().unwrap()).collect();
    let different: std::collections::BTreeSet<&&str> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn everything_is_documented() {
    let registry: Json = serde_json::from_str(&registry()).unwrap();
    for (topic, entries) in registry.as_object().unwrap() {
        let entries = entries.as_array().unwrap();
        assert!(!entries.is_empty(), "{topic}");
        for entry in entries {
            let mut texts = vec![text(entry, "name"), text(entry, "summary")];
            for parameter in entry["parameters"].as_array().unwrap() {
                texts.extend(["name", "type", "summary"].map(|key| text(parameter, key)));
            }
            for text in texts {
                assert!(!text.is_empty() && !text.contains('\n'), "{topic}: {entry}");
            }
            let names = entries.iter().filter(|other| other["name"] == entry["name"]);
            assert_eq!(names.count(), 1, "{topic}: {} is there twice", entry["name"]);
        }
    }
}

#[test]
fn every_topic_is_tried_here() {
    let registry: Json = serde_json::from_str(&registry()).unwrap();
    let tried = TOPICS.iter().map(|topic| topic.0).chain(["tables"]);
    let mut tried: Vec<&str> = tried.collect();
    tried.sort_unstable();
    let mut there: Vec<&String> = registry.as_object().unwrap().keys().collect();
    there.sort_unstable();
    assert_eq!(tried, there);
}

/// Where an entry stands, and what selects it there: a policy says in its name what it decides.
fn placed(part: &str, name: &str) -> (String, String) {
    match name.split_once('.').filter(|_| part == "policy") {
        Some((decision, name)) => (format!("{part}.{decision}"), name.to_owned()),
        None => (part.to_owned(), name.to_owned()),
    }
}

/// The name alone selects a variant, as far as it has defaults; with everything else written as the
/// registry shows it, the case is the same.
#[test]
fn every_name_selects_its_variant_with_its_defaults() {
    for (topic, part, selector, rest) in TOPICS {
        for entry in variants(topic) {
            let (part, name) = placed(part, text(&entry, "name"));
            let (part, name) = (part.as_str(), name.as_str());
            let rest = beside(topic, name, rest);
            if selector.is_empty() {
                let case = case(&format!("{part} = '{name}'\n{rest}")).unwrap();
                assert_eq!(parameter(&case, part), Some(format!("{name:?}")));
                continue;
            }
            let parameters = entry["parameters"].as_array().unwrap();
            let written = |with_defaults: bool| {
                let mut keys = vec![format!("{selector} = '{name}'")];
                for parameter in parameters {
                    let (key, default) = (text(parameter, "name"), parameter["default"].as_str());
                    match default {
                        _ if key == selector => {}
                        Some(default) if with_defaults => keys.push(format!("{key} = {default}")),
                        Some(_) => {}
                        None => keys.push(format!("{key} = {}", sample(topic, name, parameter))),
                    }
                }
                format!("{part} = {{ {} }}\n{rest}", keys.join(", "))
            };
            let short = case(&written(false)).unwrap();
            let long = case(&written(true)).unwrap();
            assert_eq!(short.parameters(), long.parameters(), "{topic} {name}");
            let selected = parameter(&short, &format!("{part}.{selector}"));
            assert_eq!(selected, Some(format!("{name:?}")));
        }
    }
}

/// What a study says of itself, and of what all variants of a model's parts share.
#[test]
fn the_defaults_of_a_study_hold() {
    let fabric = "topology = 'fat-tree'\nworkload = 'permutation'\nscheme = 'DCTCP'".to_owned();
    let array = [ARRAY, DISK, LAYOUT, SYNTHETIC, ARRIVALS, BLOCKS].join("\n");
    for (rest, parts, known) in [
        (fabric, ["fabric", "packets"], "\npackets.header = "),
        (array, ["array", "controller"], "\ncontroller.parity = "),
        ([MAIL, INTERNET, LIST].join("\n"), ["mail", "machine"], "\nmachine.write = "),
    ] {
        let study = read::study(&rest, "study.toml", &[]).unwrap();
        let mut written = rest.clone();
        for entry in topic("tables") {
            let name = text(&entry, "name");
            let part = match name {
                "study" | "fabric" | "array" | "mail" => String::new(),
                table => format!("{table}."),
            };
            if !["study", "run"].contains(&name) && !parts.contains(&name) {
                continue;
            }
            for parameter in entry["parameters"].as_array().unwrap() {
                let (key, default) = (text(parameter, "name"), parameter["default"].as_str());
                let default = default.filter(|default| !default.starts_with('{'));
                if let Some(default) = default.filter(|_| key != "model") {
                    written += &format!("\n{part}{key} = {default}");
                }
            }
        }
        let long = read::study(&written, "study.toml", &[]).unwrap();
        assert_eq!(study.resolved(), long.resolved());
        assert!(written.contains("\nrun.seed = 1\n") && written.contains(known), "{written}");
    }
}

#[test]
fn every_size_table_can_be_drawn_from() {
    let tables: Vec<Json> = topic("workloads").into_iter().filter(|t| t["source"] != "").collect();
    assert!(tables.len() >= 10, "only {} tables", tables.len());
    for table in tables {
        let name = text(&table, "name");
        let study = format!(
            "topology = 'fat-tree'\nscheme = 'DCTCP'
             workload = {{ kind = 'poisson', load = 0.5, sizes = '{name}' }}"
        );
        let case = case(&study).unwrap();
        assert_eq!(parameter(&case, "workload.sizes"), Some(format!("{name:?}")));
        assert!(!Path::new(name).exists(), "{name} could be a file too");
    }
}

/// Every choice that a parameter's type spells out is taken.
#[test]
fn every_choice_is_taken() {
    let mut choices = 0;
    for (topic, part, selector, rest) in TOPICS {
        for entry in variants(topic) {
            let (part, name) = placed(part, text(&entry, "name"));
            let (part, name) = (part.as_str(), name.as_str());
            let rest = beside(topic, name, rest);
            let parameters = entry["parameters"].as_array().unwrap();
            for parameter in parameters.iter().filter(|p| text(p, "type").starts_with('"')) {
                let key = text(parameter, "name");
                for choice in text(parameter, "type").split(", or ").flat_map(|t| t.split(" or ")) {
                    // Its packets have no room for an entropy.
                    if (name, key) == ("HPCC", "balance") && choice != "\"ecmp\"" {
                        continue;
                    }
                    let mut keys =
                        vec![format!("{selector} = '{name}'"), format!("{key} = {choice}")];
                    if key == "rate_counts" {
                        // Of single requests it says nothing.
                        keys.push("batch = 2".to_owned());
                    }
                    if choice == "\"dropped\"" {
                        // Nothing is late where no more is read than needed.
                        keys.push("read = \"all\"".to_owned());
                    }
                    let required = parameters.iter().filter(|p| p["default"].is_null());
                    keys.extend(
                        required
                            .map(|p| format!("{} = {}", text(p, "name"), sample(topic, name, p))),
                    );
                    let case =
                        case(&format!("{part} = {{ {} }}\n{rest}", keys.join(", "))).unwrap();
                    let taken = self::parameter(&case, &format!("{part}.{key}"));
                    assert_eq!(taken.as_deref(), Some(choice), "{topic} {name} {key}");
                    choices += 1;
                }
            }
        }
    }
    assert!(choices >= 10, "only {choices} choices");
}
