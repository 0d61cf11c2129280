//! Who waits: recipients that an attempt did not reach, with how many of their messages wait.

use sojourn_mail_engine::{MessageId, RecipientIndex, Task};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Recipients who wait for at least one message.
#[derive(Debug, Default)]
pub(super) struct Stragglers {
    tasks: BTreeMap<Task, Arc<str>>,
    people: BTreeMap<Arc<str>, Straggler>,
}

/// One recipient who waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Straggler {
    /// Messages that wait.
    pub(super) messages: u32,
    /// Attempts since the first of them failed, and when that was.
    pub(super) attempts: u32,
    pub(super) since_ms: i64,
    /// What the last of them met.
    pub(super) why: Why,
}

/// What an attempt met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Why {
    pub(super) relay: Option<String>,
    pub(super) status: String,
    pub(super) text: String,
}

impl Stragglers {
    /// An attempt did not reach `recipient`.
    pub(super) fn deferred(&mut self, unix_ms: i64, task: Task, recipient: &str, why: Why) {
        if let Some(straggler) = self.people.get_mut(recipient) {
            straggler.attempts += 1;
            straggler.why = why;
            if !self.tasks.contains_key(&task) {
                straggler.messages += 1;
                let (name, _) =
                    self.people.get_key_value(recipient).expect("the recipient was inserted above");
                self.tasks.insert(task, Arc::clone(name));
            }
            return;
        }
        let name: Arc<str> = recipient.into();
        let straggler = Straggler { messages: 1, attempts: 1, since_ms: unix_ms, why };
        self.tasks.insert(task, Arc::clone(&name));
        self.people.insert(name, straggler);
    }

    /// The recipient's message does not wait any more.
    pub(super) fn ended(&mut self, task: Task) {
        let Some(name) = self.tasks.remove(&task) else { return };
        let straggler = self.people.get_mut(&name).expect("its message waited");
        straggler.messages -= 1;
        if straggler.messages == 0 {
            self.people.remove(&name);
        }
    }

    /// None of the message's recipients waits any more.
    pub(super) fn finished(&mut self, message: MessageId) {
        let task = |recipient| Task { message, recipient: RecipientIndex(recipient) };
        let all = task(0)..=task(u32::MAX);
        let left: Vec<_> = self.tasks.range(all).map(|(task, _)| *task).collect();
        left.into_iter().for_each(|task| self.ended(task));
    }

    /// Messages that wait, one for each of their recipients.
    pub(super) fn waiting(&self) -> usize {
        self.tasks.len()
    }

    /// How many people wait, and those of them with the most messages; of equals, who waits longest.
    pub(super) fn most(&self, count: usize) -> (usize, Vec<(&str, &Straggler)>) {
        let mut all: Vec<_> = self.people.iter().map(|(name, it)| (&**name, it)).collect();
        let people = all.len();
        let rank = |it: &Straggler| (std::cmp::Reverse(it.messages), it.since_ms);
        if count < people {
            all.select_nth_unstable_by_key(count, |(_, it)| rank(it));
            all.truncate(count);
        }
        all.sort_by_key(|(_, it)| rank(it));
        (people, all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(text: &str) -> Why {
        Why { relay: None, status: "4.4.1".into(), text: text.into() }
    }

    #[test]
    fn who_waits_for_how_many() {
        let task = |message, recipient| Task {
            message: MessageId(message),
            recipient: RecipientIndex(recipient),
        };
        let mut late = Stragglers::default();
        late.deferred(1, task(1, 0), "ann@x", why("one"));
        late.deferred(2, task(1, 1), "bob@x", why("one"));
        late.deferred(3, task(2, 7), "bob@x", why("two"));
        late.deferred(4, task(2, 7), "bob@x", why("three"));
        let (people, most) = late.most(1);
        let bob = Straggler { messages: 2, attempts: 3, since_ms: 2, why: why("three") };
        assert_eq!((people, most), (2, vec![("bob@x", &bob)]));
        assert_eq!(late.waiting(), 3);
        late.ended(task(2, 7));
        late.ended(task(2, 7));
        let names: Vec<_> = late.most(9).1.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["ann@x", "bob@x"]);
        late.finished(MessageId(1));
        assert_eq!((late.waiting(), late.most(9).0), (0, 0));
    }
}
