//! Bounces over days: what is forged, what is verified, and what comes too late.

mod complaints;

use crate::event::{Recorded, SharedObserver};
use crate::hourly::Window;
use crate::lists::bounces_in::*;
use crate::lists::subscribers::SubscriberStore;
use crate::smtp_in::submitters::Submitters;
use sojourn_core::parameters::{Parameters, Table, Value, defaults};
use sojourn_mail_engine::Reason;
use sojourn_mail_engine::bounce::{Faults, Rule};
use sojourn_mail_engine::list::return_path::with_token;
use sojourn_mail_engine::list::token::{Claim, SECRET};
use sojourn_smtp::Enhanced;
use std::sync::{Arc, Mutex, RwLock};
use tokio::sync::mpsc;

pub(crate) const LIST: &str = "news-bounces@lists.example";
/// A day long after 1970.
pub(crate) const TODAY: i64 = 20_781;

pub(crate) fn address(text: &str) -> Address {
    text.parse().unwrap()
}

pub(crate) fn keys() -> TokenKeys {
    TokenKeys::new(&[[3; SECRET]]).unwrap()
}

/// A list that mailed `a@x.example` and others up to `h@x.example` today; their numbers begin with 1.
pub(crate) fn lists(folder: &tempfile::TempDir) -> Lists {
    let mut table = Table::default();
    table.set("bounces", Value::Text(LIST.into()));
    let mut subscribers = SubscriberStore::open(&folder.path().join("x.bounces")).unwrap();
    let people: Vec<_> = ('a'..='h').map(|it| address(&format!("{it}@x.example"))).collect();
    subscribers.numbers(&address(LIST), &people, TODAY * DAY, 100).unwrap();
    Lists {
        name: "lists.example".into(),
        listening: Vec::new(),
        unsubscribe: None,
        lists: vec![List::read_table(&table).unwrap()],
        signers: Vec::new(),
        submitters: Submitters::new(&[], &[], &[]),
        postmaster: None,
        abuse: None,
        complaints: None,
        rule: Rule { probe: false, ..defaults() },
        faults: Arc::new(Faults::built_in().clone()),
        alarms: Arc::default(),
        scored: Arc::default(),
        letters: mpsc::unbounded_channel().0,
        subscribers: Arc::new(Mutex::new(subscribers)),
        most: 100,
        largest: 50_000_000,
        keys: Arc::new(RwLock::new(keys())),
        good_days: good_days(Span::from_s(5 * 86_400)),
        hourly: defaults(),
        hour: Arc::new(Mutex::new(Window::of_seconds(3600))),
        observer: SharedObserver::new(()),
    }
}

/// Reads and enters what came back; who is to read it.
pub(crate) fn read(lists: &Lists, recipients: &[Address], text: &[u8], now: i64) -> Vec<Address> {
    let home = LocalRecipients { back: recipients.to_vec(), ..LocalRecipients::default() };
    let came_back = lists.look(&home, true, text, now).unwrap();
    lists.enter(&came_back, ("192.0.2.9:25".parse().unwrap(), None), now).unwrap();
    came_back.readers()
}

fn path(subscriber: u32, day: i64) -> Address {
    let claim = Claim { subscriber, mailing: 9, day: day.try_into().unwrap() };
    with_token(&keys(), Purpose::Bounce, &address(LIST), claim).unwrap()
}

/// A report that says that none of `people` has the message.
pub(crate) fn report(people: &[&str]) -> String {
    let groups = people.iter().map(|it| {
        format!("\r\nFinal-Recipient: rfc822; {it}\r\nAction: failed\r\nStatus: 5.1.1\r\n")
    });
    let groups: String = groups.collect();
    format!(
        "MIME-Version: 1.0\r\nContent-Type: multipart/report; report-type=delivery-status; \
         boundary=b\r\n\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; mx.example\r\n{groups}\r\n--b--\r\n"
    )
}

/// Suspended subscribers.
pub(crate) fn suspended(lists: &Lists) -> Vec<String> {
    let mut members = lists.subscribers().members().unwrap();
    members.retain(|it| it.standing.suspended.is_some());
    members.into_iter().map(|it| it.subscriber).collect()
}

/// The findings' case: a forged report on each of five days, to the plain path with all subscribers'
/// names, to paths that name one, and to guessed ones.
#[test]
fn five_forged_reports_on_five_days_suspend_no_subscriber() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(&folder);
    let all = report(&["a@x.example", "b@x.example", "c@x.example"]);
    let forged = [
        LIST.to_owned(),
        "news-bounces+a=x.example@lists.example".to_owned(),
        format!("news-bounces+{}@lists.example", "k7".repeat(16)),
    ];
    let forged = forged.map(|it| address(&it));
    for day in TODAY..TODAY + 5 {
        assert_eq!(read(&lists, &forged, all.as_bytes(), day * DAY), []);
    }
    assert_eq!(lists.subscribers().members().unwrap(), []);
    let counted = lists.subscribers().counted().unwrap();
    assert_eq!(counted.len(), 10, "two kinds on five days");
    assert_eq!(counted.iter().map(|it| it.number).sum::<u64>(), 15);
}

