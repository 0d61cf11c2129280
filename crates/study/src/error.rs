//! The one message for the author of a study.

use sojourn_core::parameters::{Refusal, Value};
use std::fmt::{self, Display};

/// A study that cannot be run as written: a line for each mistake, which says where, what was given,
/// what was expected, and the nearest name that would have done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(Vec<Mistake>);

/// A mistake in a study.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    /// The line of the file; none for an override.
    line: Option<usize>,
    text: String,
}

/// The most mistakes that are told at a time.
const MOST: usize = 10;

impl SpecError {
    /// An error at `place` ("study.toml:12").
    pub(crate) fn at(place: impl Display, what: impl Display) -> SpecError {
        let place = place.to_string();
        let line = place.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
        let text = format!("{place}: {what}");
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        let text = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        SpecError(vec![Mistake { line, text }])
    }

    /// Several errors as one, each mistake once and by its line; none where there are none.
    pub(crate) fn all(errors: impl IntoIterator<Item = SpecError>) -> Option<SpecError> {
        let mut mistakes: Vec<Mistake> = Vec::new();
        for mistake in errors.into_iter().flat_map(|error| error.0) {
            if !mistakes.contains(&mistake) {
                mistakes.push(mistake);
            }
        }
        mistakes.sort_by_key(|mistake| mistake.line);
        mistakes.truncate(MOST);
        (!mistakes.is_empty()).then_some(SpecError(mistakes))
    }

    /// The first mistake alone.
    pub(crate) fn first(mut self) -> SpecError {
        self.0.truncate(1);
        self
    }

    /// A setting that was refused, at `place`, without those of other settings.
    pub(crate) fn refused(place: impl Display, refusal: &Refusal) -> SpecError {
        let Refusal { given, expected, names, .. } = refusal;
        let key = path(&refusal.path);
        if refusal.unknown_key {
            let name = refusal.path.last().map_or("", String::as_str);
            let names = match names.is_empty() {
                true => "nothing but its kind".to_owned(),
                false => suggest(name, names),
            };
            return SpecError::at(place, format!("unknown key {key}, expected {names}"));
        }
        let said = match given {
            Some(value) => format!("= {}", cut(value)),
            None => "is missing".to_owned(),
        };
        let names = match given {
            _ if names.is_empty() => String::new(),
            Some(Value::Text(name)) => format!(": {}", suggest(name, names)),
            _ => format!(": {}", names.join(", ")),
        };
        let hint = match given {
            _ if expected.starts_with("a list") => String::new(),
            Some(Value::List(_)) if !["sweep", "plan"].contains(&refusal.path[0].as_str()) => {
                format!(" (lists go to sweep.{key})")
            }
            _ => String::new(),
        };
        SpecError::at(place, format!("{key} {said}, expected {expected}{names}{hint}"))
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<&str> = self.0.iter().map(|mistake| mistake.text.as_str()).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for SpecError {}

/// Keys with dots between, as a study writes them. The place in a list is left out: the line number
/// identifies it.
pub(crate) fn path(keys: &[String]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let key = |key: &String| match !key.is_empty() && key.chars().all(bare) {
        true => key.clone(),
        false => cut(format!("{key:?}")),
    };
    let is_place = |key: &str| {
        let place = key.strip_prefix('[').and_then(|key| key.strip_suffix(']'));
        place.is_some_and(|place| place.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let last = keys.len().saturating_sub(1);
    let shown = keys.iter().enumerate().filter(|(i, key)| *i == last || !is_place(key));
    shown.map(|(_, it)| key(it)).collect::<Vec<_>>().join(".")
}

/// The beginning of a text, at most 200 characters.
pub(crate) fn cut(given: impl Display) -> String {
    const SHOWN: usize = 200;
    let mut text = given.to_string();
    if let Some((end, _)) = text.char_indices().nth(SHOWN) {
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The number of first letters that suffice to suggest a name.
const BEGUN: usize = 3;

/// The names that would have done, and the one that `given` is nearest to.
fn suggest(given: &str, names: &[String]) -> String {
    let list = names.join(", ");
    let given = given.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let begun = given.len() >= BEGUN && name.starts_with(&given);
        f64::from(begun) + strsim::normalized_damerau_levenshtein(&given, &name)
    };
    let nearest = names.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest {
        Some(name) if likeness(name) > 0.4 => format!("{list} (did you mean {name}?)"),
        _ => list,
    }
}
