//! The keys of a running server: read from their file, and given to what signs and what verifies.

use super::error::SetupError;
use super::lists::Lists;
use crate::handle::Postman;
use crate::keys::KeyFile;
use sojourn_mail_engine::list::List;
use sojourn_mail_engine::list::return_path::ReturnPaths;
use sojourn_mail_engine::list::token::TokenKeys;
use sojourn_smtp::Address;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the keys are, and who uses them.
pub(super) struct KeyRing {
    pub(super) file: PathBuf,
    pub(super) lists: Arc<Lists>,
    pub(super) postman: Postman,
}

impl KeyRing {
    /// Reads the file again: what it has is used from now on.
    pub(super) fn reload(&self) -> Result<(), SetupError> {
        let keys = KeyFile::read(&self.file)?.token_keys();
        // What is signed can be verified before it is sent.
        self.lists.set_keys(keys.clone());
        // A server that has stopped sends nothing.
        let _ = self.postman.set_return_paths(return_paths(keys, &self.lists.lists));
        Ok(())
    }
}

/// The return paths of those lists whose copies have one each.
pub(super) fn return_paths(keys: TokenKeys, lists: &[List]) -> ReturnPaths {
    let lists: Vec<Address> =
        lists.iter().filter(|list| list.verp).map(|list| list.bounces.clone()).collect();
    ReturnPaths::new(keys, lists)
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({})", self.file.display())
    }
}
