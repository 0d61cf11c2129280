//! A mail server on its ports: what clients are told, what is in the spool and in the book.

mod clients;
mod copies;
mod crowd;
mod full;
mod hourly;
mod leaving;
mod loops;
mod people;
mod places;
mod reload;
mod returns;
mod rights;
mod seven_bit;
mod sink;
mod spellings;
mod state;
mod statuses;
mod submission;
mod submitters;
mod tls;
mod watched;

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::{
    ListServer, Observer, ServeError, ServerEvent, Serving, SubscriberStore,
};
use sojourn_mail_engine::Stored;
use sojourn_mail_spool::{Epoch, Spool};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What stands for the live page.
pub(crate) const PAGE: &str = "<!doctype html>the page";

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub(crate) fn table(settings: &[(&str, Value)]) -> Value {
    let mut table = Table::default();
    settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
    Value::Table(table)
}

#[derive(Clone, Default)]
pub(crate) struct Ear(pub(crate) Arc<Mutex<Vec<String>>>);

impl Observer for Ear {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        self.0.lock().unwrap().extend(event.reception_line());
    }
}

/// What became of recipients and messages.
#[derive(Clone, Default)]
pub(crate) struct Eye(Arc<Mutex<Vec<String>>>);

impl Observer for Eye {
    fn notice(&mut self, _: i64, event: &ServerEvent<'_>) {
        let line = match event {
            ServerEvent::Attempt { recipient, outcome, reason, .. } => {
                format!("{recipient} {outcome:?}: {reason}")
            }
            ServerEvent::Finished { message } => format!("finished {}", message.0),
            _ => return,
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Eye {
    /// All that was seen when so many messages are finished.
    pub(crate) fn until_finished(&self, messages: usize) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let seen = self.0.lock().unwrap().clone();
            if seen.iter().filter(|it| it.starts_with("finished ")).count() >= messages {
                return seen.into_iter().filter(|it| !it.starts_with("finished ")).collect();
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{seen:?}");
            std::thread::yield_now();
        }
    }
}

/// A server, and the folder of its spool.
pub(crate) struct Place {
    pub(crate) eye: Eye,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) settings: Table,
    pub(crate) ear: Ear,
}

impl Place {
    /// A server that trusts nobody: `settings` say whom it does.
    pub(crate) fn new(settings: &[(&str, Value)]) -> Place {
        let folder = tempfile::tempdir().unwrap();
        let mut all = Table::default();
        all.set("spool", text(folder.path().join("spool").to_str().unwrap()));
        all.set("mail", table(&[("hello", text("lists.example"))]));
        // Nobody is asked where literals are, and nobody is there.
        let refused = Value::List(vec![text("127.0.0.1:9")]);
        all.set("network", table(&[("port", Value::Int(9)), ("resolvers", refused)]));
        let listener = table(&[("address", text("127.0.0.1:0"))]);
        all.set("listener", Value::List(vec![listener]));
        settings.iter().for_each(|(key, value)| all.set(key, value.clone()));
        Place { eye: Eye::default(), folder, settings: all, ear: Ear::default() }
    }

    /// One that trusts its own machine, whose list is `news`.
    pub(crate) fn trusting(list: &[(&str, Value)]) -> Place {
        let mut news = vec![("bounces", text("news-bounces@lists.example"))];
        news.extend(list.iter().cloned());
        Place::new(&[
            ("reception", table(&[("trusted", Value::List(vec![text("127.0.0.0/8")]))])),
            ("list", Value::List(vec![table(&news)])),
        ])
    }

    pub(crate) fn start(&self) -> ListServer {
        self.try_start().unwrap_or_else(|it| panic!("{it}"))
    }

    pub(crate) fn try_start(&self) -> Result<ListServer, ServeError> {
        ListServer::start(self.serving(), PAGE.into(), self.eye.clone(), self.ear.clone())
    }

    /// What the server is set to.
    pub(crate) fn serving(&self) -> Serving {
        let mut settings = self.settings.clone();
        // A server with lists has to have one; what a test says of its reception may leave it out.
        if let Some(Value::Table(reception)) = settings.get_mut("reception")
            && reception.get("postmaster").is_none()
        {
            reception.set("postmaster", text("admin@[127.0.0.77]"));
        }
        // All hosts are on this machine here.
        if let Some(Value::Table(network)) = settings.get_mut("network")
            && network.get("loopback").is_none()
        {
            network.set("loopback", Value::Bool(true));
        }
        Serving::read_table(&settings).unwrap_or_else(|it| panic!("{it:?}"))
    }

