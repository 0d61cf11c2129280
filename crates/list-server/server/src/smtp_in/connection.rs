//! One session on its socket: bytes in, replies out, and what it wants done.

use super::context::{Current, Phase, ReceptionContext};
use super::message_memory::Occupied;
use crate::connection_limits::{Network, Place, Places};
use crate::event::ServerEvent;
use sojourn_core::{Span, Time};
use sojourn_smtp::server::{Output, Peer, Session, SessionConfig, Stage, Stress, Verdict};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep_until, timeout};

/// Kinds of clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those who may send by their network, or by the password that they gave.
    Trusted,
    /// Others, at ports where mail comes from anywhere.
    Untrusted,
    /// Others, at ports for submission: they have yet to log in.
    Submission,
    /// Others, at an address from which a user has logged in before.
    Known,
}

/// How long a session that gives way has to send its last reply.
pub(crate) const FAREWELL: Duration = Duration::from_secs(2);

impl Kind {
    /// The place of a client at `address`, in a trusted network or of this kind; nothing where all
    /// others have a better claim.
    pub(crate) fn enter(
        self,
        places: &Arc<Places>,
        address: IpAddr,
        trusted: Option<usize>,
    ) -> Option<(Place, oneshot::Receiver<()>)> {
        match trusted {
            Some(nth) => places.enter(Kind::Trusted as usize, Network::Set(nth), address),
            None => places.enter(self as usize, Network::near(address), address),
        }
    }
}

/// A socket, in plain text or under TLS.
trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<W: AsyncRead + AsyncWrite + Unpin + Send> Wire for W {}

/// Octets that are read at once.
const PIECE: usize = 32 * 1024;
/// How long a handshake may take, and a client may not read its replies.
const PATIENCE: Duration = Duration::from_secs(60);

struct Connection {
    current: Arc<Current>,
    /// Its port.
    number: u64,
    context: Arc<ReceptionContext>,
    session: Session,
    place: Place,
    wire: Option<Box<dyn Wire>>,
    began: Instant,
    /// The memory that the session has, and the message that is being taken.
    occupied: Occupied,
    peer: SocketAddr,
}

/// Serves one client of the port `number`, to the end, or until its place is needed for another.
pub(crate) async fn receive(
    current: Arc<Current>,
    number: u64,
    stream: TcpStream,
    peer: SocketAddr,
    (place, mut leave): (Place, oneshot::Receiver<()>),
    phase: watch::Receiver<Phase>,
) {
    let configured = current.get();
    let Some((config, implicit)) = configured.port(number) else { return };
    let context = Arc::clone(&configured.context);
    // A reply is not held back for another.
    let _ = stream.set_nodelay(true);
    let wire: Box<dyn Wire> = if implicit {
        let Some(tls) = &context.tls else { return };
        let accepted = tokio::select! {
            biased;
            _ = &mut leave => return context.tell(&ServerEvent::GaveWay { peer }),
            accepted = timeout(PATIENCE, tls.accept(stream)) => accepted,
        };
        match accepted {
            Ok(Ok(stream)) => Box::new(stream),
            _ => return,
        }
    } else {
        Box::new(stream)
    };
    let mut out = Vec::new();
    let trusted = context.trusts(peer);
    let who = Peer { address: peer.ip(), trusted, secured: implicit };
    let session = Session::new(config, who, Time::ZERO, &mut out);
    let began = Instant::now();
    let occupied =
        if trusted { context.memory.nothing() } else { context.untrusted_memory.nothing() };
    let wire = Some(wire);
    let mut connection =
        Connection { current, number, context, session, place, wire, began, occupied, peer };
    // First of all it is seen whether the connection is to be given up: what was of no use when that
    // was decided has begun nothing since.
    let needed = tokio::select! {
        biased;
        _ = &mut leave => true,
        // A client that is gone is no news.
        _ = connection.run(out, phase) => false,
    };
    if needed {
        connection.give_way().await;
    }
}

