//! What could not be read: counted, and the first few kept to be shown.

/// How many problems are kept.
const SHOWN: usize = 5;
/// How much of a line is kept.
const SHOWN_BYTES: usize = 200;

/// Why a line could not be read.
pub type Why = &'static str;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub source: String,
    /// Its line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: Why,
    /// How it begins.
    pub text: String,
}

/// The lines that could not be read.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    /// How many there were.
    pub number: u64,
    /// The first few of them.
    pub first: Vec<Problem>,
}

impl Problems {
    pub(crate) fn add(&mut self, source: &str, line: u64, why: Why, text: &[u8]) {
        self.number += 1;
        if self.first.len() < SHOWN {
            let shown = &text[..text.len().min(SHOWN_BYTES)];
            let text = String::from_utf8_lossy(shown).into_owned();
            self.first.push(Problem { source: source.to_owned(), line, why, text });
        }
    }
}
