//! Copies on their way to a session: the text that all share, and a head of its own where the
//! message's sender is a list that gives each recipient one.

use super::{Driver, Input};
use crate::home::Addressed;
use crate::line::{Copy, Order};
use bytes::Bytes;
use sojourn_mail::engine::{Event, SessionId, Task};
use sojourn_mail::smtp::Framing;
use std::sync::Arc;
use tokio::task::{spawn_blocking, spawn_local};

impl Driver {
    /// Gives a session the copy of a text that is for `own`, or for all recipients of its
    /// transaction.
    pub(super) fn send_copy(
        &mut self,
        session: SessionId,
        own: Option<Task>,
        text: Bytes,
        framing: Framing,
    ) {
        let engine = &self.engine;
        let names = own.and_then(|task| {
            let sender = engine.sender(task.message).filter(|it| self.home.has_heads(it))?;
            let recipient = engine.recipient(task)?.clone();
            Some(Addressed { sender: sender.clone(), recipient, claim: engine.claim(task) })
        });
        let Some(addressed) = names else {
            return self.order(session, Order::Body(Copy { head: Vec::new(), text, framing }));
        };
        // A session that was closed meanwhile must not send it any more.
        let Some(line) = self.lines.get(&session).map(|line| line.downgrade()) else { return };
        let (home, heads) = (Arc::clone(&self.home), Arc::clone(&self.heads));
        let inputs = self.inputs.clone();
        spawn_local(async move {
            let turn = heads.acquire_owned().await;
            let made = spawn_blocking(move || {
                let _turn = turn;
                let head = home.head(&addressed, &text);
                Copy { head, text, framing }
            });
            match (made.await, line.upgrade()) {
                (Ok(copy), Some(line)) => drop(line.send(Order::Body(copy))),
                (Err(_), Some(_)) => {
                    let why = "the copy for a recipient could not be made".to_owned();
                    let _ = inputs.send(Input::Event(Event::Closed(session, why))).await;
                }
                (_, None) => {}
            }
        });
    }
}
