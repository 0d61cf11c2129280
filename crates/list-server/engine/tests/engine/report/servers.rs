//! Reports in the forms that servers in use give them, written from the RFCs.

use crate::report::address;
use sojourn_mail_engine::bounce::{
    Action, Complaint, Feedback, Outcome, Returned, Severity, outcomes, returned, words,
};
use sojourn_mail_engine::list::return_path::Reading;
use sojourn_smtp::Enhanced;

/// A message with CRLF at the ends of its lines.
fn text(lines: &str) -> Vec<u8> {
    lines.replace('\n', "\r\n").into_bytes()
}

/// The one recipient of a report, whatever ends its lines and whether its last delimiter came.
fn one(lines: &str) -> Outcome {
    let read = |text: &[u8]| outcomes(text).unwrap_or_else(|| panic!("no report:\n{lines}"));
    let found = read(&text(lines));
    assert_eq!(found.len(), 1, "{lines}");
    assert_eq!(read(lines.as_bytes()), found, "{lines}");
    if let Some((before, _)) = lines.trim_end().rsplit_once('\n') {
        assert_eq!(read(&text(before)), found, "{lines}");
    }
    found.into_iter().next().unwrap()
}

fn failed(recipient: &str, status: Enhanced, diagnostic: &str) -> Outcome {
    Outcome {
        recipient: Some(address(recipient)),
        original: None,
        action: Action::Failed,
        status: Some(status),
        diagnostic: diagnostic.into(),
    }
}

#[test]
fn postfix() {
    let outcome = one("From: MAILER-DAEMON@mx.example (Mail Delivery System)\n\
        Auto-Submitted: auto-replied\nMIME-Version: 1.0\n\
        Content-Type: multipart/report; report-type=delivery-status;\n\
        \tboundary=\"4F21.1700000000/mx.example\"\n\nThis is a MIME-encapsulated message.\n\n\
        --4F21.1700000000/mx.example\nContent-Description: Notification\n\
        Content-Type: text/plain; charset=us-ascii\n\n--not a delimiter\n\n\
        --4F21.1700000000/mx.example\nContent-Description: Delivery report\n\
        Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\
        X-Postfix-Queue-ID: 4F21\n\nFinal-Recipient: rfc822; u@d\n\
        Original-Recipient: rfc822;v@e\nAction: failed\nStatus: 5.1.1\nRemote-MTA: dns; d\n\
        Diagnostic-Code: smtp; 550 5.1.1 <u@d>: no such\n    user\n\n\
        --4F21.1700000000/mx.example\nContent-Type: message/rfc822\n\nSubject: x\n\n\
        --4F21.1700000000/mx.example--\n");
    let expected = failed("u@d", Enhanced(5, 1, 1), "550 5.1.1 <u@d>: no such user");
    assert_eq!(outcome, Outcome { original: Some(address("v@e")), ..expected });
}

/// The words for people are parts of a part; what the host said has several lines.
#[test]
fn gmail_and_exchange() {
    let gmail = "Content-Type: multipart/report; boundary=\"00a\"; report-type=delivery-status\n\n\
        --00a\nContent-Type: multipart/related; boundary=\"00b\"\n\n--00b\n\
        Content-Type: multipart/alternative; boundary=\"00c\"\n\n--00c\nContent-Type: text/plain\n\n\
        No.\n\n--00c\nContent-Type: text/html\n\n<p>No.\n\n--00c--\n--00b\n\
        Content-Type: image/png\nContent-Transfer-Encoding: base64\n\nAAAA\n--00b--\n--00a\n\
        Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\n\
        Final-Recipient: rfc822; u@d\nAction: failed\nStatus: 5.1.1\n\
        Diagnostic-Code: smtp; 550-5.1.1 There is\n 550 5.1.1 nobody\n\n--00a--\n";
    let expected = failed("u@d", Enhanced(5, 1, 1), "550-5.1.1 There is 550 5.1.1 nobody");
    assert_eq!(one(gmail), expected);
    let exchange = "Content-Type: multipart/report; report-type=delivery-status;\n\
        \tboundary=\"_b_outlook_\"\n\n--_b_outlook_\n\
        Content-Type: multipart/alternative; differences=Content-Type;\n\
        \tboundary=\"_a_outlook_\"\n\n--_a_outlook_\nContent-Type: text/html\n\
        Content-Transfer-Encoding: quoted-printable\n\n=3Cp>\n\n--_a_outlook_--\n\n\
        --_b_outlook_\nContent-Type: message/delivery-status\n\nReporting-MTA: dns;x\n\
        Received-From-MTA: dns;y\n\nFinal-Recipient: rfc822;u@d\nAction: failed\nStatus: 5.4.1\n\
        Diagnostic-Code: smtp;550 5.4.1 Access denied\nX-Display-Name: u@d\n\n--_b_outlook_--\n";
    assert_eq!(one(exchange), failed("u@d", Enhanced(5, 4, 1), "550 5.4.1 Access denied"));
}

