//! `flow.txt` of HPCC's ns-3 simulator: the number of flows, then a flow per line, `src dst pg dport bytes seconds`.
//! ConWeave's has no `dport`. (alibaba-edu/High-Precision-Congestion-Control, `traffic_gen/README.md`;
//! conweave-project/conweave-ns3, `traffic_gen/traffic_gen.py`)

use super::super::list::{self, Cell, Cells, Columns, ListError, Place};
use super::{CsvError, Drawn};
use sojourn_core::files;
use sojourn_core::model::Tell;

/// The columns of HPCC's lines, and of ConWeave's.
const HPCC: &[&str] = &["src", "dst", "pg", "dport", "size_bytes", "arrival_s"];
const CONWEAVE: &[&str] = &["src", "dst", "pg", "size_bytes", "arrival_s"];

const NUMBERING: &str = "hosts have the numbers of the file, which in HPCC count the switches of its \
                         topology file too";

/// Whether a text is such a file: a whole number alone, and below it lines of at least four numbers.
pub(super) fn is_of(text: &str) -> bool {
    let mut lines = files::lines(text);
    let is_count = lines.next().is_some_and(|(_, line)| line.parse::<u64>().is_ok());
    let is_flow = |line: &str| {
        let mut numbers = line.split_whitespace();
        numbers.clone().count() > 3 && numbers.all(|number| number.parse::<f64>().is_ok())
    };
    is_count && lines.next().is_none_or(|(_, line)| is_flow(line))
}

/// Reads such a file, which is not empty: as many flows as it says, like the simulator.
pub(super) fn read(
    text: &str,
    hosts: usize,
    largest: u64,
    tell: Tell<'_>,
) -> Result<Drawn, CsvError> {
    let mut lines = files::lines(text);
    let (first, promised) = lines.next().expect("a number of flows");
    let wrong = |line: usize, what: String| CsvError { line, what };
    let flows: usize = promised
        .parse()
        .map_err(|_| wrong(first, format!("{promised:?}, expected the number of flows below")))?;
    let there = lines.clone().count();
    if flows == 0 {
        return Err(wrong(first, "no flows, expected at least one".to_owned()));
    }
    if there < flows {
        let last = files::lines(text).last().map_or(first, |(line, _)| line);
        let what =
            format!("the last flow, expected {flows} of them as line {first} says, not {there}");
        return Err(wrong(last, what));
    }
    let width = lines.clone().next().map_or(0, |(_, line)| line.split_whitespace().count());
    let names = if width == CONWEAVE.len() { CONWEAVE } else { HPCC };
    let columns = Columns::read(names).expect("names of columns");
    let row = |(number, line): (usize, &str)| {
        let place = Place { noun: "line", number };
        let cells: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match cells.len() == names.len() {
            true => Ok((place, Fields(cells))),
            false => {
                let expected = names.join(" ");
                let what = format!("{} numbers, expected {expected}", cells.len());
                Err(ListError { place, what })
            }
        }
    };
    let drawn =
        list::read(&columns, lines.take(flows).map(row), hosts, largest).map_err(|error| {
            let is_host = error.what.contains("expected a host");
            let hint = if is_host { format!("; {NUMBERING}") } else { String::new() };
            CsvError { what: format!("{}{hint}", error.what), ..error.into() }
        })?;
    columns.note().into_iter().for_each(tell);
    tell(NUMBERING.to_owned());
    if there > flows {
        tell(format!("only the first {flows} of {there} flows are read, as in HPCC"));
    }
    Ok(drawn)
}

/// The cells of a line.
pub(super) struct Fields(pub(super) Vec<String>);

impl Cells for Fields {
    fn cell(&self, place: usize) -> Cell<'_> {
        Cell::Text(&self.0[place])
    }
}
