//! Studies, with overrides: lines that begin with `--set `.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_core::resource::Resource;
use sojourn_study::{Need, Resources, SpecError, Study, Unread};

fuzz_target!(|text: &str| {
    let (mut lines, mut overrides) = (String::new(), Vec::new());
    for line in text.lines() {
        match line.strip_prefix("--set ").and_then(|setting| setting.split_once('=')) {
            Some((path, value)) => overrides.push((path.to_owned(), value.to_owned())),
            None => {
                lines.push_str(line);
                lines.push('\n');
            }
        }
    }
    match read(&lines, &overrides) {
        Ok(study) => {
            let resolved = study.resolved();
            let again = read(&resolved, &[]).expect("it resolves to a study");
            assert_eq!(again.resolved(), resolved);
            for (case, same) in study.cases().iter().zip(again.cases()) {
                assert_eq!(case.axes(), same.axes());
                assert_eq!(case.parameters(), same.parameters());
            }
        }
        Err(error) => {
            let said = error.to_string();
            for line in said.split('\n') {
                assert!(!line.is_empty() && !line.contains(char::is_control), "{said:?}");
            }
        }
    }
});

/// A study whose workloads find a size table in every file; all else that it needs is missing.
fn read(text: &str, overrides: &[(String, String)]) -> Result<Study, SpecError> {
    let mut resources = Resources::default();
    loop {
        let missing = Study::needs(text, "study.toml", overrides, &resources);
        if missing.is_empty() {
            return Study::parse(text, "study.toml", overrides, &resources);
        }
        for need in missing {
            let unread = |shown| Err(Unread { shown, expected: "a file to read".to_owned() });
            let (id, given) = match need {
                Need::File(file) if file.part.0 == "workload" => {
                    (file.id, Ok(Resource::text(&file.name, "1000 0.5\n2000 1\n")))
                }
                Need::File(file) => (file.id, unread(file.name)),
                Need::Table(call) => (call.key, unread(call.file)),
            };
            resources.0.insert(id, given);
        }
    }
}
