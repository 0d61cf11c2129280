//! From failures to probes, suspensions and alarms.

use crate::delivery::local::{Ended, LocalDelivery};
use crate::delivery::mail::Mail;
use crate::event::{Recorded, SharedObserver};
use crate::hourly::HourlyBounds;
use crate::lists::Lists;
use crate::lists::bounces_in::tests::{LIST, TODAY, address, lists, read, report, suspended};
use crate::lists::subscribers::FailedMailing;
use sojourn_core::parameters::defaults;
use sojourn_mail_engine::bounce::{Failure, Rule, Severity};
use sojourn_mail_engine::{Reason, Relay};
use sojourn_smtp::{Address, Enhanced};
use std::net::IpAddr;
use std::num::NonZeroU32;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const DAY: i64 = 86_400;

/// Lists that ask before they suspend, by `rule`; the messages that they send; the log.
fn asking(folder: &tempfile::TempDir, rule: Rule) -> (Lists, UnboundedReceiver<Mail>, Recorded) {
    let (letters, sent) = unbounded_channel();
    let heard = Recorded::default();
    let observer = SharedObserver::new(heard.clone());
    (Lists { rule, letters, observer, ..lists(folder) }, sent, heard)
}

fn refused(text: &str) -> Reason {
    let status = text.split(' ').nth(1).and_then(|it| it.parse().ok());
    Reason::new(status.unwrap_or(Enhanced(5, 0, 0)), text)
}

const GONE: &str = "550 5.1.1 no such user (in reply to RCPT TO command)";

/// Mail of `day` from `sender` to `people` fails, as the engine tells it.
fn fail(lists: &Lists, sender: &Address, day: i64, people: &[&str], text: &str) {
    let relay = Relay { name: "mx.big.example".into(), address: [192, 0, 2, 1].into() };
    let failures: Vec<_> = people.iter().map(|it| (address(it), refused(text))).collect();
    for (recipient, reason) in &failures {
        let ended = Ended { recipient, relay: Some(&relay), failure: Some(reason) };
        lists.count_end(sender, day, &ended, day * DAY);
    }
    lists.enter_own(sender, day, &failures, day * DAY).unwrap();
}

#[test]
fn only_the_bounce_of_a_probe_suspends() {
    let folder = tempfile::tempdir().unwrap();
    let (lists, mut sent, _) = asking(&folder, defaults());
    let list = address(LIST);
    // Five weekly mailings to two dead addresses.
    for week in 0..5 {
        assert!(sent.try_recv().is_err(), "{week}");
        fail(&lists, &list, TODAY + 7 * week, &["a@x.example", "b@x.example"], GONE);
    }
    let probes = [sent.try_recv().unwrap(), sent.try_recv().unwrap()];
    let path = |probe: &Mail| probe.sender.clone().unwrap();
    assert_eq!(probes[1].recipients, [address("b@x.example")]);
    let text = String::from_utf8(probes[1].text.to_vec()).unwrap();
    assert!(text.contains("\r\nSubject: Does our mail reach you?\r\n") && text.contains(GONE));
    // Mail that fails meanwhile is no answer.
    let asked = TODAY + 28;
    fail(&lists, &list, asked + 1, &["a@x.example", "b@x.example"], GONE);
    assert_eq!((suspended(&lists), sent.try_recv().is_err()), (vec![], true));
    // The first probe is refused for its sender; the second one for its recipient, by a host that
    // took it first.
    let block = "550 5.7.1 blocked using a block list (in reply to MAIL FROM command)";
    fail(&lists, &path(&probes[0]), asked, &["a@x.example"], block);
    assert_eq!(suspended(&lists), [""; 0]);
    let bounce = report(&["b@x.example"]);
    read(&lists, &[path(&probes[1])], bounce.as_bytes(), (asked + 1) * DAY);
    assert_eq!(suspended(&lists), ["b@x.example"]);
    // Who was not suspended by it is counted anew after two weeks.
    fail(&lists, &list, asked + 15, &["a@x.example", "b@x.example"], GONE);
    let scores: Vec<_> = lists.subscribers().members().unwrap();
    let scores: Vec<_> = scores.iter().map(|it| (&*it.subscriber, it.standing.score)).collect();
    assert_eq!(scores, [("b@x.example", 5.0), ("a@x.example", 1.0)]);
}

#[test]
fn a_probe_that_is_refused_suspends_too_and_probes_are_few() {
    let folder = tempfile::tempdir().unwrap();
    let one = NonZeroU32::new(1).unwrap();
    let (lists, mut sent, heard) = asking(&folder, Rule { threshold: 1.0, ..defaults() });
    let lists = Lists { hourly: HourlyBounds { probes: one, ..defaults() }, ..lists };
    fail(&lists, &address(LIST), TODAY, &["a@x.example", "b@x.example"], GONE);
    let probe = sent.try_recv().unwrap();
    assert!(sent.try_recv().is_err(), "one an hour");
    fail(&lists, probe.sender.as_ref().unwrap(), TODAY, &["a@x.example"], GONE);
    assert_eq!(suspended(&lists), ["a@x.example"]);
    // The next mailing asks the other one.
    fail(&lists, &address(LIST), TODAY + 1, &["b@x.example"], GONE);
    assert_eq!(sent.try_recv().unwrap().recipients, [address("b@x.example")]);
    let told = heard.0.lock().unwrap();
    let list = format!("list=<{LIST}>");
    assert!(told.contains(&format!("asked whether mail arrives: {list}, to=<b@x.example>")));
    assert!(told.contains(&format!("suspended: {list}, to=<a@x.example>: {GONE}")), "{told:?}");
}

