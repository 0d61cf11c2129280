//! The files that a study names.

use std::io::BufRead;

/// Opens a file that a study names, at its beginning, or says why not. It is asked for the same file
/// more than once.
pub type Open<'a> = &'a dyn Fn(&str) -> Result<Box<dyn BufRead>, String>;

/// The text of a file, or why there is none.
pub fn text(open: Open<'_>, name: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    open(name)?.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
}
