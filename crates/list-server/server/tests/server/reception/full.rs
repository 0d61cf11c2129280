//! What a server says that has no room.

use crate::reception::{Place, connect, table, text};
use sojourn_core::parameters::Value;
use sojourn_list_server::SubscriberStore;
use sojourn_list_server::control::operate;
use sojourn_mail_engine::{MessageId, Operation, Selection};
use sojourn_testnet::SmallDisk;
use std::time::{Duration, Instant};

const FROM: &str = "editor@lists.example";

fn trusting(mail: &[(&str, Value)]) -> Place {
    let mut all = vec![("hello", text("lists.example"))];
    all.extend(mail.iter().cloned());
    Place::new(&[
        ("reception", table(&[("trusted", Value::List(vec![text("127.0.0.0/8")]))])),
        ("mail", table(&all)),
    ])
}

/// Nobody is delivered to here: what was taken over waits.
#[test]
fn so_many_recipients_wait_and_no_more() {
    let limits = table(&[("waiting", Value::Int(3))]);
    let place = trusting(&[("limits", limits)]);
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    let (two, message) = (["a@[127.0.0.9]", "b@[127.0.0.9]"], "Subject: x\r\n\r\nx");
    assert!(client.mail(FROM, &two, message).starts_with("250 2.0.0 taken as"));
    let full = "452 4.3.1 too much mail is waiting, try again later";
    assert_eq!(client.mail(FROM, &two, message), full);
    assert!(client.mail(FROM, &two[..1], message).starts_with("250"));
    assert_eq!(client.mail(FROM, &two[..1], message), full);
    assert_eq!(client.say("QUIT"), "221 2.0.0 bye");
    server.stop();
    let heard = place.ear.0.lock().unwrap();
    assert!(heard.iter().any(|it| it.contains("2 recipients are waiting already")), "{heard:?}");
    assert_eq!(place.stored().len(), 2);
}

/// The client keeps what there is no space for, and gets rid of it when there is; what was promised is
/// in the spool. On the full disk an operator deletes messages, and subscribers leave.
#[test]
fn a_full_disk() {
    // A reserve of 1.5 MB, 8 MiB for logs and what the recipients need; twice it with ext4's own.
    let bounds = table(&[("message", text("1MB"))]);
    let trusted = Value::List(vec![text("127.0.0.0/8")]);
    let place = Place::new(&[("reception", table(&[("trusted", trusted), ("bounds", bounds)]))]);
    let Some(disk) = SmallDisk::tmpfs(place.folder.path(), 20) else { return };
    let server = place.start();
    let mut client = connect(&server);
    client.hear();
    client.say("EHLO client.example");
    let mail = |client: &mut crate::reception::Client<_>, n: usize| {
        let text = ["x".repeat(70), "\r\n".into()].concat().repeat(1000);
        let message = format!("Message-ID: <{n}@x>\r\n\r\n{text}");
        client.mail(FROM, &["a@[127.0.0.9]"], &message)
    };
    let fill = |client: &mut crate::reception::Client<_>, mut taken: usize| loop {
        match mail(client, taken) {
            reply if reply.starts_with("250") => taken += 1,
            reply => {
                assert_eq!(reply, "452 4.3.1 it cannot be stored now, try again later");
                return taken;
            }
        }
    };
    let taken = fill(&mut client, 0);
    assert!((20..400).contains(&taken), "{taken}");
    let reserve = || place.folder.path().join("spool-reserve").metadata().unwrap().len();
    let whole = reserve();
    assert!(whole >= 1_500_000 + (8 << 20), "{whole}");
    disk.fill();
    assert_eq!(fill(&mut client, taken), taken);
    assert_eq!(reserve(), whole, "a client that is refused takes nothing of it");
    // A writer of the register finds the disk as full.
    let book = SubscriberStore::beside(&place.folder.path().join("spool"));
    let mut book = SubscriberStore::open(&book).unwrap();
    let list = FROM.parse().unwrap();
    let people: Vec<_> = (0..2_000).map(|i| format!("{i}@x.example").parse().unwrap()).collect();
    book.numbers(&list, &people, 0, 1_000_000).unwrap();
    assert!(book.leave(&list, &people[7], 1).unwrap());
    assert!(reserve() < whole);
    let spool = place.folder.path().join("spool");
    let messages = (1..=taken as u64 / 2).map(MessageId).collect();
    let selection = Selection { messages, ..Selection::default() };
    let counts = operate(&spool, Operation::Delete, &selection).unwrap();
    assert_eq!(counts.messages, taken as u64 / 2);
    disk.empty();
    // The server gives back the space of its log when it is quiet.
    let begun = Instant::now();
    let more = loop {
        let more = fill(&mut client, taken);
        if more > taken {
            break more;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no mail is taken");
    };
    server.stop();
    let stored = place.stored();
    assert_eq!(stored.len(), more - taken / 2);
    for (n, (_, text)) in (taken / 2..more).zip(&stored) {
        assert!(text.contains(&format!("Message-ID: <{n}@x>")));
    }
    assert_eq!(book.left().unwrap().len(), 1);
}
