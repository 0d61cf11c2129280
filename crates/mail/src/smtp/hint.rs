//! Replies that say when to come back.

use sojourn_core::Span;

/// Longer than this is no hint, but a refusal in other words.
const LONGEST: Span = Span::from_s(86_400);

/// The wait that a transient reply names in its text: `try again in 60 seconds`, `retry after 5
/// min`, `greylisted for 300s`. No standard has it; greylisting servers write it for people.
pub fn wait_named(text: &str) -> Option<Span> {
    let text = text.to_ascii_lowercase();
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut before = "";
    let mut word = words.next()?;
    loop {
        let next = words.next();
        let digits = word.len() - word.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, unit) = word.split_at(digits);
        let unit = if unit.is_empty() { next.unwrap_or_default() } else { unit };
        if matches!(before, "in" | "for" | "after" | "wait" | "least" | "another")
            && let (Ok(number), Some(unit)) = (number.parse::<u64>(), seconds(unit))
        {
            let wait = Span::from_s(1).saturating_mul(number.saturating_mul(unit));
            return (wait > Span::ZERO && wait <= LONGEST).then_some(wait);
        }
        (before, word) = (word, next?);
    }
}

fn seconds(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60),
        "h" | "hour" | "hours" => Some(3600),
        _ => None,
    }
}
