//! What must not be lost beside a spool, the register of subscribers and the keys: checked at each
//! start, and repaired from their backups.

use super::keys::KeyFile;
use super::subscribers::{SubscriberStore, backup};
use crate::error::SetupError;
use sojourn_mail_spool::{Finding, own, private};
use std::fs;
use std::path::{Path, PathBuf};

/// What a repair did: what was wrong, and where the damaged files are kept.
pub type Repaired = (Vec<Finding>, Vec<PathBuf>);

/// One of the two.
#[derive(Clone, Copy)]
enum Part {
    Register,
    Keys,
}

/// A part, and what is wrong with it and with its backup.
struct Examined {
    part: Part,
    path: PathBuf,
    own: Vec<String>,
    copy: Vec<String>,
}

fn examine(spool: &Path) -> [Examined; 2] {
    [Part::Register, Part::Keys].map(|part| {
        let path = match part {
            Part::Register => SubscriberStore::beside(spool),
            Part::Keys => KeyFile::beside(spool),
        };
        let problems = |path: &Path, suffix| match part {
            Part::Register => backup::problems(path, suffix),
            Part::Keys => match KeyFile::read(path) {
                Err(SetupError::Key { why, .. }) => vec![why],
                _ => Vec::new(),
            },
        };
        let (own, copy) = (problems(&path, ""), problems(&backup::beside(&path), "_copy"));
        Examined { part, path, own, copy }
    })
}

impl Examined {
    /// Whether neither it nor its backup can be used.
    fn is_lost(&self) -> bool {
        !self.own.is_empty() && !self.copy.is_empty()
    }

    fn exists(&self) -> bool {
        self.path.exists() || backup::beside(&self.path).exists()
    }

    fn findings(&self) -> Vec<Finding> {
        let (path, backup) = (self.path.display(), backup::beside(&self.path));
        let remedy = match self.part {
            _ if self.own.is_empty() => format!("made anew from {path}"),
            _ if self.copy.is_empty() => format!("restored from {}", backup.display()),
            Part::Register => "put a copy of yours there, or forget who has left: --new".into(),
            Part::Keys => "put a copy of yours there, or give up the links sent: --new".into(),
        };
        let own = self.own.iter().map(|what| format!("{path}: {what}"));
        let copy = self.copy.iter().map(|what| format!("{}: {what}", backup.display()));
        own.chain(copy).map(|what| Finding { what, remedy: remedy.clone().into() }).collect()
    }

    fn refusal(&self) -> SetupError {
        let Finding { what, remedy } = &self.findings()[0];
        SetupError::State(format!("{what}; sojourn mail spool check CONFIG --repair: {remedy}"))
    }

    /// Restores the file from its backup or the backup from the file, and makes both new if both are
    /// lost, at `now`. Returns the paths at which damaged files are kept.
    fn repair(&self, now: i64) -> Result<Vec<PathBuf>, SetupError> {
        let backup = backup::beside(&self.path);
        let mut kept = Vec::new();
        for (path, problems) in [(&self.path, &self.own), (&backup, &self.copy)] {
            if !problems.is_empty() && path.exists() {
                kept.push(set_aside(path).map_err(SetupError::System)?);
            }
        }
        match self.part {
            Part::Register => {
                if !self.own.is_empty() {
                    // No number is given again, unless 100,000 subscribers came each day since 1970.
                    SubscriberStore::make(&self.path, now / 86_400 * 100_000)?;
                }
                SubscriberStore::open(&self.path)?;
            }
            Part::Keys if self.is_lost() => KeyFile::new(&self.path, now).write()?,
            Part::Keys if !self.own.is_empty() => KeyFile::read(&backup)?.at(&self.path).write()?,
            Part::Keys if fs::read(&self.path).ok() == fs::read(&backup).ok() => {}
            Part::Keys => KeyFile::read(&self.path)?.write()?,
        }
        Ok(kept)
    }
}

/// What is wrong beside the spool at `spool`; nothing where no server has used it.
pub fn check(spool: &Path) -> Vec<Finding> {
    let parts = examine(spool);
    let is_used = parts.iter().any(Examined::exists);
    parts.iter().filter(|_| is_used).flat_map(Examined::findings).collect()
}

/// Remedies what is wrong beside the spool at `spool`, which no process may own meanwhile, at `now`,
/// in seconds since 1970. A file that is lost with its backup is made new if `anew` allows it.
///
/// # Errors
///
/// A process has the spool open; something is lost; a file cannot be written.
pub fn repair(spool: &Path, anew: bool, now: i64) -> Result<Repaired, SetupError> {
    let _lock = own(spool).map_err(|error| SetupError::State(error.to_string()))?;
    let (parts, mut findings, mut kept) = (examine(spool), Vec::new(), Vec::new());
    let is_used = anew || parts.iter().any(Examined::exists);
    for part in parts.iter().filter(|it| is_used && !it.findings().is_empty()) {
        if part.is_lost() && !anew {
            return Err(part.refusal());
        }
        findings.extend(part.findings());
        kept.extend(part.repair(now)?);
        // Where root works on a spool, its server has to be able to write on.
        private::give(&part.path, spool);
        private::give(&backup::beside(&part.path), spool);
    }
    Ok((findings, kept))
}

/// The register and the keys of a server that starts with the spool at `spool`; they are made where no
/// server ever was. A backup that cannot be used is made anew; notices for the operator say so.
///
/// # Errors
///
/// One of them is missing or damaged, or cannot be read or written.
pub(crate) fn open(
    spool: &Path,
    now: i64,
) -> Result<(SubscriberStore, KeyFile, Vec<String>), SetupError> {
    let parts = examine(spool);
    let mut notices = Vec::new();
    // A first start makes the register after the keys, and the spool after the register.
    if spool.exists() || parts[0].exists() {
        for part in &parts {
            if !part.own.is_empty() {
                return Err(part.refusal());
            }
            for kept in part.repair(now)? {
                let Finding { what, remedy } = &part.findings()[0];
                notices.push(format!("{what}: {remedy}; as it was: {}", kept.display()));
            }
        }
    }
    let keys = KeyFile::read_or_make(&parts[1].path, now)?;
    Ok((SubscriberStore::open(&parts[0].path)?, keys, notices))
}

/// Gives a damaged file, and its write-ahead log, another name, which is returned.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let beside = |path: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let name = |turn: u32| beside(path, &format!("-before-repair-{turn}"));
    let kept = (1..).map(name).find(|it| !it.exists()).expect("a number is free");
    fs::rename(path, &kept)?;
    drop(fs::rename(beside(path, "-wal"), beside(&kept, "-wal")));
    drop(fs::remove_file(beside(path, "-shm")));
    Ok(kept)
}
