//! Runs the first case of a study and prints its totals: `cargo run --example first_case STUDY.toml`.

use sojourn_core::resource::no_tables;
use sojourn_study::{Execution, Keep, Progress, Resources, Study};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("first_case: expected a study file");
        return ExitCode::from(2);
    };
    match run(&path) {
        Ok(lines) => {
            print!("{lines}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("first_case: {message}");
            ExitCode::from(2)
        }
    }
}

/// The totals of one replication of the first case, a line each, or why there are none.
fn run(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let study =
        Study::parse(&text, path, &[], &Resources::default()).map_err(|error| error.to_string())?;
    let case = study.cases().first().ok_or("a study has a case")?;
    let progress = Progress::default();
    let execution = Execution { keep: Keep::Totals, ..Execution::new(&progress) };
    let report = case
        .run(0, &no_tables, execution)
        .map_err(|error| error.to_string())?
        .map_err(|_| "the run was stopped".to_owned())?;
    let line = |(name, value): &(String, _)| format!("{name} = {value:?}\n");
    Ok(report.totals.iter().map(line).collect())
}
