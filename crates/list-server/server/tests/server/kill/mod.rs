//! A list server in a process of its own, killed and otherwise ill-treated while it sends into a
//! small internet, which counts what it takes over.

mod full;
mod kills;
mod register;
mod sender;
mod troubles;

use sender::Sender;
use sojourn_core::Span;
use sojourn_core::parameters::defaults;
use sojourn_testnet::{Acceptance, Class, Drawn, TestNet, TestNetConfig};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// No test waits longer for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// A list, an internet that its subscribers are in, and a spool.
struct Stage {
    internet: TestNet,
    /// Whom everything is sent to.
    recipients: Vec<String>,
    folder: tempfile::TempDir,
}

/// What became of the messages of a burst.
#[derive(Debug, PartialEq, Eq)]
struct Tale {
    lost: usize,
    copies: usize,
    /// The transactions whose recipients got their message again.
    repeated: usize,
}

impl Stage {
    fn new(drawn: Drawn) -> Stage {
        let world =
            TestNetConfig { drawn: Some(drawn), dns_round_trip: Span::from_ms(2), ..defaults() };
        let reachable = world.subscribers().into_iter().filter(|it| it.class < Class::Unreachable);
        let recipients = reachable.map(|it| it.address).collect();
        let internet = TestNet::start(&world).unwrap();
        Stage { internet, recipients, folder: tempfile::tempdir().unwrap() }
    }

    fn spool(&self) -> PathBuf {
        self.folder.path().join("spool")
    }

    fn sender(&self) -> Sender {
        Sender::start(&self.internet, &self.spool(), false)
    }

    /// One that tells of each delivery.
    fn talkative_sender(&self) -> Sender {
        Sender::start(&self.internet, &self.spool(), true)
    }

    /// Panics where one of these was sent to again, after so many were taken over: the sender had said so, by
    /// recipient and by the message's number in the spool, which has one more than the test's.
    fn assert_once(&self, delivered: &[String], since: usize) {
        let accepted = self.internet.accepted_since(since);
        let again: BTreeSet<_> = accepted.iter().map(|it| (&*it.recipient, &*it.message)).collect();
        for said in delivered {
            let (recipient, number) = said.split_once(' ').expect("a recipient and a number");
            let message = sender::message_id(number.parse::<u64>().unwrap() - 1);
            assert!(!again.contains(&(recipient, &*message)), "{said} was sent to again");
        }
    }

    /// Waits until everybody has all of these messages; what became of them.
    fn wait_for_all(&self, messages: &[String]) -> Tale {
        loop {
            let accepted = self.internet.accepted_since(0);
            let tale = self.tell(messages, &accepted);
            let known = accepted.len();
            if tale.lost == 0 || self.internet.wait_for(known + 1, PATIENCE) == known {
                return tale;
            }
        }
    }

    /// What became of these messages so far. Panics where a transaction was repeated that cannot
    /// have been in flight: one that another followed in the same session.
    fn tell(&self, messages: &[String], accepted: &[Acceptance]) -> Tale {
        let last: BTreeMap<_, _> = accepted.iter().map(|it| (it.session, it.transaction)).collect();
        let copies = self.copies(messages, accepted);
        for it in &copies {
            assert_eq!(it.transaction, last[&it.session], "not in flight: {it:?}");
        }
        let repeated: BTreeSet<_> = copies.iter().map(|it| (it.session, it.transaction)).collect();
        let taken: BTreeSet<(&str, &str)> =
            accepted.iter().map(|it| (&*it.message, &*it.recipient)).collect();
        let mut lost = 0;
        for message in messages {
            let has_it = |who: &&String| taken.contains(&(message.as_str(), who.as_str()));
            lost += self.recipients.len() - self.recipients.iter().filter(has_it).count();
        }
        Tale { lost, copies: copies.len(), repeated: repeated.len() }
    }

    /// What was taken over, and once more later.
    fn copies<'a>(&self, messages: &[String], accepted: &'a [Acceptance]) -> Vec<&'a Acceptance> {
        let wanted: BTreeSet<&str> = messages.iter().map(String::as_str).collect();
        let mut later = BTreeSet::new();
        let taken = accepted.iter().rev().filter(|it| wanted.contains(&*it.message));
        taken.filter(|it| !later.insert((&*it.message, &*it.recipient))).collect()
    }
}

/// Message-IDs.
fn ids(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    numbers.into_iter().map(sender::message_id).collect()
}
