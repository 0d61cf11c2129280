//! A cell of a list of flows: text in a file, or what a column of a table has.

use sojourn_core::Span;
use sojourn_core::files::Row;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// What stands in one column of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::workload) enum Cell<'a> {
    /// Nothing, in a column of a table.
    Missing,
    /// Text; an empty one is nothing too.
    Text(&'a str),
    /// A whole number.
    Whole(i64),
    /// A number of a column of numbers with fractions.
    Number(f64),
}

/// The cells of one flow.
pub(in crate::workload) trait Cells {
    /// The cell in the column at `place`, from 0.
    fn cell(&self, place: usize) -> Cell<'_>;
}

impl Cells for Row {
    fn cell(&self, place: usize) -> Cell<'_> {
        Cell::Text(Row::cell(self, place))
    }
}

impl<'a> Cell<'a> {
    /// Whether nothing stands there.
    pub(super) fn is_empty(self) -> bool {
        matches!(self, Cell::Missing | Cell::Text(""))
    }

    /// A whole number; none where something else stands there, or `T` cannot hold it.
    pub(super) fn whole<T: FromStr + TryFrom<i64>>(self) -> Option<T> {
        match self {
            Cell::Text(text) => text.parse().ok(),
            Cell::Whole(number) => T::try_from(number).ok(),
            Cell::Missing | Cell::Number(_) => None,
        }
    }

    /// What to add to a message about a whole number that was expected.
    pub(super) fn hint(self) -> &'static str {
        if let Cell::Number(_) = self { ", in a column of whole numbers" } else { "" }
    }

    /// A number.
    fn number(self) -> Option<f64> {
        match self {
            Cell::Text(text) => text.parse().ok(),
            Cell::Whole(number) => Some(number as f64),
            Cell::Number(number) => Some(number),
            Cell::Missing => None,
        }
    }

    /// A name, or a list of names; a number is called by its digits.
    pub(super) fn name(self) -> Cow<'a, str> {
        match self {
            Cell::Missing => Cow::Borrowed(""),
            Cell::Text(text) => Cow::Borrowed(text),
            Cell::Whole(number) => Cow::Owned(number.to_string()),
            Cell::Number(number) => Cow::Owned(number.to_string()),
        }
    }

    /// A time that a column of this unit has.
    pub(super) fn span(self, unit: TimeUnit) -> Option<Span> {
        match (unit, self) {
            (TimeUnit::Written, Cell::Text(text)) => text.parse().ok(),
            (TimeUnit::Written, _) => None,
            (TimeUnit::Picoseconds, _) => self.whole().map(Span::from_ps),
            (TimeUnit::Numbers { ps, .. }, _) => match self.whole::<u64>() {
                Some(whole) => Some(Span::from_ps(ps).saturating_mul(whole)),
                None => {
                    let number = self.number().filter(|&number| number >= 0.0);
                    number.map(|number| Span::from_seconds(number * (ps as f64 / 1e12)))
                }
            },
        }
    }
}

/// As messages quote it.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Missing => f.write_str("missing"),
            Cell::Text(text) => write!(f, "{text:?}"),
            Cell::Whole(number) => write!(f, "{number}"),
            Cell::Number(number) => write!(f, "{number:?}"),
        }
    }
}

/// The unit of a column of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    /// Each time has its unit, as in `12.5us`.
    Written,
    /// Numbers of a unit.
    Numbers {
        /// Its name.
        name: &'static str,
        /// Its length in picoseconds.
        ps: u64,
    },
    /// Whole picoseconds.
    Picoseconds,
}

impl TimeUnit {
    /// All of them, with what the name of a column ends with.
    pub(super) const ALL: [(TimeUnit, &str); 6] = [
        (TimeUnit::Written, ""),
        (TimeUnit::Numbers { name: "seconds", ps: 1_000_000_000_000 }, "_s"),
        (TimeUnit::Numbers { name: "milliseconds", ps: 1_000_000_000 }, "_ms"),
        (TimeUnit::Numbers { name: "microseconds", ps: 1_000_000 }, "_us"),
        (TimeUnit::Numbers { name: "nanoseconds", ps: 1_000 }, "_ns"),
        (TimeUnit::Picoseconds, "_ps"),
    ];

    /// A time of it in words, for messages; `written` is an example with its unit.
    pub(super) fn like(self, written: &str) -> String {
        match self {
            TimeUnit::Written => format!("a time such as {written}"),
            TimeUnit::Numbers { name, .. } => format!("{name} such as 0.25"),
            TimeUnit::Picoseconds => "whole picoseconds such as 12000000".to_owned(),
        }
    }
}