impl Connection {
    async fn run(&mut self, out: Vec<Output>, mut phase: watch::Receiver<Phase>) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut out = VecDeque::from(out);
        loop {
            if !self.perform(&mut out).await? {
                return Ok(());
            }
            self.tell_stage();
            let look = self.next_look();
            let wire = self.wire.as_mut().expect("a connection has its stream until it ends");
            let mut wanted = Vec::new();
            tokio::select! {
                read = wire.read(&mut piece) => match read? {
                    0 => return Ok(()),
                    octets => {
                        let now = self.now();
                        self.keep_up(&mut wanted);
                        self.session.set_stress(self.place.stress());
                        self.session.received(now, &piece[..octets], &mut wanted);
                        // What was handed out to be taken is still here.
                        let taken: usize = wanted.iter().map(occupied).sum();
                        if !self.occupied.set(self.session.occupied() + taken) {
                            self.session.shed();
                            self.occupied.set(self.session.occupied() + taken);
                        }
                    }
                },
                () = sleep_until(look.into()) => {
                    self.session.set_stress(self.place.stress());
                    let deadline = self.session.deadline();
                    if Instant::now() >= self.at(deadline) {
                        self.session.late(self.now().max(deadline), &mut wanted);
                    }
                }
                changed = phase.changed() => match *phase.borrow_and_update() {
                    Phase::Closing if changed.is_ok() => self.session.stop(&mut wanted),
                    _ => self.session.abandon(&mut wanted),
                }
            }
            out.extend(wanted);
        }
    }

    /// Does what the session wants; false when it is over.
    async fn perform(&mut self, out: &mut VecDeque<Output>) -> io::Result<bool> {
        let mut took_over = false;
        while let Some(output) = out.pop_front() {
            let mut wanted = Vec::new();
            match &output {
                // What was taken over is answered for: otherwise the client sends it again.
                Output::Send(_) if std::mem::take(&mut took_over) => {
                    self.place.set(Stage::Busy, Instant::now());
                }
                _ => self.tell_stage(),
            }
            match output {
                Output::Send(bytes) => self.send(&bytes).await?,
                Output::StartTls => {
                    self.secure().await?;
                    let now = self.now();
                    self.session.secured(now, &mut wanted);
                }
                Output::Verify(credentials) => {
                    let context = &self.context;
                    let verdict =
                        context.passwords.verify(&context.users, credentials, self.peer).await;
                    if verdict == Verdict::Right {
                        self.place.change(Kind::Trusted as usize);
                        self.occupied = self.context.memory.nothing();
                    }
                    let now = self.now();
                    self.session.verified(now, verdict, &mut wanted);
                }
                Output::Deliver(arrival) => {
                    let trace = self.session.trace(arrival.utf8);
                    let submitter = self.session.submitter();
                    let reply = self.context.take(arrival, &trace, self.peer, submitter).await;
                    if reply.code < 300 {
                        self.place.prove();
                    }
                    self.keep_up(&mut wanted);
                    let now = self.now();
                    self.session.taken(now, &reply, &mut wanted);
                    took_over = true;
                    let taken: usize = wanted.iter().map(occupied).sum();
                    self.occupied.set(self.session.occupied() + taken);
                }
                Output::Close => {
                    let wire =
                        self.wire.as_mut().expect("a connection has its stream until it ends");
                    let _ = timeout(PATIENCE, wire.shutdown()).await;
                    return Ok(false);
                }
            }
            // What an answer leads to goes before what was wanted after the question.
            wanted.into_iter().rev().for_each(|it| out.push_front(it));
        }
        Ok(true)
    }

    fn tell_stage(&self) {
        let (stage, since) = self.session.stage();
        self.place.set(stage, self.at(since));
    }

    /// Goes by the configuration of now, unless a transaction is under way. A client whose password
    /// is another one by then, or whose user is gone, has to log in anew.
    fn keep_up(&mut self, out: &mut Vec<Output>) {
        let configured = self.current.get();
        if Arc::ptr_eq(&configured.context, &self.context) {
            return;
        }
        let password =
            |context: &ReceptionContext| context.password(self.session.user()?).map(str::to_owned);
        if password(&self.context) != password(&configured.context) {
            return self.session.disown(out);
        }
        // Sessions at a port that was closed go on.
        let config = configured.port(self.number).map_or_else(
            || {
                Arc::new(SessionConfig {
                    recipient_policy: configured.context.recipient_policy(),
                    ..self.session.config().clone()
                })
            },
            |(config, _)| config,
        );
        if self.session.renew(config, configured.context.trusts(self.peer)) {
            self.context = Arc::clone(&configured.context);
        }
    }

    /// When its time is over as connections are now; before that, from when it could be over at the
    /// earliest, every now and then.
    fn next_look(&mut self) -> Instant {
        /// How late it may be found that connections have become scarce.
        const LATE: Duration = Duration::from_secs(1);
        self.session.set_stress(Stress::from(100));
        let earliest = self.at(self.session.deadline());
        self.session.set_stress(self.place.stress());
        earliest.max(Instant::now() + LATE).min(self.at(self.session.deadline()))
    }

    /// The connection is needed for another client.
    async fn give_way(&mut self) {
        self.context.tell(&ServerEvent::GaveWay { peer: self.peer });
        // In the midst of a handshake nothing can be said.
        let Some(wire) = &mut self.wire else { return };
        let farewell = async {
            wire.write_all(b"421 4.7.0 the connection is needed, try again later\r\n").await?;
            wire.flush().await?;
            wire.shutdown().await
        };
        // A client that does not read is not waited for.
        let _ = timeout(FAREWELL, farewell).await;
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wire = self.wire.as_mut().expect("a connection has its stream until it ends");
        let sent = async {
            wire.write_all(bytes).await?;
            wire.flush().await
        };
        timeout(PATIENCE, sent).await?
    }

    async fn secure(&mut self) -> io::Result<()> {
        let context = Arc::clone(&self.context);
        let tls = context.tls.as_ref().expect("STARTTLS is offered with a certificate alone");
        let wire = self.wire.take().expect("a connection has its stream until it ends");
        let secured = timeout(PATIENCE, tls.accept(wire)).await??;
        self.wire = Some(Box::new(secured));
        Ok(())
    }

    /// A time of the session on the clock.
    fn at(&self, time: Time) -> Instant {
        self.began + duration(time.since(Time::ZERO))
    }

    fn now(&self) -> Time {
        Time::ZERO + Span::from_us(self.began.elapsed().as_micros() as u64)
    }
}

/// Octets of a message that is to be taken.
fn occupied(output: &Output) -> usize {
    match output {
        Output::Deliver(arrival) => arrival.occupied(),
        _ => 0,
    }
}

/// At most so long that the system's clock can add it.
fn duration(span: Span) -> Duration {
    Duration::from_micros(span.ps() / Span::from_us(1).ps())
}
