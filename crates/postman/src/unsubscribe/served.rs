//! An endpoint on a thread of its own.

use super::site::{Endpoint, Subscriptions};
use std::io::Result;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

/// An endpoint that is being served.
#[derive(Debug)]
pub(crate) struct Served {
    stop: watch::Sender<bool>,
    thread: JoinHandle<()>,
}

/// Threads for the disk.
const BLOCKING: usize = 2;

impl Served {
    /// Serves `endpoint` at `listener`.
    pub(crate) fn start<S: Subscriptions>(
        listener: TcpListener,
        endpoint: Endpoint<S>,
    ) -> Result<Served> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING)
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let work = move || runtime.block_on(Arc::new(endpoint).serve(listener, stopped));
        let thread = std::thread::Builder::new().name("unsubscribe".into()).spawn(work)?;
        Ok(Served { stop, thread })
    }

    /// Ends all connections.
    pub(crate) fn stop(self) {
        self.stop.send_replace(true);
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
    }
}
