//! Reports made and understood, return paths, and what bounces cost.

mod cost;
mod hostile;
mod servers;
mod words;

use proptest::prelude::*;
use sojourn_mail_engine::Reason;
use sojourn_mail_engine::bounce::{
    Action, Bounce, Note, Outcome, Returned, Severity, outcomes, returned,
};
use sojourn_mail_engine::list::return_path::{Reading, decode_verp, encode_verp};
use sojourn_mail_engine::report::Notice;
use sojourn_properties::cases;
use sojourn_smtp::{Address, Enhanced};

fn address(text: &str) -> Address {
    text.parse().unwrap_or_else(|why| panic!("{text}: {why}"))
}

const BACK: &str = "list-bounces@lists.example";

#[test]
fn return_paths_name_the_subscriber() {
    for (back, recipient, path) in [
        (BACK, "user@example.org", "list-bounces+user=example.org@lists.example"),
        (BACK, "a+b=c@d", "list-bounces+a+b=c=d@lists.example"),
        (BACK, "\"a b\"@d", "\"list-bounces+a b=d\"@lists.example"),
        (BACK, "\"a@b\\\\\\\"c\"@d", "\"list-bounces+a@b\\\\\\\"c=d\"@lists.example"),
        (BACK, "\"a..b\"@d", "\"list-bounces+a..b=d\"@lists.example"),
        (BACK, "x@[192.0.2.1]", "\"list-bounces+x=[192.0.2.1]\"@lists.example"),
        (BACK, "用户@例子.广告", "list-bounces+用户=例子.广告@lists.example"),
        ("l+b@x", "u@d", "l+b+u=d@x"),
        ("\"l b\"@x", "u@d", "\"l b+u=d\"@x"),
    ] {
        let (back, recipient) = (address(back), address(recipient));
        let made = encode_verp(&back, &recipient).unwrap();
        assert_eq!(made.as_str(), path);
        assert_eq!(decode_verp(&back, &made), Some(Reading::Of(recipient)));
    }
    let back = address(BACK);
    let read = |text: &str| decode_verp(&back, &address(text));
    assert_eq!(read(BACK), Some(Reading::Plain));
    // Some hosts change the case.
    let shouted = "LIST-BOUNCES+USER=EXAMPLE.ORG@lists.example";
    assert_eq!(read(shouted), Some(Reading::Of(address("USER@example.org"))));
    for other in [
        "list-bounces+user@lists.example",
        "list-bounces+u=@lists.example",
        "list-bounces-u=d@lists.example",
        "list@lists.example",
        "list-bounces+u=d@other.example",
        "list-bounces2@lists.example",
        "list-bounces+u=-d@lists.example",
    ] {
        assert_eq!(read(other), None, "{other}");
    }
    // Too long for a local part.
    assert_eq!(encode_verp(&back, &address(&format!("{}@d", "u".repeat(50)))), None);
    assert!(encode_verp(&back, &address(&format!("{}@d", "u".repeat(49)))).is_some());
}

const NOTICE: &str = "\
From: Mail delivery <MAILER-DAEMON@lists.example>\r
To: <owner@lists.example>\r
Subject: Mail could not be delivered\r
Date: Sun, 22 Nov 2026 07:00:00 +0000\r
Message-ID: <7.1@lists.example>\r
Auto-Submitted: auto-replied\r
MIME-Version: 1.0\r
Content-Type: multipart/report; report-type=delivery-status;\r
\tboundary=\"=_7.1_0\"\r
\r
--=_7.1_0\r
Content-Type: text/plain; charset=utf-8\r
Content-Transfer-Encoding: 8bit\r
\r
Your message could not be delivered to the addresses below.\r
Its header is attached, and the reasons in a form that programs read.\r
\r
<a@x.example>\r
    5.1.1: 550 5.1.1 Recipient address rejected: it is not in the table of\r
    those who have a mailbox at this host\r
\r
<b@y.example>\r
    5.1.2: there is no such domain\r
