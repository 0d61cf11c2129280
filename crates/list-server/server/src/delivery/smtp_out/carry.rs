//! Bytes both ways over one connection.

use super::Order;
use super::body::Body;
use super::stream::Stream;
use super::wire::Wire;
use sojourn_mail_engine::Relay;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;
use tokio::sync::mpsc::UnboundedReceiver;

/// A line that stands.
#[derive(Debug)]
pub(super) struct Line {
    stream: Stream,
    orders: UnboundedReceiver<Order>,
    /// Orders that were given and not begun.
    told: VecDeque<Order>,
    /// What is being written, and how much of it is.
    out: Vec<u8>,
    written: usize,
    flushing: bool,
    /// The message that is being written.
    body: Option<Body>,
    /// How many messages end in `out`, where it has some of one.
    carries: Option<u32>,
}

/// Something that happened on a line.
#[derive(Debug)]
pub(super) enum Did {
    /// These bytes came.
    Read(Vec<u8>),
    /// Some of a message is written, and so many messages wholly.
    Wrote { messages: u32 },
    /// It is to turn to TLS.
    WantsTls,
    /// No further order will come.
    Dismissed,
}

/// How much is read at a time.
const READ: usize = 4096;
/// Orders are written together up to so many octets.
const TOGETHER: usize = 16 * 1024;

impl Line {
    pub(super) fn new(stream: Stream, orders: UnboundedReceiver<Order>) -> Line {
        Line {
            stream,
            orders,
            told: VecDeque::new(),
            out: Vec::new(),
            written: 0,
            flushing: false,
            body: None,
            carries: None,
        }
    }

    /// The next thing that happens.
    pub(super) async fn next(&mut self) -> io::Result<Did> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Did>> {
        while let Poll::Ready(order) = self.orders.poll_recv(cx) {
            match order {
                Some(order) => self.told.push_back(order),
                None => return Poll::Ready(Ok(Did::Dismissed)),
            }
        }
        match self.poll_write(cx)? {
            Poll::Ready(did) => Poll::Ready(Ok(did)),
            Poll::Pending => self.poll_read(cx),
        }
    }

    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Did>> {
        let mut space = [MaybeUninit::uninit(); READ];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(self.stream.poll_read(cx, &mut buffer))?;
        Poll::Ready(match buffer.filled() {
            [] => Err(io::Error::other("the host closed the connection")),
            bytes => Ok(Did::Read(bytes.to_vec())),
        })
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Did>> {
        loop {
            if self.out.is_empty() && !self.flushing && self.load(cx)? {
                return Poll::Ready(Ok(Did::WantsTls));
            }
            if self.written < self.out.len() {
                match ready!(self.stream.poll_write(cx, &self.out[self.written..]))? {
                    0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    length => self.written += length,
                }
            } else if !self.out.is_empty() {
                (self.out, self.written, self.flushing) = (Vec::new(), 0, true);
            } else if self.flushing {
                ready!(self.stream.poll_flush(cx))?;
                self.flushing = false;
                if let Some(messages) = self.carries.take() {
                    return Poll::Ready(Ok(Did::Wrote { messages }));
                }
            } else {
                return Poll::Pending;
            }
        }
    }

    /// Takes up what can be written next; whether it is the handshake of TLS.
    fn load(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        while self.out.len() < TOGETHER {
            if let Some(body) = &mut self.body {
                let messages = self.carries.get_or_insert(0);
                if body.fill(&mut self.out) {
                    *messages += 1;
                    self.body = None;
                }
                continue;
            }
            match self.told.pop_front() {
                Some(Order::Send(bytes)) if self.out.is_empty() => self.out = bytes,
                Some(Order::Send(bytes)) => self.out.extend_from_slice(&bytes),
                Some(Order::Body(mut copy)) => match Pin::new(&mut copy).poll(cx) {
                    Poll::Ready(Ok(copy)) => self.body = Some(Body::new(copy)),
                    Poll::Ready(Err(_)) => {
                        return Err(io::Error::other("the copy for a recipient was not made"));
                    }
                    Poll::Pending => {
                        self.told.push_front(Order::Body(copy));
                        break;
                    }
                },
                Some(Order::StartTls) if self.out.is_empty() => return Ok(true),
                Some(order) => {
                    self.told.push_front(order);
                    break;
                }
                None => break,
            }
        }
        Ok(false)
    }

    /// Turns to TLS; false when the line was dismissed meanwhile.
    pub(super) async fn secure(&mut self, wire: &Wire, host: &Relay) -> io::Result<bool> {
        let Stream::Plain(plain) = std::mem::replace(&mut self.stream, Stream::Changing) else {
            return Err(io::Error::other("it is secured already"));
        };
        tokio::select! {
            secured = wire.security.secure(plain, host) => {
                self.stream = Stream::Tls(Box::new(secured?));
                Ok(true)
            }
            // Nothing is ordered during the handshake: this is the end.
            _ = self.orders.recv() => Ok(false),
        }
    }
}
