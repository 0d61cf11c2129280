//! What mail systems write that is no `multipart/report`, or one that is not as it says.

use crate::report::address;
use sojourn_mail_engine::bounce::{Note, Returned, Severity, returned};
use sojourn_mail_engine::list::return_path::Reading;

const HARD: Severity = Severity::Hard;
const SOFT: Severity = Severity::Soft;

/// What a message says that came to the return path of a copy; its own is not empty.
fn said(text: &str) -> Returned {
    returned(&Reading::Of(address("gone@y.example")), false, text.as_bytes())
}

/// The severity, the status and the reason of the one bounce that it is.
fn bounce(text: &str) -> (Severity, String, String) {
    let Returned::Bounces(found) = said(text) else { panic!("{text}: {:?}", said(text)) };
    let [found] = &found[..] else { panic!("{found:?}") };
    let status = found.status.map(|it| it.to_string()).unwrap_or_default();
    (found.severity, status, found.reason.clone())
}

fn is_bounce(text: &str, severity: Severity, status: &str, reason: &str) {
    assert_eq!(bounce(text), (severity, status.into(), reason.into()), "{text}");
}

/// A mail system that has these words for people.
fn words(words: &str) -> String {
    format!("From: MAILER-DAEMON@mx.example\nSubject: failure notice\n\n{words}\n")
}

/// Parts in a multipart of a kind, from a mail system.
fn parts(kind: &str, parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|it| format!("--b\n{it}\n")).collect();
    format!("From: MAILER-DAEMON@mx.example\nContent-Type: {kind}; boundary=b\n\n{parts}--b--\n")
}

const STATUS: &str = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n\
    Final-Recipient: rfc822; gone@y.example\nAction: failed\nStatus: 5.1.1\n\
    Diagnostic-Code: smtp; 550 5.1.1 User unknown\n";
const TEXT: &str = "Content-Type: text/plain\n\nSee below.\n";
const UNKNOWN: (Severity, &str, &str) = (HARD, "5.1.1", "550 5.1.1 User unknown");

fn is_unknown(text: &str) {
    is_bounce(text, UNKNOWN.0, UNKNOWN.1, UNKNOWN.2);
}

/// RFC 3834, section 5: a report may say that it is automatic.
#[test]
fn signs_of_a_mail_system_outrank_those_of_a_program() {
    let exim = "X-Failed-Recipients: gone@y.example\nAuto-Submitted: auto-replied\n\
        From: Mail Delivery System <Mailer-Daemon@mx.example>\n\
        Subject: Mail delivery failed: returning message to sender\n\n\
        A message that you sent could not be delivered. This is a permanent error:\n\n\
        \x20 gone@y.example\n    SMTP error after RCPT TO:<gone@y.example>:\n\
        \x20   host mx.y.example [192.0.2.1]: 550 5.1.1 No mailbox here\n\n\
        ------ This is a copy of the message, including all the headers. ------\n\n\
        Subject: 554 5.7.1 is no reply here\n";
    let line = "host mx.y.example [192.0.2.1]: 550 5.1.1 No mailbox here";
    is_bounce(exim, HARD, "5.1.1", line);
    for sign in ["Precedence: bulk", "Auto-Submitted: auto-generated", "X-Autoreply: yes"] {
        is_unknown(&format!("{sign}\n{}", parts("multipart/mixed", &[TEXT, STATUS])));
    }
    let group = "From: mailer-daemon@groups.example\nAuto-Submitted: auto-replied\n\
        X-Failed-Recipients: gone@y.example\n\nThe group you tried to contact may not exist.\n";
    let line = "The group you tried to contact may not exist.";
    is_bounce(group, HARD, "5.1.1", line);
}

/// What a person's program writes is no bounce, whatever words are in it.
#[test]
fn absence_notes_stay_absence_notes() {
    for sign in ["Auto-Submitted: auto-replied", "Precedence: bulk", "X-Autoreply: yes"] {
        for note in ["550 5.1.1 User unknown", "delayed", "I am away; my mailbox is full."] {
            let text = format!("From: Ann <ann@y.example>\nSubject: Away\n{sign}\n\n{note}\n");
            assert_eq!(said(&text), Returned::Note(Note::Answer), "{text}");
        }
    }
    let person =
        "From: Ann <ann@y.example>\nSubject: Re: News\n\n550 5.1.1, and it has been delayed\n";
    assert_eq!(said(person), Returned::Unclear);
    let forwarded = "From: ann@y.example\nSubject: Fwd: Undeliverable: News\n\nuser unknown\n";
    assert_eq!(said(forwarded), Returned::Unclear);
    // No person's message has an empty return path.
    let named = Reading::Of(address("gone@y.example"));
    let filter = "From: filter@y.example\nSubject: News\n\nThe host said: 550 5.1.1 User unknown\n";
    assert_eq!(said(filter), Returned::Unclear);
    let told = returned(&named, true, filter.as_bytes());
    assert!(matches!(told, Returned::Bounces(it) if it[0].severity == HARD));
    let away = "From: ann@y.example\nSubject: Away\n\nUntil Monday.\n";
    assert_eq!(returned(&named, true, away.as_bytes()), Returned::Unclear);
}

