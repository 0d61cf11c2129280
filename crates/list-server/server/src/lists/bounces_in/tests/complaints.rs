//! Complaints in the forms of several providers, with a token and without one.

use super::*;

/// Reads what came to the address for complaints; what was told.
fn told(text: &str) -> (Vec<String>, Option<Address>) {
    told_to(&LocalRecipients { complaints: true, ..LocalRecipients::default() }, text)
}

fn told_to(home: &LocalRecipients, text: &str) -> (Vec<String>, Option<Address>) {
    let folder = tempfile::tempdir().unwrap();
    let heard = Recorded::default();
    let mut lists = Lists { observer: SharedObserver::new(heard.clone()), ..lists(&folder) };
    lists.lists[0].leave = Some(address("news-leave@lists.example"));
    lists.unsubscribe = Some(unsubscribe());
    lists.abuse = Some(address("ann@elsewhere.example"));
    let came_back = lists.look(home, false, text.as_bytes(), TODAY * DAY).unwrap();
    lists.enter(&came_back, ("192.0.2.9:25".parse().unwrap(), None), TODAY * DAY).unwrap();
    let told = heard.0.lock().unwrap().clone();
    (told, came_back.readers().pop())
}

fn unsubscribe() -> crate::lists::unsubscribe::Unsubscribe {
    let mut table = Table::default();
    table.set("address", Value::Text("127.0.0.1:8080".into()));
    table.set("url", Value::Text("https://lists.example/leave".into()));
    Parameters::read_table(&table).unwrap()
}

fn leave_token() -> String {
    let claim = Claim { subscriber: 1, mailing: 9, day: 1 };
    keys().sign(Purpose::Unsubscribe, &address(LIST), claim)
}

fn has_left(text: &str) {
    let who = format!("list=<{LIST}>, to=<a@x.example>");
    let lines = vec![format!("left: {who}"), format!("complaint: {who}: abuse")];
    assert_eq!(told(text), (lines, None), "{text}");
}

fn has_not_left(text: &str) {
    let line = "came back: client=[192.0.2.9]: complaint that names no subscriber";
    assert_eq!(told(text), (vec![line.to_owned()], None), "{text}");
}

/// RFC 5965, appendix B: a report with these fields on mail with this header.
fn arf(fields: &str, header: &str) -> String {
    format!(
        "From: <fbl@provider.example>\r\nSubject: FW: News\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nThis is an abuse report.\r\n\
         --b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n{fields}\r\n\
         --b\r\nContent-Type: message/rfc822\r\n\r\n{header}Subject: News\r\n\r\nText.\r\n--b--\r\n"
    )
}

/// Yahoo's Complaint Feedback Loop (senders.yahooinc.com): the return path is a field of the report.
#[test]
fn as_yahoo_has_it() {
    let fields = format!(
        "User-Agent: Yahoo!-Mail-Feedback/2.0\r\nVersion: 0.1\r\nOriginal-Mail-From: <{}>\r\n\
         Original-Rcpt-To: a@x.example\r\nReported-Domain: lists.example\r\n",
        path(1, TODAY)
    );
    has_left(&arf(&fields, "From: news@lists.example\r\n"));
}

/// Microsoft's Junk Mail Reporting Program (sendersupport.olc.protection.outlook.com/snds): the mail
/// is enclosed, below fields of theirs, and there is no part for programs.
#[test]
fn as_microsoft_has_it() {
    let jmrp = |field: &str| {
        format!(
            "From: <staff@hotmail.com>\r\nSubject: complaint about message from 192.0.2.25\r\n\
             MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\
             Content-Type: message/rfc822\r\nContent-Disposition: inline\r\n\r\n\
             X-HmXmrOriginalRecipient: a@x.example\r\n{field}From: news@lists.example\r\n\
             Subject: News\r\n\r\nText.\r\n--b--\r\n"
        )
    };
    let link = format!("https://lists.example/leave/news-bounces@lists.example/{}", leave_token());
    has_left(&jmrp(&format!("List-Unsubscribe: <{link}>\r\n")));
    has_not_left(&jmrp(""));
}

/// Fastmail's feedback loop (RFC 5965 by way of their abuse desk): the recipient is hidden, and the
/// enclosed header has the fields that the list wrote.
#[test]
fn as_fastmail_has_it() {
    let leave = address(&format!("news-leave+{}@lists.example", leave_token()));
    let leave = format!("<{}?subject=leave>", sojourn_mail_engine::list::mailto(&leave));
    assert!(leave.contains("%2B"), "as this server writes it: {leave}");
    let header = format!("List-Unsubscribe: <https://else.example/x>,\r\n {leave}\r\n");
    let fields = "User-Agent: Fastmail/1.0\r\nVersion: 1\r\nOriginal-Rcpt-To: <redacted>\r\n";
    has_left(&arf(fields, &header));
    let header = format!("Return-Path: <{}>\r\n", path(1, TODAY));
    has_left(&arf(fields, &header));
}

/// Anyone can write a subscriber's address, and a token is good for what it was made for.
#[test]
fn without_a_good_token_nobody_leaves() {
    let version = "Version: 1\r\nUser-Agent: x\r\n";
    let rcpt =
        "Original-Rcpt-To: a@x.example\r\nOriginal-Mail-From: news-bounces@lists.example\r\n";
    let forged = path(1, TODAY).as_str().replace("news-bounces+", "news-bounces+a");
    let old = path(1, TODAY - 30);
    let as_leave = format!("news-leave+{}@lists.example", &path(1, TODAY).name()[13..]);
    let as_back = format!("news-bounces+{}@lists.example", leave_token());
    for mail_from in [forged.as_str(), old.as_str(), &as_leave, &as_back, "a@x.example", "/", "@"] {
        let fields = format!("{version}{rcpt}Original-Mail-From: <{mail_from}>\r\n");
        has_not_left(&arf(&fields, &format!("Return-Path: <{mail_from}>\r\n")));
    }
}

/// Complaints come to abuse and to the plain return path too. What is no complaint is for people.
#[test]
fn the_same_at_other_addresses() {
    let text = arf(&format!("Original-Mail-From: {}\r\n", path(1, TODAY)), "");
    for home in [
        LocalRecipients { abuse: true, ..LocalRecipients::default() },
        LocalRecipients { back: vec![address(LIST)], ..LocalRecipients::default() },
        LocalRecipients { abuse: true, complaints: true, back: vec![address(LIST), address(LIST)] },
    ] {
        let (lines, reader) = told_to(&home, &text);
        assert_eq!((lines.len(), reader), (2, None), "{lines:?}");
    }
    let person = "From: ann@y.example\r\n\r\nPlease confirm your feedback loop.\r\n";
    assert_eq!(told(person), (Vec::new(), Some(address("ann@elsewhere.example"))));
    // To abuse it is sent on as it is.
    let both = LocalRecipients { abuse: true, complaints: true, ..LocalRecipients::default() };
    assert_eq!(told_to(&both, person), (Vec::new(), None));
}

/// A provider's "this is no spam" ends no subscription.
#[test]
fn no_spam() {
    let fields = format!("Original-Mail-From: {}\r\n", path(1, TODAY));
    let text = arf(&fields, "").replace("Type: abuse", "Type: not-spam");
    let line = format!("came back: client=[192.0.2.9], list=<{LIST}>, to=<a@x.example>: complaint");
    assert_eq!(told(&text), (vec![line], None));
}
