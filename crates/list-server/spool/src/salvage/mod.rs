//! Out of a file whose pages are damaged, all that can be read.
//!
//! The trees of the tables are walked page by page, past what is damaged; then the pages that no
//! walk came to are read by themselves. Of several versions of a row the one that is furthest along
//! is the newest, because a recipient's state never goes back. Texts are copied part by part.

mod cells;
mod lost;
mod pages;
mod records;
mod tree;

use crate::error::SpoolError;
use crate::{delivered_log, private, schema};
use cells::{Field, Kind, Row, Value};
pub(crate) use lost::bare;
use pages::Pages;
use records::{Header, Recipient, answers_run, header, recipient, root};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, params_from_iter, types};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use tree::{Found, Walk};

/// Something that no spool should have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where and what.
    pub what: String,
    /// What a repair does about it.
    pub remedy: Cow<'static, str>,
}

/// Why nothing could be saved.
#[derive(Debug)]
pub(super) enum Failed {
    Sqlite(rusqlite::Error),
    File(std::io::Error),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Failed {
        Failed::Sqlite(error)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Failed {
        Failed::File(error)
    }
}

impl Failed {
    pub(super) fn of(self, path: &Path) -> SpoolError {
        match self {
            Failed::Sqlite(error) => SpoolError::sqlite(path, crate::error::Doing::Write, error),
            Failed::File(error) => SpoolError::Files { path: path.to_owned(), error },
        }
    }
}

/// Puts all rows that can be read into a new file, which takes the place of the old one. Returns what
/// could not be saved.
pub(super) fn rebuild(path: &Path) -> Result<Vec<Finding>, Failed> {
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let new = beside("-rebuilt");
    // What a repair left that was cut short.
    for old in [&new, &beside("-rebuilt-wal"), &beside("-rebuilt-shm"), &beside("-rebuilt-journal")]
    {
        drop(std::fs::remove_file(old));
    }
    private::create(&new)?;
    private::give(&new, path);
    let pages = Pages::open(path)?;
    let to = Connection::open(&new)?;
    schema::make(&to)?;
    to.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; BEGIN IMMEDIATE",
    )?;
    let mut rescue = Rescue::new(&pages, &to)?;
    rescue.read()?;
    if rescue.last == 0 {
        // Nothing says that this was ever a spool: it is left as it is.
        drop(to);
        drop(std::fs::remove_file(&new));
        return Err(rusqlite::Error::QueryReturnedNoRows.into());
    }
    let Rescue { holes, torn, unknown, last, run, .. } = rescue;
    delivered_log::carry(run, &to)?;
    let findings = lost::told(path, &pages, &to, &lost::Lost { holes, torn, unknown })?;
    to.execute("DELETE FROM sqlite_sequence WHERE name = 'message'", [])?;
    to.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('message', ?)", [last])?;
    to.execute_batch("COMMIT")?;
    drop(to);
    for suffix in ["-wal", "-shm"] {
        drop(std::fs::remove_file(beside(suffix)));
    }
    private::put(&new, path)?;
    Ok(findings)
}

/// Whether rows of a spool can be read in the file at `path`, whatever else it is.
pub(super) fn has_rows(path: &Path) -> std::io::Result<bool> {
    let pages = Pages::open(path)?;
    let mut walk = Walk { pages: &pages, seen: BTreeSet::new() };
    let mut found = false;
    walk.others::<std::io::Error>(&mut |kind, row| {
        found |= match kind {
            Kind::TableLeaf => header(&row).is_some(),
            _ => recipient(&row, row.local).is_some(),
        };
        Ok(())
    })?;
    Ok(found)
}

/// Where rows are missing: after which and before which, where there is one.
pub(super) struct Hole<K> {
    pub(super) after: Option<K>,
    pub(super) before: Option<K>,
}

/// What was read without being whole.
#[derive(Default)]
pub(super) struct Holes {
    pub(super) messages: Vec<Hole<i64>>,
    pub(super) recipients: Vec<Hole<(i64, i64)>>,
}

/// A message whose text is not all there, or is another than was written, and what of it is in its page.
pub(super) struct Torn {
    pub(super) local: Vec<u8>,
    pub(super) total: u64,
    pub(super) overflow: u32,
    pub(super) text: Field,
}

