//! The line of one session: it connects, carries bytes both ways, turns to TLS, and closes. What
//! the bytes mean it does not know.
//!
//! What it holds is bounded: it reads no further before the engine has taken what came, and of a
//! message it has one piece at a time.

mod body;
mod carry;
mod stream;
pub(crate) mod tls;
mod wire;

pub(crate) use wire::Wire;

use super::request::Input;
use super::smtp_out::carry::{Did, Line};
use bytes::Bytes;
use sojourn_mail_engine::{Event, Relay, SessionId};
use sojourn_smtp::client::Framing;
use std::io;
use std::rc::Rc;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::sync::oneshot;

/// One copy of a message: the text that all share, after a separate head.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) head: Vec<u8>,
    pub(crate) text: Bytes,
    pub(crate) framing: Framing,
}

/// An order to a line, which closes when its sender of orders is gone.
#[derive(Debug)]
pub(crate) enum Order {
    Send(Vec<u8>),
    /// A copy that comes when it is made; what is ordered after it is sent after it.
    Body(oneshot::Receiver<Copy>),
    StartTls,
}

/// Runs the line of one session to `host`, until the sender of orders is gone or it breaks.
/// Orders come only after it has said that it is connected.
pub(crate) async fn run(
    wire: Rc<Wire>,
    id: SessionId,
    host: Relay,
    orders: UnboundedReceiver<Order>,
    engine: Sender<Input>,
) {
    if let Err(why) = carry(&wire, id, &host, orders, &engine).await {
        // An engine that is gone needs to know nothing.
        let _ = engine.send(Input::Event(Event::Closed(id, why))).await;
    }
}

/// Carries bytes as long as both ends of the channels exist; or returns why the line broke before.
async fn carry(
    wire: &Wire,
    id: SessionId,
    host: &Relay,
    mut orders: UnboundedReceiver<Order>,
    engine: &Sender<Input>,
) -> Result<(), String> {
    let stream = tokio::select! {
        stream = wire.connect(host.address, id.nth()) => stream.map_err(words)?,
        _ = orders.recv() => return Ok(()),
    };
    let mut line = Line::new(stream, orders);
    let mut event = Event::Connected(id);
    while engine.send(Input::Event(event)).await.is_ok() {
        event = match line.next().await.map_err(words)? {
            Did::Read(bytes) => Event::Received(id, bytes),
            Did::Wrote { messages } => Event::Written(id, messages),
            Did::WantsTls => match line.secure(wire, host).await {
                Ok(true) => Event::Secured(id),
                Ok(false) => break,
                Err(error) => return Err(format!("TLS could not be set up: {}", words(error))),
            },
            Did::Dismissed => break,
        };
    }
    Ok(())
}

/// An error without the number that the system has for it.
fn words(error: io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}
