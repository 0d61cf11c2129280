//! What mail systems say in words: the table `phrases.txt`, and what of it is in a message.

use super::mime::{Kind, Part};
use memchr::memmem::Finder;
use sojourn_smtp::header::line_length;
use sojourn_smtp::{Enhanced, plain};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Octets of a part, encoded, and of all words together, that are looked at.
const OCTETS_MAX: usize = 32 * 1024;
/// Characters of a line that are kept.
const LINE_MAX: usize = 500;
/// Octets of a line that may be before a reply, and lines behind its first that belong to it.
const REPLY_LATE: usize = 100;
const REPLY_LINES: usize = 3;

/// A phrase in lower case, and the status that it means.
struct Phrase {
    finder: Finder<'static>,
    status: Option<Enhanced>,
}

/// The phrases of each kind.
static PHRASES: LazyLock<BTreeMap<&str, Vec<Phrase>>> = LazyLock::new(|| {
    let mut table = BTreeMap::<_, Vec<_>>::new();
    for line in include_str!("phrases.txt").lines().filter(|it| !it.starts_with('#')) {
        let mut columns = line.splitn(3, ' ');
        let mut column = || columns.next().expect("a line has three columns");
        let (kind, status, phrase) = (column(), column().parse().ok(), column());
        table.entry(kind).or_default().push(Phrase { finder: Finder::new(phrase), status });
    }
    table
});

/// The phrases of `kind`.
fn phrases(kind: &str) -> &'static [Phrase] {
    PHRASES.get(kind).expect("the table has all kinds")
}

/// Whether a phrase of `kind` is in `text`.
pub(super) fn has(kind: &str, text: &[u8]) -> bool {
    let lower = text.to_ascii_lowercase();
    phrases(kind).iter().any(|it| it.finder.find(&lower).is_some())
}

/// Whether `text` begins with a phrase of `kind`.
pub(super) fn begins(kind: &str, text: &[u8]) -> bool {
    let starts = |it: &Phrase| {
        let phrase = it.finder.needle();
        text.get(..phrase.len()).is_some_and(|start| start.eq_ignore_ascii_case(phrase))
    };
    phrases(kind).iter().any(starts)
}

/// Why mail came back, or is late.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Cause {
    /// The kind of the phrase. A reply is of the kind that it is in words.
    pub(super) kind: &'static str,
    /// The status (RFC 3463) that a reply has, or a phrase means.
    pub(super) status: Option<Enhanced>,
    /// The line that says it. Empty where there is none.
    pub(super) line: String,
}

/// The words of a message before what came back with it, in lines whose white space is single.
pub(super) struct Words {
    pub(super) text: Vec<u8>,
    /// In lower case, and on one line: phrases go over the ends of lines.
    lower: Vec<u8>,
    /// Lines that are not empty.
    lines: Vec<Range<usize>>,
}

