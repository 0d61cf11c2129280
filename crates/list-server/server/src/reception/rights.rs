//! The rights that a server has when it is open: those of a user who may do little.

use super::error::SetupError;
use nix::unistd::{Uid, User, geteuid, setgid, setgroups, setuid};
use std::os::unix::fs::chown;
use std::path::Path;

/// Takes on the rights of the user `name`, and lets go of all others for good. To be called before
/// there are threads.
pub(super) fn become_user(name: &str) -> Result<(), SetupError> {
    let bad = |why: String| SetupError::User { name: name.to_owned(), why };
    let user = User::from_name(name).map_err(|error| bad(error.to_string()))?;
    let user = user.ok_or_else(|| bad("there is no such user".into()))?;
    if !geteuid().is_root() {
        let same = user.uid == geteuid();
        return if same { Ok(()) } else { Err(bad("only root can become another user".into())) };
    }
    setgroups(&[user.gid])
        .and_then(|()| setgid(user.gid))
        .and_then(|()| setuid(user.uid))
        .map_err(|error| bad(error.to_string()))?;
    // Who could go back has not let go.
    if !user.uid.is_root() && setuid(Uid::from_raw(0)).is_ok() {
        return Err(bad("the system gives root's rights back".into()));
    }
    Ok(())
}

/// The name of the user whose rights this process has.
pub(super) fn own_name() -> String {
    let user = User::from_uid(geteuid()).ok().flatten();
    user.map_or_else(|| format!("user {}", geteuid()), |user| user.name)
}

/// Gives a file to the user `name`, whose rights its server is to have, where the system lets it.
pub fn give(path: &Path, name: &str) {
    if let Ok(Some(user)) = User::from_name(name) {
        drop(chown(path, Some(user.uid.as_raw()), Some(user.gid.as_raw())));
    }
}
