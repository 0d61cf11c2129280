//! What the author of a study is told: every kind of mistake, and the whole message.
//! `UPDATE_GOLDEN=1 cargo test -p sojourn-study --test study messages` writes the messages anew.

use crate::read;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Mistakes, as lines that are not indented, each with its message below it, or several. A mistake is made of
///
/// - lines of a study, in place of those of [`BASE`], [`ARRAY_BASE`] or [`MAIL_BASE`] that set the
///   same part, which follow after;
/// - `- topology`, which takes that part away;
/// - `--set PATH=VALUE`;
/// - `> flows.csv TEXT`, a file beside the study; `\n` in it begins a new line.
///
/// `{schemes}` in a message stands for the names of all schemes, whichever there are today.
const MESSAGES: &str = include_str!("../messages.txt");

/// What a mistake in an array is made in: one that says `model = "array"`.
const ARRAY_BASE: [&str; 3] = [
    r#"disk = { kind = "ST3500630NS" }"#,
    r#"layout = { kind = "raid5" }"#,
    r#"workload = { kind = "synthetic", blocks = 4, arrivals = { kind = "poisson", rate = "1/s" } }"#,
];

const BASE: [&str; 3] = [
    r#"topology = { kind = "single-switch", hosts = 4 }"#,
    r#"workload = { kind = "poisson", load = 0.5 }"#,
    r#"scheme = "DCTCP""#,
];

const ARRAY: &str = r#"model = "array""#;

/// What a mistake in a mailing list is made in: one that says `model = "mail"`.
const MAIL_BASE: [&str; 2] = [
    r#"internet = { kind = "office" }"#,
    r#"list = { messages = 10, arrivals = { kind = "regular", every = "60s" } }"#,
];

const MAIL: &str = r#"model = "mail""#;

/// The part of a study that a line is about.
fn part(line: &str) -> &str {
    line.trim_start_matches("- ").split([' ', '.', '=']).next().unwrap_or_default()
}

/// What a mistake is answered with, file names seen from the study.
fn answer(mistake: &[&str], folder: &Path) -> String {
    let mut lines = Vec::new();
    let mut overrides = Vec::new();
    for line in mistake {
        if let Some(setting) = line.strip_prefix("--set ") {
            let (path, value) = setting.split_once('=').expect("PATH=VALUE");
            overrides.push((path.to_owned(), value.to_owned()));
        } else if let Some(file) = line.strip_prefix("> ") {
            let (name, text) = file.split_once(' ').unwrap_or((file, ""));
            fs::write(folder.join(name), text.replace(r"\n", "\n")).unwrap();
        } else if !line.starts_with("- ") {
            lines.push(*line);
        }
    }
    let kept = |line: &&str| {
        let dropped = |other: &&str| part(other) == part(line) && !other.starts_with("--");
        !mistake.iter().any(dropped)
    };
    let base: &[&str] = match mistake {
        _ if mistake.contains(&ARRAY) => &ARRAY_BASE,
        _ if mistake.contains(&MAIL) => &MAIL_BASE,
        _ => &BASE,
    };
    lines.extend(base.iter().copied().filter(|line| kept(line)));
    let text = lines.join("\n").replace("100000 times 4", &["4"; 100_000].join(", "));
    let source = folder.join("study.toml");
    match read::study(&text, source.to_str().unwrap(), &overrides) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string().replace(&format!("{}/", folder.display()), ""),
    }
}

/// The lists of names that messages hold, and how [`MESSAGES`] writes them.
fn lists() -> Vec<(String, String)> {
    let registry: Value = serde_json::from_str(&sojourn_study::registry()).unwrap();
    let mut lists = Vec::new();
    for (topic, entries) in registry.as_object().unwrap() {
        let entries = entries.as_array().unwrap().iter();
        let (tables, kinds): (Vec<&Value>, _) = entries.partition(|entry| entry["source"] != "");
        for (topic, entries) in [(topic.as_str(), kinds), ("size tables", tables)] {
            let names: Vec<&str> = entries.iter().map(|e| e["name"].as_str().unwrap()).collect();
            lists.push((names.join(", "), format!("{{{topic}}}")));
        }
    }
    let models: Value = serde_json::from_str(&sojourn_study::vocabulary()).unwrap();
    let models: Vec<&str> = models.as_object().unwrap().keys().map(String::as_str).collect();
    lists.push((models.join(", "), "{models}".to_owned()));
    lists.retain(|(names, _)| names.contains(", "));
    lists
}

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn every_mistake_gets_one_clear_message() {
    let folder = folder("messages");
    let lists = lists();
    let mut answered = String::new();
    let mut mistake = Vec::new();
    for line in MESSAGES.lines() {
        if line.starts_with("  ") && mistake.is_empty() {
            // A further line of the answer above.
        } else if line.starts_with("  ") {
            let answer = answer(&mistake, &folder);
            let short =
                lists.iter().fold(answer, |said, (names, topic)| said.replace(names, topic));
            short.lines().for_each(|line| answered += &format!("  {line}\n"));
            mistake.clear();
        } else {
            answered += &format!("{line}\n");
            let said = !line.is_empty() && !line.starts_with('#');
            mistake.extend(said.then_some(line));
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages.txt");
        return fs::write(file, answered).unwrap();
    }
    assert!(answered == MESSAGES, "the messages are now:\n{answered}");
}

/// Lines are counted in a study as people write it, with comments and tables.
#[test]
fn the_line_is_the_one_that_is_wrong() {
    let study = r#"# How much buffer?
title = "buffers"

[topology]
kind = "leaf-spine"

[workload]
kind = "poisson"   # all to all
load = 0.6

[[sweep.scheme]]
name = "DCTCP"

[[sweep.scheme]]
name = "MinTCP+pFabric"

[sweep.workload]
flows = [
    1000,
    2000,
]
"#;
    let refused = |from: &str, to: &str| {
        let text = study.replacen(from, to, 1);
        assert_ne!(text, study);
        let error = read::study(&text, "buffers.toml", &[]).unwrap_err().to_string();
        error.split(": ").next().unwrap().to_owned()
    };
    read::study(study, "buffers.toml", &[]).unwrap();
    assert_eq!(refused("title", "titel"), "buffers.toml:2");
    assert_eq!(refused("leaf-spine", "leafspine"), "buffers.toml:5");
    assert_eq!(refused("kind = \"leaf-spine\"", ""), "buffers.toml:4");
    assert_eq!(refused("0.6", "600"), "buffers.toml:9");
    assert_eq!(refused("load = 0.6", ""), "buffers.toml:7");
    assert_eq!(refused("MinTCP", "MaxTCP"), "buffers.toml:11");
    assert_eq!(refused("flows = ", "flws = "), "buffers.toml:18");
    assert_eq!(refused("2000", "-2000"), "buffers.toml:18");
    assert_eq!(refused("    2000,\n]", "    2000,\n"), "buffers.toml:20");
}
