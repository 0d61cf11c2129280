//! Copies of a list's message: each recipient's own text, at a host that takes them.

use crate::{Place, connect, table, text};
use sojourn_kernel::parameters::{Table, Value};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

const BACK: &str = "news-bounces@lists.example";

/// Takes one session's mail, and tells each message with its return path.
fn take(stream: TcpStream, extensions: &str, taken: &Sender<(String, String)>) -> Option<()> {
    let mut wire = BufReader::new(stream);
    let say = |wire: &mut BufReader<TcpStream>, text: &str| {
        wire.get_mut().write_all(text.as_bytes()).ok()
    };
    say(&mut wire, "220 hi\r\n")?;
    let mut sender = String::new();
    loop {
        let mut line = String::new();
        if wire.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let mut message = String::new();
        match line.split([' ', ':', '\r']).next()? {
            "EHLO" => say(&mut wire, extensions)?,
            "MAIL" => {
                sender = line.split(['<', '>']).nth(1)?.to_owned();
                say(&mut wire, "250 ok\r\n")?;
            }
            "DATA" => {
                say(&mut wire, "354 go\r\n")?;
                while !message.ends_with("\r\n.\r\n") {
                    wire.read_line(&mut message).ok()?;
                }
                message.truncate(message.len() - 3);
                say(&mut wire, "250 taken\r\n")?;
            }
            "BDAT" => {
                let mut octets = vec![0; line.split(' ').nth(1)?.parse().ok()?];
                std::io::Read::read_exact(&mut wire, &mut octets).ok()?;
                message = String::from_utf8(octets).ok()?;
                say(&mut wire, "250 taken\r\n")?;
            }
            _ => say(&mut wire, "250 ok\r\n")?,
        }
        if !message.is_empty() {
            taken.send((sender.clone(), message)).ok()?;
        }
    }
}

/// Two recipients in one envelope: each copy names its recipient in the URI to leave, and its
/// signature covers that.
#[test]
fn each_recipient_can_leave_by_one_click() {
    for extensions in [
        "250 hi\r\n",
        "250-hi\r\n250 PIPELINING\r\n",
        "250-hi\r\n250-PIPELINING\r\n250 CHUNKING\r\n",
    ] {
        let host = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = host.local_addr().unwrap().port();
        let (taken, copies) = channel();
        thread::spawn(move || {
            for stream in host.incoming().flatten() {
                let taken = taken.clone();
                thread::spawn(move || take(stream, extensions, &taken));
            }
        });
        let leave = Value::List(vec![text("https://lists.example/leave/{recipient}")]);
        let mut place =
            Place::trusting(&[("unsubscribe", leave), ("one_click", Value::Bool(true))]);
        let mut network = Table::default();
        network.set("port", Value::Int(port.into()));
        network.set("resolvers", Value::List(vec![text("127.0.0.1:9")]));
        place.settings.set("network", Value::Table(network));
        let key = format!("{}/tests/keys/ed25519.pem", env!("CARGO_MANIFEST_DIR"));
        let dkim =
            [("domain", text("lists.example")), ("selector", text("s")), ("key", text(&key))];
        place.settings.set("dkim", Value::List(vec![table(&dkim)]));
        let server = place.start();
        let mut client = connect(&server);
        client.hear();
        client.say("EHLO client.example");
        let people = ["ann@[127.0.0.1]", "bob@[127.0.0.1]"];
        let message = "From: news@lists.example\r\nSubject: x\r\n\r\n..dot\r\n";
        assert!(client.mail(BACK, &people, message).starts_with("250"));
        let mut all: Vec<_> = people
            .iter()
            .map(|_| copies.recv_timeout(Duration::from_secs(60)).expect("a copy comes"))
            .collect();
        all.sort_by_key(|(_, copy)| copy.contains("/leave/bob"));
        for ((back, copy), name) in all.iter().zip(["ann", "bob"]) {
            assert!(back.starts_with("news-bounces+"), "{back}");
            let (head, body) = copy.split_once("\r\n\r\n").unwrap();
            let uri = format!("\r\nList-Unsubscribe: <https://lists.example/leave/{name}%40");
            assert!(head.contains(&uri), "{head}");
            let post = "\r\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n";
            assert!(head.contains(post), "{head}");
            assert!(head.starts_with("DKIM-Signature: "), "{head}");
            assert!(head.contains("List-Unsubscribe-Post"), "{head}");
            let dots = if extensions.contains("CHUNKING") { ".dot\r\n" } else { "..dot\r\n" };
            assert!(body.starts_with(dots), "{body}");
        }
        server.stop();
    }
}