\r
--=_7.1_0\r
Content-Type: message/delivery-status\r
\r
Reporting-MTA: dns; lists.example\r
Arrival-Date: Sat, 21 Nov 2026 07:00:00 +0000\r
\r
Final-Recipient: rfc822; a@x.example\r
Action: failed\r
Status: 5.1.1\r
Diagnostic-Code: smtp; 550 5.1.1 Recipient address rejected: it is not in\r
    the table of those who have a mailbox at this host\r
\r
Final-Recipient: rfc822; b@y.example\r
Action: failed\r
Status: 5.1.2\r
\r
--=_7.1_0\r
Content-Type: text/rfc822-headers\r
Content-Transfer-Encoding: 8bit\r
\r
Subject: x\r
From: y\r
\r
--=_7.1_0--\r
";

const NOW: i64 = 1_795_330_800;

/// A report by `lists.example` on `original`.
fn notice(
    failures: &[(&Address, &Reason)],
    original: &[u8],
) -> sojourn_mail_engine::report::Written {
    Notice {
        server: "lists.example",
        to: &address("owner@lists.example"),
        id: "7.1",
        now: NOW,
        arrived: NOW - 86_400,
        failures,
        original,
    }
    .write()
}

#[test]
fn a_report_of_our_own() {
    let said = "550 5.1.1 Recipient address rejected: it is not in the table of those who have a \
        mailbox at this host";
    let first = Reason::new(Enhanced(5, 1, 1), said);
    let second = Reason::new(Enhanced(5, 1, 2), "there is no such domain");
    let (a, b) = (address("a@x.example"), address("b@y.example"));
    let failures = [(&a, &first), (&b, &second)];
    let written = notice(&failures, b"Subject: x\r\nFrom: y\r\n\r\nText.\r\n");
    assert_eq!(String::from_utf8(written.text.clone()).unwrap(), NOTICE);
    assert!(!written.eight_bit && !written.utf8);
    let read = outcomes(&written.text).unwrap();
    let failed = |recipient, status, diagnostic: &str| Outcome {
        recipient: Some(recipient),
        original: None,
        action: Action::Failed,
        status: Some(status),
        diagnostic: diagnostic.into(),
    };
    assert_eq!(read, [failed(a, first.status, said), failed(b, second.status, "")]);
}

#[test]
fn reports_on_international_addresses() {
    let (who, why) = (address("é@d"), Reason::new(Enhanced(5, 1, 1), "550 5.1.1 è sconosciuto"));
    let written = notice(&[(&who, &why)], "Subject: ü\r\n\r\n".as_bytes());
    assert!(written.eight_bit && written.utf8);
    let read = outcomes(&written.text).unwrap();
    assert_eq!(
        (read[0].recipient.clone(), read[0].diagnostic.as_str()),
        (Some(who), &why.text[..])
    );
    // In a report that needs no SMTPUTF8 what programs read is in ASCII.
    let who = address("e@d");
    let written = notice(&[(&who, &why)], b"");
    assert!(written.eight_bit && !written.utf8);
    assert_eq!(outcomes(&written.text).unwrap()[0].diagnostic, "550 5.1.1 ? sconosciuto");
}

/// As others write them, the fields that matter.
fn report(kind: &str, fields: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.example\r\nMIME-Version: 1.0\r\nSubject: Undelivered\r\n\
         Content-Type: multipart/report; report-type={kind};\r\n boundary=\"b/1\"\r\n\r\n\
         Not for programs.\r\n--b/1\r\nContent-Type: text/plain\r\n\r\nI'm the mail system.\r\n\r\n\
         --b/1\r\nContent-Description: Delivery report\r\nContent-Type: message/delivery-status\r\n\
         \r\n{fields}\r\n--b/1\r\nContent-Type: message/rfc822\r\n\r\nSubject: x\r\n\r\nx\r\n--b/1--\r\n"
    )
}

