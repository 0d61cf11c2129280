//! A reply, taken apart.

use super::Stage;
use sojourn_smtp::Enhanced;

/// Characters of a reply that are looked at.
const TEXT_MAX: usize = 500;

pub(super) struct Reading {
    /// The basic code, of class 4 or 5.
    pub(super) code: Option<u16>,
    /// The first status, after the code if there is one.
    pub(super) status: Option<Enhanced>,
    /// The command that Postfix or Exim names in its report.
    pub(super) stage: Option<Stage>,
    /// The words in lower case, with one space before and after each. Codes and addresses are left
    /// out, because an address such as `spam@example.com` says nothing about the failure.
    pub(super) words: String,
}

const STAGES: [(&str, Stage); 7] = [
    ("mail", Stage::Mail),
    ("rcpt", Stage::Rcpt),
    ("end of data", Stage::Text),
    ("data", Stage::Data),
    ("ehlo", Stage::Hello),
    ("helo", Stage::Hello),
    ("initial connection", Stage::Connect),
];

impl Reading {
    pub(super) fn new(text: &str) -> Reading {
        let text: String = text.chars().take(TEXT_MAX).flat_map(char::to_lowercase).collect();
        let (mut code, mut status, mut words) = (None, None, String::from(" "));
        for mut word in text.split(|it: char| it.is_whitespace() || it == ';') {
            if let Some((number, rest)) =
                basic(word).filter(|it| code.is_none_or(|code| code == it.0))
            {
                if code.replace(number).is_none() {
                    status = None;
                }
                word = rest;
            }
            let number = word.trim_matches(|it: char| !it.is_ascii_digit());
            let named = number.parse().ok().filter(|it: &Enhanced| matches!(it.0, 4 | 5));
            status = status.or(named);
            if word.contains('@') {
                let rest = word.rsplit(['>', ':']).next();
                word = rest.filter(|rest| !rest.contains('@')).unwrap_or("");
            }
            if !word.is_empty() && named.is_none() {
                words.extend([word, " "]);
            }
        }
        Reading { code, status, stage: stage(&words), words }
    }
}

/// The code that a word begins with, and the rest of the word: "550", "550-5.1.1".
fn basic(word: &str) -> Option<(u16, &str)> {
    let (digits, rest) = word.split_at_checked(3)?;
    let code = digits.parse().ok().filter(|it| (400..600).contains(it))?;
    let is_alone = !rest.starts_with(|it: char| it == '.' || it.is_alphanumeric());
    is_alone.then(|| (code, rest.trim_start_matches('-')))
}

fn stage(words: &str) -> Option<Stage> {
    let command = words.split_once("in reply to ").or(words.split_once("mail server after "))?.1;
    let command = command.trim_start_matches("pipelined ");
    STAGES.iter().find(|(name, _)| command.starts_with(name)).map(|&(_, stage)| stage)
}
