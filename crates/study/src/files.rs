//! The files that a study names.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// Opens a file, which has to be one that can be opened again: a study's files are read when it is
/// checked and for each replication.
pub(crate) fn open(name: &str) -> Result<Box<dyn BufRead>, String> {
    let what = fs::metadata(name).map_err(|error| error.to_string())?;
    if !what.is_file() && !what.is_dir() {
        return Err(
            "it is a pipe or a device, and is read more than once: save it first".to_owned()
        );
    }
    let file = File::open(name).map_err(|error| error.to_string())?;
    Ok(Box::new(BufReader::with_capacity(BUFFER, file)))
}

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 16;
