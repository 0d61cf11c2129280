//! The forms in which one and the same line stands in logs, and what counts in them.

use crate::kept::{NEWEST, read};
use sojourn_mail_logs::view::Waiting;
use sojourn_mail_logs::{Column, Reader, Settings};

const TEXT: &str = "4F2A13C0D1: to=<a@x>, relay=mx.x[192.0.2.1]:25, delay=1, delays=0/0/0.5/0.5, \
    dsn=2.0.0, status=sent (250 2.0.0 Ok)";
const OK: &str = "ok a@x by mx.x age 1 took 1 2.0.0";

/// What is told of a log that has no line that cannot be read.
fn told(log: &str) -> Vec<String> {
    let mut reader = read(log.as_bytes());
    assert_eq!(reader.counts().malformed, 0, "{:?} {log}", reader.problems());
    assert_eq!(reader.counts().unread, 0, "{:?} {log}", reader.unread());
    std::mem::take(&mut reader.view().0)
}

#[test]
fn a_line_in_each_form() {
    let quoted = TEXT.replace('"', "\\\"");
    let json = format!(
        r#""__REALTIME_TIMESTAMP":"1795341600000000","_HOSTNAME":"mx","SYSLOG_IDENTIFIER":"postfix/smtp","_PID":"7","MESSAGE":"{quoted}","_X":["a","b"],"_Y":null"#
    );
    let octets: Vec<String> = TEXT.bytes().map(|octet| octet.to_string()).collect();
    let as_octets = json.replace(&format!("\"{quoted}\""), &format!("[{}]", octets.join(",")));
    let pretty = format!("{{\n{}\n}}", json.replace(",\"", ",\n\t\""));
    let tag = format!("mx postfix/smtp[7]: {TEXT}");
    let in_journal = json
        .replace(&quoted, &format!("Nov 22 10:00:00 mx postfix/smtp[7]: {quoted}"))
        .replace("postfix/smtp\",", "3f2a9c\",");
    for line in [
        // journalctl --output=short, short-precise, short-iso, short-iso-precise, short-full,
        // short-unix, with-unit, verbose, json, json-pretty, json-sse, json-seq
        format!("Nov 22 10:00:00 {tag}"),
        format!("Nov 22 10:00:00.000000 {tag}"),
        format!("2026-11-22T10:00:00+0000 {tag}"),
        format!("2026-11-22T10:00:00.000000+00:00 {tag}"),
        format!("Sun 2026-11-22 10:00:00 UTC {tag}"),
        format!("1795341600.000000 {tag}"),
        format!("Sun 2026-11-22 10:00:00 UTC mx postfix@-.service[7]: {TEXT}"),
        format!(
            "Sun 2026-11-22 10:00:00.000000 UTC [s=1;i=2;b=3;m=4;t=5;x=6]\n    PRIORITY=6\n    \
             _HOSTNAME=mx\n    SYSLOG_IDENTIFIER=postfix/smtp\n    MESSAGE={TEXT}\n    _PID=7"
        ),
        format!("{{{json}}}"),
        format!("{{{as_octets}}}"),
        pretty,
        format!("data: {{{json}}}\n"),
        format!("\u{1e}{{{json}}}"),
        // lines in lines: docker by syslog, docker logs -t, compose, its JSON file, Kubernetes
        format!("Nov 22 10:00:01 hostx docker[32]: Nov 22 10:00:00 {tag}"),
        format!("2026-11-22T10:00:01.123456789Z Nov 22 10:00:00 {tag}"),
        format!("mail-1  | Nov 22 10:00:00 {tag}"),
        format!("mail-1  | 2026-11-22T10:00:01.1Z 2026-11-22T10:00:00+00:00 {tag}"),
        format!(
            r#"{{"log":"Nov 22 10:00:00 mx postfix/smtp[7]: {quoted}\n","stream":"stdout","time":"x"}}"#
        ),
        format!("2026-11-22T10:00:01.1Z stdout F Nov 22 10:00:00 {tag}"),
        format!("[pod/mail-0/postfix] Nov 22 10:00:00 {tag}"),
        format!("{{{in_journal}}}"),
        format!(
            r#"{{"textPayload":"Nov 22 10:00:00 mx postfix/smtp[7]: {quoted}","severity":"x"}}"#
        ),
        format!("/var/log/mail.log.1:Nov 22 10:00:00 {tag}"),
        format!("mail.log:12:2026-11-22T10:00:00Z {tag}"),
        // RFC 5424, Solaris, FreeBSD -v, busybox, AIX, no T, one space
        format!("<22>1 2026-11-22T10:00:00Z mx postfix/smtp 7 - - {TEXT}"),
        format!(
            "<22>1 2026-11-22T10:00:00Z mx postfix/smtp 7 - [m@1 a=\"b\\]\\\"\"] \u{feff}{TEXT}"
        ),
        format!("Nov 22 10:00:00 mx postfix/smtp[7]: [ID 197553 mail.info] {TEXT}"),
        format!("Nov 22 10:00:00 <mail.info> {tag}"),
        format!("Nov 22 10:00:00 mx mail.info postfix/smtp[7]: {TEXT}"),
        format!("Nov 22 10:00:00 mx mail:info postfix/smtp[7]: {TEXT}"),
        format!("2026-11-22 10:00:00 {tag}"),
        format!("Nov 22 10:00:00 mx postfix2/smtp[7]: {TEXT}"),
        format!("Nov 22 10:00:00 mx out-1/smtp[7]: {TEXT}"),
    ] {
        assert_eq!(told(&format!("{line}\n")), [OK], "{line}");
        let mut reader = read(line.as_bytes());
        assert_eq!(reader.counts().first, Some(1_795_341_600_000_000), "{line}");
        assert_eq!(reader.view().0, [OK], "{line}");
    }
}

