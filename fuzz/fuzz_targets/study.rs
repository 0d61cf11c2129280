//! Studies, with overrides: lines that begin with `--set `.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_study::Study;

fuzz_target!(|text: &str| {
    // A study may name any file; devices never end.
    if text.contains("dev") || text.contains("proc") {
        return;
    }
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
    match Study::parse(&lines, "study.toml", &overrides) {
        Ok(study) => {
            let resolved = study.resolved();
            let again = Study::parse(&resolved, "study.toml", &[]).expect("it resolves to a study");
            assert_eq!(again.resolved(), resolved);
            for (case, same) in study.cases().iter().zip(again.cases()) {
                assert_eq!(case.axes(), same.axes());
                assert_eq!(case.parameters(), same.parameters());
            }
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && !said.contains(char::is_control), "{said:?}");
        }
    }
});