    fn spool(&self) -> PathBuf {
        self.folder.path().join("spool")
    }

    pub(crate) fn book(&self) -> SubscriberStore {
        SubscriberStore::open(&SubscriberStore::beside(&self.spool())).unwrap()
    }

    /// What a server that has stopped left in its spool.
    pub(crate) fn stored(&self) -> Vec<(Stored, String)> {
        let spool = Spool::open(&self.spool(), Epoch { unix_ms: 0 }).unwrap();
        let with_text = |stored: Stored| {
            let text = spool.text(stored.submission.id).unwrap().unwrap();
            (stored, String::from_utf8(text).unwrap())
        };
        spool.load().unwrap().into_iter().map(with_text).collect()
    }
}

/// A client, in plain text or under TLS.
pub(crate) struct Client<W: Read + Write>(BufReader<W>);

pub(crate) fn connect(server: &ListServer) -> Client<TcpStream> {
    let stream = TcpStream::connect(server.addresses[0]).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    Client(BufReader::new(stream))
}

/// Connects from one of this machine's own addresses.
pub(crate) fn connect_from(server: &ListServer, source: Ipv4Addr) -> Client<TcpStream> {
    Client(BufReader::new(wire_from(server.addresses[0], source).unwrap()))
}

/// The address that stands for one of the loopback network where a flood comes over IPv6: a network
/// of 48 bits for one of 24, and one of 64 for an address.
fn in_ipv6(source: Ipv4Addr) -> IpAddr {
    let [_, a, b, c] = source.octets().map(u16::from);
    Ipv6Addr::new(0xfd7f, a, b, c, 0, 0, 0, 1).into()
}

/// Where a server listens for a flood over IPv6, if this machine has the addresses for it: made, by
/// root, with `ip -6 route add local fd7f::/16 dev lo` and `sysctl net.ipv6.ip_nonlocal_bind=1`.
pub(crate) fn ipv6() -> Option<&'static str> {
    let has = std::net::TcpListener::bind((in_ipv6(Ipv4Addr::new(127, 8, 0, 1)), 0)).is_ok();
    if !has {
        // Shown also of a test that passes: what `eprintln!` prints is not.
        let said = "left out: there are no local addresses in fd7f::/16";
        writeln!(std::io::stderr(), "{said}").expect("standard error is open");
    }
    has.then_some("[fd7f::1]:0")
}

pub(crate) fn wire_from(address: SocketAddr, source: Ipv4Addr) -> std::io::Result<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(async {
        let (socket, source) = match address {
            SocketAddr::V4(_) => (tokio::net::TcpSocket::new_v4()?, source.into()),
            SocketAddr::V6(_) => (tokio::net::TcpSocket::new_v6()?, in_ipv6(source)),
        };
        socket.bind((source, 0).into())?;
        socket.connect(address).await?.into_std()
    })?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    Ok(stream)
}

impl<W: Read + Write> Client<W> {
    pub(crate) fn over(wire: W) -> Client<W> {
        Client(BufReader::new(wire))
    }

    pub(crate) fn into_wire(self) -> W {
        assert!(self.0.buffer().is_empty());
        self.0.into_inner()
    }

    /// The next reply, its lines with `|` between.
    pub(crate) fn hear(&mut self) -> String {
        let mut reply = Vec::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return reply.join("|");
            }
            let last = line.as_bytes()[3] == b' ';
            reply.push(line.trim_end().to_owned());
            if last {
                return reply.join("|");
            }
        }
    }

    pub(crate) fn say(&mut self, line: &str) -> String {
        self.send(&format!("{line}\r\n"));
        self.hear()
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
        self.0.get_mut().flush().unwrap();
    }

    /// A sender and recipients, who are taken.
    pub(crate) fn begin(&mut self, from: &str, to: &[&str]) {
        assert_eq!(self.say(&format!("MAIL FROM:<{from}>")), "250 2.1.0 ok");
        for to in to {
            assert_eq!(self.say(&format!("RCPT TO:<{to}>")), "250 2.1.5 ok", "{to}");
        }
    }

    /// A whole message; the last reply.
    pub(crate) fn mail(&mut self, from: &str, to: &[&str], message: &str) -> String {
        self.begin(from, to);
        assert!(self.say("DATA").starts_with("354"));
        self.say(&format!("{message}\r\n."))
    }
}