struct Rescue<'a> {
    pages: &'a Pages,
    to: &'a Connection,
    columns: Vec<String>,
    holes: Holes,
    torn: BTreeMap<i64, Torn>,
    /// Recipients whose state could not be read.
    unknown: BTreeSet<(i64, i64)>,
    /// The highest number that any message has had.
    last: i64,
    /// What ties the noted answers to the spool.
    run: Option<delivered_log::Run>,
}

impl<'a> Rescue<'a> {
    fn new(pages: &'a Pages, to: &'a Connection) -> rusqlite::Result<Rescue<'a>> {
        let mut names = to.prepare("SELECT name FROM pragma_table_info('recipient')")?;
        let columns = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let (holes, torn, unknown) = (Holes::default(), BTreeMap::new(), BTreeSet::new());
        Ok(Rescue { pages, to, columns, holes, torn, unknown, last: 0, run: None })
    }

    fn read(&mut self) -> Result<(), Failed> {
        let mut walk = Walk { pages: self.pages, seen: BTreeSet::new() };
        let mut roots: BTreeMap<String, u32> = BTreeMap::new();
        let mut whole = true;
        walk.tree::<Failed>(1, true, &mut |found| {
            match found {
                Found::Hole => whole = false,
                Found::Row(row) => roots.extend(root(&row)),
            }
            Ok(())
        })?;
        if let Some(root) = roots.get("sqlite_sequence") {
            walk.tree::<Failed>(*root, true, &mut |found| {
                if let Found::Row(row) = found {
                    self.sequence(&row);
                }
                Ok(())
            })?;
        }
        if let Some(root) = roots.get("answers") {
            walk.tree::<Failed>(*root, true, &mut |found| {
                if let Found::Row(row) = found {
                    self.run = self.run.or(answers_run(&row));
                }
                Ok(())
            })?;
        }
        let mut gap = Gap::default();
        walk.tree::<Failed>(roots.get("message").copied().unwrap_or(0), true, &mut |found| {
            let key = match &found {
                Found::Row(row) => self.message(row)?.then_some(row.id),
                Found::Hole => None,
            };
            self.holes.messages.extend(gap.step(key));
            Ok(())
        })?;
        self.holes.messages.extend(gap.end());
        let mut gap = Gap::default();
        walk.tree::<Failed>(roots.get("recipient").copied().unwrap_or(0), false, &mut |found| {
            let key = match &found {
                Found::Row(row) => self.recipient(row)?,
                Found::Hole => None,
            };
            self.holes.recipients.extend(gap.step(key));
            Ok(())
        })?;
        self.holes.recipients.extend(gap.end());
        if whole && self.holes.messages.is_empty() && self.holes.recipients.is_empty() {
            return Ok(());
        }
        walk.others::<Failed>(&mut |kind, row| {
            match kind {
                Kind::TableLeaf => {
                    self.sequence(&row);
                    self.run = self.run.or(answers_run(&row));
                    self.message(&row)?;
                }
                _ => {
                    self.recipient(&row)?;
                }
            }
            Ok(())
        })
    }

    /// Takes the highest number that was ever given from where SQLite keeps it.
    fn sequence(&mut self, row: &Row<'_>) {
        if let Some([name, last]) = cells::fields(row).as_deref() {
            let name = cells::value(*name, row.local);
            if let Some(Value::Integer(last)) = cells::value(*last, row.local)
                && name == Some(Value::Text("message".into()))
                && last < i64::MAX
            {
                self.last = self.last.max(last);
            }
        }
    }

    /// Saves a message; whether the row is one. Where a part of its text is missing it is kept in
    /// mind, in case no better version comes.
    fn message(&mut self, row: &Row<'_>) -> Result<bool, Failed> {
        let Some(header) = header(row) else { return Ok(false) };
        let Header { sender, eight_bit, utf8, accepted_ms, text, checksum } = header;
        self.last = self.last.max(row.id);
        let known = "SELECT 1 FROM message WHERE id = ?";
        if self.to.prepare_cached(known)?.exists([row.id])? {
            return Ok(true);
        }
        let Ok(size) = i32::try_from(text.size) else { return Ok(false) };
        let mut sum = crc32fast::Hasher::new();
        let whole = lost::text(self.pages, row, text, &mut |part| -> Result<(), Failed> {
            sum.update(part);
            Ok(())
        })?;
        let checksum = checksum.map(|field| lost::number(self.pages, row, field)).transpose()?;
        let checksum = checksum.flatten();
        if !whole || checksum.is_some_and(|known| known != i64::from(sum.finalize())) {
            let Row { local, total, overflow, .. } = *row;
            let torn = || Torn { local: local.to_vec(), total, overflow, text };
            self.torn.entry(row.id).or_insert_with(torn);
            return Ok(true);
        }
        self.to
            .prepare_cached(
                "INSERT INTO message (id, sender, eight_bit, utf8, accepted_ms, text, checksum)
                    VALUES (?, ?, ?, ?, ?, ?, ?)",
            )?
            .execute((row.id, sender, eight_bit, utf8, accepted_ms, ZeroBlob(size), checksum))?;
        let mut blob = self.to.blob_open(MAIN_DB, c"message", c"text", row.id, false)?;
        lost::text::<Failed>(self.pages, row, text, &mut |part| Ok(blob.write_all(part)?))?;
        Ok(true)
    }

    /// Saves a recipient; the key, where the row is one.
    fn recipient(&mut self, row: &Row<'_>) -> Result<Option<(i64, i64)>, Failed> {
        /// A row has the words of a host in it, which are shorter.
        const LONGEST: usize = 1 << 20;
        let mut record = Vec::new();
        self.pages.follow::<Failed>(row, |part| {
            if record.len() < LONGEST {
                record.extend_from_slice(part);
            }
            Ok(())
        })?;
        let Some(Recipient { key, address, state, others }) = recipient(row, &record) else {
            return Ok(None);
        };
        self.last = self.last.max(key.0);
        let now = state.unwrap_or("open");
        let times = match others.first() {
            Some(types::Value::Integer(times)) if now == "deferred" => *times,
            _ => 0,
        };
        let known = "SELECT address, state, times FROM recipient WHERE message = ? AND number = ?";
        let known: Option<(String, String, Option<i64>)> = self
            .to
            .prepare_cached(known)?
            .query_row(key, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        if let Some((other, state, others)) = known {
            let rank = |state: &str| {
                ["open", "deferred", "failed", "ended"].iter().position(|it| *it == state)
            };
            let before = (rank(&state), if state == "deferred" { others.unwrap_or(0) } else { 0 });
            if other != address || (rank(now), times) <= before {
                return Ok(Some(key));
            }
        }
        if state.is_none() {
            self.unknown.insert(key);
        } else {
            self.unknown.remove(&key);
        }
        let mut values: Vec<types::Value> =
            vec![key.0.into(), key.1.into(), address.into(), now.to_owned().into()];
        values.extend(others);
        let names = &self.columns[..values.len().min(self.columns.len())];
        values.truncate(names.len());
        let insert = |names: &[String]| {
            let places = vec!["?"; names.len()].join(", ");
            format!("INSERT OR REPLACE INTO recipient ({}) VALUES ({places})", names.join(", "))
        };
        let all = self.to.prepare_cached(&insert(names))?.execute(params_from_iter(&values));
        if all.is_err() {
            // Something that is not needed does not fit its column.
            let needed = self.to.prepare_cached(&insert(&names[..4]))?;
            { needed }.execute(params_from_iter(&values[..4]))?;
        }
        Ok(Some(key))
    }
}

/// Finds where rows are missing, on the way through a tree.
struct Gap<K> {
    last: Option<K>,
    open: bool,
}

impl<K> Default for Gap<K> {
    fn default() -> Gap<K> {
        Gap { last: None, open: false }
    }
}

impl<K: Copy> Gap<K> {
    fn step(&mut self, key: Option<K>) -> Option<Hole<K>> {
        let Some(key) = key else {
            self.open = true;
            return None;
        };
        let after = self.last.replace(key);
        std::mem::take(&mut self.open).then_some(Hole { after, before: Some(key) })
    }

    fn end(self) -> Option<Hole<K>> {
        self.open.then_some(Hole { after: self.last, before: None })
    }
}
