//! The one message for the author of a study.

use sojourn_kernel::parameters::Refusal;
use std::fmt::{self, Display};

/// A study that cannot be run as written: one line that says where, what was given, what was
/// expected, and the nearest name that would have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(String);

impl SpecError {
    /// An error at `place` ("study.toml:12").
    pub(crate) fn at(place: impl Display, what: impl Display) -> SpecError {
        let text = format!("{place}: {what}");
        SpecError(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// A setting that was refused, at `place`.
    pub(crate) fn refused(place: impl Display, refusal: &Refusal) -> SpecError {
        let key = refusal.path.join(".");
        if refusal.unknown_key {
            let name = refusal.path.last().map_or("", String::as_str);
            let rest = suggest(name, &refusal.names);
            return SpecError::at(place, format!("unknown key {key}, expected {rest}"));
        }
        let expected = match &refusal.given {
            Some(value) if !refusal.names.is_empty() => {
                let name = value.to_string();
                let rest = suggest(name.trim_matches('"'), &refusal.names);
                format!("expected {}: {rest}", refusal.expected)
            }
            _ => format!("expected {}", refusal.expected),
        };
        match &refusal.given {
            Some(value) => SpecError::at(place, format!("{key} = {value}, {expected}")),
            None => SpecError::at(place, format!("{key} is missing, {expected}")),
        }
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

/// The names that would have done, and the one that `given` is nearest to.
fn suggest(given: &str, names: &[&'static str]) -> String {
    let list = names.join(", ");
    let likeness = |name: &str| {
        strsim::normalized_damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase())
    };
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(name) if likeness(name) > 0.4 => format!("{list} (did you mean {name}?)"),
        _ => list,
    }
}
