//! What became of what was sent, counted exactly.

use crate::acceptance::Acceptance;
use std::collections::{BTreeMap, BTreeSet};

/// What became of the recipients of some messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Who has it, once or more.
    pub delivered: usize,
    /// Who has it not, and was given up with a report to the sender.
    pub failed: usize,
    /// Recipients that do not have it, without a report to its sender.
    pub lost: Vec<(String, String)>,
    /// Copies beyond the first.
    pub copies: usize,
    /// In how many transactions those came.
    pub repeated_transactions: usize,
    /// What came and had not been sent.
    pub unsent: usize,
}

/// Counts what became of `sent`: pairs of a Message-ID and a recipient. `failed` holds those that
/// the sender was told of.
pub fn count<'a>(
    sent: impl IntoIterator<Item = (&'a str, &'a str)>,
    accepted: &'a [Acceptance],
    failed: &BTreeSet<(String, String)>,
) -> Count {
    let mut count = Count::default();
    let mut taken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut repeated = BTreeSet::new();
    for it in accepted {
        let times = taken.entry((&it.message, &it.recipient)).or_default();
        *times += 1;
        if *times > 1 {
            count.copies += 1;
            repeated.insert((it.session, it.transaction));
        }
    }
    count.repeated_transactions = repeated.len();
    for key in sent {
        let owned = || (key.0.to_owned(), key.1.to_owned());
        if taken.remove(&key).is_some() {
            count.delivered += 1;
        } else if failed.contains(&owned()) {
            count.failed += 1;
        } else {
            count.lost.push(owned());
        }
    }
    count.unsent = taken.len();
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::Duration;

    #[test]
    fn everything_is_counted_once() {
        let accepted = |message: &str, recipient: &str, session, transaction| Acceptance {
            read: Duration::ZERO,
            at: Duration::ZERO,
            answered: None,
            message: message.into(),
            recipient: recipient.into(),
            sender: "".into(),
            host: Ipv4Addr::LOCALHOST.into(),
            session,
            transaction,
            turns: 0,
            secured: false,
            text: None,
        };
        let accepted = [
            accepted("1", "a", 0, 0),
            accepted("1", "b", 0, 0),
            accepted("1", "a", 7, 2),
            accepted("1", "b", 7, 2),
            accepted("1", "b", 8, 0),
            accepted("2", "a", 9, 0),
        ];
        let failed = BTreeSet::from([("1".to_owned(), "c".to_owned())]);
        let count = count([("1", "a"), ("1", "b"), ("1", "c"), ("1", "d")], &accepted, &failed);
        let expected = Count {
            delivered: 2,
            failed: 1,
            lost: vec![("1".into(), "d".into())],
            copies: 3,
            repeated_transactions: 2,
            unsent: 1,
        };
        assert_eq!(count, expected);
    }
}
