//! The end of the socket at which the owner of a spool answers.

use super::protocol::{Answer, Request, limits};
use super::{LONGEST, beside, short};
use crate::accepting::{PAUSE, Refusals};
use crate::delivery::server::DeliveryServer;
use nix::unistd::{Uid, geteuid};
use std::fs::{Permissions, remove_file, set_permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::{spawn_blocking, spawn_local};
use tokio::time::{sleep, timeout};

/// Takes on the configuration anew, which the asker believes to be the given file, of the given text;
/// its notices, or why it was refused.
pub(crate) type Reload = dyn Fn(&str, &str) -> Result<Vec<String>, String> + Send + Sync;

/// The socket of a spool that this process owns. Its file is gone when this is dropped.
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
}

/// Operators at once.
const AT_ONCE: usize = 8;
/// How long an operator may take to ask, and to read the answer.
const PATIENCE: Duration = Duration::from_secs(10);

impl Control {
    /// Opens the socket of the spool at `spool`, whose lock this process has: one that is there
    /// already was left by a process that is gone. Called within the runtime that serves it.
    pub(crate) fn open(spool: &Path) -> io::Result<Control> {
        let path = beside(spool);
        match remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (_folder, short) = short(&path)?;
        let listener = std::os::unix::net::UnixListener::bind(&short)?;
        set_permissions(&path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Control { listener: UnixListener::from_std(listener)?, path })
    }

    /// Answers until the runtime ends.
    pub(crate) async fn serve(self, delivery: DeliveryServer, reload: Arc<OnceLock<Box<Reload>>>) {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut refusals = Refusals::default();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let stream = match refusals.take(self.listener.accept().await) {
                Ok((stream, _)) => stream,
                Err(news) => {
                    if let Some(error) = news {
                        delivery.trouble(format!("no operator can be answered: {error}")).await;
                    }
                    sleep(PAUSE).await;
                    continue;
                }
            };
            let (delivery, reload) = (delivery.clone(), Arc::clone(&reload));
            spawn_local(async move {
                // One who is gone needs no answer.
                let _ = converse(stream, delivery, reload).await;
                drop(place);
            });
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = remove_file(&self.path);
    }
}

async fn converse(
    mut stream: UnixStream,
    delivery: DeliveryServer,
    reload: Arc<OnceLock<Box<Reload>>>,
) -> io::Result<()> {
    let peer = Uid::from_raw(stream.peer_cred()?.uid());
    let mut line = Vec::new();
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read.take(LONGEST));
    write.write_all(b"\n").await?;
    let answer = if !peer.is_root() && peer != geteuid() {
        Answer::Refused("only the user that the server runs as, and root, may ask".into())
    } else {
        timeout(PATIENCE, read.read_until(b'\n', &mut line)).await??;
        match Request::read(&line) {
            Ok(request) => answer(request, &delivery, reload).await,
            Err(why) => Answer::Refused(format!("no request: {why}")),
        }
    };
    timeout(PATIENCE, write.write_all((answer.write() + "\n").as_bytes())).await?
}

async fn answer(
    request: Request,
    delivery: &DeliveryServer,
    reload: Arc<OnceLock<Box<Reload>>>,
) -> Answer {
    match request {
        Request::Operate(operation, selection) => {
            match delivery.operate(operation, selection).await {
                Ok(counts) => Answer::Done(counts),
                Err(why) => Answer::Refused(why.to_string()),
            }
        }
        Request::Shaping(domain) => match delivery.shaping(Some(domain)).await {
            Ok(all) => Answer::Shaping(limits(&all)),
            Err(why) => Answer::Refused(why.to_string()),
        },
        Request::Reload(config, text) => {
            let done = spawn_blocking(move || match reload.get() {
                Some(reload) => reload(&config, &text),
                None => Err("this process takes no configuration while it runs".into()),
            });
            match done.await {
                Ok(Ok(notices)) => Answer::Reloaded(notices),
                Ok(Err(why)) => Answer::Refused(why),
                Err(_) => Answer::Refused("reading the configuration failed".into()),
            }
        }
    }
}
