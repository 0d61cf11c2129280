//! What a text looks like that is no size table, and how to make it one: advice behind an error.

use crate::file_kind;

/// Advice on a text that was refused, to stand behind the message; empty where none is known.
pub(super) fn on(text: &str, lines: &[(usize, &str)]) -> String {
    let kind = file_kind::of_text(text).map(|kind| format!("it looks like {kind}"));
    let advice = kind.or_else(|| of_lines(lines).map(str::to_owned));
    advice.map(|advice| format!("; {advice}")).unwrap_or_default()
}

const FLOWS: &str = "it looks like a list of flows, which has workload.kind = \"csv\"";

fn of_lines(lines: &[(usize, &str)]) -> Option<&'static str> {
    let (_, first) = *lines.first()?;
    if ["//", "%", "--", ";"].iter().any(|mark| first.starts_with(mark)) {
        return Some("comments begin with #");
    }
    if first.contains("src") && first.contains("dst") {
        return Some(FLOWS);
    }
    let any = |part: char| lines.iter().any(|(_, line)| line.contains(part));
    if any(';') {
        return Some("columns have spaces between them: `tr ';' ' '` makes them so");
    }
    if any(',') {
        return Some("columns have spaces between them: `tr ',' ' '` makes them so");
    }
    if any('%') {
        return Some("shares in percent are numbers without the sign, and the last one is 100");
    }
    let numbers: Vec<Vec<f64>> = lines.iter().filter_map(|(_, line)| numbers(line)).collect();
    if numbers.len() < lines.len() {
        let rest = &lines[1..];
        let only_names = numbers.len() + 1 == lines.len() && !rest.is_empty();
        return match only_names && self::numbers(first).is_none() {
            true => Some("a line of names is a comment, which begins with #"),
            false => Some("sizes and shares are numbers without units"),
        };
    }
    of_numbers(&numbers)
}

/// Advice on lines of numbers.
fn of_numbers(lines: &[Vec<f64>]) -> Option<&'static str> {
    if lines.len() > 1 && lines.iter().all(|line| line.len() == 1) {
        return Some(
            "it looks like a list of sizes: sort them, and put behind each the share of sizes that \
             are no larger",
        );
    }
    if lines.iter().all(|line| line.len() > 3) {
        return Some(FLOWS);
    }
    // A mean may come first.
    let lines = if lines[0].len() == 1 { &lines[1..] } else { lines };
    let width = lines.first()?.len();
    if width < 2 || lines.iter().any(|line| line.len() != width) {
        return None;
    }
    let column = |place: fn(&[f64]) -> Option<&f64>| -> Vec<f64> {
        lines.iter().filter_map(|line| place(line)).copied().collect()
    };
    let (sizes, shares) = (column(|line| line.first()), column(|line| line.last()));
    let (last_size, last_share) = (*sizes.last()?, *shares.last()?);
    let rise = |column: &[f64]| column.is_sorted();
    let whole = |share: f64| share == 1.0 || share == 100.0;
    let total: f64 = shares.iter().sum();
    if rise(&sizes) && rise(&shares) && last_share > 99.0 && last_share < 100.0 {
        return Some("in percent the last share is 100: is its last row missing?");
    }
    if whole(last_size) && rise(&sizes) && rise(&shares) && last_share > last_size {
        return Some("the columns look swapped: the size is first");
    }
    let shares_fall = shares.iter().rev().is_sorted();
    if rise(&sizes) && shares_fall && lines.len() > 1 && last_share < 0.01 {
        return Some("the shares look like those of larger sizes, P(X > size): take 1 minus each");
    }
    let is_whole = rise(&shares) && whole(last_share);
    if !is_whole
        && lines.len() > 2
        && [1.0, 100.0].iter().any(|all| (total / all - 1.0).abs() < 0.01)
    {
        return Some("the shares look like those of single sizes: add them up from row to row");
    }
    if rise(&sizes) && last_share > 100.0 {
        return Some("the second column looks like counts: it has shares, which rise to 1 or 100");
    }
    None
}

/// The numbers of a line; none where something else stands in it.
fn numbers(line: &str) -> Option<Vec<f64>> {
    line.split_whitespace().map(|cell| cell.parse().ok()).collect()
}