#[test]
fn reports_of_others() {
    // Postfix: fields of its own, a folded diagnosis, the original recipient.
    let postfix = report(
        "delivery-status",
        "Reporting-MTA: dns; mx.example\r\nX-Postfix-Queue-ID: 4F2\r\nArrival-Date: Mon, 1 Jan\r\n\r\n\
         Final-Recipient: rfc822; user@inner.example\r\n\
         Original-Recipient: rfc822;user@outer.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\
         Remote-MTA: dns; inner.example\r\nDiagnostic-Code: smtp; 550 5.1.1 <user@inner.example>:\r\n    \
         unknown\r\n",
    );
    let outcome = Outcome {
        recipient: Some(address("user@inner.example")),
        original: Some(address("user@outer.example")),
        action: Action::Failed,
        status: Some(Enhanced(5, 1, 1)),
        diagnostic: "550 5.1.1 <user@inner.example>: unknown".into(),
    };
    assert_eq!(outcomes(postfix.as_bytes()), Some(vec![outcome]));
    // Exim: the recipient in brackets, action in capitals, no final line's end.
    let exim = report(
        "Delivery-Status",
        "Reporting-MTA: dns; mx.example\r\n\r\nAction: Failed\r\nFinal-Recipient: RFC822;<u@d>\r\n\
         Status: 5.0.0 (no such user)",
    );
    let read = outcomes(exim.as_bytes()).unwrap();
    assert_eq!(
        (read[0].recipient.clone(), read[0].status),
        (Some(address("u@d")), Some(Enhanced(5, 0, 0)))
    );
    // Several recipients, each with its own fate; a kind of address that is none of ours.
    let mixed = report(
        "delivery-status",
        "Reporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; a@d\r\nAction: delayed\r\nStatus: 4.4.1\r\n\
         \r\nFinal-Recipient: rfc822; b@d\r\nAction: relayed\r\nStatus: 2.0.0\r\n\r\n\
         Final-Recipient: x-local; c@d\r\nAction: failed\r\nStatus: 5.2.2\r\n\r\n\
         Final-Recipient: rfc822; d@d\r\nAction: failed\r\nStatus: 4.4.7\r\n\r\n\
         Final-Recipient: rfc822; e@d\r\nAction: dropped\r\nStatus: nothing\r\n",
    );
    let read = outcomes(mixed.as_bytes()).unwrap();
    let actions: Vec<_> = read.iter().map(|it| it.action).collect();
    let failed = Action::Failed;
    assert_eq!(actions, [Action::Delayed, Action::Passed, failed, failed, Action::Unknown]);
    assert_eq!(read[2].recipient, None);
    let soft = Bounce {
        subscriber: address("d@d"),
        severity: Severity::Soft,
        status: Some(Enhanced(4, 4, 7)),
        reason: "4.4.7: delivery time expired".into(),
    };
    let told = returned(&Reading::Plain, false, mixed.as_bytes());
    assert_eq!(told, Returned::Bounces(vec![soft]));
    // No report on delivery.
    assert_eq!(outcomes(b"Subject: x\r\n\r\nx\r\n"), None);
    assert_eq!(outcomes(b""), None);
}