#[test]
fn a_status_is_found_where_it_is() {
    is_unknown(&parts("multipart/mixed", &[TEXT, STATUS]));
    is_unknown(&parts("multipart/report; report-type=x-notice", &[TEXT, STATUS]));
    is_unknown(&parts("multipart/report; report-type=delivery-status", &[TEXT, STATUS]));
    // In the text, and where no part is as the header says.
    let fields = STATUS.split_once("\n\n").unwrap().1;
    is_unknown(&words(&format!("Hello.\n\n{fields}")));
    is_unknown(&format!("From: <>\nContent-Type: multipart/mixed; boundary=x\n\n--b\n{STATUS}"));
    // A group may name the original recipient alone.
    let original = STATUS.replace("Final", "Original");
    is_unknown(&parts("multipart/mixed", &[TEXT, &original]));
}

/// A mail system may return a report that another one made. What a list sent is none.
#[test]
fn a_report_in_a_message_counts_if_a_mail_system_forwards_it() {
    let report =
        parts("multipart/report", &[TEXT, STATUS]).replace("--b", "--c").replace("=b", "=c");
    let enclosed = format!("Content-Type: message/rfc822\n\n{report}");
    is_unknown(&parts("multipart/mixed", &[TEXT, &enclosed]));
    let by_list = format!("Content-Type: message/rfc822\n\nList-Id: <l.example>\n{report}");
    let (severity, ..) = bounce(&parts("multipart/mixed", &[TEXT, &by_list]));
    assert_eq!(severity, SOFT);
    let by_person =
        parts("multipart/mixed", &[TEXT, &enclosed]).replacen("MAILER-DAEMON", "ann", 1);
    assert_eq!(said(&by_person), Returned::Unclear);
}

#[test]
fn what_is_still_tried_costs_nothing() {
    let late = STATUS.replace("failed", "delayed").replace("5.1.1", "4.4.7");
    assert_eq!(said(&parts("multipart/mixed", &[TEXT, &late])), Returned::Note(Note::Delay));
    for line in [
        "THIS IS A WARNING MESSAGE ONLY. The host said: 550 5.7.1 not now",
        "Your message has not yet been\n    delivered; no action is required on your part.",
        "The server will continue to try until Monday.",
        "Delivery attempts will continue to be made for 5 days.",
        "Die Zustellung wird weiterhin versucht.",
    ] {
        assert_eq!(said(&words(line)), Returned::Note(Note::Delay), "{line}");
    }
    for subject in [
        "Delivery Status Notification (Delay)",
        "Warning: message 1d18ZP delayed 24 hours",
        "Delayed Mail (still being retried)",
    ] {
        let text = format!("From: postmaster@y.example\nSubject: {subject}\n\nSorry.\n");
        assert_eq!(said(&text), Returned::Note(Note::Delay), "{subject}");
    }
    // Mail that is called late is none that is.
    let subject = "Undeliverable: Warning: message delayed";
    is_bounce(&format!("From: <>\nSubject: {subject}\n\nSorry.\n"), SOFT, "", subject);
}

