//! Places for those who log in, for honest bounces and for clicks, in the midst of a flood.

use crate::reception::crowd::few;
use crate::reception::tls::Certificate;
use crate::reception::watched::{get, token, watched};
use crate::reception::{Client, Place, ipv6, table, text, wire_from};
use sojourn_core::parameters::Value;
use sojourn_list_server::hash_password;
use std::io::{BufRead, BufReader, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::{Mutex, mpsc};
use std::thread::{scope, yield_now};
use std::time::{Duration, Instant};

const BACK: &str = "news-bounces@lists.example";
const LOGIN: &str = "AUTH PLAIN AGFubgByaWdodA==";

/// Two ports: mail from anywhere, and submission under TLS.
fn place(certificate: &Certificate, here: &str) -> Place {
    let open = table(&[("address", text(here))]);
    let submission = table(&[("address", text(here)), ("implicit_tls", Value::Bool(true))]);
    let lists = Value::List(vec![text("*")]);
    let password = text(&hash_password("right"));
    let user = table(&[("name", text("ann")), ("password", password), ("lists", lists)]);
    Place::new(&[
        ("listener", Value::List(vec![open, submission])),
        ("certificate", certificate.setting()),
        ("user", Value::List(vec![user])),
        ("list", Value::List(vec![table(&[("bounces", text(BACK))])])),
        ("reception", table(&[])),
    ])
}

/// Says these lines, each after the reply to the one before; the last reply, or nothing where the
/// connection is over.
fn converse<W: Read + Write>(wire: &mut BufReader<W>, lines: &[&str]) -> Result<String> {
    let mut said = hear(wire)?;
    for line in lines {
        wire.get_mut().write_all(format!("{line}\r\n").as_bytes())?;
        wire.get_mut().flush()?;
        said = hear(wire)?;
    }
    Ok(said)
}

/// The last line of the next reply.
fn hear(wire: &mut impl BufRead) -> Result<String> {
    loop {
        let mut line = String::new();
        if wire.read_line(&mut line)? == 0 || line.as_bytes().get(3) == Some(&b' ') {
            return Ok(line);
        }
    }
}

/// A connection to one of the two ports of [`place`].
enum Wire<'a> {
    Bare,
    Tls(&'a Certificate),
}

impl Wire<'_> {
    fn talk(&self, address: SocketAddr, source: [u8; 4], lines: &[&str], last: Last<'_>) -> bool {
        let Ok(wire) = wire_from(address, source.into()) else { return false };
        let done = match self {
            Wire::Bare => last.after(BufReader::new(wire), lines),
            Wire::Tls(certificate) => last.after(BufReader::new(certificate.secure(wire)), lines),
        };
        done.unwrap_or(false)
    }
}

/// What follows the lines.
#[derive(Clone, Copy)]
enum Last<'a> {
    /// This begins the last reply.
    Hears(&'a str),
    /// It is told how far it is, and nothing is said until the connection is closed.
    Stays(&'a mpsc::Sender<()>),
}

impl Last<'_> {
    fn after<W: Read + Write>(self, mut wire: BufReader<W>, lines: &[&str]) -> Result<bool> {
        let said = converse(&mut wire, lines);
        match self {
            Last::Hears(expected) => Ok(said?.starts_with(expected)),
            Last::Stays(tells) => {
                let _ = tells.send(());
                said?;
                while !hear(&mut wire)?.is_empty() {}
                Ok(true)
            }
        }
    }
}

/// A client that has come to nothing for so long gives way as a flood does: `LATE` of the server's places. On a
/// busy machine an honest one may be so slow.
const LATE: Duration = Duration::from_secs(10);

/// Honest clients, and which of them were turned away.
#[derive(Debug, Default)]
struct Honest {
    through: usize,
    late: usize,
    wronged: Vec<String>,
}

impl Honest {
    /// Counts a client that gets through or does not.
    fn count(&mut self, who: String, gets_through: impl FnOnce() -> bool) {
        let begun = Instant::now();
        if gets_through() {
            self.through += 1;
        } else if begun.elapsed() >= LATE {
            self.late += 1;
        } else {
            self.wronged.push(who);
        }
    }

    /// All got through but some that were late; a machine where most are late can tell nothing.
    fn check(&self) {
        assert!(self.wronged.is_empty() && self.through > self.late, "{self:?}");
    }
}

