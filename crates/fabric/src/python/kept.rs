//! Files that a run keeps in its directory.

use super::interpreter;
use sojourn_core::parameters::{Refusal, Setting, Shape, Value};

/// So many digits of a hash are in the name of a file that is kept.
pub(crate) const HASH_SHOWN: usize = 16;

/// The name of a file that a run keeps under another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptFile {
    /// Where it is.
    pub path: String,
    /// Its name seen from a run directory, once the file is known.
    pub(crate) kept: Option<String>,
}

impl KeptFile {
    /// Sees to it that the file is in a run directory. Returns whether it is to be there. Fails with the reason,
    /// for people, also if it has another SHA-256.
    pub(crate) fn keep(&self, sha256: Option<&str>, run: &str) -> Result<bool, String> {
        let Some(kept) = &self.kept else { return Ok(false) };
        interpreter()?.copy(&self.path, sha256, &format!("{run}/{kept}"))?;
        Ok(true)
    }
}

/// By its name in a run directory, where that is known.
impl Setting for KeptFile {
    fn expected() -> String {
        String::expected()
    }

    fn shape() -> Shape {
        String::shape()
    }

    fn read(value: &Value) -> Result<KeptFile, Refusal> {
        String::read(value).map(|path| KeptFile { path, kept: None })
    }

    fn write(&self) -> Option<Value> {
        Some(Value::Text(self.kept.as_ref().unwrap_or(&self.path).clone()))
    }
}
