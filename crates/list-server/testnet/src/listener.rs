//! What answers at a host's address.

use crate::connection as sink;
use crate::connection::Shared;
use crate::fault::ConnectionAnswer;
use crate::host::Site;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::spawn_local;
use tokio::time::sleep_until;
use tokio_rustls::TlsAcceptor;

/// Sessions that wait to be taken.
const BACKLOG: i32 = 4096;

/// A listener at `address` that can be opened again at once.
pub(crate) fn listen(address: SocketAddr, backlog: i32) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&SockAddr::from(address))?;
    socket.listen(backlog)?;
    Ok(socket)
}

/// A listener for tokio.
pub(crate) fn listen_tokio(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = listen(address, BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// What is at the address of a host at the start.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A server listens.
    Listener(TcpListener),
    /// Connections are not answered.
    Hole(BlackHole),
    /// Connections are refused.
    Nothing,
}

/// An address that does not answer: a listener whose queue is full.
#[derive(Debug)]
pub(crate) struct BlackHole {
    _listener: Socket,
    _queued: Vec<TcpStream>,
}

impl BlackHole {
    fn at(address: SocketAddr) -> io::Result<BlackHole> {
        let listener = listen(address, 0)?;
        // Linux lets one more in than the queue's length, and drops what comes after.
        let queued = vec![TcpStream::connect(address)?];
        Ok(BlackHole { _listener: listener, _queued: queued })
    }
}

/// Opens an address of a host as it is at the start; the port has to be free.
pub(crate) fn open(site: &Site, address: SocketAddr) -> io::Result<Opened> {
    match site.host.personality.connection_answer() {
        ConnectionAnswer::Open => listen_tokio(address).map(Opened::Listener),
        ConnectionAnswer::Silent => BlackHole::at(address).map(Opened::Hole),
        ConnectionAnswer::Closed | ConnectionAnswer::OpensAfter(_) => Ok(Opened::Nothing),
    }
}

/// Serves a host at an address for ever, as long as all hosts are up.
pub(crate) async fn serve(
    shared: Rc<Shared>,
    site: Rc<Site>,
    (address, opened): (SocketAddr, Opened),
    acceptor: Option<TlsAcceptor>,
    mut up: watch::Receiver<bool>,
) -> io::Result<()> {
    let (mut listener, _hole) = match opened {
        Opened::Listener(listener) => (Some(listener), None),
        Opened::Hole(hole) => (None, Some(hole)),
        Opened::Nothing => (None, None),
    };
    match site.host.personality.connection_answer() {
        ConnectionAnswer::Open => {}
        ConnectionAnswer::OpensAfter(time) => sleep_until(shared.started + time).await,
        ConnectionAnswer::Closed | ConnectionAnswer::Silent => return std::future::pending().await,
    }
    loop {
        if up.wait_for(|up| *up).await.is_err() {
            return Ok(());
        }
        let open = match listener.take() {
            Some(open) => open,
            None => listen_tokio(address)?,
        };
        while let Some(accepted) = until_down(&mut up, open.accept()).await {
            let Ok((stream, client)) = accepted else {
                // The client is gone already, or there are no descriptors left for now.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let (shared, site) = (Rc::clone(&shared), Rc::clone(&site));
            let (acceptor, mut up) = (acceptor.clone(), up.clone());
            spawn_local(async move {
                let ends = (address.ip(), client.ip());
                let session = sink::serve(&shared, &site, stream, ends, acceptor);
                until_down(&mut up, session).await;
            });
        }
    }
}

/// What `future` gives; nothing when the hosts go down before.
async fn until_down<T>(
    up: &mut watch::Receiver<bool>,
    future: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        _ = up.wait_for(|up| !*up) => None,
        value = future => Some(value),
    }
}
