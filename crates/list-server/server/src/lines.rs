//! Lines of several writers in one file.

use std::io::{Result, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// One of those who write lines to the same file: each line stays whole.
#[derive(Debug)]
pub struct Lines<W> {
    out: Arc<Mutex<W>>,
    /// What has no end yet.
    rest: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// The first of them.
    pub fn new(out: W) -> Lines<W> {
        Lines { out: Arc::new(Mutex::new(out)), rest: Vec::new() }
    }

    /// All of them go on there, with the next whole line.
    pub fn redirect(&self, out: W) {
        *self.out.lock().unwrap_or_else(PoisonError::into_inner) = out;
    }
}

/// One more of them.
impl<W> Clone for Lines<W> {
    fn clone(&self) -> Lines<W> {
        Lines { out: Arc::clone(&self.out), rest: Vec::new() }
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.rest.extend_from_slice(bytes);
        if let Some(end) = self.rest.iter().rposition(|&byte| byte == b'\n') {
            let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
            out.write_all(&self.rest[..=end])?;
            self.rest.drain(..=end);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}
