//! What the book knows, and forgets.

use rusqlite::Connection;
use sojourn_core::parameters::defaults;
use sojourn_list_server::{
    COUNTED_DAYS, Entered, FailedMailing, MAILED_DAYS, NotEntered, SUSPENDED_DAYS, SubscriberStore,
    Suppressed, Suppression, Unverified,
};
use sojourn_mail_engine::bounce::{Failure, Rule, Severity};
use sojourn_smtp::{Address, Enhanced};
use std::path::PathBuf;

const DAY: i64 = 86_400;
const MOST: u64 = 1_000_000;

fn failed(subscriber: &str, severity: Severity, day: i64) -> FailedMailing {
    FailedMailing {
        subscriber: address(subscriber),
        failure: Failure { severity, day, returned: false },
        probe: false,
        status: Some(Enhanced(5, 1, 1)),
        reason: "gone".into(),
        provider: "big.example".into(),
    }
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn path(folder: &tempfile::TempDir) -> PathBuf {
    SubscriberStore::beside(&folder.path().join("spool"))
}

fn book(folder: &tempfile::TempDir) -> SubscriberStore {
    SubscriberStore::open(&path(folder)).unwrap()
}

/// A number that SQLite knows of the book.
fn number(database: &Connection, pragma: &str) -> i64 {
    database.pragma_query_value(None, pragma, |row| row.get(0)).unwrap()
}

fn people(numbers: std::ops::Range<usize>) -> Vec<Address> {
    numbers
        .map(|number| address(&format!("subscriber{number}@d{}.example", number % 997)))
        .collect()
}

#[test]
fn who_is_suspended_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let (list, rule) = (address("l@x"), Rule { probe: false, ..defaults() });
    let mut book = book(&folder);
    book.numbers(&list, &[address("ann@d"), address("Bob@d")], 0, MOST).unwrap();
    for day in 0..5 {
        let three = [
            failed("Ann@d", Severity::Hard, day),
            failed("bob@d", Severity::Soft, day),
            failed("c@d", Severity::Hard, day),
        ];
        let entered = book.enter(&list, &three, day * DAY, &rule).unwrap();
        assert_eq!(entered.counted, [0, 1]);
        assert_eq!(entered.suspended, if day == 4 { vec![0] } else { vec![] });
        let again = book.enter(&list, &three, day * DAY + 60, &rule).unwrap();
        assert_eq!(again, Entered::default());
    }
    // Read by another while it is open.
    let mut other = SubscriberStore::open(&path(&folder)).unwrap();
    let members = other.members().unwrap();
    let shown: Vec<_> = members
        .iter()
        .map(|it| (it.subscriber.as_str(), it.standing.score, it.standing.suspended))
        .collect();
    assert_eq!(shown, [("ann@d", 5.0, Some(4 * DAY)), ("bob@d", 2.5, None)]);
    assert_eq!((members[0].status.as_deref(), &*members[0].reason), (Some("5.1.1"), "gone"));
    // Another list is another book; the case of an address does not matter.
    let ann = address("ANN@d");
    assert!(book.member(&address("m@x"), &ann).unwrap().is_none());
    assert!(book.member(&list, &ann).unwrap().unwrap().standing.suspended.is_some());
    let pair = [(list.clone(), ann.clone())];
    assert_eq!((other.resume(&pair).unwrap(), other.resume(&pair).unwrap()), (1, 0));
    assert!(book.member(&list, &ann).unwrap().is_none());
}

#[test]
fn something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bounces");
    std::fs::write(&path, "no database, but more than a page of it".repeat(99)).unwrap();
    let told = SubscriberStore::open(&path).unwrap_err().to_string();
    assert!(told.ends_with("file is not a database"), "{told}");
    let path = folder.path().join("other");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let told = SubscriberStore::open(&path).unwrap_err().to_string();
    assert!(told.contains("other: ") && told.contains("not a database"), "{told}");
}

/// Each address of a list has one number, whatever its case, and keeps it; a list's numbers say
/// nothing to another list.
#[test]
fn subscribers_have_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = book(&folder);
    let (one, other) = (address("l@x"), address("m@x"));
    let given = [address("a@d"), address("B@d"), address("b@d")];
    let numbers = book.numbers(&one, &given, 0, MOST).unwrap();
    assert_eq!((numbers[0], numbers[1]), (1, 2));
    assert_eq!(numbers[1], numbers[2]);
    assert_eq!(book.numbers(&one, &given, 9 * DAY, MOST).unwrap(), numbers);
    assert_eq!(book.numbers(&other, &given[..1], 0, MOST).unwrap(), [3]);
    assert_eq!(book.subscriber(&one, 2).unwrap(), Some(address("b@d")));
    assert_eq!(
        (book.subscriber(&one, 3).unwrap(), book.subscriber(&one, 9).unwrap()),
        (None, None)
    );
    // There is room for one more, and no further one is let in by half.
    let two = [address("c@d"), address("e@d")];
    assert!(matches!(book.numbers(&one, &two, 0, 4), Err(NotEntered::Full)));
    assert_eq!(book.numbers(&one, &two[..1], 0, 4).unwrap(), [4]);
    assert_eq!(book.numbers(&one, &given, 0, 4).unwrap(), numbers);
}

