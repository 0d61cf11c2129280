//! Our log is read by what reads Postfix's: pflogsumm, as Debian has it.

use sojourn_core::Span;
use sojourn_list_server::{Log, Observer, ServerEvent};
use sojourn_mail_engine::{Delays, MessageId, Outcome, Reason, RecipientIndex, Relay, Task};
use sojourn_smtp::Enhanced;
use std::fs::File;
use std::path::Path;
use std::process::Command;

const AT: i64 = 1_700_000_000_123; // 2023-11-14T22:13:20.123Z

/// A message of 5000 octets to eight recipients: five have it, two do not yet, one never will.
fn write_log(path: &Path) {
    let mut log = Log::new(File::create(path).unwrap(), 25);
    let message = MessageId(0xBEEF);
    let sender = "owner@lists.example".parse().unwrap();
    let relay = Relay { name: "mx.x.example".into(), address: [192, 0, 2, 1].into() };
    let ms = Span::from_ms;
    let accepted = ServerEvent::Accepted {
        message,
        sender: Some(&sender),
        size: 5000,
        recipients: 8,
        accepted_ms: AT,
    };
    log.notice(AT, &accepted);
    let sent = Reason::new(Enhanced(2, 0, 0), "250 2.0.0 Ok");
    let refused = Reason::new(Enhanced(4, 4, 1), "connection refused");
    let unknown = Reason::new(Enhanced(5, 1, 1), "550 5.1.1 No such user");
    for recipient in 0..8 {
        let (relay, outcome, reason) = match recipient {
            0..=4 => (Some(&relay), Outcome::Delivered, &sent),
            5 | 6 => (None, Outcome::Deferred, &refused),
            _ => (Some(&relay), Outcome::Failed, &unknown),
        };
        let address = format!("u{recipient}@x.example").parse().unwrap();
        let attempt = ServerEvent::Attempt {
            task: Task { message, recipient: RecipientIndex(recipient) },
            recipient: &address,
            relay,
            delays: Delays { before: ms(10), queued: ms(40), setup: ms(120), sending: ms(80) },
            took: ms(200),
            outcome,
            reason,
        };
        log.notice(AT + 250, &attempt);
    }
    log.notice(AT + 300, &ServerEvent::Trouble("disk full"));
    log.pause();
}

#[test]
fn pflogsumm_reads_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("mail.log");
    write_log(&path);
    let Ok(read) = Command::new("pflogsumm").arg("--syslog-name=sojourn").arg(&path).output()
    else {
        // Not `eprintln!`: what a test that passes prints by that is not shown.
        let said = b"left out: there is no pflogsumm here\n";
        std::io::Write::write_all(&mut std::io::stderr(), said).expect("standard error");
        return;
    };
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let report = String::from_utf8(read.stdout).unwrap();
    let lines: Vec<String> =
        report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for expected in [
        "5 delivered",
        "1 deferred (2 deferrals)", // messages, and attempts
        "1 bounced",
        "25000 bytes delivered",
        "1 recipient hosts/domains",
        // when, received, delivered, deferred, bounced, rejected
        "2200-2300 0 5 2 1 0",
        // sent, bytes, deferred, the average and longest delay, to whom
        "5 25000 2 0.2 s 0.2 s x.example",
        "2 connection refused",
        "1 5.1.1 No such user",
        "disk full",
    ] {
        let known = |line: &String| line == expected || line.ends_with(expected);
        assert!(lines.iter().any(known), "{expected:?} in\n{report}");
    }
}
