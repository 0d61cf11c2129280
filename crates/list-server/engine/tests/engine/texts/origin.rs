//! Who wrote a message.

use sojourn_mail_engine::bounce::{Origin, origin};

#[test]
fn signs() {
    use Origin::{MailSystem, Person, Program};
    for (field, expected) in [
        ("From: ann@x.example", Person),
        ("Auto-Submitted: no", Person),
        ("Subject: Re: Precedence: bulk\r\n X-Autoreply: yes", Person),
        ("In-Reply-To: <1@x>\r\nReferences: <1@x>", Person),
        ("\r\nPrecedence: bulk", Person),
        ("AUTO-SUBMITTED : (no) auto-replied (vacation)", Program),
        ("Precedence: bulk", Program),
        ("X-Autoreply: yes", Program),
        ("X-Autorespond: Away", Program),
        ("X-Auto-Response-Suppress: All", Program),
        ("List-Id: <l.x>", Program),
        ("Content-Type: multipart/report;\r\n report-type=disposition-notification", Program),
        ("Content-Type: multipart/report; boundary=b", MailSystem),
        ("Content-Type: Multipart/Report; report-type=delivery-status", MailSystem),
        ("From: Mail Delivery <MAILER-DAEMON@mx.example>", MailSystem),
        ("From: mailer-daemon@x\r\nX-Autoreply: yes", MailSystem),
        ("From: Postmaster <ann@x.example>\r\nPrecedence: bulk", MailSystem),
        ("From: <>", MailSystem),
        ("X-Failed-Recipients: u@d\r\nAuto-Submitted: auto-replied", MailSystem),
        ("From: ann@x.example\r\nSubject: Undeliverable: News", MailSystem),
        ("From: ann@x.example\r\nSubject: Re: Undeliverable: News", Person),
        ("Subject: Automatic reply: Undeliverable\r\nAuto-Submitted: auto-replied", Program),
        (&format!("X: {}\r\nPrecedence: bulk", "y".repeat(64 * 1024)), Person),
    ] {
        let text = format!("Subject: x\r\n{field}\r\n\r\nfrom: mailer-daemon@x\r\n");
        assert_eq!(origin(text.as_bytes()), expected, "{field}");
    }
}
