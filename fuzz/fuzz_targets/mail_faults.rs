//! Tables from replies to faults: one that is read judges any reply, and an error is one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sojourn_mail_engine::bounce::{Fault, Faults, Stage};
use sojourn_smtp::Enhanced;

fuzz_target!(|texts: (&str, &str)| {
    let (table, reply) = texts;
    let stages = [None, Some(Stage::Rcpt), Some(Stage::Report), Some(Stage::Own)];
    let statuses = [None, Some(Enhanced(5, 1, 1)), Some(Enhanced(5, 0, 0))];
    let judged = |faults: &Faults| -> Vec<Fault> {
        let each = stages.iter().flat_map(|stage| statuses.map(|status| (*stage, status)));
        each.map(|(stage, status)| faults.of(stage, status, reply)).collect()
    };
    judged(Faults::built_in());
    match Faults::parse(table, "table.toml") {
        Ok(faults) => drop(judged(&faults.before_built_in())),
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
    }
});
