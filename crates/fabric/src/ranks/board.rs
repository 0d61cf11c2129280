//! News between ranks that no packet carries.

use sojourn_core::{Span, Time};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// What a rank learns from others on its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum News {
    /// A collective is over.
    Over { call: u32, tag: u32 },
    /// A message of another rank has come.
    Came { from: u32, tag: u32 },
    /// A message of a collective has come, on a channel and for a counter.
    Step { call: u32, tag: u32, channel: u8, slot: u32 },
}

/// News for a rank, and when it learns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Letter {
    pub(crate) at: Time,
    pub(crate) rank: u32,
    pub(crate) news: News,
}

/// Where ranks of all sides leave news for each other. What is left in a window takes effect two windows later at
/// the soonest, each side reads its own as it begins a window, and it may begin one window before others have ended
/// the one before. So nothing depends on which side is simulated first.
#[derive(Debug, Default)]
pub(crate) struct Board(Mutex<Left>);

#[derive(Debug, Default)]
struct Left {
    /// By call, tag and group: how many ranks have come, and when the last one did.
    joined: BTreeMap<(u32, u32, u32), (u32, Time)>,
    /// Of each side what it has not read yet.
    letters: Vec<Vec<Letter>>,
}

impl Board {
    fn left(&self) -> MutexGuard<'_, Left> {
        // A thread that panics ends the run, whatever it has left behind.
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A rank joins the collective `call` of its group of `size` ranks at `now`. When all have joined, the time at
    /// which the last one did.
    pub(crate) fn join(
        &self,
        (call, tag, group): (u32, u32, u32),
        size: u32,
        now: Time,
    ) -> Option<Time> {
        let mut left = self.left();
        let (joined, last) = left.joined.entry((call, tag, group)).or_insert((0, now));
        *joined += 1;
        *last = now.max(*last);
        let all = (*joined == size).then_some(*last);
        if all.is_some() {
            left.joined.remove(&(call, tag, group));
        }
        all
    }

    /// Leaves letters for the sides of their ranks.
    pub(crate) fn leave(&self, letters: impl IntoIterator<Item = (usize, Letter)>) {
        let mut left = self.left();
        for (side, letter) in letters {
            if left.letters.len() <= side {
                left.letters.resize(side + 1, Vec::new());
            }
            left.letters[side].push(letter);
        }
    }

    /// Moves what was left for `side` to `letters`.
    pub(crate) fn take(&self, side: usize, letters: &mut Vec<Letter>) {
        if let Some(own) = self.left().letters.get_mut(side) {
            letters.append(own);
        }
    }
}

/// When a rank learns what takes `span` from `now` on: news between sides takes two windows.
pub(crate) fn heard(now: Time, span: Span, window: Span) -> Time {
    now + span.max(window * 2)
}
