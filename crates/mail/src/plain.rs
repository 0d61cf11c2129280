//! Words of others, as they may stand in a log, in a report and on a page.

use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup as Group};
use std::borrow::Cow;

/// What begins a line, or changes how the rest of one is read: control characters, separators of
/// lines and paragraphs, and characters of formatting, such as those that turn text round.
const DISTURBS: Group = Group::Control
    .union(Group::Format)
    .union(Group::LineSeparator)
    .union(Group::ParagraphSeparator);

/// `text` on one line that is read as it is written: U+FFFD stands for each character that could
/// change that.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.into();
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let disturbs = |c: char| DISTURBS.contains(categories.get(c));
    text.chars().map(|c| if disturbs(c) { '\u{fffd}' } else { c }).collect()
}