#[test]
fn what_a_bounce_says_of_a_subscriber() {
    let subscriber = address("user@example.org");
    let named = Reading::Of(subscriber.clone());
    let forwarded = report(
        "delivery-status",
        "Reporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; else@where\r\nAction: failed\r\n\
         Status: 5.2.2\r\nDiagnostic-Code: smtp; 552 5.2.2 mailbox full\r\n",
    );
    let bounce = |severity, status, reason: &str| Bounce {
        subscriber: subscriber.clone(),
        severity,
        status,
        reason: reason.into(),
    };
    let hard = bounce(Severity::Hard, Some(Enhanced(5, 2, 2)), "552 5.2.2 mailbox full");
    assert_eq!(returned(&named, false, forwarded.as_bytes()), Returned::Bounces(vec![hard]));
    // In words: the return path still tells whom it is about.
    let words = b"From: MAILER-DAEMON@mx.example\r\nSubject: failure notice\r\n\r\nHi. Sorry it didn't work out.\r\n";
    let soft = bounce(Severity::Soft, None, "failure notice");
    assert_eq!(returned(&named, false, words), Returned::Bounces(vec![soft]));
    assert_eq!(returned(&Reading::Plain, false, words), Returned::Unclear);
    // Absence notes in all their forms, and receipts for what was read, cost nothing.
    for sign in [
        "Auto-Submitted: auto-replied (vacation)",
        "Precedence: bulk",
        "X-Autoreply: yes",
        "X-Autorespond: Away",
        "X-Auto-Response-Suppress: All",
    ] {
        let away = format!("From: u@x\r\nSubject: Away\r\n{sign}\r\n\r\nUntil Monday.\r\n");
        assert_eq!(
            returned(&named, false, away.as_bytes()),
            Returned::Note(Note::Answer),
            "{sign}"
        );
    }
    let receipt = "From: u@x\r\nContent-Type: multipart/report; boundary=b;\r\n \
        report-type=disposition-notification\r\n\r\n--b\r\n\
        Content-Type: message/disposition-notification\r\n\r\nDisposition: \
        manual-action/MDN-sent-manually; displayed\r\n--b--\r\n";
    let told = returned(&named, true, receipt.as_bytes());
    assert_eq!(told, Returned::Note(Note::Answer));
    // Nor does a person's answer, which a person may read.
    let answer = b"From: u@x\r\nSubject: Re: News\r\nIn-Reply-To: <1@x>\r\n\r\nThank you.\r\n";
    assert_eq!(returned(&named, false, answer), Returned::Unclear);
    let late = report(
        "delivery-status",
        "Reporting-MTA: dns; x\r\n\r\nFinal-Recipient: rfc822; user@example.org\r\nAction: delayed\r\n",
    );
    assert_eq!(returned(&named, false, late.as_bytes()), Returned::Note(Note::Delay));
}

/// Parts that hold each other under one name, as random bytes had them: an earlier parser panicked.
#[test]
fn parts_of_one_name() {
    let text = include_bytes!("../../../../../../fuzz/seeds/mail_report/parts_of_one_name");
    assert_eq!(returned(&Reading::Plain, false, text), Returned::Unclear);
}

proptest! {
    #![proptest_config(cases(256))]

    /// Whatever a subscriber's address is, its return path leads back to it.
    #[test]
    fn return_paths_lead_back(name in "[a-zA-Z0-9.+=\"\\\\@ %!é-]{1,30}", literal in prop::bool::ANY) {
        let domain = if literal { "[IPv6:2001:db8::1]" } else { "Sub.Example.org" };
        let Ok(recipient) = Address::of(&name, domain) else { return Ok(()) };
        prop_assert_eq!(recipient.name(), name.as_str());
        for back in ["l@x", "a+b=c@x", "\"a b\"@x"] {
            let back = address(back);
            let Some(path) = encode_verp(&back, &recipient) else { continue };
            prop_assert_eq!(decode_verp(&back, &path), Some(Reading::Of(recipient.clone())));
        }
    }

    /// A report of ours is read as it was written, whatever hosts say and messages have.
    #[test]
    fn reports_are_read_as_written(
        people in prop::collection::vec(("[a-z\"é =.]{1,20}", "\\PC{0,80}"), 1..5),
        header in "[a-zA-Z: =_.1\r\né-]{0,200}",
    ) {
        let people: Vec<_> = people
            .into_iter()
            .filter_map(|(name, words)| Some((Address::of(&name, "d.example").ok()?, words)))
            .map(|(who, words)| (who, Reason::new(Enhanced(5, 1, 1), format!("550 5.1.1 {words}"))))
            .collect();
        prop_assume!(!people.is_empty());
        let failures: Vec<_> = people.iter().map(|(who, why)| (who, why)).collect();
        let original = header.replace(['\r', '\n'], "\r\n") + "\r\n--=_7.1_0--\r\n";
        let written = notice(&failures, original.as_bytes());
        let read = outcomes(&written.text).expect("it is a report");
        let named: Vec<_> = read.into_iter().map(|it| it.recipient).collect();
        let meant: Vec<_> = people.iter().map(|(who, _)| Some(who.clone())).collect();
        prop_assert_eq!(named, meant);
    }
}
