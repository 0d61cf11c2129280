//! When it can first succeed.

use super::{Retry, RetryInput, check, doubled, stretched};
use sojourn_core::parameters::{Check, Refusal};
use sojourn_core::{Span, parameters};

parameters! {
    /// When it can first succeed. A recipient that is refused for now is most often greylisted: it
    /// comes back after the wait that the answer named, or that this destination was seen to want,
    /// or else at the customary times of greylisting, counted from the first refusal: 1 min, 5 min
    /// (Postgrey), 10, 15, 25 (OpenBSD's spamd), 30, 60; then every `most`. A host that does not
    /// answer is left alone for `first`, then twice as long each time, up to `most`. RFC 5321
    /// section 4.5.4.1 would have at least half an hour between tries; it is older than
    /// greylisting.
    pub struct Prompt: "prompt" {
        /// First time for which a host is not tried again.
        pub first: Span = Span::from_s(60),
        /// Longest time between two attempts.
        pub most: Span = Span::from_s(3600),
        /// Largest random addition to a wait, as a share of it.
        pub jitter: f64 [0.0..=1.0] = 0.05,
    }
}

impl Check for Prompt {
    fn check(&self) -> Result<(), Refusal> {
        check(&[("first", self.first), ("most", self.most)])
    }
}

/// Seconds after the first refusal at which greylisting customarily ends.
const CUSTOMARY: [u64; 7] = [60, 300, 600, 900, 1500, 1800, 3600];
/// How many times in a row a wait that an answer names is believed.
const BELIEVED: u32 = 3;
/// A time this close to the last try is taken as tried.
const CLOSE: Span = Span::from_s(5);

impl Retry for Prompt {
    fn recipient(&self, setback: &RetryInput) -> Span {
        let gone = setback.since_first;
        let later = |after: Span| (after > gone.saturating_add(CLOSE)).then(|| after - gone);
        let customary = || CUSTOMARY.into_iter().find_map(|after| later(Span::from_s(after)));
        let named = setback.named.filter(|_| setback.times <= BELIEVED);
        let wait = named.or_else(|| later(setback.learned?)).or_else(customary);
        stretched(wait.unwrap_or(self.most), self.jitter, setback.chance)
    }

    fn host(&self, setback: &RetryInput) -> Span {
        stretched(doubled(self.first, self.most, setback.times), self.jitter, setback.chance)
    }
}