#[test]
fn sendmail_and_amazon() {
    let sendmail = "Auto-Submitted: auto-generated (failure)\n\
        Content-Type: multipart/report; report-type=delivery-status;\n\
        \tboundary=\"h.1/mx\"\n\n--h.1/mx\n\nwords\n\n--h.1/mx\n\
        Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\nArrival-Date: x\n\n\
        Final-Recipient: RFC822; u@d\nAction: failed\nStatus: 5.1.1\n\
        Diagnostic-Code: SMTP; 550 5.1.1 unknown\nLast-Attempt-Date: x\n\n--h.1/mx--\n";
    assert_eq!(one(sendmail), failed("u@d", Enhanced(5, 1, 1), "550 5.1.1 unknown"));
    let amazon = "Content-Type: multipart/report; \n\tboundary=\"----=_Part_1.2\"; \n\
        \treport-type=delivery-status\n\n------=_Part_1.2\nContent-Type: text/plain\n\nx\n\
        ------=_Part_1.2\nContent-Type: message/delivery-status\n\
        Content-Transfer-Encoding: 7bit\n\nReporting-MTA: dns; a\n\nAction: failed\n\
        Final-Recipient: rfc822; u@d\nDiagnostic-Code: smtp; 552 full\nStatus: 5.2.2\n\n\
        ------=_Part_1.2--\n";
    assert_eq!(one(amazon), failed("u@d", Enhanced(5, 2, 2), "552 full"));
}

/// An appliance packs a report, writes it in base64, or splits its boundary.
#[test]
fn reports_in_other_clothes() {
    let status = "Reporting-MTA: dns; x\n\nFinal-Recipient: rfc822; u@d (user)\nAction: failed (no)\n\
        Status: 5.0.0 (none)\n";
    let report = |parameters: &str, kind: &str, encoding: &str, body: &str| {
        format!(
            "Content-Type: multipart/report; {parameters}\n\n--b\nContent-Type: message/{kind}\n\
             Content-Transfer-Encoding: {encoding}\n\n{body}\n--b--\n"
        )
    };
    let expected = failed("u@d", Enhanced(5, 0, 0), "");
    let plain = report("boundary=b", "delivery-status", "8bit", status);
    assert_eq!(one(&plain), expected);
    let split = "boundary*0=\"\"; boundary*1=b; report-type=\"Delivery-Status\"";
    assert_eq!(one(&report(split, "Global-Delivery-Status", "(x) 8BIT", status)), expected);
    let quoted = status.replace(':', "=3A").replace("rfc", "r=\nfc");
    assert_eq!(
        one(&report("boundary=b", "delivery-status", "Quoted-Printable", &quoted)),
        expected
    );
    let base64 = "UmVwb3J0aW5nLU1UQTogZG5zOyB4CgpGaW5hbC1SZWNpcGllbnQ6IHJmYzgyMjsgdUBkICh1c2VyKQpB\n\
        Y3Rpb246IGZhaWxlZCAobm8pClN0YXR1czogNS4wLjAgKG5vbmUpCg==";
    assert_eq!(one(&report("boundary=b", "delivery-status", "base64", base64)), expected);
    let packed = format!(
        "Content-Type: multipart/mixed; boundary=w\n\n--w\n\nwarning\n--w\n{plain}--w\n\nx\n--w--\n"
    );
    assert_eq!(one(&packed), expected);
    // Forwarded, it is not about mail from here.
    let forwarded = packed.replace("--w\nContent", "--w\nContent-Type: message/rfc822\n\nContent");
    assert_eq!(outcomes(&text(&forwarded)), None);
    // A report of its own kind, in parts of something else, in an encoding that is none.
    let unknown = report("boundary=b", "delivery-status", "x-zip", status);
    assert_eq!(outcomes(&text(&unknown)), None);
    let mixed = plain.replace("multipart/report", "multipart/mixed");
    assert_eq!(one(&mixed), expected);
    assert_eq!(outcomes(&text(&plain.replace("boundary=b", ""))), None);
}

