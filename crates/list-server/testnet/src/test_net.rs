//! An internet that runs.

use crate::acceptance::{Acceptance, Log};
use crate::config::TestNetConfig;
use crate::connection::Shared;
use crate::fault::duration;
use crate::host::Site;
use crate::listener::Opened;
use crate::nameserver::Zones;
use crate::tls::Authority;
use crate::{host as address, listener, nameserver};
use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use std::{fmt, io};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::Instant;

/// A test network that runs, on a separate thread, until it is dropped.
#[derive(Debug)]
pub struct TestNet {
    resolver: SocketAddr,
    smtp_port: u16,
    authority: String,
    started: SystemTime,
    began: Instant,
    log: Arc<Log>,
    open: Arc<AtomicUsize>,
    names_up: watch::Sender<bool>,
    hosts_up: watch::Sender<bool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// An internet that could not be started.
#[derive(Debug)]
pub struct StartError {
    what: String,
    why: io::Error,
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot start a small internet: {}: {}", self.what, self.why)
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

/// Names what was done when an error came.
fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> StartError {
    |why| StartError { what: what.into(), why }
}

/// What the thread tells when it is ready.
struct Ready {
    resolver: SocketAddr,
    smtp_port: u16,
    authority: String,
    started: SystemTime,
    began: Instant,
}

impl TestNet {
    /// Starts a world. Every address is answered when this returns.
    ///
    /// # Errors
    ///
    /// A port is taken, or there are not enough file descriptors.
    pub fn start(world: &TestNetConfig) -> Result<TestNet, StartError> {
        let world = world.clone();
        let log = Arc::new(Log::default());
        let (names_up, names) = watch::channel(true);
        let (hosts_up, hosts) = watch::channel(true);
        let (stop, stopped) = oneshot::channel();
        let (tell, told) = mpsc::sync_channel(1);
        let open = Arc::new(AtomicUsize::new(0));
        let (noted, counted) = (Arc::clone(&log), Arc::clone(&open));
        let body = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime.map_err(failed("a runtime")) {
                Ok(runtime) => runtime,
                Err(error) => return drop(tell.send(Err(error))),
            };
            let all = LocalSet::new();
            all.block_on(&runtime, async move {
                match Everything::open(&world, noted, counted, names, hosts) {
                    Ok((ready, everything)) => {
                        drop(tell.send(Ok(ready)));
                        everything.run(stopped).await;
                    }
                    Err(error) => drop(tell.send(Err(error))),
                }
            });
        };
        let thread = std::thread::Builder::new().name("internet".into()).spawn(body);
        let thread = thread.map_err(failed("a thread"))?;
        let Ready { resolver, smtp_port, authority, started, began } =
            told.recv().expect("the thread says where it listens")?;
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(TestNet {
            resolver,
            smtp_port,
            authority,
            started,
            began,
            log,
            open,
            names_up,
            hosts_up,
            stop,
            thread,
        })
    }

    /// Where the name server is, over UDP and TCP.
    pub fn resolver(&self) -> SocketAddr {
        self.resolver
    }

    /// The port of all mail servers.
    pub fn smtp_port(&self) -> u16 {
        self.smtp_port
    }

    /// The certificate that all good certificates follow from, in PEM.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// When it started, since 1970.
    pub fn started_unix(&self) -> Duration {
        self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
    }

    /// How long ago that was, by the clock that [`Acceptance`]s are dated by.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// What was taken over so far, but for the first `known`.
    pub fn accepted_since(&self, known: usize) -> Vec<Acceptance> {
        self.log.since(known)
    }

    /// Waits until so many are taken over, at most so long; how many there are then.
    pub fn wait_for(&self, accepted: usize, patience: Duration) -> usize {
        self.log.wait(accepted, patience)
    }

    /// How many sessions are open.
    pub fn sessions(&self) -> usize {
        self.open.load(Relaxed)
    }

    /// Whether the name server answers from now on.
    pub fn set_names(&self, up: bool) {
        self.names_up.send_replace(up);
    }

    /// Whether hosts answer from now on. When they go down, sessions are cut, and connections
    /// refused.
    pub fn set_hosts(&self, up: bool) {
        self.hosts_up.send_replace(up);
    }
}

impl Drop for TestNet {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic was printed by its own thread.
            drop(thread.join());
        }
    }
}

/// All sockets, open.
struct Everything {
    shared: Rc<Shared>,
    sites: Open,
    authority: Authority,
    zones: Rc<Zones>,
    udp: UdpSocket,
    tcp: TcpListener,
    hosts: watch::Receiver<bool>,
}