#[test]
fn exim_through_syslog_and_in_containers() {
    let id = "1tiuyz-000000007Xa-0r9J";
    let own =
        format!("2026-11-22 10:00:00.175 [63] {id} => a@x R=r T=t H=mx.x [192.0.2.1] DT=0.5s");
    for line in [
        own.clone(),
        format!("Nov 22 10:00:00 192.0.2.51 exim[63]: {own}"),
        format!("Nov 22 10:00:00 mx exim[63]: 2026-11-22 10:00:00 {}", &own[24..]),
        format!("2026-11-22T10:00:00.2Z {own}"),
        format!("exim-1 | {own}"),
    ] {
        assert_eq!(told(&line), ["ok a@x by mx.x age - took 0.5 -"], "{line}");
    }
}

#[test]
fn objects_that_are_no_entries() {
    let reader = read(b"{\"a\":1}\n{\"a\":\n{\n\"__REALTIME_TIMESTAMP\":1\n}\n{\n");
    let counts = reader.counts();
    assert_eq!([counts.lines, counts.passed, counts.malformed], [3, 1, 2]);
}

#[test]
fn kumomta_and_opensmtpd() {
    let record = |kind: &str, at: u32| {
        format!(
            r#"{{"type":"{kind}","id":"d7","sender":"s@l","recipient":"a@x","size":9,"response":{{"code":250,"enhanced_code":null,"content":"OK"}},"peer_address":{{"name":"mx.x.","addr":"192.0.2.1"}},"timestamp":{at},"created":1795341600}}"#
        ) + "\n"
    };
    let log = ["Reception", "TransientFailure", "Delivery"];
    let log: String =
        log.iter().zip([0, 1, 7]).map(|(kind, s)| record(kind, 1_795_341_600 + s)).collect();
    let expected = ["arrived", "late a@x by mx.x age 1 took - -", "ok a@x by mx.x age 7 took - -"];
    assert_eq!(told(&log), expected);
    let log = "Nov 22 10:00:00 mx smtpd[1]: 9c smtp message msgid=67a0f4d2 size=9 nrcpt=1 proto=ESMTP\n\
        Nov 22 10:00:05 mx smtpd[1]: 9d mta delivery evpid=67a0f4d2d1e2f3a4 from=<s@l> to=<a@x> \
        rcpt=<-> source=\"-\" relay=\"192.0.2.1 (mx.x)\" delay=5s result=\"Ok\" stat=\"250 2.0.0 Ok\"\n";
    assert_eq!(told(log), ["arrived", "ok a@x by mx.x age 5 took - 2.0.0"]);
}

#[test]
fn queue_names_of_letters_alone() {
    let line = |id: &str| {
        format!("Nov 22 10:00:00 mx postfix/smtp[7]: {}", TEXT.replace("4F2A13C0D1", id))
    };
    assert_eq!(told(&line("FBADEACCDE")), [OK]);
}

