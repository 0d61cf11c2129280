//! The log, as Postfix writes it.

use sojourn_core::Span;
use sojourn_list_server::{Log, Observer, ServerEvent};
use sojourn_mail_engine::{Delays, MessageId, Outcome, Reason, RecipientIndex, Relay, Task};
use sojourn_smtp::{Address, Enhanced};
use std::fs::File;

const AT: i64 = 1_700_000_000_123; // 2023-11-14T22:13:20.123Z
const MESSAGE: MessageId = MessageId(0xBEEF);

/// The lines about `all`, from the name of the daemon on.
fn logged(all: &[ServerEvent<'_>]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mail.log");
    let mut log = Log::new(File::create(&path).unwrap(), 25);
    all.iter().for_each(|event| log.notice(AT, event));
    log.pause();
    let host = nix::unistd::gethostname().unwrap().into_string().unwrap();
    let begin = format!("2023-11-14T22:13:20.123Z {host} sojourn/");
    let process = format!("[{}]", std::process::id());
    let text = std::fs::read_to_string(&path).unwrap();
    let line = |line: &str| line.strip_prefix(&begin).expect(line).replacen(&process, "[7]", 1);
    text.lines().map(line).collect()
}

fn attempt<'a>(
    recipient: &'a Address,
    relay: Option<&'a Relay>,
    delays: [u64; 4],
    outcome: Outcome,
    reason: &'a Reason,
) -> ServerEvent<'a> {
    let [before, queued, setup, sending] = delays.map(Span::from_ms);
    ServerEvent::Attempt {
        task: Task { message: MESSAGE, recipient: RecipientIndex(0) },
        recipient,
        relay,
        delays: Delays { before, queued, setup, sending },
        took: setup + sending,
        outcome,
        reason,
    }
}

#[test]
fn seconds_have_four_digits() {
    let recipient = "a@x.example".parse().unwrap();
    let down = Reason::new(Enhanced(4, 4, 1), "connection refused");
    for (ms, text) in [
        (0, "0"),
        (4, "0.004"),
        (50, "0.05"),
        (670, "0.67"),
        (100, "0.1"),
        (1000, "1"),
        (1234, "1.234"),
        (12_345, "12.35"),
        (99_990, "99.99"),
        (100_000, "100"),
        (432_123, "432.1"),
        (4_321_000, "4321"),
    ] {
        let lines = logged(&[attempt(&recipient, None, [ms, 0, 0, 0], Outcome::Deferred, &down)]);
        let delay = format!(" delay={text}, delays={text}/0/0/0, ");
        assert!(lines[0].contains(&delay), "{ms} ms: {}", lines[0]);
    }
}

#[test]
fn a_line_for_each_thing() {
    let sender = "owner@lists.example".parse().unwrap();
    let recipient = "a@x.example".parse().unwrap();
    let relay = Relay { name: "mx.x.example".into(), address: [192, 0, 2, 1].into() };
    let sent = Reason::new(Enhanced(2, 0, 0), "250 2.0.0 Ok");
    let down = Reason::new(Enhanced(4, 4, 1), "connection refused");
    let accepted = ServerEvent::Accepted {
        message: MESSAGE,
        sender: Some(&sender),
        size: 42,
        recipients: 1,
        accepted_ms: 0,
    };
    let lines = logged(&[
        accepted,
        attempt(&recipient, Some(&relay), [61_000, 40, 120, 80], Outcome::Delivered, &sent),
        attempt(&recipient, None, [5, 0, 0, 0], Outcome::Deferred, &down),
        ServerEvent::HostDown([192, 0, 2, 1].into(), AT + 60_000, &down),
        ServerEvent::DomainDown("x.example", AT + 60_000, &down),
        ServerEvent::Trouble("disk full"),
        ServerEvent::Finished { message: MESSAGE },
    ]);
    let expected = "\
qmgr[7]: 000000BEEF: from=<owner@lists.example>, size=42, nrcpt=1 (queue active)
smtp[7]: 000000BEEF: to=<a@x.example>, relay=mx.x.example[192.0.2.1]:25, delay=61.24, \
delays=61/0.04/0.12/0.08, dsn=2.0.0, status=sent (250 2.0.0 Ok)
smtp[7]: 000000BEEF: to=<a@x.example>, relay=none, delay=0.005, delays=0.005/0/0/0, dsn=4.4.1, \
status=deferred (connection refused)
qmgr[7]: host 192.0.2.1 left alone until 2023-11-14T22:14:20.123Z (4.4.1: connection refused)
qmgr[7]: domain x.example left alone until 2023-11-14T22:14:20.123Z (4.4.1: connection refused)
qmgr[7]: warning: disk full
qmgr[7]: 000000BEEF: removed
";
    assert_eq!(lines, expected.lines().collect::<Vec<_>>());
}

/// A client names its user as it likes: the name stays one value of its line.
#[test]
fn a_user_name_forges_no_field() {
    let peer = "192.0.2.1:25".parse().unwrap();
    let user = "ann, from=<x>, size=1: taken [2]\u{2028}\n(x)";
    let lines = logged(&[
        ServerEvent::WrongPassword { peer, user },
        ServerEvent::PasswordRefused { peer, user, wait: std::time::Duration::from_secs(9) },
        ServerEvent::Taken {
            message: MESSAGE,
            peer,
            user: Some(user),
            sender: None,
            size: 7,
            recipients: 1,
        },
        ServerEvent::WrongPassword { peer, user: "DOMAIN\\ann.o'neil+x@lists.example" },
    ]);
    for line in &lines {
        let (_, rest) = line.split_once("client=[192.0.2.1], user=").expect(line);
        let value = rest.split([',', ':', ' ']).next().unwrap();
        assert!(value.starts_with("ann") || value.starts_with("DOMAIN"), "{line}");
        assert_eq!(line.matches("from=").count(), usize::from(line.contains("nrcpt=")), "{line}");
        assert_eq!(line.matches("size=").count(), usize::from(line.contains("nrcpt=")), "{line}");
    }
    assert!(lines[3].ends_with("user=DOMAIN\\ann.o'neil+x@lists.example"), "{}", lines[3]);
    assert!(lines[2].ends_with(", from=<>, size=7, nrcpt=1"), "{}", lines[2]);
}