/// Three networks, with 21 clients each at either port, say that they have a bounce and never send
/// one. Each of them comes again when it was sent away, at the pace of those who have something to
/// do: a hundred times for each of these.
fn logins_and_bounces_get_through(here: &str) {
    const ROUNDS: u8 = 20;
    let certificate = Certificate::make();
    // The folder stays as long as the server, which keeps disk space there.
    let around = place(&certificate, here);
    let server = around.start();
    let [open, submission] = server.addresses[..] else { panic!("two") };
    let (bare, tls) = (Wire::Bare, Wire::Tls(&certificate));
    let recipient = format!("RCPT TO:<{BACK}>");
    let begins = ["EHLO x", "MAIL FROM:<>", &recipient];
    let bounce = [&begins[..], &["DATA", "Subject: x\r\n\r\nx\r\n."]].concat();
    let login = ["EHLO x", LOGIN];
    let logs_in = |source| tls.talk(submission, source, &login, Last::Hears("235 "));
    // A neighbour of the flood has logged in before it.
    let home = [127, 1, 0, 200];
    assert!(logs_in(home));
    let (again, comes) = mpsc::channel::<()>();
    let comes = Mutex::new(comes);
    let (tells, told) = mpsc::channel();
    let mut honest = Honest::default();
    scope(|scope| {
        for n in 0..126 {
            let (port, wire) = [(open, &bare), (submission, &tls)][n % 2];
            let source = [127, 1 + (n / 2 % 3) as u8, 0, 1 + (n / 6 % 3) as u8];
            let (tells, begins, comes) = (tells.clone(), &begins, &comes);
            scope.spawn(move || {
                loop {
                    wire.talk(port, source, begins, Last::Stays(&tells));
                    if comes.lock().unwrap().recv().is_err() {
                        return;
                    }
                }
            });
        }
        (0..126).for_each(|_| told.recv().unwrap());
        for n in 0..ROUNDS {
            (0..100).for_each(|_| again.send(()).unwrap());
            let source = if n % 2 == 0 { home } else { [127, 8, n, 1] };
            honest.count(format!("login {n}"), || logs_in(source));
            let returns = || bare.talk(open, [127, 9, n, 1], &bounce, Last::Hears("250 "));
            honest.count(format!("bounce {n}"), returns);
        }
        drop(again);
        server.stop();
    });
    honest.check();
}

const V4: &str = "127.0.0.1:0";

#[test]
fn logins_and_bounces_get_through_a_flood() {
    logins_and_bounces_get_through(V4);
}

#[test]
fn logins_and_bounces_get_through_a_flood_over_ipv6() {
    if let Some(here) = ipv6() {
        logins_and_bounces_get_through(here);
    }
}

#[test]
fn clicks_get_through_a_flood() {
    clicks_get_through(V4, "127.0.0.2");
}

#[test]
fn clicks_get_through_a_flood_over_ipv6() {
    if let Some(here) = ipv6() {
        clicks_get_through(here, "fd7f:0:0:2::1");
    }
}

/// Where TLS begins at once, nothing is said without it.
#[test]
fn no_place_is_not_said_in_plain_text() {
    let certificate = Certificate::make();
    let mut place = place(&certificate, V4);
    let trusted = ("trusted", Value::List(vec![text("127.0.0.1")]));
    place.settings.set("reception", table(&[&few(2, 1)[..], &[trusted]].concat()));
    let server = place.start();
    let mut busy = Client::over(certificate.secure(wire_from(server.addresses[1], HERE).unwrap()));
    busy.hear();
    busy.say("EHLO x");
    assert_eq!(busy.say("MAIL FROM:<>"), "250 2.1.0 ok");
    let mut said = String::new();
    let _ = wire_from(server.addresses[1], HERE).unwrap().read_to_string(&mut said);
    assert_eq!(said, "");
    server.stop();
}

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Hundreds of silent connections from one address come for each step of those who click elsewhere.
fn clicks_get_through(here: &str, flooding: &str) {
    const CLICKS: usize = 20;
    let certificate = Certificate::make();
    let mut place = watched();
    let address = text(here);
    let page = table(&[("url", text("https://lists.example/u")), ("address", address)]);
    place.settings.set("unsubscribe", page);
    place.settings.set("certificate", certificate.setting());
    let server = place.start();
    let port = server.unsubscribe.unwrap();
    let mut silent: Vec<TcpStream> = Vec::new();
    // Until the server has seen to all of them: it has a hundred places.
    let mut flood = || {
        silent.extend((0..120).map(|_| wire_from(port, [127, 0, 0, 2].into()).unwrap()));
        silent.iter().for_each(|it| it.set_nonblocking(true).unwrap());
        while silent.len() > 100 {
            let open = |it: &TcpStream| {
                it.peek(&mut [0]).is_err_and(|it| it.kind() == ErrorKind::WouldBlock)
            };
            silent.retain(open);
            yield_now();
        }
    };
    let mut click = || -> Result<String> {
        let wire = wire_from(port, [127, 0, 0, 3].into())?;
        flood();
        let mut wire = certificate.secure(wire);
        wire.conn.complete_io(&mut wire.sock)?;
        flood();
        let path = format!("/u/{BACK}/no-token");
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        wire.write_all(head.as_bytes())?;
        let mut answer = String::new();
        wire.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let mut honest = Honest::default();
    for n in 0..CLICKS {
        let answered = || click().is_ok_and(|it| it.starts_with("HTTP/1.1 404 "));
        honest.count(format!("click {n}"), answered);
    }
    honest.check();
    let heard = place.ear.0.lock().unwrap().clone();
    assert_eq!(heard, vec![format!("page to unsubscribe full: client=[{flooding}]"); 10]);
    let (_, _, metrics) = get(&server, &format!("/metrics?token={}", token(&server)), "");
    let count = metrics.split("{why=\"unsubscribe_page_full\"} ").nth(1).unwrap();
    let count: usize = count.lines().next().unwrap().parse().unwrap();
    assert!((2 * 120 * CLICKS - 20..=2 * 120 * CLICKS).contains(&count), "{count}");
    server.stop();
}
