//! What the book makes of an older one.

use crate::lists::subscribers::*;

/// A book of version 1, as that version made it: who was suspended is, and has a number now.
#[test]
fn a_book_of_version_1() {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = SubscriberStore::beside(&folder.path().join("spool"));
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "PRAGMA journal_mode = WAL;
        CREATE TABLE member (
            list TEXT NOT NULL,
            subscriber TEXT NOT NULL,
            score REAL NOT NULL,
            last_s INTEGER NOT NULL,
            suspended_s INTEGER,
            status TEXT,
            reason TEXT NOT NULL,
            PRIMARY KEY (list, subscriber)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO member VALUES
            ('l@x', 'ann@d', 5.0, 864000, 864000, '5.1.1', 'gone'),
            ('l@x', 'bob@d', 2.5, 864000, NULL, NULL, 'full'),
            ('m@x', 'ann@d', 1.0, 86400, NULL, '5.1.1', 'gone');
        PRAGMA application_id = 1936681570;
        PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    for _ in 0..2 {
        let mut store = SubscriberStore::open(&path).unwrap();
        let members = store.members().unwrap();
        let shown: Vec<_> = members
            .iter()
            .map(|it| (&*it.list, &*it.subscriber, it.standing.score, it.standing.suspended))
            .collect();
        assert_eq!(
            shown,
            [
                ("l@x", "ann@d", 5.0, Some(864_000)),
                ("l@x", "bob@d", 2.5, None),
                ("m@x", "ann@d", 1.0, None),
            ]
        );
        let numbers = store.numbers(&address("l@x"), &[address("Bob@d")], 20 * 86_400, 10).unwrap();
        assert_eq!(store.subscriber(&address("l@x"), numbers[0]).unwrap(), Some(address("bob@d")));
        let version =
            |name| store.database.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
        assert_eq!((version("user_version"), version("synchronous")), (Ok(3), Ok(2)));
    }
}

/// A book of version 2 has addresses in lower case: they get their canonical forms, and of two rows
/// with one mailbox the one that is left has left, or is suspended, if either was.
#[test]
fn a_book_of_version_2() {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = SubscriberStore::beside(&folder.path().join("spool"));
    let list = address("l@x");
    let people = ["a@d", "b@d", "c@d", "e@d", "f@d"];
    let quoted = |name: &str| format!("\"{}\"@d", &name[..1]);
    let mut store = SubscriberStore::open(&path).unwrap();
    store.numbers(&list, &people.map(address), 0, 100).unwrap();
    let old = people.map(quoted).map(|it| format!("(1, '{it}', 50)")).join(",");
    let two = "INSERT INTO subscriber (list, address, mailed_day) VALUES";
    store.database.execute_batch(&format!("{two} {old}, (1, 'x@bücher', 7);")).unwrap();
    drop(store);
    std::fs::remove_file(backup::beside(&path)).unwrap();
    // Who left, and who came back, under either spelling: 1 to 5 are plain, 6 to 10 are quoted.
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "ALTER TABLE list DROP COLUMN checksum;
            ALTER TABLE subscriber DROP COLUMN checksum;
            ALTER TABLE bounce DROP COLUMN checksum;
            ALTER TABLE bounce DROP COLUMN day;
            ALTER TABLE bounce DROP COLUMN returned;
            ALTER TABLE bounce DROP COLUMN taken_day;
            ALTER TABLE bounce DROP COLUMN probed_s;
            ALTER TABLE bounce DROP COLUMN provider;
            DROP TABLE report;
            UPDATE subscriber SET left_s = 9 WHERE number IN (1, 7);
            INSERT INTO bounce VALUES
                (3, 1.0, 20, NULL, NULL, 'plain'), (8, 5.0, 10, 10, NULL, 'quoted'),
                (4, 2.0, 20, NULL, NULL, 'plain'), (9, 1.0, 30, NULL, NULL, 'quoted'),
                (10, 3.0, 30, NULL, NULL, 'quoted'), (11, 4.0, 30, NULL, NULL, 'book');
            PRAGMA user_version = 2;",
        )
        .unwrap();
    for _ in 0..2 {
        let mut store = SubscriberStore::open(&path).unwrap();
        let left = store.left().unwrap();
        let left: Vec<_> = left.iter().map(|(_, address, _)| &**address).collect();
        assert_eq!(left, ["a@d", "b@d"]);
        let members = store.members().unwrap();
        let shown: Vec<_> =
            members.iter().map(|it| (&*it.subscriber, &*it.reason, it.standing.score)).collect();
        assert_eq!(
            shown,
            [
                ("c@d", "quoted", 5.0),
                ("x@xn--bcher-kva", "book", 4.0),
                ("f@d", "quoted", 3.0),
                ("e@d", "plain", 2.0),
            ]
        );
        let numbers = store.numbers(&list, &people.map(quoted).map(|it| address(&it)), 0, 100);
        assert_eq!(numbers.unwrap(), [1, 2, 3, 4, 5]);
        assert!(store.member(&list, &address("X@BÜCHER")).unwrap().is_some());
    }
}