#[test]
fn who_waits_when_the_time_is_over_gets_a_bounce() {
    let postfix = |to: &str, status: &str| {
        format!(
            "Nov 22 10:00:30 mx postfix/smtp[8]: 23EBE3D5C0: to=<{to}>, relay=none, delay=30, \
             dsn=4.4.1, status={status} (no)\n"
        )
    };
    let log = [
        "Nov 22 10:00:00 mx postfix/cleanup[5]: 23EBE3D5C0: message-id=<1@x>\n".to_owned(),
        postfix("a@x", "deferred"),
        postfix("b@x", "deferred"),
        postfix("a@x", "deferred"),
        postfix("c@x", "bounced"),
        postfix("b@x", "sent"),
        "Nov 27 10:00:00 mx postfix/qmgr[3]: 23EBE3D5C0: from=<l@x>, status=expired, returned to sender\n"
            .to_owned(),
        "Nov 27 10:00:00 mx postfix/qmgr[3]: 23EBE3D5C0: removed\n".to_owned(),
    ];
    let told = told(&log.concat());
    assert_eq!(told[6..], ["+ no a@x by none age 432000 took - -", "removed"]);
    let log = "Nov 22 10:00:00 mx sm-mta[1]: 6AMAtL4C008065: from=<s@x>, nrcpts=1, msgid=<1@x>\n\
        Nov 22 10:00:01 mx sm-mta[1]: 6AMAtL4C008065: to=<a@x>, delay=00:00:01, dsn=4.0.0, stat=Deferred: no\n\
        Nov 27 10:00:01 mx sm-mta[1]: 6AMAtL4C008065: 6AMAtL4D008065: sender notify: Cannot send message for 5 days\n";
    assert_eq!(self::told(log)[2], "+ no a@x by none age 432001 took - -");
    assert_eq!(read(log.as_bytes()).counts().open, 0);
}

#[test]
fn a_hop_on_the_same_machine_is_no_delivery() {
    let filter = "Nov 22 10:00:00 mx postfix/cleanup[1]: BA8F630001DA: message-id=<1@x>\n\
        Nov 22 10:00:00 mx postfix/cleanup[1]: 1310930001DB: message-id=<1@x>\n\
        Nov 22 10:00:01 mx postfix/smtp[2]: BA8F630001DA: to=<a@x>, relay=filter[10.0.0.2]:10024, \
        delay=0.4, delays=0.2/0/0/0.2, dsn=2.0.0, status=sent (250 2.0.0 from MTA(smtp:[10.0.0.1]:10025): \
        250 2.0.0 Ok: queued as 1310930001DB)\n\
        Nov 22 10:00:01 mx postfix/qmgr[2]: BA8F630001DA: removed\n\
        Nov 22 10:00:05 mx postfix/smtp[2]: 1310930001DB: to=<a@x>, relay=mx.x[192.0.2.1]:25, delay=4, \
        delays=0/0/0.5/0.5, dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as 99999AAAA1)\n";
    assert_eq!(told(filter), ["arrived", "removed", "ok a@x by mx.x age 4 took 1 2.0.0"]);
    assert_eq!(read(filter.as_bytes()).counts().passed_on, 1);
    // The filter's message may leave the queue before the line that handed it on.
    let mut lines: Vec<&str> = filter.lines().collect();
    let handed_on = lines.remove(2);
    lines.push("Nov 22 10:00:05 mx postfix/qmgr[2]: 1310930001DB: removed");
    lines.push(handed_on);
    assert_eq!(read(lines.join("\n").as_bytes()).counts().passed_on, 1);
    let submission = "Nov 22 10:00:00 mx sendmail[1]: 6AMAtL4C008065: to=<a@x>, delay=00:00:00, \
        mailer=relay, relay=[127.0.0.1] [127.0.0.1], dsn=2.0.0, stat=Sent (6AMAtL4D008066 Message \
        accepted for delivery)\n";
    assert!(told(submission).is_empty());
    // A mailbox of the same machine is an end.
    let lmtp = "Nov 22 10:00:00 mx postfix/lmtp[1]: BA8F630001DA: to=<a@x>, relay=127.0.0.1[127.0.0.1]:24, \
        delay=1, delays=0/0/0.5/0.5, dsn=2.0.0, status=sent (250 2.0.0 <a@x> a1b2 Saved)\n";
    assert_eq!(told(lmtp), ["ok a@x by 127.0.0.1 age 1 took 1 2.0.0"]);
}