/// Exim's words for people, and qmail's: only the return path tells whom they are about.
#[test]
fn no_reports() {
    let exim = "X-Failed-Recipients: u@d\nAuto-Submitted: auto-replied\n\
        Content-Type: text/plain\n\nThis message was created automatically.\n\n  u@d\n    no\n";
    let qmail = "From: MAILER-DAEMON@mx\nSubject: failure notice\n\n<u@d>:\nno mailbox here\n";
    for lines in [exim, qmail] {
        assert_eq!(outcomes(&text(lines)), None);
        assert_eq!(returned(&Reading::Plain, false, &text(lines)), Returned::Unclear);
    }
}

/// Without a diagnosis the status tells why.
#[test]
fn reasons_without_a_diagnosis() {
    let report = |status: &str| {
        let lines = format!(
            "Content-Type: multipart/report; boundary=b\n\n--b\n\
             Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n\
             Final-Recipient: rfc822; u@d\nAction: failed\n{status}\n--b--\n"
        );
        match returned(&Reading::Plain, false, &text(&lines)) {
            Returned::Bounces(found) => (found[0].severity, found[0].reason.clone()),
            other => panic!("{other:?}"),
        }
    };
    for (status, severity, reason) in [
        ("Status: 5.1.1", Severity::Hard, "5.1.1: bad destination mailbox address"),
        ("Status: 4.4.7", Severity::Soft, "4.4.7: delivery time expired"),
        ("Status: 5.1.99", Severity::Hard, "5.1.99: other address status"),
        ("Status: 5.0.0", Severity::Hard, "5.0.0: other undefined status"),
        ("Status: ?", Severity::Hard, "delivery failed; the report gives no status"),
        ("Diagnostic-Code: smtp; ", Severity::Hard, "delivery failed; the report gives no status"),
        ("Status: 5.1.1\nDiagnostic-Code: smtp; no", Severity::Hard, "no"),
    ] {
        assert_eq!(report(status), (severity, reason.into()), "{status}");
    }
    assert_eq!(words(Enhanced(4, 2, 2)), "mailbox full");
    assert_eq!(words(Enhanced(5, 9, 1)), "other undefined status");
}

/// A complaint says that mail arrived: it is no bounce.
#[test]
fn complaints() {
    let report = |parameters: &str, fields: &str| {
        text(&format!(
            "Content-Type: multipart/report; {parameters} boundary=b\n\n--b\n\nwords\n--b\n\
             Content-Type: message/feedback-report\n\n{fields}Version: 1\n\n--b\n\
             Content-Type: message/rfc822\n\nSubject: x\n\nx\n--b--\n"
        ))
    };
    let plain = Reading::Plain;
    let complaint = |subscriber: Option<&str>, feedback| {
        let mentions = subscriber.map(|_| "u@d".to_owned()).into_iter().collect();
        Returned::Complaint(Complaint { subscriber: subscriber.map(address), feedback, mentions })
    };
    let named = "Feedback-Type: Abuse\nUser-Agent: x\nOriginal-Rcpt-To: <u@d>\n";
    let whole = report("report-type=feedback-report;", named);
    assert_eq!(returned(&plain, false, &whole), complaint(Some("u@d"), Feedback::Abuse));
    // Who is named by the return path counts more.
    let path = Reading::Of(address("v@e"));
    assert_eq!(returned(&path, false, &whole), complaint(Some("v@e"), Feedback::Abuse));
    assert_eq!(outcomes(&whole), None);
    let other = report("", "Feedback-Type: x-new\n");
    assert_eq!(returned(&plain, false, &other), complaint(None, Feedback::Other));
    let mistake = report("report-type=feedback-report;", "feedback-type: not-spam\n");
    assert_eq!(returned(&plain, false, &mistake), complaint(None, Feedback::NotSpam));
    // A part that is announced as something else.
    let wrong = report("report-type=delivery-status;", named);
    assert_eq!(returned(&plain, false, &wrong), complaint(Some("u@d"), Feedback::Abuse));
}
