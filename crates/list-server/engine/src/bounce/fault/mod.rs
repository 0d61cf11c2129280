//! Whose fault a failure is, by a table from replies to classes.

mod reply;

use memchr::memmem::Finder;
use reply::Reading;
use serde::de::{IntoDeserializer, value};
use serde::{Deserialize, Serialize};
use sojourn_smtp::{Enhanced, plain};
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

/// Whose fault a failure is. Only [`Fault::Address`] says something about the subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// The mailbox or its domain does not take mail: it is unknown, disabled or full.
    Address,
    /// The host refused this message: spam, a virus, a broken header, its size.
    Content,
    /// The host refused this sender: a block list, authentication, a rate, the receiver's rules.
    Policy,
    /// A network, a command, a loop or this server failed.
    Protocol,
    /// The reply does not say.
    Unknown,
}

/// Where in a delivery a reply came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The greeting.
    Connect,
    /// `EHLO` and `HELO`.
    Hello,
    /// `MAIL FROM`.
    Mail,
    /// `RCPT TO`.
    Rcpt,
    /// `DATA`.
    Data,
    /// The end of the text.
    Text,
    /// A report of another server, after it took the message.
    Report,
    /// This server's decision, without a reply.
    Own,
}

/// A table from replies to faults. Its first rule that fits counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    rule: Vec<Rule>,
}

/// A rule fits when each of its conditions has a value that fits, or no values.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default)]
    words: Vec<Words>,
    #[serde(default)]
    stages: Vec<Stage>,
    #[serde(default)]
    status: Vec<Pattern>,
    #[serde(default)]
    code: Vec<u16>,
    fault: Fault,
}

/// A part of a reply's text, in lower case.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Words(Finder<'static>);

/// A status, in which `*` is any number: "5.7.*".
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pattern([Option<u16>; 3]);

/// The most octets of a table: a table of this size takes a millisecond per reply at the most.
const TABLE_MAX: usize = 64 * 1024;

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 5] =
        [Fault::Address, Fault::Content, Fault::Policy, Fault::Protocol, Fault::Unknown];
}

/// Why a text is no table of faults: the line, what stands there and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultsError(String);

impl fmt::Display for FaultsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FaultsError {}

impl Faults {
    /// The table that is built in.
    pub fn built_in() -> &'static Faults {
        static BUILT_IN: LazyLock<Faults> = LazyLock::new(|| {
            Faults::parse(include_str!("table.toml"), "table.toml")
                .expect("a test reads the table that is built in")
        });
        &BUILT_IN
    }

    /// Reads a table.
    ///
    /// # Errors
    /// When `text` is no table. The error names the line in `source`, what stands there and what was
    /// expected.
    pub fn parse(text: &str, source: &str) -> Result<Faults, FaultsError> {
        if text.len() > TABLE_MAX {
            return Err(FaultsError(format!("{source}: expected at most {TABLE_MAX} octets")));
        }
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let number = text.bytes().take(start).filter(|it| *it == b'\n').count();
            let line: String = text.lines().nth(number).unwrap_or("").chars().take(80).collect();
            let what = error.message().replace('\n', ", ");
            FaultsError(
                plain(&format!("{source}:{}: {}: {what}", number + 1, line.trim())).into_owned(),
            )
        })
    }

    /// The rules of this table, and behind them those that are built in.
    pub fn before_built_in(mut self) -> Faults {
        self.rule.extend_from_slice(&Faults::built_in().rule);
        self
    }

    /// Whose fault a failure is. `text` is the reply on one line, of which 500 characters count. The
    /// status and command that it names are the refusing host's, so they count more than the
    /// `status` and `stage` of a report and of a decision by this server.
    pub fn of(&self, stage: Option<Stage>, status: Option<Enhanced>, text: &str) -> Fault {
        let reply = Reading::new(text);
        let status = reply.status.filter(|status| status.1 != 0).or(status);
        let stage = match (stage, reply.stage) {
            (None | Some(Stage::Report | Stage::Own), Some(stage)) | (Some(stage), _) => stage,
            (None, None) if reply.code.is_none() => Stage::Own,
            (None, None) => Stage::Report,
        };
        let rule = self.rule.iter().find(|rule| rule.fits(stage, status, &reply));
        rule.map_or(Fault::Unknown, |rule| rule.fault)
    }
}

impl Rule {
    fn fits(&self, stage: Stage, status: Option<Enhanced>, reply: &Reading) -> bool {
        any(&self.stages, |it| *it == stage)
            && any(&self.status, |it| status.is_some_and(|status| it.fits(status)))
            && any(&self.code, |it| reply.code == Some(*it))
            && any(&self.words, |it| it.0.find(reply.words.as_bytes()).is_some())
    }
}

fn any<T>(values: &[T], fits: impl Fn(&T) -> bool) -> bool {
    values.is_empty() || values.iter().any(fits)
}

impl TryFrom<String> for Words {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Words, &'static str> {
        let is_lower = text == text.to_lowercase() && !text.trim().is_empty();
        is_lower
            .then(|| Words(Finder::new(&text).into_owned()))
            .ok_or("expected words in lower case")
    }
}

impl Pattern {
    fn fits(&self, Enhanced(class, subject, detail): Enhanced) -> bool {
        let parts = self.0.iter().zip([class.into(), subject, detail]);
        parts.into_iter().all(|(wanted, part)| wanted.is_none_or(|it| it == part))
    }
}

impl TryFrom<String> for Pattern {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Pattern, &'static str> {
        let part = |it: &str| if it == "*" { Ok(None) } else { it.parse().map(Some) };
        let parts: Option<Vec<_>> = text.split('.').map(|it| part(it).ok()).collect();
        let parts = parts.and_then(|parts| parts.try_into().ok());
        parts.map(Pattern).ok_or("expected a status such as 5.1.1 or *.1.*")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for Fault {
    type Err = value::Error;

    fn from_str(text: &str) -> Result<Fault, value::Error> {
        Fault::deserialize(text.into_deserializer())
    }
}
