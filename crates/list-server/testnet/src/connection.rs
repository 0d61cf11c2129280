//! One connection: a session's outputs become bytes, at their time.

use crate::acceptance::{Acceptance, Log};
use crate::fault::duration;
use crate::host::Site;
use crate::session::{Output, Place, Session, Taken};
use crate::tls::Tls;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) started: Instant,
    pub(crate) keep_texts: bool,
    pub(crate) sessions: Cell<u64>,
    /// How many are open.
    pub(crate) open: Arc<AtomicUsize>,
    pub(crate) log: Arc<Log>,
}

/// A stream that carries a session.
trait Line: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl Line for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Line for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// How a stretch of a session ended.
enum End {
    Over,
    StartTls,
}

/// An output that waits for its time, and what of the log it answers.
struct Due {
    at: Instant,
    output: Output,
    taken: Range<usize>,
}

struct Connection<'a> {
    shared: &'a Shared,
    site: &'a Site,
    here: IpAddr,
    session: Session,
    number: u64,
    transaction: u32,
    /// How often the client has spoken after it was answered, and whether it was answered since.
    turns: u32,
    answered: bool,
    round_trip: Duration,
    outputs: VecDeque<Output>,
}

/// Serves one connection between two addresses, to its end.
pub(crate) async fn serve(
    shared: &Shared,
    site: &Site,
    stream: TcpStream,
    (here, client): (IpAddr, IpAddr),
    acceptor: Option<TlsAcceptor>,
) {
    let number = shared.sessions.get();
    shared.sessions.set(number + 1);
    site.memory.borrow_mut().sessions += 1;
    shared.open.fetch_add(1, Relaxed);
    let connection = Connection {
        shared,
        site,
        here,
        session: Session::new(client, shared.keep_texts),
        number,
        transaction: 0,
        turns: 0,
        answered: false,
        round_trip: duration(site.host.round_trip),
        outputs: VecDeque::new(),
    };
    let _leaving = Leaving(shared, site);
    // A client that goes away is nothing out of the ordinary.
    drop(connection.run(stream, acceptor).await);
}

/// Counts a session out, however it ends.
struct Leaving<'a>(&'a Shared, &'a Site);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Relaxed);
        self.1.memory.borrow_mut().sessions -= 1;
    }
}

