//! Each personality does what it says.

use crate::{Client, PATIENCE, host, near, start};
use sojourn_core::Span;
use sojourn_core::parameters::Value;
use sojourn_testnet::{Host, Tls};
use std::io::{BufReader, ErrorKind, Read};
use std::time::{Duration, Instant};

fn recipients(internet: &sojourn_testnet::TestNet) -> Vec<String> {
    internet.accepted_since(0).into_iter().map(|it| it.recipient.into()).collect()
}

#[test]
fn fast_takes_over_and_notes_everything() {
    let internet = start(vec![near("fast")]);
    let mut client = Client::ready(&internet, 0);
    let taken = "250 2.0.0 Taken over";
    assert_eq!(client.transact(&["a@x.example", "b@X.EXAMPLE"], "..one"), taken);
    assert_eq!(client.transact(&["c@y.example"], "two"), "550 5.7.1 Relaying denied");
    assert_eq!(client.ask("MAIL FROM:<>"), "503 5.5.1 Not now");
    assert_eq!(client.ask("RSET"), "250 2.0.0 Ok");
    assert_eq!(client.ask("RCPT TO:<a@x.example>"), "503 5.5.1 MAIL first");
    assert_eq!(client.ask("DATA"), "554 5.5.1 No valid recipients");
    assert_eq!(client.transact(&["a@x.example"], "two"), taken);
    assert_eq!(client.ask(&"x".repeat(5000)), "500 5.5.2 Line too long");
    assert_eq!(client.ask("EXPN"), "500 5.5.2 What?");
    assert_eq!(client.ask("QUIT"), "221 2.0.0 Bye");
    assert_eq!(client.reply(), "closed");
    let accepted = internet.accepted_since(0);
    let brief: Vec<_> = accepted.iter().map(|it| (&*it.recipient, it.transaction)).collect();
    assert_eq!(brief, [("a@x.example", 0), ("b@X.EXAMPLE", 0), ("a@x.example", 1)]);
    assert_eq!((&*accepted[0].message, &*accepted[0].sender), ("<1@me>", "list@me.example"));
    let text = accepted[1].text.as_deref().unwrap();
    assert_eq!(text, b"Message-ID: <1@me>\r\n\r\n.one\r\n");
    assert_eq!(accepted[0].host.to_string(), "127.64.0.1");
    assert_eq!(internet.wait_for(3, PATIENCE), 3);
}

#[test]
fn commands_in_groups_and_chunks_are_taken() {
    let internet = start(vec![Host { chunking: true, ..near("fast") }]);
    let mut client = Client::ready(&internet, 0);
    client.send(
        b"MAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\nRCPT TO:<b@y.example>\r\n\
          BDAT 6\r\nA: b\r\nBDAT 5 LAST\r\n\r\n.\r\nNOOP\r\nMAIL FROM:<>\r\nBDAT 2 LAST\r\nxxNOOP\r\n",
    );
    let replies = [(); 9].map(|()| client.reply()[..3].to_owned());
    assert_eq!(replies, ["250", "250", "550", "250", "250", "250", "250", "554", "250"]);
    let accepted = internet.accepted_since(0);
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].text.as_deref(), Some(&b"A: b\r\n\r\n.\r\n"[..]));
}

#[test]
fn a_round_trip_is_waited_for() {
    let far = Host { round_trip: Span::from_ms(300), ..near("fast") };
    let internet = start(vec![far]);
    let since = Instant::now();
    let mut client = Client::connect(&internet, 0).unwrap();
    client.reply();
    assert!(since.elapsed() >= Duration::from_millis(600), "the greeting after two");
    let since = Instant::now();
    client.send(b"EHLO me\r\nMAIL FROM:<>\r\nRCPT TO:<a@x.example>\r\n");
    let replies = [(); 3].map(|()| client.reply()[..3].to_owned());
    assert_eq!(replies, ["250", "250", "250"]);
    let took = since.elapsed();
    // Commands in a group take one round trip together, not three.
    assert!((300..900).contains(&took.as_millis()), "{took:?}");
}

#[test]
fn slow_ones_think_and_trickling_ones_drip() {
    let median = Value::Text("60ms".into());
    let slow = host("slow", &[("median", median), ("spread", Value::Float(0.0))]);
    let trickle = host("trickle", &[("every", Value::Text("3ms".into()))]);
    let internet = start(vec![slow, trickle]);
    let since = Instant::now();
    Client::ready(&internet, 0);
    assert!(since.elapsed() >= Duration::from_millis(120));
    let since = Instant::now();
    let mut client = Client::connect(&internet, 1).unwrap();
    assert_eq!(client.reply(), "220 mx.x.example ESMTP");
    assert!(since.elapsed() >= Duration::from_millis(3 * 24));
}