impl Words {
    /// The words of the text, or else of HTML without its tags.
    pub(super) fn of(parts: &[Part<'_>]) -> Words {
        let has_text = parts.iter().any(|it| it.kind == Kind::Text);
        let kind = if has_text { Kind::Text } else { Kind::Html };
        let mut words = Words { text: Vec::new(), lower: Vec::new(), lines: Vec::new() };
        for part in parts.iter().filter(|it| it.kind == kind) {
            let Some(mut text) = part.text(OCTETS_MAX) else { continue };
            if kind == Kind::Html {
                remove_tags(text.to_mut());
            }
            words.add(&text);
        }
        let lower = |byte: &u8| if *byte == b'\n' { b' ' } else { byte.to_ascii_lowercase() };
        words.lower = words.text.iter().map(lower).collect();
        words
    }

    /// What they say first of the kind that says most.
    pub(super) fn cause(&self) -> Option<Cause> {
        let kinds = ["delay", "refused", "passing", "final", "unsent"];
        kinds.into_iter().find_map(|kind| {
            let replied = match kind {
                "refused" => self.reply(b'5'),
                "passing" => self.reply(b'4'),
                _ => None,
            };
            let (status, line) = replied.or_else(|| self.first(kind))?;
            Some(Cause { kind, status, line: self.line(line) })
        })
    }

    /// Adds the lines of a part, up to the message that came back or the limit.
    fn add(&mut self, mut text: &[u8]) {
        while !text.is_empty() {
            let (line, rest) = text.split_at(line_length(text));
            text = rest;
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
            let from = line.iter().position(is_word).unwrap_or(0);
            if begins("original", &line[from..]) || self.text.len() + line.len() > OCTETS_MAX {
                return;
            }
            let start = self.text.len();
            for word in line.split(u8::is_ascii_whitespace).filter(|it| !it.is_empty()) {
                self.text.extend_from_slice(word);
                self.text.push(b' ');
            }
            let end = self.text.len().saturating_sub(1).max(start);
            self.text.truncate(end);
            self.text.push(b'\n');
            if end > start {
                self.lines.push(start..end);
            }
        }
    }

    /// The first phrase of `kind`: its status, and the line in which it begins.
    fn first(&self, kind: &str) -> Option<(Option<Enhanced>, Range<usize>)> {
        let found = phrases(kind).iter().filter_map(|it| Some((it.finder.find(&self.lower)?, it)));
        let (at, phrase) = found.min_by_key(|(at, _)| *at)?;
        let line = self.lines.partition_point(|line| line.end <= at);
        Some((phrase.status, self.lines.get(line)?.clone()))
    }

    /// The first reply of this class: its status, and where it is. One may go on over the end of its
    /// line, and is kept alone where it begins behind much else.
    fn reply(&self, class: u8) -> Option<(Option<Enhanced>, Range<usize>)> {
        let replies = self.lines.iter().map(|line| reply(&self.text[line.clone()]));
        let mut replies = replies.enumerate().filter_map(|(nth, found)| Some((nth, found?)));
        let (nth, (_, status, at)) = replies.find(|(_, found)| found.0 == class)?;
        let line = &self.lines[nth];
        let start = if at > REPLY_LATE { line.start + at } else { line.start };
        let mut end = line.end;
        for next in self.lines[nth + 1..].iter().take(REPLY_LINES) {
            let text = &self.text[next.clone()];
            let is_reply = reply(text).is_some_and(|(_, _, at)| text[at + 1] != b'.');
            if next.start > end + 1 || is_reply {
                break;
            }
            end = next.end;
        }
        let later = || reply(&self.text[start..end])?.1;
        // A reply without a status may say in words what one would.
        let mut meant = ["refused", "passing"].into_iter().flat_map(phrases);
        let in_words =
            || meant.find(|it| it.finder.find(&self.lower[start..end]).is_some())?.status;
        Some((status.or_else(later).or_else(in_words), start..end))
    }

    fn line(&self, place: Range<usize>) -> String {
        let space = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
        line(&self.text[place].iter().map(space).collect::<Vec<_>>())
    }
}

/// The first characters of what others wrote, on a line.
pub(super) fn line(text: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(text).chars().take(LINE_MAX).collect();
    plain(&text).into_owned()
}

/// Words before a reply's code in a line.
const LEADS: &str =
    "said error code status response returned reply replied smtp lmtp with was server";

/// The first digit, the status and the place of the reply (RFC 5321 section 4.2), or of the status
/// alone, in a line. Numbers in other places of a sentence are none.
pub(super) fn reply(line: &[u8]) -> Option<(u8, Option<Enhanced>, usize)> {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"()<>[]{}\"';:,=#-".contains(byte);
    let status = |word: &[u8]| std::str::from_utf8(word).ok()?.parse::<Enhanced>().ok();
    let mut words = line.split(is_end).filter(|it| !it.is_empty());
    let mut before: &[u8] = b"";
    while let Some(word) = words.next() {
        // Where this word is in its line, and what is before it.
        let at = word.as_ptr().addr() - line.as_ptr().addr();
        let lead = line[..at].trim_ascii_end();
        let is_named = LEADS.split(' ').any(|it| it.as_bytes().eq_ignore_ascii_case(before));
        let is_led = lead.last().is_none_or(|it| b"()<>[{\"';:,=#".contains(it)) || is_named;
        before = word;
        let class = word[0];
        if !is_led || !matches!(class, b'4' | b'5') {
            continue;
        }
        if let Some(found) = status(word) {
            return Some((class, Some(found), at));
        }
        let has_words = || line[at + 3..].iter().any(u8::is_ascii_alphabetic);
        if let [_, b'0'..=b'7', b'0'..=b'9'] = word {
            let found = words.find_map(status).filter(|it| it.0 == class - b'0');
            return (is_named || found.is_some() || has_words()).then_some((class, found, at));
        }
    }
    None
}

/// Puts a space where a tag of HTML was.
fn remove_tags(text: &mut [u8]) {
    let mut is_tag = false;
    for byte in text {
        let was_tag = is_tag;
        is_tag = *byte == b'<' || is_tag && *byte != b'>';
        if (was_tag || is_tag) && *byte != b'\n' {
            *byte = b' ';
        }
    }
}
