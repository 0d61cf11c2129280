//! Which events the engine gets at once, and which later.

use crate::delivery::request::Input;
use sojourn_mail_engine::{Engine, SessionId};
use std::collections::{BTreeMap, VecDeque};

/// What has come and need not be told at once.
///
/// An answer to a text is what a crash must not find here: the text would go again. The engine gets it
/// before everything else, but after what came over the same session before it.
#[derive(Debug, Default)]
pub(super) struct Later {
    inputs: VecDeque<Input>,
    /// How many of them each session has.
    of: BTreeMap<SessionId, u32>,
}

impl Later {
    /// Keeps what came; or gives it back, where the engine gets it at once.
    pub(super) fn sort(&mut self, input: Input, engine: &Engine) -> Option<Input> {
        if let Some(session) = input.session() {
            if engine.is_sending(session) && !self.of.contains_key(&session) {
                return Some(input);
            }
            *self.of.entry(session).or_default() += 1;
        }
        self.inputs.push_back(input);
        None
    }

    /// What came first.
    pub(super) fn next(&mut self) -> Option<Input> {
        let input = self.inputs.pop_front()?;
        if let Some(session) = input.session() {
            let left =
                self.of.get_mut(&session).expect("an input that waits is counted for its session");
            *left -= 1;
            if *left == 0 {
                self.of.remove(&session);
            }
        }
        Some(input)
    }

    pub(super) fn len(&self) -> usize {
        self.inputs.len()
    }
}