#[test]
fn doors_are_closed_or_silent_or_open_late() {
    let late = host("late", &[("after", Value::Text("400ms".into()))]);
    let internet = start(vec![near("refused"), near("black-hole"), late]);
    let refused = |number| Client::connect(&internet, number).err().map(|error| error.kind());
    assert_eq!(refused(0), Some(ErrorKind::ConnectionRefused));
    assert_eq!(refused(1), Some(ErrorKind::TimedOut));
    // By now it is open.
    Client::ready(&internet, 2);
}

#[test]
fn greylisting_is_by_sender_and_recipient() {
    let grey = |named| {
        let wait = Value::Text("300ms".into());
        host("greylist", &[("wait", wait), ("named", Value::Bool(named))])
    };
    let internet = start(vec![grey(false), grey(true)]);
    let mut client = Client::ready(&internet, 0);
    let refusal = "450 4.2.0 Greylisted, try again later";
    let since = Instant::now();
    let until_taken = loop {
        let reply = client.transact(&["a@x.example"], "");
        if reply.starts_with("250") {
            break since.elapsed();
        }
        assert_eq!(reply, refusal);
        client.ask("RSET");
    };
    assert!(until_taken >= Duration::from_millis(300), "{until_taken:?}");
    assert_eq!(client.transact(&["b@x.example"], ""), refusal);
    assert_eq!(recipients(&internet), ["a@x.example"]);
    let mut client = Client::ready(&internet, 1);
    let reply = client.transact(&["a@x.example"], "");
    assert_eq!(reply, "450 4.2.0 Greylisted, try again in 1 seconds");
}

#[test]
fn limits_are_kept() {
    let few = host("few-recipients", &[("most", Value::Int(2))]);
    let busy = host("busy", &[("sessions", Value::Int(1))]);
    let internet = start(vec![few, busy, near("one-message")]);
    let mut client = Client::ready(&internet, 0);
    client.ask("MAIL FROM:<>");
    let replies = ["a", "b", "c"].map(|it| client.ask(&format!("RCPT TO:<{it}@x.example>")));
    assert_eq!(replies[1..], ["250 2.1.5 Ok", "452 4.5.3 Too many recipients"]);
    let _first = Client::ready(&internet, 1);
    assert_eq!(internet.sessions(), 2);
    let mut second = Client::connect(&internet, 1).unwrap();
    assert_eq!(second.reply(), "421 4.7.0 Too many connections");
    assert_eq!(second.reply(), "closed");
    let mut client = Client::ready(&internet, 2);
    assert_eq!(client.transact(&["a@x.example"], ""), "250 2.0.0 Taken over");
    assert_eq!([client.reply(), client.reply()], ["421 4.3.2 One message a connection", "closed"]);
}

/// Three messages within 1.5 s, then 450s; a new message when the first has gone out of the window.
#[test]
fn a_throttle_counts_messages_and_not_recipients() {
    let three = ("messages", Value::Int(3));
    let throttle = host("throttle", &[three.clone(), ("within", Value::Text("1500ms".into()))]);
    let strict = host(
        "throttle",
        &[three, ("at", Value::Text("mail".into())), ("closes", Value::Bool(true))],
    );
    let internet = start(vec![throttle, strict]);
    let mut client = Client::ready(&internet, 0);
    let began = Instant::now();
    let mut send = |who: &str| client.transact(&[who, "z@x.example"], "");
    let replies = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"].map(&mut send);
    let refused = "450 4.7.28 Unusual rate of messages, slow down";
    assert_eq!(replies.map(|it| it == refused), [false, false, false, true]);
    let mut later = send("e@x.example");
    while later == refused {
        assert!(began.elapsed() < Duration::from_secs(60), "refused for good");
        later = send("e@x.example");
    }
    assert!(began.elapsed() >= Duration::from_millis(1500), "{:?}", began.elapsed());
    let mut client = Client::ready(&internet, 1);
    for _ in 0..3 {
        assert_eq!(client.transact(&["a@x.example"], ""), "250 2.0.0 Taken over");
    }
    assert_eq!(client.ask("MAIL FROM:<>"), "421 4.7.28 Unusual rate of messages, slow down");
    assert_eq!(client.reply(), "closed");
}

#[test]
fn a_throttle_may_greylist_besides() {
    let settings = [("messages", Value::Int(1)), ("greylisting", Value::Text("1ms".into()))];
    let internet = start(vec![host("throttle", &settings)]);
    let mut client = Client::ready(&internet, 0);
    client.ask("MAIL FROM:<>");
    let first = client.ask("RCPT TO:<a@x.example>");
    assert_eq!(first, "450 4.2.0 Greylisted, try again later");
    let mut later = first;
    while later != "250 2.1.5 Ok" {
        later = client.ask("RCPT TO:<a@x.example>");
    }
}