/// Bounces that one network's clients bring ask a tenth of the subscribers that may be asked.
#[test]
fn one_network_causes_few_probes() {
    let folder = tempfile::tempdir().unwrap();
    let (lists, mut sent, _) = asking(&folder, Rule { threshold: 1.0, ..defaults() });
    let probes = NonZeroU32::new(20).unwrap();
    let lists = Lists { hourly: HourlyBounds { probes, ..defaults() }, ..lists };
    let list = lists.lists[0].clone();
    let mut ask = |client: Option<[u8; 4]>, who: &str| {
        let heard = FailedMailing {
            subscriber: address(who),
            failure: Failure { severity: Severity::Hard, day: TODAY, returned: true },
            probe: false,
            status: None,
            reason: GONE.into(),
            provider: "x.example".into(),
        };
        let client = client.map(IpAddr::from);
        lists.enter_failures(&list, &[heard], client, TODAY * DAY).unwrap();
        sent.try_recv().is_ok()
    };
    let near = Some([192, 0, 2, 1]);
    assert!(ask(near, "a@x.example") && ask(near, "b@x.example"));
    assert!(!ask(Some([192, 0, 2, 99]), "c@x.example"));
    assert!(ask(Some([198, 51, 100, 1]), "d@x.example"));
    assert!(ask(None, "e@x.example"), "our own delivery has no network");
}

/// The findings' case: a provider blocks the sender's address for six days. No subscriber is
/// suspended, and the operator hears of the block: in the log at once, and by one message a day.
#[test]
fn a_block_of_six_days_suspends_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let (lists, mut sent, heard) = asking(
        &folder,
        Rule { probe: false, operator: Some(address("op@y.example")), ..defaults() },
    );
    let people: Vec<String> = (0..600).map(|it| format!("s{it}@big.example")).collect();
    let addresses: Vec<_> = people.iter().map(|it| address(it)).collect();
    let list = address(LIST);
    lists.subscribers().numbers(&list, &addresses, TODAY * DAY, 1000).unwrap();
    let people: Vec<&str> = people.iter().map(|it| &**it).collect();
    let block = "550 5.7.1 [192.0.2.7] is on our block list (in reply to RCPT TO command)";
    for day in TODAY..TODAY + 6 {
        fail(&lists, &list, day, &people, block);
        (0..3).for_each(|hour| lists.report(day * DAY + hour * 3600));
    }
    assert_eq!(lists.subscribers().members().unwrap(), []);
    let told = heard.0.lock().unwrap();
    let alarm =
        format!("alarm: provider=big.example, fault=policy: 10 of 10 deliveries today: {block}");
    assert_eq!(*told, vec![alarm; 6]);
    let mail: Vec<_> = std::iter::from_fn(|| sent.try_recv().ok()).collect();
    assert_eq!(mail.len(), 6);
    let text = String::from_utf8(mail[0].text.to_vec()).unwrap();
    assert!(text.contains("big.example: 10 of 10 deliveries (100 %), policy\r\n"), "{text}");
    assert!(text.contains(block) && mail[0].recipients == [address("op@y.example")]);
}

#[tokio::test]
async fn a_good_delivery_ends_a_score() {
    let folder = tempfile::tempdir().unwrap();
    let (lists, _sent, _) = asking(&folder, defaults());
    let (list, subscriber) = (address(LIST), address("A@X.example"));
    fail(&lists, &list, TODAY, &["a@x.example"], GONE);
    assert_eq!(lists.subscribers().members().unwrap().len(), 1);
    let ended = Ended { recipient: &subscriber, relay: None, failure: None };
    LocalDelivery::ended(&lists, &list, TODAY + 1, &ended);
    while !lists.subscribers().members().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
}

/// Who was suspended is reported on the next day, once.
#[test]
fn suspensions_are_reported_once_a_day() {
    let folder = tempfile::tempdir().unwrap();
    let rule = Rule {
        probe: false,
        threshold: 1.0,
        operator: Some(address("op@y.example")),
        ..defaults()
    };
    let (lists, mut sent, _) = asking(&folder, rule);
    fail(&lists, &address(LIST), TODAY, &["a@x.example", "b@x.example"], GONE);
    for hour in 1..72 {
        lists.report(TODAY * DAY + hour * 3600);
        assert_eq!(sent.try_recv().is_ok(), hour == 24, "{hour}");
    }
}
