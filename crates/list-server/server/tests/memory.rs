//! What a server occupies while hostile clients send it large messages: a process of its own, whose
//! memory the system counts.

use sojourn_core::parameters::{Parameters, Table, Value};
use sojourn_list_server::{ListServer, Observer, ServerEvent, Serving};
use std::io::{BufRead, BufReader, Lines, Write, stdin};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(300);
/// Octets for messages (`reception.memory`), of one message, and what a server may be above the
/// former.
const MEMORY: u64 = 100_000_000;
const MESSAGE: usize = 20_500_000;
const MOST: u64 = MEMORY / 10 * 11;
const SESSIONS: u8 = 20;
const ROUNDS: usize = 2;

/// A server in a process of its own, which ends with this.
struct Server {
    process: Child,
    /// It may say more.
    _says: Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl Server {
    fn start(spool: &Path) -> Server {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "a_server"])
            .env("SERVER_SPOOL", spool)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let said = lines.find_map(|line| Some(line.unwrap().split_once("server: ")?.1.to_owned()));
        let address = said.expect("it starts").parse().unwrap();
        Server { process, _says: lines, address }
    }

    /// A figure of the system about the process, in octets.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
        let kilobytes = line.trim_start_matches(':').trim().strip_suffix(" kB").unwrap();
        kilobytes.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without its standard input it stops.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A client at `source`, which sends large messages to whom a stranger may write; what it was told.
fn attack(server: SocketAddr, source: Ipv4Addr) -> Vec<String> {
    let stream = connect_from(source, server);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut hear = || loop {
        let line = lines.next().expect("it answers").unwrap();
        if line.as_bytes()[3] == b' ' {
            return line;
        }
    };
    let mut stream = stream;
    let mut say = |text: &str| stream.write_all(text.as_bytes()).unwrap();
    hear();
    say("EHLO x\r\n");
    hear();
    let piece = format!("{}\r\n", "x".repeat(98)).repeat(1000);
    let mut told = Vec::new();
    for round in 0..ROUNDS {
        let to = match (usize::from(source.octets()[3]) + round) % 2 {
            0 => "postmaster",
            _ => "news-bounces@lists.example",
        };
        say(&format!("MAIL FROM:<>\r\nRCPT TO:<{to}>\r\nDATA\r\n"));
        assert_eq!((hear(), hear()), ("250 2.1.0 ok".into(), "250 2.1.5 ok".into()));
        assert!(hear().starts_with("354"));
        say("Subject: x\r\n\r\n");
        (0..MESSAGE / piece.len()).for_each(|_| say(&piece));
        say(".\r\n");
        told.push(hear());
    }
    told
}

/// Connects from one of this machine's own addresses.
fn connect_from(source: Ipv4Addr, server: SocketAddr) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((IpAddr::from(source), 0).into()).unwrap();
        socket.connect(server).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Finding 9: parsed, written and waiting messages count as well as those that are coming in.
#[test]
fn messages_have_as_much_memory_as_is_set() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("spool"));
    let before = server.memory("VmRSS");
    let attackers = (1..=SESSIONS).map(|n| {
        let address = server.address;
        thread::spawn(move || attack(address, Ipv4Addr::new(127, 0, n, n)))
    });
    let attackers: Vec<_> = attackers.collect();
    let told: Vec<_> = attackers.into_iter().flat_map(|it| it.join().unwrap()).collect();
    let taken = told.iter().filter(|it| it.starts_with("250 2.0.0 taken")).count();
    let later = told.iter().filter(|it| it.starts_with("452 4.3.1")).count();
    assert!(taken > 0 && taken + later == told.len(), "{told:?}");
    let most = server.memory("VmHWM") - before;
    println!("{} kB more at {taken} taken, {later} put off", most / 1000);
    assert!(most <= MOST, "{most} octets, at a limit of {MEMORY}");
}

/// Nobody follows.
struct Deaf;

impl Observer for Deaf {
    fn notice(&mut self, _: i64, _: &ServerEvent<'_>) {}
}

#[test]
#[ignore = "a process that another test starts"]
fn a_server() {
    let Ok(spool) = std::env::var("SERVER_SPOOL") else { return };
    let text = |text: &str| Value::Text(text.to_owned());
    let table = |settings: &[(&str, Value)]| {
        let mut table = Table::default();
        settings.iter().for_each(|(key, value)| table.set(key, value.clone()));
        Value::Table(table)
    };
    let mut all = Table::default();
    all.set("spool", text(&spool));
    all.set("mail", table(&[("hello", text("lists.example"))]));
    let refused = Value::List(vec![text("127.0.0.1:9")]);
    let network =
        [("port", Value::Int(9)), ("resolvers", refused), ("loopback", Value::Bool(true))];
    all.set("network", table(&network));
    all.set("listener", Value::List(vec![table(&[("address", text("127.0.0.1:0"))])]));
    let list = [("bounces", text("news-bounces@lists.example")), ("reader", text("x@[127.0.0.9]"))];
    all.set("list", Value::List(vec![table(&list)]));
    let memory = text(&format!("{}MB", MEMORY / 1_000_000));
    let rules = [
        ("trusted", Value::List(vec![text("192.0.2.0/24")])),
        ("postmaster", text("root@[127.0.0.9]")),
        ("memory", memory),
        ("hourly", table(&[("octets", text("100GB"))])),
    ];
    all.set("reception", table(&rules));
    let settings = Serving::read_table(&all).unwrap_or_else(|it| panic!("{it:?}"));
    let server = ListServer::start(settings, String::new(), (), Deaf).unwrap();
    println!("server: {}", server.addresses[0]);
    // Until its parent ends.
    let _ = stdin().lines().next();
    server.stop();
}