#[test]
fn a_share_of_users_is_unknown_and_stays_so() {
    let internet = start(vec![host("unknown-users", &[("share", Value::Float(0.5))])]);
    let mut client = Client::ready(&internet, 0);
    client.ask("MAIL FROM:<>");
    let mut ask = |n| client.ask(&format!("RCPT TO:<s{n}@x.example>")).starts_with("550");
    let unknown: Vec<bool> = (0..100).map(&mut ask).collect();
    let share = unknown.iter().filter(|it| **it).count();
    assert!((30..70).contains(&share), "{share}");
    assert_eq!((0..100).map(ask).collect::<Vec<_>>(), unknown);
}

#[test]
fn connections_are_reset_where_it_is_said() {
    let within = host("reset-in-data", &[("times", Value::Int(1))]);
    let before = host("accept-then-reset", &[("recorded", Value::Bool(false))]);
    let after = near("accept-then-reset");
    let internet = start(vec![within, before, after]);
    for number in 0..3 {
        let recipient = format!("r{number}@x.example");
        let mut client = Client::ready(&internet, number);
        let text = "line\r\n".repeat(50);
        assert_eq!(client.transact(&[&recipient], &text), "reset");
        let mut client = Client::ready(&internet, number);
        assert_eq!(client.transact(&[&recipient], &text), "250 2.0.0 Taken over");
    }
    let expected = ["r0@x.example", "r1@x.example", "r2@x.example", "r2@x.example"];
    assert_eq!(recipients(&internet), expected);
}

#[test]
fn others_hang_or_talk_nonsense() {
    let hung = host("hung", &[("at", Value::Text("mail".into()))]);
    let internet = start(vec![hung, near("garbage"), near("endless"), near("old")]);
    let mut client = Client::ready(&internet, 0);
    client.send(b"MAIL FROM:<>\r\nQUIT\r\n");
    let silence = Some(Duration::from_millis(50));
    client.stream.get_ref().set_read_timeout(silence).unwrap();
    let error = client.stream.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let mut client = Client::connect(&internet, 1).unwrap();
    let mut bytes = [0; 16];
    client.stream.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"hello\0\xff\xfe there\r\n");
    let mut client = Client::connect(&internet, 2).unwrap();
    let mut bytes = vec![0; 1 << 20];
    client.stream.read_exact(&mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == b'2'));
    let mut client = Client::connect(&internet, 3).unwrap();
    client.reply();
    assert_eq!(client.ask("EHLO me"), "500 What?");
    assert_eq!(client.ask("HELO me"), "250 hello");
    assert_eq!(client.transact(&["a@x.example"], ""), "250 2.0.0 Taken over");
}

#[test]
fn tls_is_good_or_refused_or_broken() {
    let with = |tls| Host { tls, ..near("fast") };
    let hosts = [Tls::Good, Tls::Required, Tls::Refused, Tls::Broken, Tls::WrongName];
    let internet = start(hosts.map(with).to_vec());
    let mut client = Client::ready(&internet, 1);
    assert_eq!(client.ask("MAIL FROM:<>"), "530 5.7.0 STARTTLS first");
    let mut client = Client::ready(&internet, 2);
    assert_eq!(client.ask("STARTTLS"), "454 4.7.0 TLS not available");
    let mut client = Client::ready(&internet, 3);
    assert_eq!(client.ask("STARTTLS"), "220 2.0.0 Go ahead");
    assert_eq!(client.read_until_end()[0], 21, "an alert");

    let mut roots = rustls::RootCertStore::empty();
    let pem = internet.authority().as_bytes();
    let root = <rustls::pki_types::CertificateDer<'_> as rustls::pki_types::pem::PemObject>
        ::from_pem_slice(pem).unwrap();
    roots.add(root).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let config = std::sync::Arc::new(config);
    let secure = |number: u8| {
        let mut client = Client::ready(&internet, number);
        assert_eq!(client.ask("STARTTLS"), "220 2.0.0 Go ahead");
        let name = format!("mx{number}.x.example").try_into().unwrap();
        let session = rustls::ClientConnection::new(config.clone(), name).unwrap();
        let stream = client.stream.into_inner();
        let mut stream = BufReader::new(rustls::StreamOwned::new(session, stream));
        std::io::Write::write_all(stream.get_mut(), b"EHLO me\r\n")?;
        let mut line = String::new();
        std::io::BufRead::read_line(&mut stream, &mut line)?;
        Ok::<_, std::io::Error>(line)
    };
    assert_eq!(secure(0).unwrap(), "250-mx.x.example\r\n");
    let error = secure(4).unwrap_err();
    assert!(error.to_string().contains("not valid for name"), "{error}");
}

#[test]
fn all_hosts_can_go_down_and_come_back() {
    let internet = start(vec![near("fast"), near("fast")]);
    let mut client = Client::ready(&internet, 0);
    internet.set_hosts(false);
    assert!(["closed", "reset"].contains(&client.reply().as_str()));
    // Connections that were let in before are cut.
    let refused = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
    while !Client::connect(&internet, 1).is_err_and(|error| refused(&error)) {}
    internet.set_hosts(true);
    while Client::connect(&internet, 1).is_err() {}
    Client::ready(&internet, 1);
}
