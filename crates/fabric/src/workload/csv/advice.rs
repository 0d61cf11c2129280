//! What a text looks like that is no list of flows, and how to make it one: advice behind an error.

use sojourn_core::file_kind;
use sojourn_core::files::{self, Row};

/// Advice on a text whose first line, `head`, does not name the columns of flows; empty where none is known.
pub(super) fn on(text: &str, head: &Row) -> String {
    let kind = file_kind::of_text(text).map(|kind| format!("it looks like {kind}"));
    kind.or_else(|| of_head(text, head)).map(|advice| format!("; {advice}")).unwrap_or_default()
}

fn of_head(text: &str, head: &Row) -> Option<String> {
    let (_, first) = files::lines(text).next()?;
    let others = [('\t', "'\\t'"), (';', "';'"), ('|', "'|'")];
    if let Some((_, shown)) = others.iter().find(|(other, _)| first.contains(*other)) {
        return Some(format!("columns have commas between them: `tr {shown} ','` makes them so"));
    }
    let numbers = |cells: &[&str]| cells.iter().all(|cell| cell.parse::<f64>().is_ok());
    let cells: Vec<&str> = head.cells().collect();
    if cells.len() > 2 && numbers(&cells) {
        return Some(
            "it looks like flows without names of columns: put a line such as \
             src,dst,size_bytes,arrival_s before them, with the names in the order of the columns"
                .to_owned(),
        );
    }
    let words: Vec<&str> = first.split_whitespace().collect();
    let second = files::lines(text).nth(1).map_or("", |(_, line)| line);
    let below: Vec<&str> = second.split_whitespace().collect();
    if numbers(&words) && numbers(&below) && below.len() == 2 {
        return Some("it looks like a size table, which workload.sizes names".to_owned());
    }
    if cells.len() == 1 && words.len() > 2 {
        return Some(
            "columns have commas between them, and names in the first line: `tr -s ' ' ','` makes \
             commas of spaces"
                .to_owned(),
        );
    }
    None
}