impl Everything {
    fn open(
        world: &TestNetConfig,
        log: Arc<Log>,
        open: Arc<AtomicUsize>,
        names: watch::Receiver<bool>,
        hosts: watch::Receiver<bool>,
    ) -> Result<(Ready, Everything), StartError> {
        let (started, started_at) = (Instant::now(), SystemTime::now());
        let ttl = world.ttl.seconds() as u32;
        let mut zones = Zones::new(started, duration(world.dns_round_trip), ttl, names);
        let mut sites = Vec::new();
        for domain in world.domains() {
            let first = sites.len();
            for host in &domain.host {
                let (host, number) = (host.clone(), sites.len());
                let site = Site::new(host, &domain.name, number, world.network, world.seed);
                sites.push(Rc::new(site));
            }
            zones.add(&domain.name, domain.names, sites[first..].to_vec());
        }
        let (udp, tcp) = open_names(world).map_err(failed("its name server"))?;
        let resolver = udp.local_addr().map_err(failed("its name server"))?;
        let (smtp_port, sites) = open_hosts(world, sites)?;
        let unsigned = |error| failed("a certificate")(io::Error::other(error));
        let authority = Authority::new().map_err(unsigned)?;
        let shared =
            Shared { started, keep_texts: world.keep_texts, sessions: Cell::new(0), open, log };
        let (authority_pem, began) = (authority.pem.clone(), started);
        let ready =
            Ready { resolver, smtp_port, authority: authority_pem, started: started_at, began };
        let (shared, zones) = (Rc::new(shared), Rc::new(zones));
        Ok((ready, Everything { shared, sites, authority, zones, udp, tcp, hosts }))
    }

    /// Serves until it is stopped.
    async fn run(self, stopped: oneshot::Receiver<()>) {
        let mut all: JoinSet<io::Result<()>> = JoinSet::new();
        all.spawn_local(nameserver::serve_udp(Rc::clone(&self.zones), self.udp));
        all.spawn_local(nameserver::serve_tcp(self.zones, self.tcp));
        let mut names = std::collections::BTreeMap::<String, usize>::new();
        for (site, opened) in self.sites {
            let number = names.entry(site.domain.clone()).or_default();
            let name = format!("mx{number}.{}", site.domain);
            *number += 1;
            let acceptor = self.authority.acceptor(site.host.tls, &name);
            let acceptor = acceptor.expect("the name of a host can be certified");
            for here in opened {
                let (shared, site) = (Rc::clone(&self.shared), Rc::clone(&site));
                let (acceptor, hosts) = (acceptor.clone(), self.hosts.clone());
                all.spawn_local(listener::serve(shared, site, here, acceptor, hosts));
            }
        }
        let watch = async {
            while let Some(ended) = all.join_next().await {
                if let Err(error) = ended.expect("no task panics") {
                    eprintln!("a small internet: an address is no longer served: {error}");
                }
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = watch => {}
            _ = stopped => {}
        }
    }
}

fn open_names(world: &TestNetConfig) -> io::Result<(UdpSocket, TcpListener)> {
    let address = address::of_names(world.network);
    let udp = std::net::UdpSocket::bind((address, world.dns_port))?;
    udp.set_nonblocking(true)?;
    let tcp = listener::listen_tokio(udp.local_addr()?)?;
    Ok((UdpSocket::from_std(udp)?, tcp))
}

/// Hosts, and what is at each of their addresses.
type Open = Vec<(Rc<Site>, Vec<(SocketAddr, Opened)>)>;

/// Opens all hosts at one port: the world's, or one that is free at all addresses.
fn open_hosts(world: &TestNetConfig, sites: Vec<Rc<Site>>) -> Result<(u16, Open), StartError> {
    /// Ports that are tried, when any will do.
    const TRIES: usize = 16;
    let mut left = if world.smtp_port == 0 { TRIES } else { 1 };
    loop {
        left -= 1;
        let port = match world.smtp_port {
            0 => any_port(world).map_err(failed("a port"))?,
            port => port,
        };
        let open = |site: &Rc<Site>| {
            let at = |&address| {
                let address = SocketAddr::new(address, port);
                match listener::open(site, address) {
                    Ok(opened) => Ok((address, opened)),
                    Err(error) => Err(failed(address.to_string())(error)),
                }
            };
            let opened = site.addresses.iter().map(at).collect::<Result<_, _>>()?;
            Ok((Rc::clone(site), opened))
        };
        match sites.iter().map(open).collect() {
            Ok(all) => return Ok((port, all)),
            Err(error) if left == 0 => return Err(error),
            Err(_) => {}
        }
    }
}

fn any_port(world: &TestNetConfig) -> io::Result<u16> {
    let address = address::of_names(world.network);
    std::net::TcpListener::bind((address, 0))?.local_addr().map(|address| address.port())
}
