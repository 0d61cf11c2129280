//! What whoever watches has to show.

use crate::error::SetupError;
use argon2::password_hash::rand_core::{OsRng, RngCore};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// A secret that is shown, not logged.
#[derive(Clone)]
pub(super) struct Token(String);

/// Fewer could be guessed.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;
/// 128 bits.
const OCTETS: usize = 16;

impl Token {
    /// The one that the file at `path` has.
    pub(super) fn read(path: &Path) -> Result<Token, SetupError> {
        let bad = |why: String| SetupError::Key { path: path.to_owned(), why };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        let token = text.trim();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
        if !(SHORTEST..=LONGEST).contains(&token.len()) || !token.chars().all(plain) {
            return Err(bad(format!(
                "no token: expected {SHORTEST} to {LONGEST} letters, digits, -, _, . and ~"
            )));
        }
        Ok(Token(token.to_owned()))
    }

    /// Where the token of the server with the spool at `spool` is kept.
    pub(super) fn beside(spool: &Path) -> PathBuf {
        let mut name = spool.as_os_str().to_owned();
        name.push(".token");
        name.into()
    }

    /// The one that the file at `path` has; where there is no such file, it is made.
    pub(super) fn read_or_make(path: &Path) -> Result<Token, SetupError> {
        let bad = |error: std::io::Error| SetupError::Key {
            path: path.to_owned(),
            why: error.to_string(),
        };
        // For its owner alone.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(mut file) => {
                let mut octets = [0; OCTETS];
                OsRng.fill_bytes(&mut octets);
                let token: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
                writeln!(file, "{token}").and_then(|()| file.sync_all()).map_err(bad)?;
                Ok(Token(token))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Token::read(path),
            Err(error) => Err(bad(error)),
        }
    }

    /// Whether `given` is this one; how long that takes says nothing of where they differ.
    pub(super) fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn one_is_made_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = Token::beside(&folder.path().join("spool"));
        let token = Token::read_or_make(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(token.0.len(), 2 * OCTETS);
        let again = Token::read_or_make(&path).unwrap();
        assert!(again.is(&token.0) && !again.is(&token.0[1..]) && !again.is(""));
    }

    #[test]
    fn what_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert!(Token::read(&path).is_err());
        for text in ["", "short", "with a space in the middle", "no-ümlaut-in-a-token"] {
            std::fs::write(&path, text).unwrap();
            let told = Token::read(&path).err().expect(text).to_string();
            assert!(told.contains("token: no token: expected 16 to 256"), "{told}");
        }
    }
}