#[test]
fn what_is_put_off_is_no_attempt_and_hides_no_reason() {
    let id = "1tivSh-00000000ALP-0mWt";
    let defer = |minute: u32, what: &str| {
        format!("2026-11-22 10:{minute:02}:00 {id} == a@x R=r T=t defer {what}\n")
    };
    let log = [
        format!("2026-11-22 10:00:00 {id} <= l@x S=9 for a@x\n"),
        defer(1, "(110): Connection timed out"),
        defer(20, "(-53): retry time not reached for any host for 'x'"),
        defer(50, "(-51): retry time not reached"),
    ];
    assert_eq!(told(&log.concat()), ["arrived", "late a@x by none age 60 took - -"]);
    let waiting = |log: &str| {
        let mut reader = Reader::new(Settings::default(), Waiting::default());
        reader.begin("log", NEWEST);
        reader.feed(log.as_bytes());
        let rows = reader.view().rows();
        let find = |name| rows.iter().find(|(it, _)| *it == name).map(|(_, column)| column.clone());
        (find("text").unwrap(), find("attempts").unwrap())
    };
    let (text, attempts) = waiting(&log.concat());
    let Column::Text(_, text) = text else { panic!("texts") };
    assert_eq!((&text[..], attempts), (&b"Connection timed out"[..], Column::Int(vec![1])));
    let (_, attempts) = waiting(&log[2]);
    assert_eq!(attempts, Column::Int(vec![0]));
}

#[test]
fn phrases_before_addresses() {
    let log = "Nov 22 10:00:00 mx sendmail[1]: l6GKZVbA007648: to=Ann Bee <ann@near.example>,\"Bee, B\" \
        <b@x>, ctladdr=w (48/48), delay=00:00:05, xdelay=00:00:04, mailer=relay, \
        relay=mx.near.example [192.0.2.1], dsn=2.0.0, stat=Sent (ok)\n";
    let expected = [
        "ok ann@near.example by mx.near.example age 5 took 4 2.0.0",
        "+ ok b@x by mx.near.example age 5 took 4 2.0.0",
    ];
    assert_eq!(told(log), expected);
}

#[test]
fn a_probe_is_no_attempt_and_no_problem() {
    let log = "Nov 22 10:00:00 mx postfix/error[1]: 3E29030F8637E: to=<a@x>, relay=none, delay=0.01, \
        delays=0.01/0/0/0, dsn=5.1.1, status=undeliverable-but-not-cached (unknown)\n";
    assert!(told(log).is_empty());
    assert_eq!(read(log.as_bytes()).counts().used, 1);
}

#[test]
fn what_looks_like_a_delivery_and_is_not_read_is_named() {
    let log = "Nov 22 10:00:00 mx mailer[1]: 4F2A13C0D1: to=<a@x>, stat=Sent\n\
        Nov 22 10:00:00 mx sshd[1]: status=ok\n\
        Nov 22 10:00:00 mx postfix/smtp[1]: four: to=<a@x>, status=sent (250)\n\
        Nov 22 10:00:00 mx relay: x => a@x\n\
        {\"doc\":{\"text\":\"4F2A13C0D1: to=<a@x>, relay=none, delay=1, status=sent (250)\"}}\n";
    let reader = read(log.as_bytes());
    assert_eq!((reader.counts().passed, reader.counts().unread), (5, 4));
    assert_eq!((reader.unread().first[0].line, reader.unread().number), (1, 4));
}

#[test]
fn logs_that_are_not_read_are_named() {
    for (line, name) in [
        ("@400000004f1b7c6b0d3e4a5c delivery 5: success: 192.0.2.1_accepted_message./", "qmail"),
        ("Nov 22 10:00:00 mx qmail: 1.5 starting delivery 5: msg 12 to remote a@x", "qmail"),
        ("2026-11-22T10:00:00.000Z [INFO] [A.1] [outbound] delivered file=x host=y", "Haraka"),
        ("#Software: Microsoft Exchange Server", "Exchange"),
        ("Nov 22 10:00:00 2026 (9) <1@x> smtp to l for 3 recips, completed in 2 s", "Mailman"),
        ("[   12.345678] mx postfix/smtp[1]: 4F2A13C0D1: removed", "short-iso"),
        (TEXT, "without a stamp"),
    ] {
        let reader = read(line.as_bytes());
        assert_eq!(reader.counts().malformed, 1, "{line}");
        assert!(reader.problems().first[0].why.contains(name), "{line}");
    }
}