impl Connection<'_> {
    async fn run(mut self, mut stream: TcpStream, acceptor: Option<TlsAcceptor>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        // The handshake of TCP took no time: its round trip is made up for here.
        sleep(self.round_trip).await;
        self.with_session(|session, place, outputs| session.greet(place, outputs));
        if matches!(self.converse(&mut stream).await?, End::Over) {
            return Ok(());
        }
        if self.site.host.tls == Tls::Broken {
            return stream.write_all(b"\x15\x03\x03\0\x02\x02\x28no handshake").await;
        }
        let Some(acceptor) = acceptor else { return Ok(()) };
        sleep(self.round_trip).await;
        let mut stream = acceptor.accept(stream).await?;
        self.session.secured();
        self.converse(&mut stream).await?;
        Ok(())
    }

    fn with_session(
        &mut self,
        act: impl FnOnce(&mut Session, &mut Place<'_>, &mut VecDeque<Output>),
    ) {
        let mut memory = self.site.memory.borrow_mut();
        let mut place = Place {
            host: &self.site.host,
            domain: &self.site.domain,
            memory: &mut memory,
            now: self.shared.started.elapsed(),
        };
        act(&mut self.session, &mut place, &mut self.outputs);
    }

    /// Reads and answers until the end, or until TLS begins.
    async fn converse(&mut self, stream: &mut impl Line) -> io::Result<End> {
        let mut buffer = vec![0; 16 * 1024];
        // What is to be sent, each at its time; and what comes after that.
        let mut due: VecDeque<Due> = VecDeque::new();
        loop {
            self.note_times(&mut due);
            tokio::select! {
                biased;
                () = sleep_until(due.front().map_or_else(Instant::now, |it| it.at)),
                    if !due.is_empty() =>
                {
                    self.answered = true;
                    if let Some(end) = send_due(self.shared, stream, &mut due).await? {
                        return Ok(end);
                    }
                }
                read = stream.read(&mut buffer) => {
                    let size = read?;
                    if size == 0 {
                        return Ok(End::Over);
                    }
                    self.turns += u32::from(std::mem::take(&mut self.answered));
                    self.with_session(|session, place, outputs| {
                        session.read(&buffer[..size], place, outputs);
                    });
                }
            }
        }
    }

    /// Outputs get their times: a round trip after what they answer, and not before those that go
    /// before them.
    fn note_times(&mut self, due: &mut VecDeque<Due>) {
        if self.outputs.is_empty() {
            return;
        }
        let now = Instant::now();
        let mut at = due.back().map_or(now, |it| it.at).max(now + self.round_trip);
        let mut taken = 0..0;
        while let Some(output) = self.outputs.pop_front() {
            match output {
                Output::Taken(message) => {
                    // A host comes to a text when it has answered what came before.
                    taken = self.note(at - self.round_trip / 2, message);
                    self.transaction += 1;
                }
                output => {
                    if let Output::Reply { thinking, .. } = output {
                        at += thinking;
                    }
                    due.push_back(Due { at, output, taken: std::mem::take(&mut taken) });
                }
            }
        }
    }

    /// Notes a message that the host comes to at `reached`; where in the log.
    fn note(&self, reached: Instant, taken: Taken) -> Range<usize> {
        let shared = self.shared;
        let text = taken.text.map(Arc::<[u8]>::from);
        let acceptances = taken.recipients.into_iter().map(|recipient| Acceptance {
            read: shared.started.elapsed(),
            at: reached - shared.started,
            answered: None,
            message: taken.message.clone(),
            recipient: recipient.into(),
            sender: taken.sender.clone(),
            host: self.here,
            session: self.number,
            transaction: self.transaction,
            turns: self.turns,
            secured: self.session.secured,
            text: text.clone(),
        });
        shared.log.push(acceptances)
    }
}

/// Sends all whose time has come.
async fn send_due(
    shared: &Shared,
    stream: &mut impl Line,
    due: &mut VecDeque<Due>,
) -> io::Result<Option<End>> {
    let now = Instant::now();
    let (mut together, mut answered) = (Vec::new(), Vec::new());
    while due.front().is_some_and(|it| it.at <= now) {
        let next = due.pop_front().expect("an answer that is due was seen");
        if let Output::Reply { bytes, drip: None, .. } = next.output {
            together.extend(bytes);
            answered.push(next.taken);
            continue;
        }
        send(shared, stream, &mut together, &mut answered).await?;
        match next.output {
            Output::Reply { bytes, drip, .. } => {
                for byte in bytes {
                    sleep(drip.unwrap_or_default()).await;
                    stream.write_all(&[byte]).await?;
                }
                shared.log.answered(next.taken, shared.started.elapsed());
            }
            Output::StartTls => return Ok(Some(End::StartTls)),
            Output::Close => {
                stream.shutdown().await?;
                return Ok(Some(End::Over));
            }
            Output::Reset => {
                stream.tcp().set_zero_linger()?;
                return Ok(Some(End::Over));
            }
            Output::Endless => loop {
                stream.write_all(&[b'2'; 16 * 1024]).await?;
            },
            Output::Taken(_) => unreachable!("it was noted"),
        }
    }
    send(shared, stream, &mut together, &mut answered).await?;
    Ok(None)
}

/// Sends replies, and notes which messages they answer.
async fn send(
    shared: &Shared,
    stream: &mut impl Line,
    replies: &mut Vec<u8>,
    taken: &mut Vec<Range<usize>>,
) -> io::Result<()> {
    stream.write_all(replies).await?;
    replies.clear();
    for taken in taken.drain(..).filter(|it| !it.is_empty()) {
        shared.log.answered(taken, shared.started.elapsed());
    }
    Ok(())
}
