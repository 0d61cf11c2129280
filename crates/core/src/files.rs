//! What is in a text: the lines that say something, and tables of cells with commas between, quoted where a
//! program does so (RFC 4180).

use csv::{ReaderBuilder, StringRecord, Terminator, Trim};
use std::fmt;

/// The lines of a text that say something, each with its number from 1 and without space around it: neither
/// empty lines, nor comments, which begin with #, nor a byte order mark.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// A line of a table, neither empty nor a comment.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its number in the text, from 1.
    pub line: usize,
    cells: StringRecord,
}

/// A line with a quote that does not end there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote {
    /// Its number in the text, from 1.
    pub line: usize,
}

impl Row {
    /// Its cells, without quotes and the space around them.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        self.cells.iter()
    }

    /// The cell at `place`, from 0. Panics beyond the last.
    pub fn cell(&self, place: usize) -> &str {
        &self.cells[place]
    }

    /// The cells as one text, with commas between.
    pub fn text(&self) -> String {
        self.cells().collect::<Vec<_>>().join(",")
    }

    /// How many cells it has.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether it has no cells, which no row has.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

impl OpenQuote {
    /// The message.
    pub fn what(self) -> &'static str {
        "a quote that does not end on its line"
    }
}

impl fmt::Display for OpenQuote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what())
    }
}

/// The rows of `text`. Skips empty lines, lines that start with #, and a byte order mark.
pub fn rows(text: &str) -> impl Iterator<Item = Result<Row, OpenQuote>> {
    let (numbers, told): (Vec<usize>, Vec<&str>) = lines(text).unzip();
    let records = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(std::io::Cursor::new(told.join("\n")))
        .into_records();
    numbers.into_iter().zip(records).map(|(line, record)| {
        let cells = record.expect("lines of text in memory, of any length");
        match cells.iter().any(|cell| cell.contains('\n')) {
            true => Err(OpenQuote { line }),
            false => Ok(Row { line, cells }),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<Result<(usize, Vec<String>), OpenQuote>> {
        let cells = |row: Row| (row.line, row.cells().map(str::to_owned).collect());
        rows(text).map(|row| row.map(cells)).collect()
    }

    #[test]
    fn by_hand() {
        let text = "\u{feff}# flows\n\"src\", dst ,\"a \"\"b\"\"\"\r\n\n  # more\n1,\"2,3\",\n";
        let row = |line, cells: [&str; 3]| Ok((line, cells.map(str::to_owned).to_vec()));
        assert_eq!(read(text), [row(2, ["src", "dst", "a \"b\""]), row(5, ["1", "2,3", ""])]);
    }

    #[test]
    fn a_quote_ends_on_its_line() {
        let found = read("a,b\n1,\"2\n3,4\n5,6");
        assert_eq!(found[1], Err(OpenQuote { line: 2 }));
    }

    proptest! {
        #[test]
        fn quotes_change_nothing(cells in prop::collection::vec("[a-z0-9 .]{1,5}", 1..6)) {
            let cells: Vec<&str> = cells.iter().map(|cell| cell.trim()).collect();
            prop_assume!(cells.iter().any(|cell| !cell.is_empty()));
            let plain = format!("head\n{}\n", cells.join(","));
            let quoted = format!("head\n\"{}\"\n", cells.join("\",\""));
            prop_assert_eq!(read(&plain), read(&quoted));
        }

        #[test]
        fn any_text_is_read(text in "[a1,\"#\r\n \u{e4}]{0,40}") {
            let lines = text.lines().count();
            for row in read(&text) {
                let line = row.map_or_else(|quote| quote.line, |(line, _)| line);
                prop_assert!((1..=lines).contains(&line));
            }
        }
    }
}
