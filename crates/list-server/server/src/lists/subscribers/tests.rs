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
        assert_eq!((version("user_version"), version("synchronous")), (Ok(2), Ok(2)));
    }
}