/// A list that is mailed daily writes the day of its subscribers once a month.
#[test]
fn a_daily_list_is_not_written_daily() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = book(&folder);
    let (list, people) = (address("l@x"), people(0..50));
    let (mut written, other) = (Vec::new(), Connection::open(path(&folder)).unwrap());
    for day in 0..70 {
        let before = number(&other, "data_version");
        book.numbers(&list, &people, day * DAY, MOST).unwrap();
        if number(&other, "data_version") > before {
            written.push(day);
        }
    }
    assert_eq!(written, [0, 31, 62]);
}

/// Who is not mailed any more is forgotten, with a number that is not given again; who is suspended
/// is known for longer; counts that are stale go.
#[test]
fn old_rows_expire() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = book(&folder);
    let rule = Rule { threshold: 1.0, probe: false, ..defaults() };
    let list = address("l@x");
    let given = [address("old@d"), address("suspended@d"), address("mailed@d")];
    book.numbers(&list, &given, 0, MOST).unwrap();
    book.enter(&list, &[failed("suspended@d", Severity::Hard, 0)], 0, &rule).unwrap();
    book.enter(&list, &[failed("mailed@d", Severity::Soft, 0)], 0, &rule).unwrap();
    for kind in [Unverified::NoToken, Unverified::Wrong, Unverified::Wrong] {
        book.count(&list, kind, 2, 0).unwrap();
    }
    let expire = |book: &mut SubscriberStore, day: i64| while book.expire(day * DAY).unwrap() {};
    let known = |book: &SubscriberStore| -> Vec<bool> {
        (1..=3).map(|number| book.subscriber(&list, number).unwrap().is_some()).collect()
    };
    book.numbers(&list, &given[2..], 40 * DAY, MOST).unwrap();
    expire(&mut book, COUNTED_DAYS);
    let counted = book.counted().unwrap();
    assert_eq!(counted.iter().map(|it| it.number).collect::<Vec<_>>(), [2, 4]);
    expire(&mut book, MAILED_DAYS);
    assert_eq!((known(&book), book.members().unwrap().len()), (vec![true; 3], 2));
    // A score is kept for as long as its subscriber, who may be mailed once a year.
    expire(&mut book, MAILED_DAYS + 1);
    // New ones get their numbers in the order of the alphabet.
    assert_eq!(known(&book), [true, false, true]);
    let members = book.members().unwrap();
    assert_eq!((members.len(), &*members[0].subscriber), (1, "suspended@d"));
    assert_eq!(book.counted().unwrap(), []);
    expire(&mut book, SUSPENDED_DAYS + 1);
    assert_eq!(known(&book), [false; 3]);
    assert_eq!(book.numbers(&list, &given[..1], 0, MOST).unwrap(), [4]);
}

/// By hand: who is suppressed, known or not, stays so until resumed; who is erased is not in the file.
#[test]
fn by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = book(&folder);
    let list = address("l@x");
    let suppressed = |who: &str, why| Suppressed {
        list: address("L@x"),
        subscriber: address(who),
        why,
        since: 7 * DAY,
        status: None,
        reason: "an old list".into(),
    };
    book.numbers(&list, &[address("ann@d")], 0, MOST).unwrap();
    let all = [
        suppressed("Ann@d", Suppression::Suspended),
        suppressed("new@d", Suppression::Suspended),
        suppressed("gone@d", Suppression::Left),
    ];
    assert_eq!((book.suppress(&all).unwrap(), book.suppress(&all).unwrap()), (3, 0));
    let members = book.members().unwrap();
    let shown: Vec<_> = members.iter().map(|it| (&*it.subscriber, it.standing.suspended)).collect();
    assert_eq!(shown, [("ann@d", Some(7 * DAY)), ("new@d", Some(7 * DAY))]);
    assert_eq!(book.left().unwrap(), [("l@x".into(), "gone@d".into(), 7 * DAY)]);
    let pair = |who: &str| [(list.clone(), address(who))];
    assert_eq!((book.resume(&pair("gone@d")), book.erase(&pair("new@d"))).0.unwrap(), 1);
    assert_eq!(book.erase(&pair("new@d")).unwrap(), 0);
    assert_eq!((book.left().unwrap().len(), book.members().unwrap().len()), (0, 1));
    drop(book);
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let octets = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!octets.windows(5).any(|it| it == b"new@d"), "an erased address is still there");
    }
}

/// How long the register takes for a list of 20,000, the first time and again: by hand, with
/// `cargo test --release -p sojourn-list-server --test server -- --ignored --nocapture the_register_is_quick`.
#[test]
#[ignore = "measures, and asserts nothing that a busy machine could break"]
fn the_register_is_quick() {
    let folder = tempfile::tempdir().unwrap();
    let mut book = book(&folder);
    let (list, people) = (address("announce-bounces@lists.example"), people(0..20_000));
    for (what, day) in [("first", 0), ("again", 1), ("a month later", 40)] {
        let begun = std::time::Instant::now();
        for some in people.chunks(4096) {
            book.numbers(&list, some, day * DAY, MOST).unwrap();
        }
        let each = begun.elapsed().as_secs_f64() / people.len() as f64 * 1e6;
        println!("{what}: {each:.2} us each");
    }
    let other = Connection::open(path(&folder)).unwrap();
    let octets = number(&other, "page_count") * number(&other, "page_size");
    println!("{} octets each", octets / people.len() as i64);
}
