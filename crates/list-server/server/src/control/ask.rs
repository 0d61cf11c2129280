//! The end of the socket at which an operator asks.

use super::protocol::{Answer, Request};
use super::{LONGEST, beside, short};
use sojourn_mail_engine::{Counts, Operation, Selection};
use sojourn_mail_spool as spool;
use sojourn_mail_spool::SpoolError;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why what was asked was not done.
#[derive(Debug)]
pub enum AskError {
    /// The process that owns the spool does not answer.
    Silent {
        /// Where.
        path: PathBuf,
        /// Whether it was asked: it may still do it then.
        asked: bool,
        /// What the system says.
        error: io::Error,
    },
    /// It refuses; why.
    Refused(String),
    /// No process owns the spool.
    NoServer(PathBuf),
    /// The spool cannot be used.
    Spool(SpoolError),
}

/// How long the owner of a spool has to greet: less, as a process that is stopped never does.
const GREETING: Duration = Duration::from_secs(5);
/// How long it has to answer: it may have a million recipients to write.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often the process that owns the spool is looked for, and how long in between.
const TURNS: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(100);

/// Does an operation with recipients in the spool at `path`, or has it done by the process that owns
/// the spool: it is on stable storage when this returns.
///
/// # Errors
///
/// The owner does not answer, or the spool cannot be read or written.
pub fn operate(
    path: &Path,
    operation: Operation,
    selection: &Selection,
) -> Result<Counts, AskError> {
    let request = Request::Operate(operation, selection.clone());
    for _ in 0..TURNS {
        match spool::operate(path, operation, selection) {
            Err(SpoolError::InUse { .. }) => {}
            done => return done.map_err(AskError::Spool),
        }
        // An owner that is about to begin, or to end, has no socket.
        match ask(path, &request)? {
            Some(Answer::Done(counts)) => return Ok(counts),
            Some(answer) => return Err(unexpected(answer)),
            None => std::thread::sleep(BETWEEN),
        }
    }
    Err(AskError::Spool(SpoolError::InUse { path: path.to_owned() }))
}

/// Has the server with the spool at `path` take on its configuration anew, the file `config` with
/// this text; what it has to say about it.
///
/// # Errors
///
/// There is no server, or it refuses: it goes on as it was.
pub fn reload(path: &Path, config: &str, text: &str) -> Result<Vec<String>, AskError> {
    match ask(path, &Request::Reload(config.to_owned(), text.to_owned()))? {
        Some(Answer::Reloaded(notices)) => Ok(notices),
        Some(answer) => Err(unexpected(answer)),
        None => Err(AskError::NoServer(path.to_owned())),
    }
}

/// The limits that a domain has in the server with the spool at `path`, as a list in JSON; empty where
/// there was no mail for the domain lately.
///
/// # Errors
///
/// There is no server, or it refuses.
pub fn shaping(path: &Path, domain: &str) -> Result<String, AskError> {
    match ask(path, &Request::Shaping(domain.to_owned()))? {
        Some(Answer::Shaping(limits)) => Ok(limits.to_string()),
        Some(answer) => Err(unexpected(answer)),
        None => Err(AskError::NoServer(path.to_owned())),
    }
}

fn unexpected(answer: Answer) -> AskError {
    AskError::Refused(match answer {
        Answer::Refused(why) => why,
        other => format!("{other:?} is no answer to this"),
    })
}

/// Asks the owner of a spool; nothing when it has no socket that answers.
fn ask(spool: &Path, request: &Request) -> Result<Option<Answer>, AskError> {
    let path = beside(spool);
    let silent = |asked| {
        let path = path.clone();
        move |error| AskError::Silent { path, asked, error }
    };
    let (_folder, short) = short(&path).map_err(silent(false))?;
    let mut stream = match UnixStream::connect(short) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(silent(false)(error)),
    };
    let mut greeting = [0];
    stream.set_read_timeout(Some(GREETING)).map_err(silent(false))?;
    stream.read_exact(&mut greeting).map_err(silent(false))?;
    let mut converse = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all((request.write() + "\n").as_bytes())?;
        let mut line = Vec::new();
        BufReader::new((&stream).take(LONGEST)).read_until(b'\n', &mut line)?;
        Answer::read(&line).map(Some).map_err(io::Error::other)
    };
    converse().map_err(silent(true))
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Silent { path, asked, error } => {
                write!(f, "the server does not answer at {}", path.display())?;
                f.write_str(if *asked { ", and may still do what was asked: " } else { ": " })?;
                match error.kind() {
                    io::ErrorKind::WouldBlock => f.write_str("its process is stopped, or busy"),
                    _ => error.fmt(f),
                }
            }
            AskError::Refused(why) => f.write_str(why),
            AskError::NoServer(path) => {
                write!(f, "no server is at work on the spool {}", path.display())
            }
            AskError::Spool(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AskError {}
