//! Messages that are made to hurt whoever parses them.

use crate::report::address;
use sojourn_mail_engine::bounce::{PARSED_MAX, Returned, outcomes, returned};
use sojourn_mail_engine::list::return_path::Reading;

const STATUS: &str = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n\
    Final-Recipient: rfc822; u@d\nAction: failed\nStatus: 5.1.1\n";

/// What random bytes, and everything that exceeds a limit, is: for a person to read.
fn is_unclear(text: &str) {
    let start: String = text.chars().take(80).collect();
    assert_eq!(returned(&Reading::Plain, false, text.as_bytes()), Returned::Unclear, "{start}");
    // What begins as a report of a mail system counts as a failure in words.
    match returned(&Reading::Of(address("u@d")), false, text.as_bytes()) {
        Returned::Unclear => {}
        Returned::Bounces(found) => assert_eq!(found.len(), 1, "{start}"),
        other => panic!("{start}: {other:?}"),
    }
}

/// `unit` with its number for `#`, as often as `octets` hold it.
fn nest(unit: &str, octets: usize) -> String {
    let mut text = String::with_capacity(octets);
    for number in 0.. {
        let next = unit.replace('#', &number.to_string());
        if text.len() + next.len() > octets {
            break;
        }
        text += &next;
    }
    text
}

const NESTS: [&str; 7] = [
    "Content-Type: message/rfc822\r\n\r\n",
    "Content-Type: message/global\r\n\r\n",
    "Content-Type: multipart/digest; boundary=b#\r\n\r\n--b#\r\n",
    "Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\n",
    "Content-Type: multipart/mixed; boundary=b\n\n--b\n",
    "Content-Type: multipart/mixed; boundary=b#\n\n--b#\n",
    "Content-Type: multipart/report; boundary=b#\n\n--b#\n",
];

/// The two messages of 0.8 and 2.5 MB that ended a server.
#[test]
fn nests_that_overflowed_a_stack() {
    is_unclear(&NESTS[0].repeat(32_000));
    let digests: String = (0..40_000).map(|it| NESTS[2].replace('#', &it.to_string())).collect();
    is_unclear(&digests);
}

#[test]
fn the_deepest_nests_that_fit() {
    for octets in [PARSED_MAX, 50_000_000] {
        for unit in NESTS {
            is_unclear(&nest(unit, octets));
        }
    }
}

/// 150,000 of them took 2.3 seconds, 600,000 took 29: each was compared with all before it.
#[test]
fn parameters_by_the_hundred_thousand() {
    for count in [150_000, 600_000] {
        let pieces: String = (0..count).map(|it| format!("; p*{it}=x")).collect();
        is_unclear(&format!("Content-Type: multipart/report{pieces}\r\n\r\n"));
        let same = "; boundary=x".repeat(count);
        is_unclear(&format!("Content-Type: multipart/report{same}\r\n\r\n--x\n{STATUS}"));
    }
}

/// `depth` multiparts in each other, the innermost a report.
fn deep(depth: usize) -> String {
    let mut text = String::new();
    for level in 1..depth {
        text += &format!("Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n");
    }
    text + "Content-Type: multipart/report; boundary=r\n\n--r\n" + STATUS
}

/// A report whose part for programs is the one of this number.
fn late(parts: usize) -> String {
    let before = "--r\n\n".repeat(parts - 1);
    format!("Content-Type: multipart/report; boundary=r\n\n{before}--r\n{STATUS}")
}

/// A report whose header has as many octets as given, and `padding` of the header of its part.
fn headed(header: usize, part: usize) -> String {
    let field = |octets: usize| format!("X: {}\n", "x".repeat(octets - 4));
    let content = "Content-Type: multipart/report; boundary=r\n";
    let first = STATUS.find("\n\n").unwrap() + 1;
    field(header - content.len() - 1) + content + "\n--r\n" + &field(part - first - 1) + STATUS
}

#[test]
fn limits_at_their_edges() {
    let is_read = |text: &str| outcomes(text.as_bytes()).is_some_and(|found| found.len() == 1);
    assert!(is_read(&deep(20)));
    assert!(!is_read(&deep(21)));
    is_unclear(&deep(21));
    assert!(is_read(&late(100)));
    assert!(!is_read(&late(101)));
    is_unclear(&late(101));
    let most = 64 * 1024;
    assert!(is_read(&headed(most, most)));
    assert!(!is_read(&headed(most + 1, 100)));
    assert!(!is_read(&headed(100, most + 1)));
    is_unclear(&headed(100, 50_000_000));
    // The end of the header, or of its only field, never comes.
    is_unclear(&format!("Content-Type: multipart/report; boundary=\"{}", "x".repeat(2_000_000)));
    is_unclear(&format!("Content-Type: {}", "(".repeat(2_000_000)));
    is_unclear(&"X: y\n".repeat(200_000));
    is_unclear(&"\n".repeat(200_000));
}

/// Of more than 1 MB the beginning is read.
#[test]
fn a_report_that_is_cut() {
    let first = late(1);
    let text = format!("{first}\nX-Padding: {}\n\n", "x".repeat(PARSED_MAX));
    let second = "Final-Recipient: rfc822; v@d\nAction: failed\n";
    assert_eq!(outcomes((text + second).as_bytes()).unwrap().len(), 1);
    // The text ends within a word.
    let before = "x".repeat(PARSED_MAX - first.find("Status").unwrap() - 7);
    let cut = first.replace("\n\n--r", &format!("\n\n{before}\n--r"));
    assert_eq!(&cut[PARSED_MAX - 6..PARSED_MAX], "Status");
    assert_eq!(outcomes(cut.as_bytes()).unwrap()[0].status, None);
    // The part for programs begins behind the limit.
    is_unclear(&first.replace("\n\n--r", &format!("\n\n{}\n--r", "x".repeat(PARSED_MAX))));
}

/// One report names 1000 at most, and what it says of them is short.
#[test]
fn what_a_report_may_hold() {
    let groups: String = (0..20_000)
        .map(|it| format!("\nFinal-Recipient: rfc822; u{it}@d\nAction: failed\n"))
        .collect();
    assert_eq!(outcomes(format!("{}{groups}", late(1)).as_bytes()).unwrap().len(), 1000);
    let folds = "\n é".repeat(100_000);
    let text = format!("{}Diagnostic-Code: smtp; {folds}\n", late(1));
    assert_eq!(outcomes(text.as_bytes()).unwrap()[0].diagnostic.chars().count(), 500);
}