/// Bounces with good tokens suspend, and one message counts for one subscriber.
#[test]
fn five_verified_reports_on_five_days_suspend_one() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(&folder);
    for day in TODAY..TODAY + 5 {
        assert_eq!(suspended(&lists), [""; 0]);
        // A copy goes out each day.
        let both = [path(2, day), path(3, day)];
        let said = report(&["c@x.example", "d@x.example"]);
        for _ in 0..3 {
            assert_eq!(read(&lists, &both, said.as_bytes(), day * DAY), []);
        }
    }
    assert_eq!(suspended(&lists), ["b@x.example"]);
    assert_eq!(lists.subscribers().members().unwrap().len(), 1);
    assert_eq!(lists.subscribers().counted().unwrap(), []);
}

/// A return path is good for the mail's lifetime, 5 days, and 7 more.
#[test]
fn old_return_paths_are_good_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(&folder);
    let said = report(&["a@x.example"]);
    let from = |subscriber, day: i64| {
        read(&lists, &[path(subscriber, TODAY)], said.as_bytes(), day * DAY);
    };
    from(1, TODAY + 12);
    assert_eq!(lists.subscribers().members().unwrap().len(), 1);
    from(2, TODAY + 13);
    // One that the register does not know, and one of another list.
    from(99, TODAY + 1);
    let other = with_token(
        &keys(),
        Purpose::Bounce,
        &address("old-bounces@lists.example"),
        Claim { subscriber: 1, mailing: 9, day: TODAY as u16 },
    );
    let token = other.unwrap().local().split_once('+').unwrap().1.to_owned();
    let stolen = address(&format!("news-bounces+{token}@lists.example"));
    read(&lists, &[stolen], said.as_bytes(), TODAY * DAY);
    assert_eq!(lists.subscribers().members().unwrap().len(), 1);
    let counted = lists.subscribers().counted().unwrap();
    let kinds: Vec<_> = counted.iter().map(|it| (it.day - TODAY, &*it.kind, it.number)).collect();
    assert_eq!(kinds, [(13, "expired", 1), (1, "expired", 1), (0, "wrong", 1)]);
}

/// What this server itself could not deliver needs no token; it counts for those that the list
/// mailed.
#[test]
fn our_own_failures_are_believed() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(&folder);
    let why = Reason::new(Enhanced(5, 1, 1), "550 5.1.1 gone (in reply to RCPT TO command)");
    let people = ["a@x.example", "B@x.example", "never-mailed@x.example"];
    let failures = people.map(|it| (address(it), why.clone()));
    lists.enter_own(&address(LIST), TODAY, &failures, TODAY * DAY).unwrap();
    let members = lists.subscribers().members().unwrap();
    let named: Vec<_> = members.iter().map(|it| &*it.subscriber).collect();
    assert_eq!(named, ["a@x.example", "b@x.example"]);
}

/// A complaint says that the mail arrived: it is logged and costs nothing.
#[test]
fn a_complaint_unsubscribes_and_is_not_scored() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Recorded::default();
    let lists = Lists { observer: SharedObserver::new(heard.clone()), ..lists(&folder) };
    let said = "Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n\
        --b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\
        User-Agent: x\r\nVersion: 1\r\n\r\n--b--\r\n";
    let not_spam = said.replace("abuse", "not-spam");
    for text in [&not_spam, said, said] {
        read(&lists, &[path(1, TODAY)], text.as_bytes(), TODAY * DAY);
    }
    // One that nothing verifies is of no consequence.
    read(&lists, &[address(LIST)], said.as_bytes(), TODAY * DAY);
    assert_eq!(lists.subscribers().members().unwrap(), []);
    assert_eq!(lists.subscribers().left().unwrap().len(), 1);
    let told = heard.0.lock().unwrap();
    let who = format!("list=<{LIST}>, to=<a@x.example>");
    let again = format!("came back: client=[192.0.2.9], {who}: complaint");
    let first = [again.clone(), format!("left: {who}"), format!("complaint: {who}: abuse")];
    assert_eq!(told[..3], first);
    assert_eq!(told[3], again);
    assert!(told[4].starts_with("unverified: "), "{told:?}");
}

/// A report without a diagnosis is entered with what its status means.
#[test]
fn a_status_is_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let lists = lists(&folder);
    let said = report(&["a@x.example"]);
    read(&lists, &[path(1, TODAY)], said.as_bytes(), TODAY * DAY);
    let members = lists.subscribers().members().unwrap();
    assert_eq!(members[0].reason, "5.1.1: bad destination mailbox address");
}

/// Whatever comes to a verified return path leaves one line, with or without a reader.
#[test]
fn all_that_comes_back_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Recorded::default();
    let lists = Lists { observer: SharedObserver::new(heard.clone()), ..lists(&folder) };
    let failed = report(&["a@x.example"]);
    let late = failed.replace("Action: failed", "Action: delayed");
    let there = failed.replace("Action: failed", "Action: delivered");
    let away = "From: a@x.example\r\nAuto-Submitted: auto-replied\r\n\r\nAway.\r\n";
    let person = "From: a@x.example\r\n\r\nThank you.\r\n";
    for text in [&*failed, &*failed, &*late, &*there, away, person] {
        read(&lists, &[path(1, TODAY)], text.as_bytes(), TODAY * DAY);
    }
    let who = format!("list=<{LIST}>, to=<a@x.example>");
    let bounced = format!("bounced: {who}: 5.1.1: bad destination mailbox address");
    let kinds = ["bounce", "delay", "delivery", "answer", "unclear"];
    let others = kinds.map(|it| format!("came back: client=[192.0.2.9], {who}: {it}"));
    assert_eq!(*heard.0.lock().unwrap(), [&[bounced], &others[..]].concat());
}
