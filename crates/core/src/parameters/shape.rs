//! Which values a setting takes, as far as a schema of study files can say it.

use super::Entry;

/// The shape of the values that a setting reads. Every value that is read has it; a value that has it
/// may still be refused.
#[derive(Clone, Debug)]
pub enum Shape {
    /// `true` or `false`.
    Truth,
    /// A whole number within these bounds.
    Whole {
        /// The least.
        least: i64,
        /// The largest.
        most: i64,
    },
    /// A number within these bounds, which may be infinite.
    Number {
        /// The least.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// A text that matches a pattern (a regular expression of ECMA 262) as a whole; any without one.
    Text(Option<String>),
    /// The name of a file; or of something known, which has neither a dot nor a slash in it.
    File {
        /// Whether it may be such a name.
        or_name: bool,
    },
    /// One of several texts.
    Names(Vec<&'static str>),
    /// A list, each value of this shape.
    List(Box<Shape>),
    /// Any of several shapes.
    Any(Vec<Shape>),
    /// A table of an entry's parameters.
    Table(fn() -> Entry),
    /// A table of any settings.
    Settings,
    /// The name of an entry, or a table with that name under a key and the entry's parameters, or
    /// with another name and other parameters.
    Kind {
        /// The part that they are kinds of, such as `disk`.
        what: &'static str,
        /// The key.
        key: &'static str,
        /// All kinds.
        entries: fn() -> Vec<Entry>,
        /// The parameters of a table with another name; none where that is refused.
        other: Option<fn() -> Entry>,
    },
}

impl Shape {
    /// A text of this pattern, which is of ECMA 262.
    pub fn text(pattern: &str) -> Shape {
        Shape::Text(Some(format!("^{pattern}$")))
    }
}
