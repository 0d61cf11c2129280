//! Statuses of what hosts refuse, as the log has them.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A host that greets, and answers to RCPT, in these words.
fn host(greeting: &'static str, rcpt: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.79:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = move |stream: TcpStream| {
        let mut out = stream.try_clone()?;
        write!(out, "{greeting}\r\n")?;
        for line in BufReader::new(stream).lines() {
            let reply = match line?.get(..4) {
                Some("RCPT") => rcpt,
                _ => "250 ok",
            };
            write!(out, "{reply}\r\n")?;
        }
        Ok::<_, std::io::Error>(())
    };
    std::thread::spawn(move || {
        // A server that is gone is no error of its host.
        listener.incoming().flatten().for_each(|stream| drop(answer(stream)));
    });
    port
}

/// Mail that is tried again has a status of class 4, mail that failed one of class 5, whatever its
/// host said.
#[test]
fn a_status_fits_its_outcome() {
    for (greeting, rcpt, expected) in [
        ("554 5.7.1 not you", "", "Deferred: 4.7.1: 554 5.7.1 not you"),
        ("220 hi", "354 go on", "Deferred: 4.0.0: 354 go on (in reply to RCPT TO command)"),
        ("220 hi", "450 5.1.1 no", "Deferred: 4.0.0: 450 5.1.1 no (in reply to RCPT TO command)"),
        ("220 hi", "550 4.2.2 no", "Failed: 5.0.0: 550 4.2.2 no (in reply to RCPT TO command)"),
    ] {
        let mut place = Place::trusting(&[]);
        let port = Value::Int(host(greeting, rcpt).into());
        place.settings.set("network", table(&[("port", port)]));
        place.settings.set("mail", table(&[("hello", text("lists.example"))]));
        let server = place.start();
        let mut client = connect(&server);
        client.hear();
        client.say("EHLO client.example");
        client.mail("me@x.example", &["a@[127.0.0.79]"], "Subject: x\r\n\r\nx");
        let begun = Instant::now();
        let seen = loop {
            let seen = place.eye.0.lock().unwrap().first().cloned();
            if let Some(seen) = seen {
                break seen;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing was tried: {expected}");
            std::thread::yield_now();
        };
        assert_eq!(seen, format!("a@[127.0.0.79] {expected}"));
        server.stop();
    }
}