/// A report that cannot be read further is not less than none.
#[test]
fn a_report_that_is_unclear_counts() {
    let of = |action: &str, status: &str| {
        let part = format!(
            "Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n\
             Final-Recipient: rfc822;gone@y.example\n{action}{status}"
        );
        parts("multipart/report; report-type=delivery-status", &[TEXT, &part])
    };
    let unsaid = "delivery failed; the report gives no status";
    is_bounce(&of("Action: failure\n", "Status: 553 Too large\n"), HARD, "", unsaid);
    is_bounce(
        &of("Action: expired\n", "Status: 4.4.7\n"),
        SOFT,
        "4.4.7",
        "4.4.7: delivery time expired",
    );
    is_bounce(&of("Action: dropped\n", ""), SOFT, "", unsaid);
    is_bounce(
        &of("", "Status: 5.2.1\n"),
        HARD,
        "5.2.1",
        "5.2.1: mailbox disabled, not accepting messages",
    );
    assert_eq!(
        said(&of("Action: deliverable\n", "Status: 2.1.5\n")),
        Returned::Note(Note::Delivery)
    );
    // No group at all: what the words say.
    let empty = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n";
    let (severity, ..) = bounce(&parts("multipart/report", &[TEXT, empty]));
    assert_eq!(severity, SOFT);
    let refused = "Content-Type: text/plain\n\nuser unknown\n";
    is_bounce(&parts("multipart/report", &[refused, empty]), HARD, "5.1.1", "user unknown");
    // A report without a reason has that of its text.
    let bare = STATUS.split("Diagnostic").next().unwrap();
    let text = "Content-Type: text/plain\n\nThe host said: 550 5.1.1 no\n";
    let report = parts("multipart/report", &[text, bare]);
    is_bounce(&report, HARD, "5.1.1", "The host said: 550 5.1.1 no");
}

/// An SMTP reply, wherever hosts have it in a line.
#[test]
fn replies() {
    for (line, severity, status) in [
        ("<gone@y.example>: 550 5.1.1 no", HARD, "5.1.1"),
        ("550-5.1.1 The account does not exist. Please try", HARD, "5.1.1"),
        ("Remote host said: 550 no such user", HARD, "5.1.1"),
        ("    (reason: 552 5.2.2 Over quota)", HARD, "5.2.2"),
        ("<<< 550 sorry, nobody here (#5.1.1)", HARD, "5.1.1"),
        ("Sorry, I couldn't do it. (#5.4.4)", HARD, "5.4.4"),
        ("SMTP error 554", HARD, ""),
        ("host mx[192.0.2.1] said: 452 4.2.2 full", SOFT, "4.2.2"),
        ("421 come again", SOFT, ""),
    ] {
        let (found, code, reason) = bounce(&words(line));
        assert_eq!((found, code.as_str(), reason.as_str()), (severity, status, line.trim()));
    }
    // Folded, as Postfix has it.
    let folded = "<gone@y.example>: host mx.y.example[192.0.2.1] said: 550\n    5.2.1 disabled (in \
        reply\n    to RCPT TO command)\n\nBye.";
    let reason = "<gone@y.example>: host mx.y.example[192.0.2.1] said: 550 5.2.1 disabled (in reply \
        to RCPT TO command)";
    is_bounce(&words(folded), HARD, "5.2.1", reason);
    // Numbers that are no replies.
    for line in ["It has 550 octets", "Exim 5.4.1 at 5.1.2.3", "Room 512", "On 29 Apr 501"] {
        assert_eq!(bounce(&words(line)).1, "", "{line}");
        assert_eq!(bounce(&words(line)).0, SOFT, "{line}");
    }
}

#[test]
fn well_known_phrases() {
    for (line, severity, status) in [
        ("Sorry, no mailbox here by that name.", HARD, "5.1.1"),
        ("The recipient name is not recognized", HARD, "5.1.1"),
        ("Unrouteable address", HARD, "5.1.1"),
        ("User's mailbox is full", SOFT, "4.2.2"),
        ("retry timeout exceeded", SOFT, "4.4.7"),
        ("This is a permanent error", HARD, ""),
        ("Delivery failed", SOFT, ""),
        ("Destinataire inconnu", HARD, "5.1.1"),
    ] {
        is_bounce(&words(line), severity, status, line);
    }
    // From a postmaster, by the subject alone, and as HTML.
    let person = "From: Ann <ann@y.example>\nSubject: Undeliverable: News\n\nDid not reach gone\n";
    is_bounce(person, SOFT, "", "Did not reach gone");
    let html = "From: <>\nContent-Type: text/html\n\n<p class='554 x'>user <b>unknown</b></p>\n";
    is_bounce(html, HARD, "5.1.1", "user unknown");
    // What came back is no word of the mail system.
    let quoted = "Sorry.\n\n--- Below this line is a copy of the message.\n\n550 user unknown";
    is_bounce(&words(quoted), SOFT, "", "failure notice");
    // Words behind 32 KiB are not looked at.
    let late = format!("Sorry.\n{}user unknown", "x y z\n".repeat(6000));
    is_bounce(&words(&late), SOFT, "", "failure notice");
}
